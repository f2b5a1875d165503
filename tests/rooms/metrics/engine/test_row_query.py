"""Queries over rows: conditions, groups, aggregates, order, and the effect of missing values."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.metric_rows import at_one_level
from pentad.rooms.metrics.engine.row_query import Row, parse_query, run_query

ROWS: list[Row] = [
    {"metric": "used", "businessGroup": "Mill Lane", "environmentType": "Production", "value": 0.1, "unit": "vCores"},
    {"metric": "used", "businessGroup": "Mill Lane", "environmentType": "Sandbox", "value": 0.2, "unit": "vCores"},
    {"metric": "used", "businessGroup": "Brass and Tin", "environmentType": "Production", "value": 3, "unit": "vCores"},
    {
        "metric": "used",
        "businessGroup": "Harbour",
        "environmentType": "Production",
        "value": None,
        "state": "no_permission",
    },
]


def ask(
    rows: list[Row] = ROWS,
    where: Any = (),
    group_by: Any = (),
    aggregate: Any = (),
    sort: Any = (),
    default: str = "sum",
) -> tuple[list[Row], dict[str, int]]:
    given = [where] if isinstance(where, str) else where
    found = run_query(rows, parse_query(given, list(group_by), list(aggregate), list(sort), default))
    return found.rows, dict(found.undecided)


def groups(rows: list[Row]) -> list[str]:
    return [row["businessGroup"] for row in rows]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("value > 0.1", ["Brass and Tin", "Mill Lane"]),
        ("value >= 0.1", ["Brass and Tin", "Mill Lane", "Mill Lane"]),
        ("value = 3.0", ["Brass and Tin"]),
        ("businessGroup = mill lane", ["Mill Lane", "Mill Lane"]),
        ('businessGroup = "Brass and Tin" and value > 1', ["Brass and Tin"]),
        ("businessGroup ~ tin", ["Brass and Tin"]),
        ("businessGroup !~ a", ["Harbour"][:0]),
        ("environmentType in (Sandbox, Design)", ["Mill Lane"]),
        ("state = no_permission", ["Harbour"]),
        ("state = ok and environmentType = production", ["Brass and Tin", "Mill Lane"]),
        ("value = null", ["Harbour"]),
        ("value != null", ["Brass and Tin", "Mill Lane", "Mill Lane"]),
    ],
)
@pytest.mark.requirement("metrics:questions:query")
def test_conditions_select_rows(where: str, found: list[str]) -> None:
    assert groups(ask(where=where)[0]) == found


@pytest.mark.requirement("metrics:questions:query")
def test_a_missing_value_satisfies_nothing_and_is_told() -> None:
    rows, undecided = ask(where="value <= 100")
    assert "Harbour" not in groups(rows)
    assert undecided == {"no_permission": 1}
    assert ask(where=["value <= 100", "businessGroup = Mill Lane"])[1] == {}, "the other condition decides"


@pytest.mark.requirement("metrics:questions:query")
def test_groups_are_added_exactly_and_say_what_is_missing() -> None:
    rows, _ = ask(group_by=["businessGroup"])
    assert rows == [
        {"metric": "used", "businessGroup": "Brass and Tin", "sum": 3, "unit": "vCores"},
        {"metric": "used", "businessGroup": "Mill Lane", "sum": 0.3, "unit": "vCores"},
        {
            "metric": "used", "businessGroup": "Harbour", "sum": None, "state": "no_permission",
            "missing": {"no_permission": 1},
        },
    ]  # fmt: skip
    (whole,), _ = ask(aggregate=["sum", "count"])
    assert (whole["sum"], whole["count"], whole["state"], whole["missing"]) == (3.3, 3, "partial", {"no_permission": 1})


@pytest.mark.requirement("metrics:questions:query")
def test_what_the_filter_leaves_out_does_not_make_a_sum_partial() -> None:
    left_out: Row = {"metric": "used", "businessGroup": "Mill Lane", "value": None, "state": "not_selected"}
    (whole,), _ = ask([*ROWS[:2], left_out], aggregate=["sum"])
    assert (whole["sum"], whole["missing"], "state" in whole) == (0.3, {"not_selected": 1}, False)
    assert ask([*ROWS[:2], left_out], where="value > 9") == ([], {})


@pytest.mark.requirement("metrics:questions:query")
def test_a_stale_part_makes_the_whole_stale() -> None:
    (whole,), _ = ask([ROWS[0], {**ROWS[1], "state": "stale"}], aggregate=["sum"])
    assert (whole["sum"], whole["state"]) == (0.3, "stale")


@pytest.mark.requirement("metrics:questions:query")
def test_different_figures_are_never_added_up() -> None:
    rows, _ = ask([*ROWS[:2], {"metric": "total", "value": 7}], aggregate=["sum"])
    assert {row["metric"]: row["sum"] for row in rows} == {"used": 0.3, "total": 7}


@pytest.mark.requirement("metrics:questions:query")
def test_things_are_counted_by_what_is_known_of_them() -> None:
    things: list[Row] = [
        {"metric": "apis", "name": "a", "policies": ["cors", "jwt"], "contracts": 2},
        {"metric": "apis", "name": "b", "policies": ["jwt"], "contracts": 1},
        {"metric": "apis", "name": "c", "policies": []},
    ]
    rows, _ = ask(things, group_by=["policies"], default="count")
    assert [(row["policies"], row["count"]) for row in rows] == [("jwt", 2), ("cors", 1), (None, 1)]
    (whole,), _ = ask(things, aggregate=["sum(contracts)", "max(contracts)", "distinct(policies)", "values(policies)"])
    assert (whole["sum(contracts)"], whole["max(contracts)"], whole["distinct(policies)"]) == (3, 2, 2)
    assert whole["values(policies)"] == ["cors", "jwt"]
    assert [row["name"] for row in ask(things, where="policies = jwt")[0]] == ["a", "b"]


@pytest.mark.requirement("metrics:questions:query")
def test_order_puts_missing_values_last() -> None:
    assert groups(ask(sort=["value"])[0]) == ["Mill Lane", "Mill Lane", "Brass and Tin", "Harbour"]
    assert groups(ask(sort=["businessGroup", "-value"])[0]) == ["Brass and Tin", "Harbour", "Mill Lane", "Mill Lane"]
    assert groups(ask(sort=["value desc"])[0]) == ["Brass and Tin", "Mill Lane", "Mill Lane", "Harbour"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"where": "valu > 3"}, "Did you mean 'value'"),
        ({"where": "value is 3"}, "not a condition"),
        ({"where": "businessGroup = Brass and Tin"}, "Quote"),
        ({"group_by": ["region"]}, "no column"),
        ({"aggregate": ["total"]}, "not an aggregate"),
        ({"sort": ["value downwards"]}, "not a sort order"),
        ({"sort": ["size"]}, "no column"),
        ({"where": "value > 0" + " and value > 0" * 50_000}, "At most 20"),
        ({"where": "'" + " and value > 0" * 50_000}, "not a condition"),
        ({"aggregate": ["sum" + " " * 200_000 + "!"]}, "not an aggregate"),
    ],
    ids=lambda one: None if isinstance(one, str) else str(one)[:60],
)
@pytest.mark.requirement("metrics:questions:query")
def test_what_cannot_be_read_is_refused_with_what_can(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(**given)
    assert words in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.requirement("metrics:questions:query")
def test_an_and_in_quotes_does_not_split_a_condition() -> None:
    for where in ("businessGroup = 'Brass and Tin' and value > 0", 'value > 0\nAND\tbusinessGroup = "Brass and Tin"'):
        assert groups(ask(where=where)[0]) == ["Brass and Tin"]


@pytest.mark.requirement("metrics:questions:query")
def test_shares_have_no_sum() -> None:
    rows: list[Row] = [{"metric": "busy", "value": 40, "unit": "%"}, {"metric": "busy", "value": 90, "unit": "%"}]
    with pytest.raises(InvalidInput, match="no sum"):
        ask(rows, aggregate=["sum"])
    assert ask(rows, aggregate=["mean"])[0][0]["mean"] == 65


@pytest.mark.requirement("metrics:questions:query")
def test_a_question_uses_one_level() -> None:
    rows: list[Row] = [
        {"key": "apps", "level": "group", "value": 5},
        {"key": "apps", "level": "environment", "environmentName": "Live", "value": 2},
        {"key": "apps", "level": "environment", "environmentName": "Trial", "value": 3},
        {"key": "queues", "level": "region", "id": "eu-west-1", "value": 1},
    ]
    assert [row["value"] for row in at_one_level(rows, (), None)] == [5, 1]
    assert [row["value"] for row in at_one_level(rows, ("environmentName",), None)] == [2, 3, 1]
    assert [row["value"] for row in at_one_level(rows, (), "environment")] == [2, 3]
