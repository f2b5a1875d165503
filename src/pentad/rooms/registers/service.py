"""The registers room as one object: what its tools, resources and routes speak to.

It only puts the parts together; each part knows the store, the rules of access, and nothing of MCP or HTTP.
"""

from pentad.platform import Platform
from pentad.rooms.registers.access import AccessRules
from pentad.rooms.registers.organisations import Organisations


class Registers:
    """Everything the room can do, over one store."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.organisations = Organisations(platform.database, platform.clock)
        self.access = AccessRules(self.organisations)
