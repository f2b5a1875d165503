"""Views on both stores: what they show, to whom, and what becomes of them when a schema changes."""

from dataclasses import replace
from typing import Any

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, VersionMismatch
from pentad.kernel.principal import Principal
from pentad.rooms.registers.catalogue.schema_change import SchemaChange
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.service import Registers
from tests.rooms.registers.definitions.making import compiled
from tests.rooms.registers.opening import ADMIN, OTHER, TREE, WRITER

pytestmark = pytest.mark.anyio

READER = Caller(Principal("user:rea", "rea", role_scopes("reader")))
COLUMNS: list[Any] = [
    "number",
    {"name": "Street", "path": "place.street"},
    {"name": "Twice", "expression": "height * 2"},
]


async def plant(registers: Registers, trees: Pair, *heights: float) -> None:
    for number, height in enumerate(heights, 1):
        data = {"number": f"T-{number}", "height": height, "kind": "oak", "place": {"street": f"Street {number}"}}
        await registers.objects.create(WRITER, trees, data)


async def with_rule(registers: Registers, **properties: Any) -> Pair:
    """The trees, with other rules for some properties."""
    changed = {**TREE["properties"], **properties}
    await registers.catalogue.schemas.update(ADMIN, "tree", {"properties": changed})
    return await registers.catalogue.pair(ADMIN, "city", "tree")


@pytest.mark.requirement("registers:views:columns")
async def test_rows_have_exactly_the_columns_in_their_order(registers: Registers, trees: Pair) -> None:
    await plant(registers, trees, 3, 12, 8)
    query = {"filter": {"height": {"gte": 5}}, "sort": ["-height"], "columns": COLUMNS}
    view = await registers.views.create(WRITER, trees, "Tall trees", query)
    page = await registers.views.run(WRITER, "tall-trees")
    assert page.columns == ["number", "Street", "Twice"]
    assert [list(row.items())[1:] for row in page.rows] == [
        [("number", "T-2"), ("Street", "Street 2"), ("Twice", 24)],
        [("number", "T-3"), ("Street", "Street 3"), ("Twice", 16)],
    ]
    assert (page.total, view.slug, view.uri) == (2, "tall-trees", f"openregister://views/{view.id}")


async def test_a_run_takes_a_limit_a_cursor_and_one_more_filter(registers: Registers, trees: Pair) -> None:
    await plant(registers, trees, *range(1, 8))
    query = {"filter": {"height": {"gte": 2}}, "sort": ["height"], "columns": ["number"]}
    view = await registers.views.create(WRITER, trees, "Some", query)
    more = {"height": {"lte": 6}}
    page, seen = await registers.views.run(WRITER, view.id, filter=more, limit=2), list[str]()
    while True:
        seen += [row["number"] for row in page.rows]
        if page.cursor is None:
            break
        page = await registers.views.run(WRITER, view.id, filter=more, limit=2, cursor=page.cursor)
    assert seen == ["T-2", "T-3", "T-4", "T-5", "T-6"]
    with pytest.raises(InvalidInput, match="heigth"):
        await registers.views.run(WRITER, view.id, filter={"heigth": 1})


async def test_a_view_can_have_groups_for_rows(registers: Registers, trees: Pair) -> None:
    await plant(registers, trees, 3, 12)
    figures = {"group_by": ["kind"], "metrics": {"n": "count", "tallest": {"max": "height"}}}
    view = await registers.views.create(WRITER, trees, "Kinds", {"aggregate": figures})
    page = await registers.views.run(WRITER, view.id)
    assert page.columns == ["kind", "n", "tallest"]
    assert page.rows == [{"kind": "oak", "n": 2, "tallest": 12}]
    with pytest.raises(InvalidInput, match="no columns"):
        await registers.views.create(WRITER, trees, "Both", {"aggregate": figures, "columns": ["number"]})


@pytest.mark.requirement("registers:views:checked")
async def test_a_view_that_names_something_unknown_is_not_saved(registers: Registers, trees: Pair) -> None:
    for query, message in (
        ({"columns": ["nubmer"]}, "number"),
        ({"sort": ["heigth"]}, "height"),
        ({"colums": ["number"]}, "columns"),
        ({"columns": ["number"], "fields": ["number"]}, "not both"),
    ):
        with pytest.raises(InvalidInput, match=message):
            await registers.views.create(WRITER, trees, "Typo", query)
    assert await registers.views.visible(ADMIN) == []


@pytest.mark.requirement("registers:views:checked")
async def test_a_view_broken_by_a_schema_change_says_what_is_wrong(registers: Registers, trees: Pair) -> None:
    columns = await registers.views.create(WRITER, trees, "Columns", {"columns": ["number", "note"]})
    filtered = await registers.views.create(WRITER, trees, "Filter", {"filter": {"note": "x"}, "columns": ["number"]})
    await plant(registers, trees, 3)
    rest = {name: one for name, one in TREE["properties"].items() if name != "note"}
    await registers.catalogue.schemas.update(ADMIN, "tree", {"properties": rest})
    page = await registers.views.run(WRITER, columns.id)
    assert page.columns == ["number"]
    [problem] = page.problems
    assert (problem["path"], problem["rule"], problem["property"]) == ("/query/columns/1", "unknown", "note")
    assert "no property 'note'" in problem["message"]
    with pytest.raises(InvalidInput, match="cannot be run") as error:
        await registers.views.run(WRITER, filtered.id)
    assert error.value.details["problems"][0]["path"] == "/query/filter"
    described = await registers.views.described(WRITER, filtered)
    assert [one["path"] for one in described["problems"]] == ["/query/filter"]


@pytest.mark.requirement("registers:views:broken-by")
async def test_the_views_that_a_change_would_break_are_known_before(registers: Registers, trees: Pair) -> None:
    note = await registers.views.create(WRITER, trees, "Notes", {"columns": ["number", "note"]}, shared=True)
    await registers.views.create(WRITER, trees, "Numbers", {"columns": ["number"]}, shared=True)
    await registers.views.create(OTHER, trees, "Private notes", {"columns": ["note"]})
    rest = compiled({name: one for name, one in TREE["properties"].items() if name != "note"})

    change = SchemaChange(trees.schema, trees.schema)

    def broken(caller: Caller) -> Any:
        return registers.platform.database.read(
            lambda rows: list(registers.views.broken_by(rows, caller, change, trees.definition, rest))
        )

    [one] = await broken(WRITER)
    assert (one["id"], one["title"], one["problems"][0]["path"]) == (note.id, "Notes", "/query/columns/1")
    assert len(await broken(ADMIN)) == 2
    [seen] = await broken(READER)
    assert seen["problems"][0]["property"] == "note"


@pytest.mark.requirement("registers:views:shared")
async def test_a_shared_view_is_used_by_members_and_changed_by_its_owner(registers: Registers, trees: Pair) -> None:
    await plant(registers, trees, 3)
    view = await registers.views.create(WRITER, trees, "Ours", {"columns": ["number"]}, shared=True)
    assert [one.id for one in await registers.views.visible(READER)] == [view.id]
    assert (await registers.views.run(READER, "ours")).rows[0]["number"] == "T-1"
    for attempt in (
        registers.views.delete(OTHER, view.id),
        registers.views.update(OTHER, view.id, {"title": "Mine"}),
    ):
        with pytest.raises(Forbidden, match="only its owner"):
            await attempt
    await registers.views.update(WRITER, view.id, {"shared": False})
    with pytest.raises(NotFound):
        await registers.views.run(READER, view.id)
    with pytest.raises(Forbidden):
        await registers.views.create(READER, trees, "Public", {}, shared=True)
    await registers.views.create(READER, trees, "Own", {})


@pytest.mark.requirement("registers:views:shared")
async def test_a_shared_view_is_unknown_to_other_organisations_and_to_who_may_not_read_its_schema(
    registers: Registers, trees: Pair
) -> None:
    view = await registers.views.create(WRITER, trees, "Ours", {"columns": ["number"]}, shared=True)
    beside = await registers.organisations.create(ADMIN, "beside", "Beside")
    await registers.organisations.add_member(ADMIN, beside.slug, OTHER.principal.id)
    for caller in (OTHER,):
        assert await registers.views.visible(caller) == []
        with pytest.raises(NotFound):
            await registers.views.get(caller, view.id)
    await registers.catalogue.schemas.update(ADMIN, "tree", {"authorization": {"read": ["admin", WRITER.principal.id]}})
    assert await registers.views.visible(READER) == []
    for attempt in (registers.views.run, registers.views.get, registers.views.delete):
        with pytest.raises(NotFound):
            await attempt(READER, "ours")


async def test_a_slug_means_the_own_view_first_and_is_no_oracle(registers: Registers, trees: Pair) -> None:
    private = await registers.views.create(OTHER, trees, "Trees", {})
    mine = await registers.views.create(WRITER, trees, "Trees", {})
    assert (private.slug, mine.slug) == ("trees", "trees"), "a private view of another takes no slug"
    assert (await registers.views.get(WRITER, "trees")).id == mine.id
    assert (await registers.views.create(WRITER, trees, "Trees", {})).slug == "trees-2"
    with pytest.raises(Conflict):
        await registers.views.create(WRITER, trees, "Third", {}, slug="TREES")
    for odd in ("a b", "", "x" * 200, "a\0b", "7"):
        with pytest.raises(InvalidInput):
            await registers.views.create(WRITER, trees, "Odd", {}, slug=odd)
    for odd in ("a b", "", "x" * 200, "a\0b"):
        with pytest.raises(NotFound):
            await registers.views.get(WRITER, odd)


@pytest.mark.requirement("registers:views:changed")
async def test_a_view_is_changed_member_by_member(registers: Registers, trees: Pair) -> None:
    await plant(registers, trees, 3, 12)
    query = {"filter": {"height": {"gte": 5}}, "columns": ["number"]}
    view = await registers.views.create(WRITER, trees, "Tall", query)
    changed = await registers.views.update(WRITER, view.id, {"query": {"columns": ["height"]}}, merge=True)
    assert changed.query == {"filter": {"height": {"gte": 5}}, "columns": ["height"]}
    changed = await registers.views.update(WRITER, view.id, {"query": {"filter": None}, "title": "All"}, merge=True)
    assert (changed.query, changed.title, changed.slug) == ({"columns": ["height"]}, "All", "tall")
    changed = await registers.views.update(WRITER, view.id, {"query": {"sort": ["height"]}, "slug": "every"})
    assert (changed.query, changed.slug) == ({"sort": ["height"]}, "every")
    assert len((await registers.views.run(WRITER, "every")).rows) == 2
    for changes in ({"query": {"sort": ["heigth"]}}, {"register": 5}, {"query": 5}, {"title": " "}, {"shared": 1}):
        with pytest.raises(InvalidInput):
            await registers.views.update(WRITER, view.id, changes, merge=True)
    assert (await registers.views.get(WRITER, view.id)).query == {"sort": ["height"]}


@pytest.mark.requirement("registers:views:versions")
async def test_a_view_that_changed_since_it_was_read_is_not_overwritten(registers: Registers, trees: Pair) -> None:
    view = await registers.views.create(WRITER, trees, "Tall", {"columns": ["number"]})
    assert view.version == 1
    changed = await registers.views.update(WRITER, view.id, {"title": "Taller"}, if_version=1)
    assert changed.version == 2
    with pytest.raises(VersionMismatch, match="is at version 2, not 1") as refused:
        await registers.views.update(WRITER, view.id, {"title": "Tallest"}, if_version=1)
    assert refused.value.details == {"current": 2, "expected": 1}
    with pytest.raises(VersionMismatch):
        await registers.views.delete(WRITER, view.id, if_version=1)
    found = await registers.views.get(WRITER, view.id)
    assert (found.title, found.version) == ("Taller", 2)
    await registers.views.delete(WRITER, view.id, if_version=2)


RENAME = [{"op": "rename", "property": "height", "to": "metres"}]


def renaming_once(registers: Registers, monkeypatch: pytest.MonkeyPatch, step: str) -> list[str]:
    """Rename a property at the moment when a view is prepared and not yet saved; returns what happened."""
    prepare, done = getattr(registers.views, step), list[str]()

    async def then_rename(*arguments: Any, **options: Any) -> Any:
        prepared = await prepare(*arguments, **options)
        if not done:
            done.append("renamed")
            await registers.catalogue.schemas.patch(ADMIN, "tree", RENAME)
        return prepared

    monkeypatch.setattr(registers.views, step, then_rename)
    return done


@pytest.mark.requirement("registers:views:versions")
async def test_a_save_during_a_rename_keeps_what_the_rename_rewrote(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await registers.views.create(WRITER, trees, "Tall", {"columns": ["number"], "sort": ["-height"]})
    done = renaming_once(registers, monkeypatch, "_with_changes")
    changed = await registers.views.update(WRITER, view.id, {"title": "Taller"})
    assert done == ["renamed"]
    stored = await registers.views.get(WRITER, view.id)
    assert stored.query == changed.query == {"columns": ["number"], "sort": ["-metres"]}
    assert (stored.title, stored.version) == ("Taller", 3)


@pytest.mark.requirement("registers:views:versions")
async def test_a_view_with_the_old_name_is_not_saved_after_the_rename(
    registers: Registers, trees: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = renaming_once(registers, monkeypatch, "_checked_page")
    with pytest.raises(InvalidInput, match="height"):
        await registers.views.create(WRITER, trees, "Tall", {"columns": ["height"]})
    assert done == ["renamed"]
    assert await registers.views.visible(WRITER) == []


@pytest.mark.requirement("registers:views:changed")
async def test_nothing_is_saved_on_a_read_only_server(registers: Registers, trees: Pair) -> None:
    view = await registers.views.create(WRITER, trees, "Mine", {})
    frozen = replace(WRITER, principal=WRITER.principal.reading_only())
    for attempt in (
        registers.views.create(frozen, trees, "New", {}),
        registers.views.update(frozen, view.id, {"title": "New"}),
        registers.views.delete(frozen, view.id),
    ):
        with pytest.raises(Forbidden, match="read-only"):
            await attempt
    assert (await registers.views.run(frozen, view.id)).rows == []


# rights: the viewer's, not the owner's

SECRET = {"type": "number", "authorization": {"read": ["admin"], "update": ["admin"]}}


@pytest.mark.requirement("registers:views:rights")
async def test_a_column_the_viewer_may_not_read_is_left_out_and_named(registers: Registers, trees: Pair) -> None:
    trees = await with_rule(registers, height=SECRET)
    await registers.objects.create(ADMIN, trees, {"number": "T-1", "height": 77})
    columns = [
        "number",
        "height",
        {"name": "Secretly", "expression": "height + 1"},
        {"name": "After", "expression": "Secretly * 2"},
    ]
    view = await registers.views.create(ADMIN, trees, "All", {"columns": columns}, shared=True)
    assert (await registers.views.run(ADMIN, view.id)).rows[0]["After"] == 156
    page = await registers.views.run(READER, view.id)
    assert page.columns == ["number"]
    assert page.rows == [{"id": page.rows[0]["id"], "number": "T-1"}]
    assert [(one["path"], one.get("property")) for one in page.problems] == [
        ("/query/columns/1", "height"), ("/query/columns/2", "height"), ("/query/columns/3", None),
    ]  # fmt: skip
    described = await registers.views.described(READER, view)
    assert described["query"] == {"columns": ["number"]}
    assert "Secretly" not in str(described)


@pytest.mark.requirement("registers:views:rights")
@pytest.mark.parametrize(
    "query",
    [
        {"filter": {"height": {"gte": 50}}},
        {"sort": ["height"]},
        {"facets": ["height"]},
        {"aggregate": {"group_by": ["height"]}},
        {"aggregate": {"metrics": {"n": {"max": "height"}}}},
        {"fields": ["height"]},
    ],
)
async def test_a_view_that_asks_for_something_hidden_cannot_be_run(
    registers: Registers, trees: Pair, query: dict[str, Any]
) -> None:
    trees = await with_rule(registers, height=SECRET)
    await registers.objects.create(ADMIN, trees, {"number": "T-1", "height": 77})
    view = await registers.views.create(ADMIN, trees, "All", query, shared=True)
    with pytest.raises(InvalidInput, match="cannot be run") as error:
        await registers.views.run(READER, view.id)
    assert "77" not in str(error.value.details)
    assert (await registers.views.described(READER, view))["query"] == {}
    with pytest.raises(InvalidInput):
        await registers.views.run(READER, view.id, filter={"height": 77})


@pytest.mark.requirement("registers:views:rights")
async def test_objects_the_viewer_may_not_see_are_in_no_row_total_or_group(registers: Registers, trees: Pair) -> None:
    rule = {"read": ["admin", {"group": "authenticated", "match": {"kind": "oak"}}]}
    await registers.catalogue.schemas.update(ADMIN, "tree", {"authorization": rule})
    trees = await registers.catalogue.pair(ADMIN, "city", "tree")
    for number, kind in enumerate(("oak", "lime", "lime"), 1):
        await registers.objects.create(ADMIN, trees, {"number": f"T-{number}", "kind": kind})
    rows = await registers.views.create(ADMIN, trees, "Rows", {"columns": ["number"]}, shared=True)
    groups = await registers.views.create(ADMIN, trees, "Groups", {"aggregate": {"group_by": ["kind"]}}, shared=True)
    page = await registers.views.run(READER, rows.id)
    assert ([row["number"] for row in page.rows], page.total) == (["T-1"], 1)
    assert (await registers.views.run(READER, groups.id)).rows == [{"kind": "oak", "count": 1}]
    assert (await registers.views.run(ADMIN, rows.id)).total == 3


async def test_a_schema_with_nothing_to_read_has_no_view(registers: Registers, trees: Pair) -> None:
    closed = {name: {**one, "authorization": {"read": ["admin"]}} for name, one in TREE["properties"].items()}
    view = await registers.views.create(ADMIN, trees, "All", {"columns": ["number"]}, shared=True)
    await registers.catalogue.schemas.update(ADMIN, "tree", {"properties": closed})
    with pytest.raises(InvalidInput):
        await registers.views.run(READER, view.id)
    described = await registers.views.described(READER, view)
    assert described["problems"]


async def test_a_deleted_organisation_leaves_its_views_to_their_owners(registers: Registers, trees: Pair) -> None:
    beside = await registers.organisations.create(ADMIN, "beside", "Beside")
    await registers.organisations.add_member(ADMIN, beside.slug, WRITER.principal.id)
    await registers.catalogue.schemas.create(
        WRITER, {"title": "Own", "slug": "own", "properties": {"a": {"type": "string"}}}
    )
    await registers.catalogue.registers.create(WRITER, {"title": "Own", "slug": "own", "schemas": ["own"]})
    pair = await registers.catalogue.pair(WRITER, "own", "own")
    view = await registers.views.create(WRITER, pair, "Own", {}, shared=True)
    for entities in (registers.catalogue.registers, registers.catalogue.schemas):
        await entities.update(ADMIN, "own", {"organisation": "default"})
    await registers.organisations.delete(ADMIN, "beside")
    assert (await registers.views.get(WRITER, view.id)).organisation is None
