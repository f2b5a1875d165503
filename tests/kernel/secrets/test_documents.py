"""JSON: secrets go by the names of members and by their values, and the report says where."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.secrets.documents import Masked, scrub_json

MARK = "[redacted:key-name]"


@pytest.mark.parametrize(
    ("given_", "clean", "path"),
    [
        ({"apiKey": "a"}, {"apiKey": MARK}, "/apiKey"),
        ({"a": [{"password": 5}]}, {"a": [{"password": MARK}]}, "/a/0/password"),
        ({"pin": 1234}, {"pin": MARK}, "/pin"),
        ({"env": {"exa_key": "a"}}, {"env": {"exa_key": MARK}}, "/env/exa_key"),
        ({"headers": {"X-Team-Key": "a"}}, {"headers": {"X-Team-Key": MARK}}, "/headers/X-Team-Key"),
        ({"args": ["-y", "--token", "a"]}, {"args": ["-y", "--token", MARK]}, "/args/2"),
        ([{"name": "API_KEY", "value": "a"}], [{"name": "API_KEY", "value": MARK}], "/0/value"),
        (
            {"headers": [{"name": "X-Team-Key", "value": "a"}]},
            {"headers": [{"name": "X-Team-Key", "value": MARK}]},
            "/headers/0/value",
        ),
        ({"auth": {"type": "b", "password": "a"}}, {"auth": {"type": "b", "password": MARK}}, "/auth/password"),
        ({"token": "$ecret"}, {"token": MARK}, "/token"),
        ({"url": "https://h/?api_key=a"}, {"url": "https://h/?api_key=[redacted:url-parameter]"}, "/url"),
    ],
)
@pytest.mark.requirement("secrets:json")
def test_a_secret_in_json_is_taken_out_and_its_place_is_told(given_: Any, clean: Any, path: str):
    value, report = scrub_json(given_)
    assert value == clean
    assert [one.path for one in report] == [path]


@pytest.mark.parametrize(
    "value",
    [
        {"pin": "board"},
        {"key": "a", "value": "b"},
        {"name": "max_tokens", "value": 5},
        {"name": "Answer key", "value": "b"},
        {"password": "${PASSWORD}", "token": "<your token>", "secret": None, "auth": True, "api_key": ""},
        {"authorization": {"read": ["public"], "update": ["staff"]}},
        {"args": ["--key", "./a.pem"], "command": "npx"},
        {"usage": {"prompt_tokens": 5, "total_tokens": 7}},
        [4711, "word", None],
    ],
)
@pytest.mark.requirement("secrets:json")
def test_json_without_a_secret_stays_as_it_is(value: Any):
    assert scrub_json(value) == (value, [])


names = st.sampled_from(["password", "pin", "env", "headers", "args", "name", "value", "authorization", "a"])
leaves = st.text(max_size=12) | st.sampled_from(["1234", "--token", "API_KEY", "Bearer abc123def"]) | st.integers()
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)


@given(trees)
@pytest.mark.requirement("secrets:stable")
def test_any_json_is_scrubbed_without_failing_and_scrubbing_again_changes_nothing(value: Any):
    once, report = scrub_json(value)
    again, more = scrub_json(once)
    assert (again, more) == (once, [])
    assert bool(report) or once == value


def test_endless_nesting_is_refused():
    value: Any = "x"
    for _ in range(300):
        value = [value]
    with pytest.raises(LimitExceeded):
        scrub_json(value)


def test_a_secret_as_a_name_is_taken_out_of_the_report_too():
    token = "ghp_" + "A1b2C3d4E5" * 3
    value, report = scrub_json({token: 1})
    assert value == {"[redacted:github-token]": 1}
    assert report == [Masked("/[redacted:github-token]", "key", "mask")]
