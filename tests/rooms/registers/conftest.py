"""What the tests of the registers room share."""

from tests.rooms.registers.sites import fresh_site, site

__all__ = ["fresh_site", "site"]
