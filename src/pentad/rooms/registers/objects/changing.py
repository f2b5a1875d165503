"""Changed objects, made ready inside the transaction that writes them: allowed, checked, and complete.

The counterpart of `making`, which has the new ones. Nothing is written here.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.definitions.problems import rejection
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.objects import integrity, locks
from pentad.rooms.registers.objects.drafts import Draft, Held, after
from pentad.rooms.registers.objects.making import caller_facts
from pentad.rooms.registers.objects.refusals import check_version, may_be_long, missing, refuse_long
from pentad.rooms.registers.objects.reports import ChangeAction
from pentad.rooms.registers.objects.steps import Task

if TYPE_CHECKING:
    from pentad.rooms.registers.definitions.compiled import Prepared
    from pentad.rooms.registers.definitions.problems import Problem


class ChangedObjects:
    """Makes the drafts of changes."""

    def __init__(self, catalogue: Catalogue, access: AccessRules) -> None:
        self._catalogue = catalogue
        self._definitions = catalogue.definitions
        self._access = access

    def editable(
        self, task: Task, held: Held | None, ref: int | str | None, right: Literal["update", "delete"],
        if_version: int | None,
    ) -> Held:  # fmt: skip
        """The object, if the caller may change it now and it is the version the caller knows."""
        if held is not None and held.stored.is_deleted:
            held = None
        if held is None and ref is None:
            raise missing(task.pair, ref)
        named = held.stored.uuid if ref is None and held is not None else ref or ""
        stored = self._access.found(task.caller, task.pair, right, named, None if held is None else held.stored)
        assert held is not None  # noqa: S101  it was found
        check_version(stored, if_version)
        locks.refuse_locked(stored, task.caller.principal.id, task.now)
        return held

    def prepared(self, task: Task, data: dict[str, Any], previous: Mapping[str, Any] | None) -> "Prepared":
        """The data as it is to be stored; InvalidInput with every problem it has."""
        facts = self._definitions.facts(task.pair.definition)
        for name in facts.inverse:
            if name not in facts.carried:
                data.pop(name, None)
        prepared = task.pair.definition.prepare(data, previous=previous, now=task.now, caller_facts=caller_facts(task))
        if prepared.problems:
            hidden = self._access.hidden(task.caller, task.pair, previous)
            raise rejection([one.without_values() if _is_in(one, hidden) else one for one in prepared.problems])
        return prepared

    def drafted(self, task: Task, action: ChangeAction, held: Held, data: dict[str, Any], text: str) -> Draft:
        """The draft that gives an object other data, which `text` holds to the letter."""
        definition, old = task.pair.definition, held.stored
        stored = old.altered(
            version=old.version + 1,
            text=text,
            slug=definition.slug_of(data),
            updated_at=after(old.updated_at, task.now),
            deleted=None,
            data=data,
        )
        self._refuse_long(task.pair, stored)
        known = None if old.is_deleted else frozenset(integrity.references_of(definition, old.data))
        references = integrity.references_of(definition, data)
        return Draft(action, stored, held, references, definition.texts(data), known=known)

    def redrafted(self, task: Task, draft: Draft, data: dict[str, Any], text: str) -> Draft:
        """A draft that is not written yet, with other data."""
        definition = task.pair.definition
        stored = draft.after.altered(text=text, slug=definition.slug_of(data), data=data)
        self._refuse_long(task.pair, stored)
        references = integrity.references_of(definition, data)
        return Draft(
            draft.action, stored, draft.before, references, definition.texts(data), draft.at, draft.known, draft.carried
        )

    def _refuse_long(self, pair: Pair, stored: StoredObject) -> None:
        if may_be_long(stored.text):
            refuse_long(self._definitions.facts(pair.definition).indexes.texts, stored.data)


def _is_in(problem: "Problem", hidden: frozenset[str]) -> bool:
    return bool(hidden) and (not problem.where or problem.where[0] in hidden)
