"""All routes of the room in matching order: fixed paths come before those with variables."""

from typing import Final

from starlette.routing import BaseRoute

from pentad.rooms.registers.interface.discovery import discovery_routes
from pentad.rooms.registers.interface.rest import (
    audit,
    bulk,
    catalogue,
    files,
    objects,
    organisations,
    schema_changes,
    search,
    transfer,
    views,
    webhooks,
)
from pentad.rooms.registers.interface.rest.route_group import RestRoute, build
from pentad.rooms.registers.service import Registers

TABLE: Final[tuple[RestRoute, ...]] = (
    *catalogue.REGISTER_ROUTES,
    *transfer.ROUTES,
    *catalogue.SCHEMA_ROUTES,
    *schema_changes.ROUTES,
    *search.LIST_ROUTES,
    *search.SEARCH_ROUTES,
    *objects.ROUTES,
    *files.ROUTES,
    *audit.ROUTES,
    *bulk.ROUTES,
    *webhooks.ROUTES,
    *search.CHAT_ROUTES,
    *views.ROUTES,
    *organisations.ROUTES,
)


def rest_routes(service: Registers) -> list[BaseRoute]:
    """Everything the room serves over HTTP besides MCP."""
    return [*discovery_routes(service, TABLE), *build(service, TABLE)]
