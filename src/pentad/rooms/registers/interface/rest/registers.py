"""Registers over REST."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response

from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.answers import answer, unchanged
from pentad.rooms.registers.interface.rest.ask import Ask
from pentad.rooms.registers.interface.rest.models import PageAnswer, RegisterAnswer, RegisterData
from pentad.rooms.registers.interface.rest.oas import register_document
from pentad.rooms.registers.interface.rest.pages import envelope, etag
from pentad.rooms.registers.interface.rest.table import PAGING, RestRoute
from pentad.rooms.registers.models import Register, prune

IF_MATCH: Final = Parameter("If-Match", "The ETag the change is meant for; 412 if it is another now.", place="header")
IF_NONE_MATCH: Final = Parameter("If-None-Match", "The ETags you have; 304 if one of them is it still.", place="header")


def shown(register: Register) -> Response:
    return answer(register.wire(), headers={"etag": etag(register.version)})


async def list_registers(ask: Ask) -> Response:
    """List the registers you have access to."""
    limit, offset = ask.window()
    page = await ask.registers.catalogue.list_registers(ask.caller, limit, offset)
    return answer(envelope([prune(one.wire()) for one in page.items], page.total, limit, offset))


async def get_register(ask: Ask) -> Response:
    """Get one register by id, uuid or slug."""
    register = await ask.registers.catalogue.get_register(ask.caller, ask.path("id"))
    return unchanged(tag) if ask.is_known(tag := etag(register.version)) else shown(register)


async def create_register(ask: Ask) -> Response:
    """Create a register."""
    made = await ask.registers.catalogue.create_register(ask.caller, await ask.object())
    return answer(made.wire(), 201, {"etag": etag(made.version)})


def _version(ask: Ask) -> Callable[[], Awaitable[str]]:
    async def version() -> str:
        return (await ask.registers.catalogue.get_register(ask.caller, ask.path("id"))).version

    return version


async def update_register(ask: Ask) -> Response:
    """Change a register; fields that are not named stay."""
    data, version = await ask.object(), await ask.matched(_version(ask))
    return shown(await ask.registers.catalogue.update_register(ask.caller, ask.path("id"), data, if_version=version))


async def patch_register(ask: Ask) -> Response:
    """Change a register, merging objects among the fields member by member."""
    data, version = await ask.object(), await ask.matched(_version(ask))
    changed = await ask.registers.catalogue.update_register(
        ask.caller, ask.path("id"), data, if_version=version, merge=True
    )
    return shown(changed)


async def delete_register(ask: Ask) -> Response:
    """Delete a register that has no objects."""
    version = await ask.matched(_version(ask))
    await ask.registers.catalogue.delete_register(ask.caller, ask.path("id"), if_version=version)
    return answer([])


async def schemas_of_register(ask: Ask) -> Response:
    """List the schemas of a register."""
    catalogue = ask.registers.catalogue
    register = await catalogue.get_register(ask.caller, ask.path("id"))
    pairs = [pair for pair in await catalogue.visible_pairs(ask.caller) if pair.register.id == register.id]
    rows = [prune(pair.schema.wire()) for pair in pairs]
    return answer(envelope(rows, len(rows), max(1, len(rows)), 0))


async def describe_register(ask: Ask) -> Response:
    """Describe a register's objects as OpenAPI 3.1."""
    catalogue = ask.registers.catalogue
    register = await catalogue.get_register(ask.caller, ask.path("id"))
    pairs = [pair for pair in await catalogue.visible_pairs(ask.caller) if pair.register.id == register.id]
    return answer(register_document(register, [pair.schema for pair in pairs]))


ROUTES: Final = (
    RestRoute("GET", "/registers", "registers", list_registers, PAGING, answer=PageAnswer),
    RestRoute("GET", "/registers/{id}", "registers", get_register, [IF_NONE_MATCH], answer=RegisterAnswer),
    RestRoute("POST", "/registers", "registers", create_register, body=RegisterData, answer=RegisterAnswer, status=201),
    RestRoute(
        "PUT", "/registers/{id}", "registers", update_register, [IF_MATCH], body=RegisterData, answer=RegisterAnswer
    ),
    RestRoute(
        "PATCH", "/registers/{id}", "registers", patch_register, [IF_MATCH], body=RegisterData, answer=RegisterAnswer
    ),
    RestRoute("DELETE", "/registers/{id}", "registers", delete_register, [IF_MATCH]),
    RestRoute("GET", "/registers/{id}/schemas", "registers", schemas_of_register, answer=PageAnswer),
    RestRoute("GET", "/registers/{id}/oas", "registers", describe_register),
)
