"""New objects, made ready before the transaction that writes them: checked, and complete but for their ids.

What all of one write share is found out once, for there may be thousands of them.
"""

from collections.abc import Mapping

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.compiled_schemas import SchemaFacts
from pentad.rooms.registers.definitions.problems import rejection
from pentad.rooms.registers.models import Operation, StoredObject
from pentad.rooms.registers.objects import integrity
from pentad.rooms.registers.objects.carrying import carried_off
from pentad.rooms.registers.objects.drafts import NO_HASH, Carried, Draft, digest, link, shared_facts
from pentad.rooms.registers.objects.refusals import chosen_uuid, may_be_long, refuse_long
from pentad.rooms.registers.objects.steps import Task


def caller_facts(task: Task) -> dict[str, str]:
    """What defaults and computed values may know of whoever writes."""
    return {"user": task.caller.principal.id, "name": task.caller.principal.name}


class NewObjects:
    """Makes the drafts of one write."""

    __slots__ = ("_access", "_carried", "_facts", "_free", "_inverse", "_long", "_organisation", "_shared", "_task")

    def __init__(self, task: Task, facts: SchemaFacts, access: AccessRules) -> None:
        self._task = task
        self._access = access
        self._facts = caller_facts(task)
        self._free = access.is_free(task.caller)
        self._inverse = frozenset(facts.inverse).difference(facts.carried)
        self._carried = facts.carried
        self._long = facts.indexes.texts
        self._organisation = access.organisation(task.caller)
        self._shared = shared_facts(task.pair.register.id, task.pair.schema.id, 1, "create", task.now, task.who)

    def draft(self, operation: Operation, fresh: str) -> Draft:
        """The draft of one of them; `fresh` is its uuid unless the operation names another."""
        given = operation.data
        if given is None:
            raise InvalidInput("An object needs data.", hint='Give data {"property": value, ...}.')
        task = self._task
        pair, caller, now = task.pair, task.caller, task.now
        definition = pair.definition
        if not self._free:
            self._access.check(caller, pair, "create", given)
            given = self._access.writable(caller, pair, given)
        if self._inverse:
            given = {name: value for name, value in given.items() if name not in self._inverse}
        prepared = definition.prepare(given, now=now, caller_facts=self._facts)
        if prepared.problems:
            raise rejection(prepared.problems)
        data, text = prepared.data, prepared.text
        carried: Mapping[str, Carried] | None = None
        if self._carried:
            data, text, carried = carried_off(definition, data, {})
        if may_be_long(text):
            refuse_long(self._long, data)
        stored = StoredObject(
            0, fresh if operation.uuid is None else chosen_uuid(operation.uuid), pair.register.id, pair.schema.id, 1,
            text, definition.slug_of(data), caller.principal.id, self._organisation, now, now, None, None, data,
        )  # fmt: skip
        references = integrity.references_of(definition, data) if definition.references else None
        linked = link(NO_HASH, stored.uuid, self._shared, digest(text))
        return Draft("create", stored, None, references, definition.texts(data), carried=carried, link=linked)
