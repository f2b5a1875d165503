"""The formats beyond JSON Schema's own."""

import pytest

from pentad.rooms.registers.definitions.formats import EXTRA_FORMATS, KNOWN_FORMATS, date_of
from tests.rooms.registers.definitions.making import compiled


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("color-hex", ["#fff", "#00FF7f"], ["fff", "#ffff", "#ggg", "#fff\n"]),
        ("color-hex-alpha", ["#ffff", "#00ff7f80"], ["#fff", "#00ff7f"]),
        ("color-rgb", ["rgb(0,0,0)", "rgb(255, 128, 0)"], ["rgb(256,0,0)", "rgb(1,2)", "rgba(1,2,3,1)"]),
        ("color-rgba", ["rgba(0,0,0,0.5)", "rgba(1, 2, 3, 50%)"], ["rgba(0,0,0)", "rgba(0,0,0,5)"]),
        ("color-hsl", ["hsl(120,50%,50%)"], ["hsl(400,50%,50%)", "hsl(1,2,3)"]),
        ("color-hsla", ["hsla(120, 50%, 50%, 1)"], ["hsl(120,50%,50%)"]),
        ("color", ["#fff", "rgb(1,2,3)", "hsla(1,2%,3%,0)"], ["red", ""]),
        ("semver", ["1.2.3", "1.0.0-alpha.1+build"], ["1.2", "v1.2.3", "01.2.3", "1.2.3-", "1" * 5000]),
        ("url", ["https://example.com/a?b", "ftp://h:21/"], ["example.com", "https://", "javascript:x", "http://a b"]),
    ],
)
def test_a_format_takes_what_it_should(name: str, good: list[str], bad: list[str]) -> None:
    check = EXTRA_FORMATS[name]
    assert [text for text in good if not check(text)] == []
    assert [text for text in bad if check(text)] == []


@pytest.mark.parametrize("name", sorted(KNOWN_FORMATS))
def test_every_known_format_can_be_declared(name: str) -> None:
    assert compiled({"a": {"type": "string", "format": name}}).properties["a"].format == name


@pytest.mark.parametrize("name", ["text", "markdown", "html"])
def test_kinds_of_text_take_any_text(name: str) -> None:
    assert compiled({"a": {"type": "string", "format": name}}).is_valid({"a": "<b>"})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[("email", "x"), ("uuid", "x"), ("date", "2024-13-01"), ("date-time", "2024-01-01"), ("time", "25:00:00Z")],
        *[("uri", "/x"), ("ipv4", "1.2.3.256"), ("ipv6", "z"), ("hostname", "-a"), ("duration", "P")],
        *[("json-pointer", "a"), ("relative-json-pointer", "/a"), ("regex", "(a"), ("uri-template", "{")],
        *[("semver", "1"), ("color", "red"), ("url", "x")],
    ],
)
def test_formats_are_asserted(name: str, bad: str) -> None:
    problems = compiled({"a": {"type": "string", "format": name}}).prepare({"a": bad}).problems
    assert [(problem.pointer, problem.code, problem.constraint) for problem in problems] == [("/a", "format", name)]


def test_the_date_of_a_date_time_is_cut_out() -> None:
    assert date_of("2024-05-06T07:08:09Z") == "2024-05-06"
    assert date_of("2024-05-06 07:08") == "2024-05-06"
    assert date_of("2024-05-06") is None
    assert date_of("2024-05-06, about noon") is None
    assert date_of(20240506) is None
