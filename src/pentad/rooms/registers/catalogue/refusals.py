"""What registers and schemas may be called, and what stands in the way of making or removing them, in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pentad.kernel.errors import Conflict, NotFound
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Rows
from pentad.rooms.registers import store
from pentad.rooms.registers.models import Register, Schema
from pentad.rooms.registers.not_found import Missing
from pentad.rooms.registers.store import Kind, Ref

_NAMED: Final = 10


def missing_entity(kind: Kind, ref: Ref, known: Sequence[Register | Schema]) -> NotFound:
    """Not found, with what the caller could have meant."""
    named = ", ".join(f"{one.id} {one.slug}" for one in known[:_NAMED])
    more = ", ..." if len(known) > _NAMED else ""
    guess = did_you_mean(str(ref), (one.slug for one in known))
    count = f"{len(known)} {kind}{'' if len(known) == 1 else 's'}"
    have = f"You have access to {count}{': ' if known else ''}{named}{more}."
    message = f"{kind.capitalize()} {str(ref)[:80]} not found.{' ' + guess if guess else ''} {have}"
    return Missing(message, "registers" if kind == "register" else "schemas")


def chosen_slug(
    rows: Rows,
    kind: Kind,
    data: Mapping[str, Any],
    title: str,
    organisation: str,
    seen: Callable[[Register | Schema], bool],
    current: Register | Schema | None = None,
) -> str:
    """The slug asked for, if nothing else of the organisation has it; without one, what it has or a readable new one.

    Who has it is told to those who may know of that one (`seen`).
    """
    slug = data.get("slug")
    if not slug and current is None:
        return store.free_slug(rows, kind, title, organisation)
    slug = slug or (current.slug if current is not None else title)
    named = store.named_registers(rows, slug) if kind == "register" else store.named_schemas(rows, slug)
    for holder in named:
        if holder.organisation != organisation or (current is not None and holder.id == current.id):
            continue
        if seen(holder):
            hint = "Choose another one, or update that one."
            raise Conflict(f"The slug {slug!r} belongs to {kind} {holder.id}.", hint=hint)
        raise Conflict(f"The slug {slug!r} is taken.", hint="Choose another one.")
    return slug


def refuse_taken(rows: Rows, kind: Kind, uuid: str | None) -> None:
    if uuid is not None and _find(rows, kind, uuid) is not None:
        raise Conflict(f"A {kind} with the uuid {uuid} exists already.", hint="Update it instead.")


def refuse_filled(rows: Rows, kind: Kind, entity: Register | Schema, *, counted: bool) -> None:
    """Conflict while there are objects; how many is for those who may see all of them (`counted`)."""
    living, deleted = store.count_objects(rows, kind, entity.id)
    if (living or deleted) and not counted:
        raise Conflict(f"The {kind} {entity.slug!r} still has objects.", hint="Delete and purge them first.")
    if living or deleted:
        also = f" and {deleted} deleted ones that are not purged" if deleted else ""
        raise Conflict(
            f"The {kind} {entity.slug!r} still has {living} objects{also}.",
            hint="Delete and purge them first.",
            details={"objects": living, "deleted": deleted},
        )


def refuse_composed(schema: Schema, users: Sequence[Schema], seen: Callable[[Schema], bool]) -> None:
    if users:
        known = ", ".join([user.slug for user in users if seen(user)][:_NAMED]) or "others"
        raise Conflict(f"Schema {schema.slug!r} is part of {known}.", hint="Change those first.")


def _find(rows: Rows, kind: Kind, ref: Ref) -> Register | Schema | None:
    return store.find_register(rows, ref) if kind == "register" else store.find_schema(rows, ref)
