"""The OpenRegister profile at both of its paths and on both stores."""

import pytest

from tests.behaviour.registers.openregister import OpenRegister
from tests.rooms.registers.site import PREFIXES, Site
from tests.rooms.registers.sites import fresh_site, site

__all__ = ["endpoint", "fresh_site", "site"]


@pytest.fixture(params=PREFIXES, ids=["short", "nextcloud"])
def endpoint(request: pytest.FixtureRequest, site: Site) -> OpenRegister:
    """The endpoint under one of its two prefixes."""
    return OpenRegister(site, f"{request.param}/mcp")
