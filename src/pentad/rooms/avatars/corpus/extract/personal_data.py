"""Hints that a document may contain personal data: counts likely matches and keeps none of them."""

import re
from typing import Final

_KINDS: Final = (
    ("e-mail address", "e-mail addresses", re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b")),
    ("phone number", "phone numbers", re.compile(r"(?<![\w.])\+\d{1,3}[ (.-]{1,2}\d(?:[ ().-]{0,2}\d){6,12}(?!\w)")),
    ("social security number", "social security numbers", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    ("account number", "account numbers", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
)
_CARD: Final = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")


def personal_hint(text: str) -> str | None:
    """One line for the report, or None."""
    counts = [(len(pattern.findall(text)), one, several) for one, several, pattern in _KINDS]
    cards = sum(_checksum_holds(match) for match in _CARD.findall(text))
    counts.append((cards, "card number", "card numbers"))
    found = [f"{count:,} {one if count == 1 else several}" for count, one, several in counts if count]
    return f"may hold personal data: {', '.join(found)}" if found else None


def _checksum_holds(number: str) -> bool:
    """Luhn's checksum, which card numbers pass and most other numbers do not."""
    digits = [int(character) for character in reversed(number) if character.isdigit()]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + doubled) % 10 == 0
