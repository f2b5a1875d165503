"""The actions of the `objects` tool, one method each: from arguments to the JSON the answer is."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.budget import Fitted, answer_of, check_budget, fit_facets, one_of, trimmed
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.object_arguments import ObjectsArguments
from pentad.rooms.registers.objects.plans import Plan
from pentad.rooms.registers.query.datetimes import parse_as_of
from pentad.rooms.registers.query.parser import parse_fields
from pentad.rooms.registers.sent_back import refuse_metadata
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.showing import outcomes_wire, shown
from pentad.rooms.registers.visible import aggregate_of, query_of, visible

Answer = dict[str, Any]
_QUERY: Final = ("filter", "search", "sort", "cursor", "page", "facets", "as_of")
_HISTORY_LIMIT: Final = 20


class ObjectActions:
    """One call of the tool."""

    def __init__(self, registers: Registers, caller: Caller, arguments: ObjectsArguments) -> None:
        self._registers = registers
        self._caller = caller
        self._given = arguments
        self._actions: dict[str, Callable[[Pair], Awaitable[Answer]]] = {
            "list": self._list,
            "get": self._get,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "bulk": self._bulk,
            "plan": self._plan,
            "commit": self._commit,
            "undo": self._undo,
            "history": self._history,
            "diff": self._diff,
            "revert": self._revert,
            "verify": self._verify,
            "changes": self._changes,
            "lock": self._lock,
            "unlock": self._unlock,
            "restore": self._restore,
            "purge": self._purge,
            "can_delete": self._can_delete,
        }

    async def run(self) -> Answer:
        check_budget(self._given.max_tokens)
        register, schema = self._given.place()
        pair = await self._registers.catalogue.pair(self._caller, register, schema)
        parse_fields(visible(self._registers.access, self._caller, pair), self._given.fields_)  # before any write
        return await self._actions[self._given.action](pair)

    # reading

    async def _list(self, pair: Pair) -> Answer:
        given = self._given
        if given.aggregate is not None:
            return await self._aggregate(pair)
        raw = {name: getattr(given, name) for name in _QUERY if getattr(given, name) is not None}
        raw |= {"fields": given.fields_, "limit": given.limit, "offset": given.offset, "count": given.count}
        query = query_of(self._registers.access, self._caller, pair, raw)
        found = await self._registers.objects.find(self._caller, pair, query)
        rows = [self._shown(pair, StoredObject(*row), query.fields) for row in found.rows]
        if found.relevance:
            for row, relevance in zip(rows, found.relevance, strict=True):
                row["@relevance"] = round(relevance, 4)
        for row, why in zip(rows, found.why, strict=False):
            row["@why"] = why.wire()
        facets, left_out = fit_facets(found.facets, given.max_tokens)

        async def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows, **found.retrieval_info()}
            if found.total is not None:
                body["total"] = found.total
            cursor = found.cursor
            if fitted.rows_cut and found.cursor_after is not None:
                cursor = found.cursor_after(len(fitted.rows))
            if cursor is not None:
                body["cursor"] = cursor
            if facets:
                body["facets"] = facets
            if left_out:
                body["cut"] = {"max_tokens": given.max_tokens, "facets_left_out": left_out}
            return body

        return await answer_of(rows, given.max_tokens, build)

    async def _aggregate(self, pair: Pair) -> Answer:
        given = self._given
        offset = given.offset if given.cursor is None else _number(given.cursor)
        members: dict[str, Any] = {
            "filter": given.filter, "search": given.search, "as_of": given.as_of, "limit": given.limit,
            "offset": offset,
        }  # fmt: skip
        raw = {**{name: value for name, value in members.items() if value is not None}, **(given.aggregate or {})}
        wanted = aggregate_of(self._registers.access, self._caller, pair, raw)
        found = await self._registers.objects.aggregate(self._caller, pair, wanted)

        async def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows}
            if found.more or fitted.rows_cut:
                body |= {"more": True, "cursor": str(wanted.offset + len(fitted.rows))}
            return body if found.retrieval is None else {**body, "retrieval": found.retrieval}

        return await answer_of(found.groups, given.max_tokens, build)

    async def _get(self, pair: Pair) -> Answer:
        as_of = None if self._given.as_of is None else parse_as_of(self._given.as_of)
        stored = await self._registers.objects.get(self._caller, pair, self._given.ref(), as_of=as_of)
        return await self._one(pair, stored)

    async def _history(self, pair: Pair) -> Answer:
        given = self._given
        limit = _HISTORY_LIMIT if given.limit is None else given.limit
        before = None if given.cursor is None else _number(given.cursor)
        changes = await self._registers.history.of(self._caller, pair, given.ref(), limit, before)

        async def build(fitted: Fitted) -> Answer:
            body: Answer = {"results": fitted.rows}
            if fitted.rows and (fitted.rows_cut or len(changes) == limit):
                body["cursor"] = str(fitted.rows[-1]["id"])
            return body

        return await answer_of([change.wire() for change in changes], given.max_tokens, build)

    async def _diff(self, pair: Pair) -> Answer:
        given = self._given
        if given.version is None:
            raise InvalidInput("Missing required parameter: version", hint="Compare it with to_version, or with now.")
        found = await self._registers.history.diff(self._caller, pair, given.ref(), given.version, given.to_version)
        return trimmed(found, ("patch", "changes"), given.max_tokens)

    async def _verify(self, pair: Pair) -> Answer:
        found = await self._registers.history.verify(self._caller, pair, self._given.ref())
        return trimmed(found.wire(), ("problems",), self._given.max_tokens)

    async def _changes(self, pair: Pair) -> Answer:
        given = self._given
        limit = _HISTORY_LIMIT if given.limit is None else given.limit
        changes, cursor = await self._registers.history.feed(
            self._caller, given.cursor, register=pair.register.id, schema=pair.schema.id, limit=limit
        )
        rows = [change.wire() for change in changes]

        async def build(fitted: Fitted) -> Answer:
            shown_to = rows[len(fitted.rows) - 1]["cursor"] if fitted.rows_cut else cursor
            return {"results": fitted.rows, "cursor": shown_to}

        return await answer_of(rows, given.max_tokens, build)

    async def _can_delete(self, pair: Pair) -> Answer:
        report = await self._registers.objects.can_delete(self._caller, pair, self._given.ref())
        lists = ("blockers", "cascadeTargets", "nullifyTargets", "defaultTargets")
        return trimmed(report.wire(), lists, self._given.max_tokens)

    # writing

    async def _create(self, pair: Pair) -> Answer:
        stored = await self._registers.objects.create(
            self._caller, pair, self._given.content(pair), idempotency_key=self._given.idempotency_key
        )
        return await self._one(pair, stored)

    async def _update(self, pair: Pair) -> Answer:
        given = self._given
        stored = await self._registers.objects.replace(
            self._caller,
            pair,
            given.ref(),
            given.content(pair),
            if_version=given.if_version,
            idempotency_key=given.idempotency_key,
        )
        return await self._one(pair, stored)

    async def _patch(self, pair: Pair) -> Answer:
        given, objects = self._given, self._registers.objects
        options: dict[str, Any] = {"if_version": given.if_version, "idempotency_key": given.idempotency_key}
        if (patch := given.patch()) is not None:
            refuse_metadata(patch)
            stored = await objects.json_patch(self._caller, pair, given.ref(), patch, **options)
        else:
            stored = await objects.merge_patch(self._caller, pair, given.ref(), given.content(pair), **options)
        return await self._one(pair, stored)

    async def _delete(self, pair: Pair) -> Answer:
        given = self._given
        await self._registers.objects.delete(
            self._caller, pair, given.ref(), if_version=given.if_version, idempotency_key=given.idempotency_key
        )
        return {"deleted": True, "id": given.id}

    async def _bulk(self, pair: Pair) -> Answer:
        given = self._given
        outcomes = await self._registers.objects.bulk(
            self._caller, pair, given.rows(pair), atomic=given.atomic, idempotency_key=given.idempotency_key
        )
        body = outcomes_wire(outcomes)
        if given.max_tokens is None:
            return body

        async def build(fitted: Fitted) -> Answer:
            return {**body, "results": fitted.rows}

        failed_first = sorted(body["results"], key=lambda row: row["status"] != "failed")
        return await answer_of(failed_first, given.max_tokens, build)

    async def _plan(self, pair: Pair) -> Answer:
        return self._planned(await self._registers.plans.make(self._caller, pair, self._given.rows(pair)))

    async def _commit(self, _pair: Pair) -> Answer:
        return self._planned(await self._registers.plans.commit(self._caller, self._given.plan_id()))

    async def _undo(self, _pair: Pair) -> Answer:
        return self._planned(await self._registers.plans.undo(self._caller, self._given.plan_id()))

    async def _revert(self, pair: Pair) -> Answer:
        given = self._given
        if (given.version is None) == (given.as_of is None):
            raise InvalidInput("Say where to go back to.", hint="Give version, or as_of with a time.")
        stored = await self._registers.history.revert(
            self._caller, pair, given.ref(), version=given.version, at=given.as_of, if_version=given.if_version
        )
        return await self._one(pair, stored)

    async def _lock(self, pair: Pair) -> Answer:
        stored = await self._registers.objects.lock(
            self._caller, pair, self._given.ref(), seconds=self._given.seconds, process=self._given.reason
        )
        return await self._one(pair, stored)

    async def _unlock(self, pair: Pair) -> Answer:
        return await self._one(pair, await self._registers.objects.unlock(self._caller, pair, self._given.ref()))

    async def _restore(self, pair: Pair) -> Answer:
        return await self._one(pair, await self._registers.objects.restore(self._caller, pair, self._given.ref()))

    async def _purge(self, pair: Pair) -> Answer:
        await self._registers.objects.purge(self._caller, pair, self._given.ref())
        return {"purged": True, "id": self._given.id}

    # showing

    def _shown(self, pair: Pair, stored: StoredObject, fields: tuple[str, ...] | None) -> Answer:
        return shown(self._registers.access, self._caller, pair, stored, fields=fields)

    async def _one(self, pair: Pair, stored: StoredObject) -> Answer:
        """One object within the budget."""
        fields = self._given.fields_
        wire = self._shown(pair, stored, tuple(fields) if fields is not None else None)
        return await one_of(wire, self._given.max_tokens)

    def _planned(self, plan: Plan) -> Answer:
        """A plan within the budget; the rows that are refused come first."""
        wire = plan.wire()
        if self._given.max_tokens is not None and "preview" in wire:
            wire["preview"] = sorted(wire["preview"], key=lambda row: row.get("error") is None)
        return trimmed(wire, ("preview", "outcomes"), self._given.max_tokens)


def _number(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise InvalidInput("This cursor leads nowhere.", hint="Start again without a cursor.")
    return int(cursor)
