"""How metric keys are resolved."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.metric_keys import _matches_pattern, flatten, resolve_keys, select, split_list
from pentad.rooms.metrics.models import Info, Metric

KEYS = (
    "networking.vpcsTotal",
    "networking.vpcsUsed",
    "applications.production.vcoresUsed",
    "applications.production.runtimesUsed",
    "applications.sandbox.vcoresUsed",
)
CLOUDHUB = Info(
    id="ch",
    title="CloudHub",
    description="",
    root=("runtimeManagerMetrics", "cloudhub"),
    catalogue=tuple(Metric(key=key, description="") for key in KEYS),
)
TREE = [
    {
        "businessGroup": name,
        "businessGroupId": number,
        "runtimeManagerMetrics": {
            "cloudhub": {
                "networking": {"vpcsTotal": 5, "vpcsUsed": None},
                "applications": {
                    "production": {
                        "vcoresUsed": 3,
                        "runtimesUsed": ["4.4.0", "4.9.1"],
                        "details": [
                            {"environmentName": "Prod", "environmentType": "Production", "vcoresUsed": 1},
                            {"environmentName": "Ops", "environmentType": "Production", "vcoresUsed": 2},
                        ],
                    },
                    "sandbox": {"vcoresUsed": 7},
                },
            }
        },
    }
    for name, number in (("Root", "1"), ("Sub", "2"))
]


@pytest.mark.parametrize("key", [
    "networking.vpcsUsed", "cloudhub.networking.vpcsUsed", "runtimeManagerMetrics.cloudhub.networking.vpcsUsed",
    "vpcsUsed", "VPCSUSED", "networking.vpcsU*", "**.vpcsUsed", "*.vpcsUsed",
])  # fmt: skip
def test_every_way_to_name_one_metric_means_it(key: str):
    assert resolve_keys(CLOUDHUB, [key]) == ("networking.vpcsUsed",)


@pytest.mark.parametrize(("key", "meant"), [
    ("networking", KEYS[:2]), ("cloudhub", KEYS), ("runtimeManagerMetrics", KEYS), ("vcoresUsed", (KEYS[2], KEYS[4])),
    ("applications.*.vcoresUsed", (KEYS[2], KEYS[4])), ("production", KEYS[2:4]), ("**", KEYS),
    ("production.vcoresUsed", KEYS[2:3]), ("production.details.vcoresUsed", KEYS[2:3]), ("vcores*", (KEYS[2], KEYS[4])),
    ("production.v*", KEYS[2:3]), ("*.details.vcoresUsed", (KEYS[2], KEYS[4])), ("*", KEYS),
])  # fmt: skip
def test_a_part_or_a_pattern_means_all_below_it(key: str, meant: Sequence[str]):
    assert resolve_keys(CLOUDHUB, [key]) == tuple(meant)


def test_a_key_that_means_nothing_is_refused_with_the_nearest():
    with pytest.raises(InvalidInput) as refused:
        resolve_keys(CLOUDHUB, ["vpcUsed"])
    assert refused.value.details["nearest"][0] == "networking.vpcsUsed"
    assert len(refused.value.details["nearest"]) <= 5


def test_a_bare_name_is_found_at_any_depth_and_keeps_the_labels():
    tree, matches = select(TREE, CLOUDHUB, ["vcoresUsed"])
    assert len(matches) == 8
    details = tree[0]["runtimeManagerMetrics"]["cloudhub"]["applications"]["production"]["details"]
    assert details[1] == {"environmentName": "Ops", "environmentType": "Production", "vcoresUsed": 2}
    assert dict(matches[2].labels)["environmentName"] == "Ops"
    assert "networking" not in tree[0]["runtimeManagerMetrics"]["cloudhub"]


def test_a_bare_name_is_found_at_the_root_and_below():
    info = Info(
        id="ex", title="", description="", root=("exchangeMetrics",),
        catalogue=tuple(Metric(key=key, description="") for key in ("fragments", "reuse.fragments", "total")),
    )  # fmt: skip
    assert resolve_keys(info, ["fragments"]) == ("fragments", "reuse.fragments")
    assert resolve_keys(info, ["exchangeMetrics.fragments"]) == ("fragments",)


@pytest.mark.parametrize("key", ["production.details.vcoresUsed", "DETAILS.vcoresUsed", "**.details.vcores*"])
def test_who_writes_details_means_the_entries_of_environments_alone(key: str):
    _, matches = select(TREE[0], CLOUDHUB, [key])
    assert [dict(match.labels)["environmentName"] for match in matches] == ["Prod", "Ops"]


@pytest.mark.parametrize("key", ["*", "**"])
def test_a_wildcard_means_figures_and_not_what_stands_beside_them(key: str):
    _, matches = select({"date": "today", **TREE[0], "errors": []}, CLOUDHUB, [key])
    assert [match.path for match in matches] == ["runtimeManagerMetrics"]


def test_a_dotted_path_means_its_place_alone():
    _, matches = select(TREE, CLOUDHUB, ["cloudhub.applications.production.vcoresUsed"])
    assert [(match.value, dict(match.labels)["businessGroup"]) for match in matches] == [(3, "Root"), (3, "Sub")]


def test_a_value_that_is_null_is_found_as_null():
    tree, matches = select(TREE, CLOUDHUB, ["vpcsUsed"])
    assert [match.value for match in matches] == [None, None]
    assert tree[0]["runtimeManagerMetrics"]["cloudhub"] == {"networking": {"vpcsUsed": None}}


def test_a_matched_part_is_returned_whole():
    _, matches = select(TREE, CLOUDHUB, ["networking"])
    assert matches[0].value == {"vpcsTotal": 5, "vpcsUsed": None}


def test_several_keys_are_taken_together_and_lists_of_words_are_values():
    assert split_list("a, b,,a") == split_list(["a", "b", "a"]) == ("a", "b")
    rows = {match.path: match.value for match in flatten(TREE[0])}
    assert rows["runtimeManagerMetrics.cloudhub.applications.production.runtimesUsed"] == ["4.4.0", "4.9.1"]


STEP = st.sampled_from(["a", "b", "ab", "abc", "c"])
PATTERN_STEP = st.sampled_from(["a", "b", "*", "**", "a*", "*b", "a*c", "*b*"])


@given(st.lists(PATTERN_STEP, min_size=1, max_size=5), st.lists(STEP, min_size=1, max_size=5))
def test_wildcards_mean_what_a_regular_expression_says(pattern: list[str], path: list[str]):
    def written(step: str) -> str:
        return re.escape(step).replace(r"\*", r"[^.]*")

    expression = "".join(r"(?:[^.]+\.)*" if step == "**" else written(step) + r"\." for step in pattern)
    assert _matches_pattern(tuple(pattern), tuple(path)) == bool(re.fullmatch(expression, ".".join(path) + "."))


NAMES = st.text("abcdefgh", min_size=1, max_size=3)
TREES = st.recursive(
    st.integers(), lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3), max_leaves=12
).filter(lambda tree: isinstance(tree, dict))  # fmt: skip


@given(TREES)
def test_every_leaf_is_found_by_its_own_path_and_by_no_other_value(tree: dict[str, Any]):
    leaves = flatten(tree)
    info = Info(
        id="x", title="", description="", catalogue=tuple(Metric(key=leaf.path, description="") for leaf in leaves)
    )
    for leaf in leaves:
        assert leaf.path in resolve_keys(info, [leaf.path])
        pruned, matches = select(tree, info, [leaf.path])
        found = [(match.path, match.value) for match in matches]
        if "." in leaf.path:
            assert found == [(leaf.path, leaf.value)]
            assert flatten(pruned) == [leaf]
        else:
            assert (leaf.path, leaf.value) in found
            assert all(path.rsplit(".", 1)[-1] == leaf.path for path, _ in found), "a bare name, at any depth"
