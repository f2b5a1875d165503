"""Findings name a place in two ways, suggest what was meant, and patch only what is certain."""

import pytest

from pentad.kernel.json_patch import json_patch
from pentad.kernel.problems import (
    LONGEST_KEY,
    NO_VALUE,
    Place,
    as_rfc3339,
    closest_value,
    convert_value,
    finding,
    nearest_names,
    replacement,
    same_spelling,
)

PLACE: Place = (((None, "skills"), 0), "na/me~")


def test_a_finding_has_a_path_for_people_and_a_pointer_for_programs():
    found = finding("code", "It is wrong.", PLACE)
    assert (found.path, found.pointer) == ("skills[0].na/me~", "/skills/0/na~1me~0")
    assert found.line() == "It is wrong. Attribute path: skills[0].na/me~."
    told = {"code": "code", "message": "It is wrong.", "path": found.path, "pointer": found.pointer}
    assert found.as_json() == {**told, "suggestions": (), "patch": ()}


def test_a_replacement_patches_the_value_at_the_place():
    document = {"skills": [{"na/me~": 1}]}
    assert json_patch(document, replacement(PLACE, 2)) == {"skills": [{"na/me~": 2}]}


def test_a_key_too_long_to_repeat_is_cut_and_not_patched():
    place: Place = (None, "k" * (LONGEST_KEY + 1))
    found = finding("code", "It is wrong.", place, patch=tuple(replacement(place, 1)), certain=True)
    assert found.path == "k" * LONGEST_KEY + "..."
    assert not found.patch
    assert not found.certain


@pytest.mark.parametrize(
    ("name", "near", "certain"),
    [
        ("Container-Image", ["container_image"], True),
        ("containerimages", ["container_image"], True),
        ("docker", ["container_image"], True),
        ("sorce", ["source"], True),
        ("scouce_x", ["source"], False),
        ("nothing like it", [], False),
    ],
)
def test_the_nearest_names_and_whether_the_first_is_meant(name: str, near: list[str], certain: bool):
    assert nearest_names(name, ["container_image", "source"], {"docker": "container_image"}) == (near, certain)


def test_a_spelling_shared_by_two_values_means_neither():
    assert same_spelling("a b", ["a_b", "a-b"]) is None


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        (7, "string", "7"),
        (" 7 ", "integer", 7),
        ("1.5", "number", 1.5),
        ("TRUE", "boolean", True),
        (True, "string", NO_VALUE),
        ("7a", "integer", NO_VALUE),
        ([], "string", NO_VALUE),
        (7.0, "integer", 7),
        ("[1]", "array", [1]),
        ("null", "null", None),
        ("[1]", "object", NO_VALUE),
    ],
)
def test_values_are_converted_only_without_loss(value: object, kind: str, converted: object):
    assert convert_value(value, kind) == converted


@pytest.mark.parametrize(
    ("value", "options", "meant"),
    [
        (" OPEN", ["open", "closed"], "open"),
        ("closd", ["open", "closed"], "closed"),
        ("2", [1, 2], 2),
        (2, ["1", "2"], "2"),
        ("aad", ["aab", "aac"], NO_VALUE),
        ("a", ["A", "a "], NO_VALUE),
        ("north", [], NO_VALUE),
    ],
)
def test_the_closest_value_is_the_one_clearly_meant(value: object, options: list[object], meant: object):
    assert closest_value(value, options) == meant


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-02 03:04 UTC", "2026-01-02T03:04:00Z"),
        ("2026-01-02t03:04:05+0100", "2026-01-02T03:04:05+01:00"),
        ("yesterday", None),
    ],
)
def test_times_with_wrong_punctuation_are_put_right(text: str, time: str | None):
    assert as_rfc3339(text) == time
