"""What stands around a request: envelope, limits, version, extensions, and the errors of each dialect."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, NotFound, PentadError, RateLimited, Unavailable
from pentad.rooms.agents.codecs import json_rpc
from pentad.rooms.agents.codecs.errors import Fault, fault_of, rest_error, rpc_error
from pentad.rooms.agents.interface.a2a import active_extensions, requested_extensions, requested_version
from pentad.rooms.agents.interface.a2a_operations import CustomMethod
from pentad.rooms.agents.models import Dialect

pytestmark = pytest.mark.anyio
LIMITS = Limits(json_depth=8, json_keys=20)


@pytest.mark.parametrize("written", [b"1", b'"a"', b"9007199254740993", b"1.50", b"-3", b"null"])
def test_an_id_is_kept_as_it_was_written(written: bytes) -> None:
    call = json_rpc.decode_call(b'{"jsonrpc":"2.0","id":%b,"method":"m","params":{"a":1}}' % written, LIMITS)
    assert (call.id, call.method, bytes(call.params)) == (written, "m", b'{"a":1}')


def test_without_an_id_it_is_a_notification_and_without_params_there_are_none() -> None:
    call = json_rpc.decode_call(b'{"jsonrpc":"2.0","method":"m"}', LIMITS)
    assert (call.id, bytes(call.params)) == (None, b"{}")
    assert bytes(json_rpc.decode_call(b'{"jsonrpc":"2.0","method":"m","params":null}', LIMITS).params) == b"{}"


@pytest.mark.parametrize(
    ("body", "kind", "request_id"),
    [
        (b"{", "parse", b"null"),
        (b"", "parse", b"null"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"foo":"bar"}', "parse", b"null"),
        (b"\xff", "parse", b"null"),
        (b"[]", "invalid-request", b"null"),
        (b' [{"jsonrpc":"2.0","id":1,"method":"m"}]', "invalid-request", b"null"),
        (b'"text"', "invalid-request", b"null"),
        (b'{"jsonrpc":"1.0","id":"x","method":"m"}', "invalid-request", b'"x"'),
        (b'{"id":7,"method":"m"}', "invalid-request", b"7"),
        (b'{"jsonrpc":"2.0","id":7}', "invalid-request", b"7"),
        (b'{"jsonrpc":"2.0","id":7,"method":{}}', "invalid-request", b"7"),
        (b'{"jsonrpc":"2.0","id":{"bad":"type"},"method":"m"}', "invalid-request", b"null"),
        (b'{"jsonrpc":"2.0","id":true,"method":"m"}', "invalid-request", b"null"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * 9 + b"]" * 9 + b"}", "invalid-request", b"null"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}', "invalid-request", b"null"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"\\u0061":1,"a":2}}', "invalid-request", b"null"),
    ],
)
def test_what_is_no_request_is_refused_with_its_id_where_it_has_one(body: bytes, kind: str, request_id: bytes) -> None:
    with pytest.raises(Fault) as caught:
        json_rpc.decode_call(body, LIMITS)
    assert (caught.value.kind, caught.value.request_id) == (kind, request_id)


def test_the_same_member_in_two_objects_is_no_repetition() -> None:
    json_rpc.check_body(b'{"a":{"x":1},"b":{"x":2},"c":"\\"x\\":"}', LIMITS)


@pytest.mark.parametrize(
    ("header", "query", "found"),
    [
        (None, b"", None),
        (b"", b"", None),
        (b"1.0", b"", "1.0"),
        (b" 1.0.1 ", b"", "1.0"),
        (b"0.3.0", b"", "0.3"),
        (None, b"A2A-Version=1.0", "1.0"),
        (None, b"a2a-version=0.3&x=1", "0.3"),
        (b"1.0", b"A2A-Version=0.3", "1.0"),
    ],
)
def test_the_version_is_in_the_header_or_the_query(header: bytes | None, query: bytes, found: str | None) -> None:
    headers = {} if header is None else {b"a2a-version": header}
    assert requested_version(headers, query) == found


@pytest.mark.parametrize("asked", [b"99.0", b"1", b"2.0", b"x", b"0.30"])
def test_a_version_nobody_speaks_is_refused_with_those_that_are_spoken(asked: bytes) -> None:
    with pytest.raises(Fault) as caught:
        requested_version({b"a2a-version": asked}, b"")
    assert caught.value.kind == "version"
    assert caught.value.metadata == {"supported": "0.3,1.0"}


def test_extensions_are_granted_where_they_are_offered_and_demanded_where_required() -> None:
    asked = requested_extensions({b"a2a-extensions": b"urn:a, urn:b ,urn:a,,"})
    assert asked == ("urn:a", "urn:b")
    assert requested_extensions({b"x-a2a-extensions": b"urn:a"}) == ("urn:a",)
    assert active_extensions(asked, {"urn:b": True, "urn:c": False}) == ("urn:b",)
    with pytest.raises(Fault) as caught:
        active_extensions((), {"urn:b": True})
    assert (caught.value.kind, caught.value.metadata) == ("extension-required", {"extension": "urn:b"})


CODES: list[tuple[PentadError, dict[Dialect, int], int]] = [
    (NotFound("x", details={"reason": "task-not-found"}), {"agentvault": -32001, "0.3": -32001, "1.0": -32001}, 404),
    (Conflict("x", details={"reason": "not-cancelable"}), {"agentvault": -32004, "0.3": -32002, "1.0": -32002}, 400),
    (Conflict("x", details={"reason": "task-terminal"}), {"agentvault": -32004, "0.3": -32004, "1.0": -32004}, 400),
    (
        InvalidInput("x", details={"reason": "context-mismatch"}),
        {"agentvault": -32602, "0.3": -32602, "1.0": -32602},
        400,
    ),
    (Conflict("x", details={"reason": "push-unsupported"}), {"agentvault": -32000, "0.3": -32003, "1.0": -32003}, 400),
    (Forbidden("x"), {"agentvault": -32003, "0.3": -32600, "1.0": -32600}, 403),
    (RateLimited("x", retry_after=1), {"agentvault": -32000, "0.3": -32603, "1.0": -32603}, 429),
    (Unavailable("x"), {"agentvault": -32000, "0.3": -32603, "1.0": -32603}, 503),
    (PentadError("x"), {"agentvault": -32603, "0.3": -32603, "1.0": -32603}, 500),
]


@pytest.mark.parametrize(("error", "codes", "status"), CODES)
def test_each_dialect_has_its_own_code_for_a_fault(error: PentadError, codes: dict[Dialect, int], status: int) -> None:
    fault = fault_of(error)
    assert {dialect: rpc_error(fault, dialect)["code"] for dialect in codes} == codes
    body = rest_error(fault)["error"]
    assert (fault.http_status, body["code"]) == (status, status)


def test_the_details_of_1_0_name_the_reason_and_the_fields() -> None:
    problems = [{"path": "metadata.mcp_context/items", "rule": "items", "message": "Not an object."}]
    fault = fault_of(InvalidInput("Bad context.", hint="Mend it.", details={"problems": problems}))
    info, bad = rpc_error(fault, "1.0")["data"]
    assert info == {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "INVALID_PARAMS",
        "domain": "a2a-protocol.org",
    }
    assert bad == {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [{"field": "metadata.mcp_context/items", "description": "Not an object."}],
    }
    assert rest_error(fault)["error"]["details"] == [info, bad]
    assert rpc_error(fault, "0.3")["data"]["violations"] == bad["fieldViolations"]
    assert rpc_error(fault, "agentvault")["data"] == bad["fieldViolations"]
    assert rpc_error(Fault("version", "x", supported="1.0"), "1.0")["data"][0]["metadata"] == {"supported": "1.0"}
    assert rpc_error(fault, "1.0")["message"] == "Bad context. Mend it."


async def test_a_method_of_an_agents_own_is_checked_on_both_sides() -> None:
    async def greet(task_id: str, times: int = 1) -> dict[str, Any]:
        return {"said": "hello " * times + task_id}

    async def lie() -> int:
        three: Any = "three"
        return three

    assert await CustomMethod(greet)(Raw(b'{"id":"t","times":2}')) == {"said": "hello hello t"}
    with pytest.raises(Fault) as caught:
        await CustomMethod(greet)(Raw(b'{"times":"many"}'))
    assert caught.value.kind == "invalid-params"
    assert {violation.field for violation in caught.value.violations} == {"id", "times"}
    with pytest.raises(Fault) as caught:
        await CustomMethod(lie)(Raw(b"{}"))
    assert caught.value.kind == "internal"


@given(st.lists(st.tuples(st.text(':",\\ {}[]ab', max_size=3), st.text(':",\\ {}[]ab', max_size=3)), max_size=6))
def test_a_member_that_stands_twice_is_found_whatever_the_texts_around_it(members: list[tuple[str, str]]) -> None:
    pairs = ",".join(f"{json.dumps(name)} : {json.dumps(value)}" for name, value in members)
    body = f'{{"outer":{{{pairs}}},"same":{{"outer":1}}}}'.encode()
    names = [name for name, _ in members]
    if len(set(names)) == len(names):
        json_rpc.check_body(body, LIMITS)
    else:
        with pytest.raises(Fault, match="twice"):
            json_rpc.check_body(body, LIMITS)
