"""One call that filters, searches, sorts, projects and counts; and names nobody knows."""

import pytest

from tests.rooms.registers.interface.tools.shelf import Shelf

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("registers:query:one-call")
async def test_one_call_filters_searches_sorts_projects_counts_and_goes_on(shelf: Shelf) -> None:
    for number in range(9):
        await shelf.book(f"Book {number}", author="ab"[number % 2], pages=number + 1)
    page = await shelf.objects(
        "list", filter={"pages": {"gte": 3}}, sort=["-pages"], fields=["title"], limit=2, facets=["author"]
    )
    assert [row["title"] for row in page["results"]] == ["Book 8", "Book 7"]
    assert all(row.keys() == {"id", "title"} for row in page["results"])
    assert page["total"] == 7
    assert {bucket["key"]: bucket["count"] for bucket in page["facets"]["author"]["buckets"]} == {"a": 4, "b": 3}
    following = await shelf.objects(
        "list", filter={"pages": {"gte": 3}}, sort=["-pages"], fields=["title"], limit=2, cursor=page["cursor"]
    )
    assert [row["title"] for row in following["results"]] == ["Book 6", "Book 5"]
    found = await shelf.objects("list", search="book 4")
    assert [row["title"] for row in found["results"]] == ["Book 4"]
    assert "total" not in await shelf.objects("list", count=False)
    assert len((await shelf.objects("list", limit=4, page=3))["results"]) == 1


@pytest.mark.requirement("registers:query:figures")
async def test_figures_come_from_the_same_call(shelf: Shelf) -> None:
    for number in range(4):
        await shelf.book(f"B{number}", author="ab"[number % 2], pages=10 * number + 1)
    wanted = {"metrics": {"n": "count", "pages": {"sum": "pages"}}, "group_by": ["author"], "sort": ["author"]}
    groups = (await shelf.objects("list", aggregate=wanted, filter={"pages": {"gt": 1}}))["results"]
    assert groups == [{"author": "a", "n": 1, "pages": 21}, {"author": "b", "n": 2, "pages": 42}]


@pytest.mark.requirement("registers:query:misspelt")
async def test_a_misspelt_filter_is_refused_with_the_nearest_name(shelf: Shelf) -> None:
    text, error = await shelf.refusal("list", filter={"athor": "a"})
    assert "'author'" in text
    assert error["code"] == "invalid_input"
    text, _ = await shelf.refusal("list", filters={"author": "a"})
    assert "Did you mean 'filter'?" in text


async def test_metadata_nobody_knows_is_refused_as_a_field(shelf: Shelf):
    await shelf.book("One")
    text, _ = await shelf.refusal("list", fields=["title", "@self.versoin"])
    assert text.startswith("There is no metadata '@self.versoin'. Did you mean '@self.version'? There is @self.id,")
    text, _ = await shelf.refusal("list", fields=["@selfish"])
    assert text.startswith("The schema has no property '@selfish'.")
    whole = await shelf.objects("list", fields=["@self", "@self.locked"])
    assert whole["results"][0]["@self"]["version"] == "1"


@pytest.mark.parametrize("name", ["id", "uuid", "created", "owner"])
async def test_metadata_named_like_a_property_is_found_under_self(shelf: Shelf, name: str):
    text, _ = await shelf.refusal("list", filter={name: "x"})
    assert text.startswith(f"The schema has no property '{name}'. Did you mean '@self.{name}'")


@pytest.mark.requirement("registers:query:figures")
@pytest.mark.parametrize("limit", [1, 10], ids=["some groups", "all groups"])
async def test_a_group_without_a_value_is_shown_and_the_figures_over_all_groups_are_too(
    shelf: Shelf, limit: int
) -> None:
    for number, author in enumerate(("a", "a", "b", None)):
        await shelf.book(f"B{number}", pages=number + 1, **({} if author is None else {"author": author}))
    metrics = {"n": "count", "pages": {"sum": "pages"}}
    found = await shelf.objects("list", aggregate={"metrics": metrics, "group_by": ["author"]}, limit=limit)
    groups = [
        {"author": "a", "n": 2, "pages": 3}, {"author": "b", "n": 1, "pages": 3}, {"author": None, "n": 1, "pages": 4},
    ]  # fmt: skip
    assert found["results"] == groups[:limit]
    assert found["total"] == {"n": 4, "pages": 10}
    means = {"metrics": {"mean": {"avg": "pages"}, "last": {"max": "title"}}, "group_by": ["author"]}
    assert (await shelf.objects("list", aggregate=means, limit=limit))["total"] == {"mean": 2.5, "last": "B3"}


async def test_one_group_a_later_page_and_chosen_groups_have_no_total(shelf: Shelf) -> None:
    for author in "aab":
        await shelf.book("T", author=author)
    for aggregate, more in (
        ({}, {}),
        ({"group_by": ["title"]}, {}),
        ({"group_by": ["author"]}, {"offset": 1}),
        ({"group_by": ["author"], "metrics": {"n": "count"}, "having": {"n": {"gte": 1}}}, {}),
    ):
        assert "total" not in await shelf.objects("list", aggregate=aggregate, **more)
