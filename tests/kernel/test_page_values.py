"""JSON values as blocks of a page."""

import pytest

from pentad.kernel.page_values import label, scalar_text, value_blocks
from pentad.kernel.pages import Column, Facts, Table, Tree


@pytest.mark.requirement("console:values")
def test_flat_objects_are_a_table_and_deeper_ones_a_tree() -> None:
    checks = [{"point": "age", "value": 40, "met": True}, {"point": "fee", "value": None}]
    (facts,) = value_blocks({"checks": checks, "read_uris": ["a://b", 1], "deep": [{"in": {}}], "town": "Ghent"})
    assert isinstance(facts, Facts)
    shown = dict(facts.facts)
    assert shown["Checks"] == Table(
        [Column("Point"), Column("Value", numeric=True), Column("Met")], [["age", "40", "yes"], ["fee", "", ""]]
    )
    assert shown["Read uris"] == ["a://b", "1"]
    assert shown["Deep"] == Tree([{"in": {}}])
    assert shown["Town"] == "Ghent"


@pytest.mark.requirement("console:values")
def test_lists_and_scalars_alone_are_shown_too() -> None:
    assert value_blocks([{"a": 1}]) == [Table([Column("A", numeric=True)], [["1"]])]
    assert value_blocks([1, 2]) == [Tree([1, 2])]
    assert value_blocks("text") == [Tree("text")]
    many = {f"member {n}": n for n in range(9)}
    assert value_blocks([many]) == [Tree([many])], "too wide for a table"


@pytest.mark.requirement("console:values")
def test_names_and_values_are_written_for_people() -> None:
    names = ("businessGroup", "report_age_days", "URL", "baseURL", "p95Latency", "")
    readable = ["Business group", "Report age days", "URL", "Base URL", "P95 latency", ""]
    assert [label(name) for name in names] == readable
    values = (None, True, 1.5, 10**5_000)
    assert [scalar_text(value) for value in values] == ["", "yes", "1.5", "a very large number"]
