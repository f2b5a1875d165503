"""One rule, two judges: what `row_filter` finds in a store is what `sees_object` says of each object."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.access.scopes import role_scopes
from pentad.kernel.principal import ANONYMOUS, Principal
from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from pentad.rooms.registers.models import Caller, Operation, Pair, StoredObject
from pentad.rooms.registers.query import execution
from pentad.rooms.registers.query.models import Query, Scope
from tests.rooms.registers.opening import ADMIN, OTHER, WRITER, opened
from tests.stores import Stores

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))
VALUES: list[Any] = [None, "a", "b", "", "user:wil", 1, 2, 1.5, -3, True, False]
WHENS: list[Any] = [
    None, "2026-05-17T08:00:00Z", "2026-05-17T10:00:00+02:00", "2026-05-17T08:00:00.500Z", "2026-05-17T09:00:00+02:00",
    "2026-05-17T03:00:00-05:00", "2026-05-17t08:00:00.5z",
]  # fmt: skip
values = st.sampled_from(VALUES)
times = st.sampled_from([*WHENS[1:], "2026-05-17", 1_779_004_800, "soon"])
whens = st.sampled_from([*WHENS, "2026-05-17", 1_779_004_800, "soon"])
comparisons = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), values),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.sampled_from(["a", "b", 1, 1.5])),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(values, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
    st.tuples(st.just("$eq"), st.sampled_from(["$userId", "$organisation"])),
)
timed = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne"]), whens),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), times),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(whens, max_size=3)),
    st.tuples(st.just("$exists"), st.booleans()),
)
matches = st.one_of(
    st.dictionaries(
        st.sampled_from(["x", "y", "deep.er", "@self.owner"]),
        st.lists(comparisons, min_size=1, max_size=2).map(dict),
        max_size=2,
    ),
    st.dictionaries(
        st.sampled_from(["when", "deep.when", "times.1"]),
        st.lists(timed, min_size=1, max_size=2).map(dict),
        min_size=1,
        max_size=2,
    ),
)
grants = st.lists(
    st.one_of(
        st.sampled_from(["public", "authenticated", "writer", "admin", "user:wil"]),
        st.fixed_dictionaries({"group": st.sampled_from(["public", "writer", "reader"]), "match": matches}),
    ),
    max_size=3,
)
blocks = st.one_of(st.none(), st.fixed_dictionaries({"read": grants}))
ANY: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
WHEN: dict[str, Any] = {"type": ["string", "null"], "format": "date-time"}
DEEP: dict[str, Any] = {"type": "object", "properties": {"er": ANY, "when": WHEN}}
BODY: dict[str, Any] = {
    "title": "Open",
    "properties": {"x": ANY, "y": ANY, "deep": DEEP, "when": WHEN, "times": {"type": "array", "items": WHEN}},
}


def with_blocks(pair: Pair, register: Any, schema: Any) -> Pair:
    """The pair as if its blocks were others."""
    body = {**pair.schema.body, "authorization": schema}
    return Pair(
        replace(pair.register, body={**pair.register.body, "authorization": register}),
        replace(pair.schema, body=body),
        compile_schema(body, parents=lambda _ref: None),
    )


@pytest.mark.anyio
@pytest.mark.requirement("registers:access:agreement")
async def test_the_store_and_the_rules_agree_on_who_sees_what(stores: Stores) -> None:
    async with opened(stores) as registers:
        await registers.catalogue.schemas.create(ADMIN, {**BODY, "slug": "open"})
        await registers.catalogue.registers.create(ADMIN, {"title": "R", "slug": "r", "schemas": ["open"]})
        pair = await registers.catalogue.pair(ADMIN, "r", "open")
        acme = await registers.organisations.create(ADMIN, "acme", "Acme")
        for member in (OTHER, ADMIN):
            await registers.organisations.add_member(ADMIN, "acme", member.principal.id)
        assert registers.organisations.of(OTHER.principal) == acme.id
        rows = [
            Operation(
                "create", {"x": x, "y": y, "deep": {"er": x, "when": w}, "when": w, "times": [w, w]} if y else {"y": y}
            )
            for x, y, w in zip(VALUES, reversed(VALUES), [*WHENS, *WHENS][: len(VALUES)], strict=True)
        ]
        for caller in (WRITER, ADMIN):
            await registers.objects.bulk(caller, pair, rows, atomic=True)
        database = registers.platform.database
        scope = Scope(pair.register.id, (pair.schema.id,))
        everything = await database.read(
            lambda read: execution.find(read, database.dialect, scope, Query(limit=1000, count=False))
        )
        objects = [StoredObject(*row) for row in everything.rows]
        assert len(objects) == 2 * len(rows)
        cases: list[tuple[Any, Any]] = []

        @settings(max_examples=60, deadline=None, database=None)
        @given(register=blocks, schema=blocks)
        def collect(register: Any, schema: Any) -> None:
            cases.append((register, schema))

        collect()
        for register, schema in cases:
            judged = with_blocks(pair, register, schema)
            for caller in (WRITER, OTHER, READER, ADMIN, Caller(ANONYMOUS)):
                rule = registers.access.row_filter(caller, judged)
                narrowed = Scope(pair.register.id, (pair.schema.id,), rule=rule)
                found = await database.read(
                    lambda read, narrowed=narrowed: execution.find(
                        read, database.dialect, narrowed, Query(limit=1000, count=False)
                    )
                )
                by_store = {row[1] for row in found.rows}
                by_rules = {one.uuid for one in objects if registers.access.sees_object(caller, judged, one)}
                assert by_store == by_rules, (register, schema, caller.principal.name)
