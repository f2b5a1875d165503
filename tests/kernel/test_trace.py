"""The trace context: what is well-formed survives, everything else is absent."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel import trace
from pentad.kernel.trace import (
    TraceParent,
    accept_trace,
    parse_traceparent,
    position_in,
    resolve_trace_id,
    trace_id_of,
)

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"

hex_ids = st.text("0123456789abcdef", min_size=32, max_size=32).filter(lambda text: text.strip("0"))
span_ids = st.text("0123456789abcdef", min_size=16, max_size=16).filter(lambda text: text.strip("0"))


@given(hex_ids, span_ids, st.booleans())
@pytest.mark.requirement("trace:w3c")
def test_what_is_written_is_read_back(trace_id: str, span_id: str, sampled: bool) -> None:
    parent = TraceParent(trace_id, span_id, sampled)
    assert parse_traceparent(str(parent)) == parent


@given(st.text(max_size=80))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    found = parse_traceparent(text)
    assert found is None or text.strip(" \t").startswith(f"{text.strip()[:2]}-{found.trace_id}")


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-extra",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"01-{TRACE}-{SPAN}-01-{'x' * 600}",
    ],
)
@pytest.mark.requirement("trace:w3c")
def test_a_malformed_header_counts_as_absent(header: str | None) -> None:
    assert parse_traceparent(header) is None


def test_a_later_version_may_carry_more_fields() -> None:
    assert parse_traceparent(f"01-{TRACE}-{SPAN}-03-what") == TraceParent(TRACE, SPAN, True)


def test_a_child_keeps_the_trace_and_has_a_span_of_its_own() -> None:
    parent = TraceParent(TRACE, SPAN, True)
    child = parent.child()
    assert (child.trace_id, child.sampled) == (TRACE, True)
    assert child.span_id != SPAN


def test_ids_are_never_all_zero_even_if_the_randomness_is() -> None:
    class Zeros:
        def token_bytes(self, count: int) -> bytes:
            return bytes(count)

    assert parse_traceparent(str(TraceParent("1" * 32, "1" * 16).child(Zeros()))) is not None


@pytest.mark.requirement("trace:request-id")
def test_ids_of_traces_are_valid_and_never_repeat() -> None:
    made = [trace.new_trace_id() for _ in range(1_000)]
    assert len(set(made)) == len(made)
    assert all(resolve_trace_id(one) == trace_id_of(one) == one for one in made)
    assert all(parse_traceparent(position_in(one)) is not None for one in made)


@pytest.mark.requirement("trace:request-id")
def test_a_forked_process_makes_ids_of_its_own() -> None:
    here = trace.new_trace_id()[:16]
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, trace.new_trace_id().encode())
        os._exit(0)
    os.waitpid(child, 0)
    there = os.read(read, 32).decode()
    os.close(read)
    os.close(write)
    assert there[:16] != here


@pytest.mark.requirement("trace:request-id")
def test_the_traceparent_decides_and_the_request_id_is_answered() -> None:
    parent = f"00-{TRACE}-{SPAN}-01"
    assert accept_trace(parent, None) == (parent, TRACE)
    assert accept_trace(parent, "order-66") == (parent, "order-66")
    assert accept_trace("00-ab", TRACE) == (TRACE, TRACE)
    assert accept_trace(None, "order-66") == (resolve_trace_id("order-66"), "order-66")
    assert accept_trace(None, None)[0] != accept_trace(None, None)[0]


@pytest.mark.parametrize("text", ["", "a b", "x" * 129, "line\r\nset-cookie: a", "\u00e9"])
@pytest.mark.requirement("trace:request-id")
def test_a_request_id_that_is_no_plain_word_counts_as_absent(text: str) -> None:
    found, answered = accept_trace(None, text)
    assert answered == found != resolve_trace_id(text)


def test_a_uuid_names_the_trace_of_its_digits() -> None:
    assert resolve_trace_id("0AF76519-16CD-43DD-8448-EB211C80319C") == "0af7651916cd43dd8448eb211c80319c"
    assert resolve_trace_id("0" * 32) != "0" * 32
