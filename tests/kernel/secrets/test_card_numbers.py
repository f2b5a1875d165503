"""Card numbers: found in all usual forms, and never inside a UUID, a hash or a CID."""

import base64
import random
import uuid
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.secrets.patterns import spans_of_patterns
from pentad.kernel.secrets.text import found_in, scrub_text
from tests.selection import IS_LONG

MANY = 100_000 if IS_LONG else 20_000
KINDS = (("4", 16), ("4", 13), ("4", 19), ("51", 16), ("2221", 16), ("6011", 16), ("34", 15), ("37", 15), ("36", 14))
AROUND = [
    "{}", "{} ", " {}", "({})", '"{}"', "{}.", "No.{}, please", "card:{};", "pan={}&x=1", "{} 12/27", "{}-visa",
    "PAN{}", "cc{}", "card_number_{}", "order-2024-{}", "2026-11-16-{}", "{} 123abcd", "<n>{}</n>", "abc {} def",
]  # fmt: skip


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    """A number with a good check digit, plain or in groups."""
    first, length = draw(st.sampled_from(KINDS))
    digits = first + draw(st.text("0123456789", min_size=length - len(first) - 1, max_size=length - len(first) - 1))
    total = 0
    for place, digit in enumerate(reversed(digits)):
        doubled = int(digit) * (2 if place % 2 == 0 else 1)
        total += doubled - 9 if doubled > 9 else doubled
    number = digits + str(-total % 10)
    groups = [number[:4], number[4:10], number[10:]] if length < 16 else [number[at : at + 4] for at in (0, 4, 8)]
    groups += [] if length < 16 else [number[12:]]
    return draw(st.sampled_from(["", " ", "-"])).join(groups)


@given(card_numbers(), st.sampled_from(AROUND))
@settings(max_examples=500)
@pytest.mark.requirement("secrets:card-numbers")
def test_a_card_number_in_a_usual_form_is_taken_out(number: str, around: str) -> None:
    text = around.format(number)
    assert number not in scrub_text(text)
    assert "card-number" in {kind for kind, _, _ in found_in(text)}


def identifiers() -> Iterator[str]:
    """UUIDs, hashes and CIDs; the same every time."""
    source = random.Random(7)
    for _ in range(MANY // 3 + 1):
        content = source.randbytes(32)
        yield str(uuid.UUID(bytes=content[:16], version=4))
        yield content.hex()
        yield "bafkrei" + base64.b32encode(content).decode().lower().rstrip("=")


@pytest.mark.requirement("secrets:card-numbers")
def test_random_identifiers_have_no_card_number() -> None:
    text = "\n".join(identifiers())
    assert [text[start:end] for start, end, _ in spans_of_patterns(text, text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "acdec79240f9bbc5387707120705639ac7f5e75c84646ad9c8a78bde772bf0ec",
        "ACDEC79240F9BBC5387707120705639AC7F5E75C84646AD9C8A78BDE772BF0EC",
        "a4111111111111111",  # hexadecimal from end to end
        "4111111111111111ff",
        "urn:uuid:abcdefab-4111-1111-1111-1111abcdefab",  # every group letters or digits alone
        "41111111-1111-1111-abcd-abcdefabcdef",
        "task-41111111-1111-1111-abcd-abcdefabcdef.json",
        "00-4111111111111111abcdefabcdefabcd-4111111111111abc-01",
        "x9k2-4111111111111111-q7",
        "0.4111111111111111",
        "41111111111111110000",
    ],
)
@pytest.mark.requirement("secrets:card-numbers")
def test_digits_inside_an_identifier_are_no_card_number(text: str) -> None:
    assert scrub_text(text) == text
    assert scrub_text(f"see {text}, please") == f"see {text}, please"
