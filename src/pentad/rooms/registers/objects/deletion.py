"""Deleting objects: put aside with everything that has to go or change with them, to be restored or purged later."""

from collections.abc import Sequence

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import PentadError
from pentad.kernel.ports import Dialect, Rows, Transaction
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.objects import locks, store
from pentad.rooms.registers.objects.deletion_plan import DeletionPlan
from pentad.rooms.registers.objects.drafts import Draft, Held, after
from pentad.rooms.registers.objects.refusals import check_version, missing
from pentad.rooms.registers.objects.steps import Step, Task
from pentad.rooms.registers.objects.targets import named_object


class Deletion:
    """Carries out deletions."""

    def __init__(self, dialect: Dialect, catalogue: Catalogue, access: AccessRules) -> None:
        self._dialect: Dialect = dialect
        self._catalogue = catalogue
        self._meanings = catalogue.meanings
        self._access = access

    def plan(self, rows: Rows, task: Task, root: Held) -> DeletionPlan:
        return DeletionPlan(rows, task, self._access, self._catalogue.pairs_in(rows), root)

    def delete_all(self, tx: Transaction, task: Task, steps: Sequence[Step]) -> None:
        """Delete the object of each step, one after the other; those nothing points at go together."""
        found = self._found(tx, task, steps)
        pointing = store.references_to(tx, [held.stored.uuid for held in found.values()])
        involved = {reference.target for _, reference, _ in pointing}
        together: list[Step] = []
        for step in steps:
            held = found.get(step.index)
            if held is None:
                continue
            if held.stored.uuid in involved:
                self._write(tx, task, together)
                together = []
                self._delete_planned(tx, task, step, held)
                involved.update(draft.after.uuid for draft in step.drafts)
            else:
                step.drafts = [deleted(task, held)]
                together.append(step)
        self._write(tx, task, together)

    def _found(self, rows: Rows, task: Task, steps: Sequence[Step]) -> dict[int, Held]:
        """The objects that may go, by the index of their step; the other steps have failed."""
        found: dict[int, Held] = {}
        seen: set[str] = set()
        pair = task.pair
        for step in steps:
            ref = step.operation.ref
            try:
                if ref is None:
                    raise missing(pair, ref)
                held = named_object(rows, self._access, task.caller, pair, ref)
                if held is None or held.stored.is_deleted or held.stored.uuid in seen:
                    held = None
                self._access.found(task.caller, pair, "delete", ref, None if held is None else held.stored)
                assert held is not None  # noqa: S101  it was found
                check_version(held.stored, step.operation.if_version)
                locks.refuse_locked(held.stored, task.caller.principal.id, task.now)
            except PentadError as error:
                step.fail(error)
            else:
                seen.add(held.stored.uuid)
                found[step.index] = held
        return found

    def _delete_planned(self, tx: Transaction, task: Task, step: Step, held: Held) -> None:
        """Delete one object others point at; an earlier step may have changed it or taken it along already."""
        current = store.held_by_uuid(tx, [held.stored.uuid])[held.stored.uuid]
        if current.stored.is_deleted:
            step.succeed("deleted", current.stored)
            return
        try:
            plan = self.plan(tx, task, current)
            plan.refuse_blocked()
        except PentadError as error:
            step.fail(error)
            return
        step.drafts = [*(deleted(task, one) for one in plan.doomed.values()), *plan.edits]
        self._write(tx, task, [step])

    def _write(self, tx: Transaction, task: Task, steps: Sequence[Step]) -> None:
        drafts = [draft for step in steps for draft in step.drafts]
        if drafts:
            store.write(tx, self._dialect, drafts, task.who)
            if task.pair.definition.hybrid or len(drafts) > len(steps):
                self._meanings.follow(tx, drafts)
        for step in steps:
            step.succeed("deleted", step.drafts[0].after)


def deleted(task: Task, held: Held) -> Draft:
    """The draft that puts an object aside."""
    old = held.stored
    at = after(old.updated_at, task.now)
    mark = {
        "deletedBy": task.caller.principal.id,
        "deletedAt": iso(at),
        "objectId": old.uuid,
        "organisation": old.organisation,
    }
    gone = old.altered(version=old.version + 1, updated_at=at, deleted=msgspec.json.encode(mark).decode(), lock=None)
    return Draft("delete", gone, held, words="")
