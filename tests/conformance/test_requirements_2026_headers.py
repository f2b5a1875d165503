"""Revision 2026-07-28: headers that repeat the body, as the header scenarios of the conformance suite probe them."""

import json
from typing import Any

import pytest

from tests.conformance.wire import LEGACY, MODERN, Headers, Modern, Wire

SIMPLE: dict[str, Any] = {"name": "test_simple_text", "arguments": {}}


@pytest.mark.parametrize(
    "changed",
    [
        {"Mcp-Method": "tools/call"},
        {"Mcp-Method": None},
        {"Mcp-Method": "TOOLS/LIST"},
        {"Mcp-Method": ""},
        {"MCP-Protocol-Version": "2025-11-25"},
        {"MCP-Protocol-Version": None},
    ],
)
def test_a_header_that_does_not_fit_the_body_is_refused(modern: Modern, changed: Headers) -> None:
    answer = modern.call("tools/list", headers=changed, request_id="h")
    assert (answer.status, answer.code, answer.final["id"]) == (400, -32020, "h")


@pytest.mark.parametrize("changed", [{"Mcp-Name": "test_echo"}, {"Mcp-Name": None}, {"Mcp-Name": "TEST_SIMPLE_TEXT"}])
def test_a_name_that_does_not_fit_the_body_is_refused(modern: Modern, changed: Headers) -> None:
    answer = modern.call("tools/call", SIMPLE, headers=changed)
    assert (answer.status, answer.code) == (400, -32020)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "test://static-text"}),
        ("prompts/get", {"name": "test_simple_prompt"}),
        ("tools/call", SIMPLE),
    ],
)
def test_what_is_named_in_the_body_must_be_named_in_the_header(
    modern: Modern, method: str, params: dict[str, Any]
) -> None:
    assert modern.call(method, params).status == 200
    refused = modern.call(method, params, headers={"Mcp-Name": "other"})
    assert (refused.status, refused.code) == (400, -32020)


@pytest.mark.parametrize("name", ["mcp-method", "MCP-METHOD", "mCp-MeThOd"])
def test_header_names_have_no_case(modern: Modern, name: str) -> None:
    answer = modern.call("tools/list", headers={"Mcp-Method": None, name: "tools/list"})
    assert answer.status == 200


@pytest.mark.parametrize("padded", ["  {}  ", "\t{}\t", " {}", "{} \t "])
def test_blanks_around_a_header_value_do_not_count(modern: Modern, padded: str) -> None:
    first = modern.call("tools/list").result["tools"][0]["name"]
    answer = modern.call(
        "tools/call",
        {"name": first, "arguments": {}},
        headers={
            "Mcp-Name": padded.format(first),
            "Mcp-Method": padded.format("tools/call"),
            "MCP-Protocol-Version": padded.format(MODERN),
        },
    )
    assert answer.status == 200
    assert "error" not in answer.final


def test_a_wrapped_name_is_unwrapped_before_it_is_compared(modern: Modern) -> None:
    wrapped = {"Mcp-Name": "=?base64?dGVzdF9zaW1wbGVfdGV4dA==?="}
    assert modern.call("tools/call", SIMPLE, headers=wrapped).status == 200


@pytest.mark.parametrize("name", ["=?base64?dGVzdF9zaW1wbGVfdGV4dA?=", "=?BASE64?dGVzdF9zaW1wbGVfdGV4dA==?="])
def test_a_badly_wrapped_name_is_refused(modern: Modern, name: str) -> None:
    answer = modern.call("tools/call", SIMPLE, headers={"Mcp-Name": name})
    assert (answer.status, answer.code) == (400, -32020)


def routed(modern: Modern, region: str | None, header: str | None) -> tuple[int, int | None]:
    arguments = {} if region is None else {"region": region}
    answer = modern.call(
        "tools/call", {"name": "test_custom_headers", "arguments": arguments}, headers={"Mcp-Param-Region": header}
    )
    return answer.status, answer.final.get("error", {}).get("code")


@pytest.mark.parametrize(
    ("region", "header"),
    [
        ("Hello", "Hello"),
        ("Hello", "  Hello "),
        ("Hello", "=?base64?SGVsbG8=?="),
        ("SGVsbG8=", "SGVsbG8="),
        ("=?base64?SGVsbG8=", "=?base64?SGVsbG8="),
        ("Gr\u00fc\u00dfe", "=?base64?R3LDvMOfZQ==?="),
        (None, None),
    ],
)
def test_an_argument_repeated_in_its_header_is_accepted(modern: Modern, region: str | None, header: str | None) -> None:
    assert routed(modern, region, header) == (200, None)


@pytest.mark.parametrize(
    ("region", "header"),
    [
        ("Hello", "=?base64?SGVsbG8?="),
        ("Hello", "=?base64?SGVs!!!bG8=?="),
        ("Hello", None),
        ("Hello", "hello"),
        ("Hello", "Goodbye"),
        ("Hello", ""),
    ],
)
def test_an_argument_that_differs_from_its_header_is_refused(modern: Modern, region: str, header: str | None) -> None:
    assert routed(modern, region, header) == (400, -32020)


@pytest.mark.parametrize(
    ("header", "status"), [("42", 200), ("42.0", 200), ("4.2e1", 200), ("43", 400), ("x", 400), ("nan", 400)]
)
def test_integers_are_compared_as_numbers(modern: Modern, header: str, status: int) -> None:
    answer = modern.call(
        "tools/call",
        {"name": "test_custom_headers", "arguments": {"region": "r", "retries": 42}},
        headers={"Mcp-Param-Region": "r", "Mcp-Param-Retries": header},
    )
    assert answer.status == status


@pytest.mark.parametrize(("header", "status"), [("true", 200), ("false", 400), ("True", 400), ("1", 400)])
def test_booleans_are_compared_as_words(modern: Modern, header: str, status: int) -> None:
    answer = modern.call(
        "tools/call",
        {"name": "test_custom_headers", "arguments": {"region": "r", "dry": True}},
        headers={"Mcp-Param-Region": "r", "Mcp-Param-Dry-Run": header},
    )
    assert answer.status == status


def test_a_null_argument_expects_no_header(modern: Modern) -> None:
    arguments = {"region": "r", "retries": None}
    answer = modern.call(
        "tools/call", {"name": "test_custom_headers", "arguments": arguments}, headers={"Mcp-Param-Region": "r"}
    )
    assert answer.status == 200


@pytest.mark.parametrize("version", [MODERN, LEGACY])
def test_a_foreign_host_and_origin_are_refused(wire: Wire, version: str) -> None:
    foreign = {"Host": "evil.example.com", "Origin": "http://evil.example.com", "MCP-Protocol-Version": version}
    body = Modern(wire).body("server/discover")
    answer = wire.send(json.dumps(body).encode(), {**Modern(wire).headers(body), **foreign})
    assert 400 <= answer.status < 500


def test_a_foreign_origin_alone_is_forbidden(modern: Modern) -> None:
    assert modern.call("server/discover", headers={"Origin": "http://evil.example.com"}).status == 403


def test_a_foreign_host_alone_is_misdirected(modern: Modern) -> None:
    assert modern.call("server/discover", headers={"Host": "evil.example.com"}).status == 421


def test_the_own_host_and_origin_are_welcome(modern: Modern) -> None:
    origin = f"http://localhost:{modern.wire.port}"
    assert modern.call("server/discover", headers={"Origin": origin}).status == 200


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/json, text/event-stream", None])
def test_plain_clients_are_served(modern: Modern, accept: str | None) -> None:
    assert modern.call("tools/list", headers={"Accept": accept}).status == 200


def test_a_body_that_is_not_said_to_be_json_is_refused(modern: Modern) -> None:
    assert modern.call("tools/list", headers={"Content-Type": "text/plain"}).status == 415


def test_a_body_over_the_limit_is_refused(modern: Modern) -> None:
    answer = modern.tool("test_echo", {"text": "x" * (4 * 1024 * 1024 + 1)})
    assert answer.status == 413


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/rooms/conformance/mcp", "/rooms/conformance/mcp/"])
def test_every_spelling_of_the_address_answers_without_a_redirect(wire: Wire, path: str) -> None:
    assert Modern(Wire(wire.port, path)).call("tools/list").status == 200
