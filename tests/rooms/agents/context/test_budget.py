"""The planner: it fits, it keeps what matters, and it says what it left out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.agents.context.budget import plan_context
from pentad.rooms.agents.context.integrity import bytes_hash, exact_json


def text(content: str, priority: float | None = None) -> dict[str, Any]:
    item: dict[str, Any] = {"mediaType": "text/plain", "content": content}
    return item if priority is None else {**item, "metadata": {"x-priority": priority}}


def fates(plan: Any) -> dict[str, str]:
    return {one.name: one.fate for one in plan.decisions}


def test_what_fits_is_left_alone():
    items = {"a": text("x"), "b": {"ref": "https://example.org/"}, "c": text("x")}
    plan = plan_context(items, max_bytes=10_000)
    assert (plan.items, fates(plan), plan.to_keep) == (items, {"a": "kept", "b": "kept", "c": "kept"}, {})


def test_priority_decides_whose_content_stays():
    items = {name: text(name * 1_000, priority) for name, priority in (("a", 0.1), ("b", 0.9), ("c", 0.5))}
    plan = plan_context(items, max_bytes=2_000)
    assert fates(plan)["b"] == "kept"
    assert fates(plan)["a"] == "referred"
    assert list(plan.items) == ["a", "b", "c"], "in the order they were given"


def test_an_instruction_goes_before_history():
    items = {
        "talk": {**text("t" * 900), "metadata": {"kind": "history"}},
        "order": {**text("o" * 900), "metadata": {"kind": "instruction"}},
    }
    assert fates(plan_context(items, max_bytes=1_400)) == {"talk": "referred", "order": "kept"}


def test_a_long_text_is_cut_with_a_mark_and_leads_to_the_whole():
    whole = "é\n" * 5_000
    plan = plan_context({"a": text(whole)}, max_bytes=2_000)
    item = plan.items["a"]
    shown, _, mark = item["content"].rpartition("\n[... ")
    assert whole.startswith(shown)
    assert mark == f"{len(whole.encode()) - len(shown.encode())} bytes more]"
    assert item["metadata"] == {"x-sha256": bytes_hash(whole.encode()), "x-size": 15_000, "x-truncated": True}
    assert plan.to_keep[item["metadata"]["x-sha256"]] == (whole.encode(), "text/plain")
    assert plan.size > 1_900, "the budget is used"


def test_where_nobody_keeps_contents_nothing_is_referred_to():
    items = {"a": text("a" * 5_000), "b": {"mediaType": "image/png", "content": "AAAA" * 1_000}, "c": text("c")}
    plan = plan_context(items, max_bytes=2_000, refer=False)
    assert fates(plan) == {"a": "shortened", "b": "left-out", "c": "kept"}
    assert "ref" not in plan.items["a"]
    assert plan.to_keep == {}
    (gone,) = (one for one in plan.decisions if one.fate == "left-out")
    assert (gone.name, gone.sent, gone.why) == ("b", 0, "it does not fit and cannot be referred to")


def test_when_not_even_references_fit_the_least_important_go_and_are_named():
    items = {f"i{n:02}": text("x" * 500 + str(n), n / 100) for n in range(50)}
    plan = plan_context(items, max_bytes=2_000)
    gone = [one.name for one in plan.decisions if one.fate == "left-out"]
    assert gone
    assert gone == sorted(gone)
    assert set(gone) | set(plan.items) == set(items)
    assert max(gone) < min(plan.items)
    told = plan.as_json()
    assert json.loads(json.dumps(told)) == told
    assert {one["why"] for one in told["items"] if one["fate"] == "left-out"} == {"not even a reference fits"}


def test_tokens_are_four_bytes_and_the_smaller_budget_holds():
    items = {"a": text("a" * 9_000)}
    assert plan_context(items, max_tokens=500).max_bytes == 2_000
    assert plan_context(items, max_tokens=500, max_bytes=1_000).max_bytes == 1_000
    wrongs: list[dict[str, Any]] = [{}, {"max_bytes": 10}, {"max_tokens": 1}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            plan_context(items, **wrong)


contents = (
    st.text(max_size=400)
    | st.text(max_size=40).map(lambda text: text * 50)
    | st.lists(st.integers(), max_size=200)
    | st.none()
)
items = st.dictionaries(
    st.text(max_size=8),
    st.fixed_dictionaries(
        {"mediaType": st.sampled_from(["text/plain", "application/json"]), "content": contents},
        optional={"metadata": st.fixed_dictionaries({"x-priority": st.floats(0, 1)}), "ref": st.just("https://a.b/")},
    ),
    max_size=6,
)


@given(items, st.integers(64, 3_000), st.booleans())
def test_a_plan_always_fits_and_accounts_for_every_item(given_items: dict[str, Any], budget: int, refer: bool):
    plan = plan_context(given_items, max_bytes=budget, refer=refer)
    assert len(exact_json({"items": plan.items})) == plan.size <= budget
    assert [one.name for one in plan.decisions] == list(given_items)
    for one in plan.decisions:
        assert (one.name in plan.items) == (one.fate != "left-out")
        assert bool(one.why) == (one.fate != "kept")
        if one.fate == "kept":
            assert plan.items[one.name] == given_items[one.name]
        if one.ref is not None:
            assert one.ref.removeprefix("context://") in plan.to_keep
    assert all(bytes_hash(body) == sha256 for sha256, (body, _) in plan.to_keep.items())
