"""The trace context: what is well-formed survives, everything else is absent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.trace import TraceParent, parse_traceparent

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
