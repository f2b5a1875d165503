"""Console pages for organisations, and their forms. Only administrators of the room see the forms."""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    Choice,
    Column,
    Facts,
    Form,
    Note,
    Page,
    Place,
    Section,
    Sheet,
    Table,
    Text,
    TextField,
    Visit,
    done_notes,
    when,
)
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.service import Registers

_WHERE: Final = "/console/registers/organisations"
_MOST_LISTED: Final = 200
_DONE: Final = {
    "created": "The organisation was created.",
    "added": "The member was added.",
    "removed": "The member was removed.",
    "deleted": "The organisation was deleted.",
}


async def all_organisations(registers: Registers, visit: Visit) -> Sheet:
    """Every organisation for an administrator, otherwise the visitor's own."""
    caller = _caller(visit)
    is_admin = visit.principal.may("registers", "admin")
    rows: list[tuple[Text, ...]] = []
    for one in await registers.organisations.list(caller, _MOST_LISTED):
        members = await registers.organisations.members(caller, one.id) if is_admin else []
        title = Cell(one.title, Place(("organisations", one.slug))) if is_admin else one.title
        rows.append((title, one.slug, ", ".join(members), when(one.created_at)))
    columns = ("Organisation", Column("Slug", short=True), "Members", Column("Created", short=True))
    blocks: list[Block] = [
        *done_notes(visit, _DONE),
        Table(columns, rows, "Everybody is in the default organisation."),
        *([_create_form()] if is_admin else []),
    ]
    lead = (
        "Each organisation has its own registers, schemas and objects. Users in none are in the default organisation."
    )
    return Sheet("Organisations", blocks, lead=lead)


async def one_organisation(registers: Registers, visit: Visit) -> Sheet:
    """An organisation and its members, with forms to change it."""
    caller, ref = _caller(visit), visit.path["organisation"]
    found = await registers.organisations.get(caller, ref)
    members = await registers.organisations.members(caller, ref)
    where = f"{_WHERE}/{found.slug}"
    blocks: list[Block] = [
        *done_notes(visit, _DONE),
        Facts([("Slug", found.slug), ("Id", found.id), ("Created", when(found.created_at))]),
        Section("Members", [Table(("Member",), [(one,) for one in members], "It has no members yet.")]),
        Section("Add a member", [_add_form(where)]),
        *([_remove_section(where, members)] if members else []),
        _delete_section(where, found.slug),
    ]
    return Sheet(found.title, blocks, trail=[Cell("Organisations", Place(("organisations",)))])


def _create_form() -> Section:
    fields = [
        TextField("slug", "Slug", hint="Its name in commands and URLs: a-z, 0-9 and -."),
        TextField("title", "Title", hint="Its name for people. If empty, the slug is used.", required=False),
    ]
    return Section("Create an organisation", [Form(fields, [Button("Create organisation")], _WHERE)])


def _add_form(where: str) -> Form:
    hint = "A user name, or key:ID for an API key without an owner. Members of another organisation move to this one."
    return Form([TextField("principal", "User or key", hint=hint)], [Button("Add member")], f"{where}/members")


def _remove_section(where: str, members: Sequence[str]) -> Section:
    choice = Choice("principal", "Member", [(one, one) for one in members])
    form = Form([choice], [Button("Remove member", kind="bad")], f"{where}/members/remove")
    note = Note("Removed members go back to the default organisation. What they created stays here.")
    return Section("Remove a member", [note, form], folded=True)


def _delete_section(where: str, slug: str) -> Section:
    note = Note(
        "You can delete an organisation once it has no registers, schemas or objects. Its members go back to the "
        "default organisation, and views shared with it become private."
    )
    return Section("Delete", [note, Form((), [Button(f"Delete {slug}", kind="bad")], f"{where}/delete")], folded=True)


async def _create(registers: Registers, visit: Visit) -> None:
    await registers.organisations.create(_caller(visit), visit.typed("slug"), visit.typed("title"))


async def _add_member(registers: Registers, visit: Visit) -> None:
    await registers.organisations.add_member(_caller(visit), visit.path["organisation"], _principal(visit))


async def _remove_member(registers: Registers, visit: Visit) -> None:
    await registers.organisations.remove_member(_caller(visit), visit.path["organisation"], _principal(visit))


async def _delete(registers: Registers, visit: Visit) -> None:
    await registers.organisations.delete(_caller(visit), visit.path["organisation"])


def _principal(visit: Visit) -> str:
    """The principal typed in the form; a plain name means a user."""
    typed = visit.typed("principal")
    return typed if ":" in typed or not typed else f"user:{typed.lower()}"


def _caller(visit: Visit) -> Caller:
    return Caller(visit.principal, visit.browser)


ORGANISATION_PAGES: Final[list[Page[Registers]]] = [
    Page("organisations", all_organisations),
    Page("organisations/{organisation}", one_organisation),
]
ORGANISATION_ACTIONS: Final[list[Action[Registers]]] = [
    Action("organisations", all_organisations, _create, "organisations?done=created"),
    Action(
        "organisations/{organisation}/members",
        one_organisation,
        _add_member,
        "organisations/{organisation}?done=added",
    ),
    Action(
        "organisations/{organisation}/members/remove",
        one_organisation,
        _remove_member,
        "organisations/{organisation}?done=removed",
    ),
    Action("organisations/{organisation}/delete", one_organisation, _delete, "organisations?done=deleted"),
]
