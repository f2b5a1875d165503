"""All routes of the room, in the order they are tried: what is spelled out comes before what is a variable."""

from typing import Final

from starlette.routing import BaseRoute

from pentad.rooms.registers.interface.discovery import discovery_routes
from pentad.rooms.registers.interface.rest import (
    audit,
    bulk,
    chat,
    files,
    objects,
    organisations,
    registers,
    schemas,
    search,
    transfer,
    trash,
    views,
    webhooks,
)
from pentad.rooms.registers.interface.rest.table import RestRoute, build
from pentad.rooms.registers.service import Registers

TABLE: Final[tuple[RestRoute, ...]] = (
    *registers.ROUTES,
    *transfer.ROUTES,
    *schemas.ROUTES,
    *search.ROUTES,
    *objects.ITEM_ROUTES,
    *trash.ROUTES,
    *files.ROUTES,
    *audit.ROUTES,
    *bulk.ROUTES,
    *webhooks.ROUTES,
    *chat.ROUTES,
    *views.ROUTES,
    *organisations.ROUTES,
)


def rest_routes(service: Registers) -> list[BaseRoute]:
    """What an HTTP server serves for this room besides MCP."""
    return [*discovery_routes(service, TABLE), *build(service, TABLE)]
