"""Decodes and normalizes text: ligatures and wide letters become plain ones, invisible characters are removed.

Superscripts, subscripts and fractions stay as they are: 10² must not become 102.
"""

import codecs
import re
import unicodedata
from typing import Final

from pentad.documents.document import Unreadable

_KEPT: Final = re.compile(
    "([\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u215f\u2189\u00aa\u00ba\u2026\u00b4\u00a8\u00b8\u2017\u2122]+)"
)
"""Characters whose meaning NFKC would change."""
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\uffff\U000e0000-\U000e007f\ud800-\udfff]"
)
_BREAKS: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_MOST_CONTROL: Final = 0.02


def normal(text: str) -> str:
    """Normalize text; lines end with a line feed."""
    text = _INVISIBLE.sub("", _BREAKS.sub("\n", text))
    if text.isascii():
        return text
    parts = _KEPT.split(text)
    return "".join(part if odd % 2 else unicodedata.normalize("NFKC", part) for odd, part in enumerate(parts))


def decoded(data: bytes, declared: str | None = None) -> str:
    """Decode by byte order mark, then as declared, as UTF-8, and finally as Windows-1252."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    if (binary := sum(data[:65536].count(byte) for byte in (0, 1, 2, 3, 4, 5, 6, 14, 15, 16))) and (
        binary > _MOST_CONTROL * min(len(data), 65536)
    ):
        raise Unreadable("damaged", "It is not text: it looks like a binary file.")
    for encoding in (declared, "utf-8"):
        if encoding is None:
            continue
        try:
            return data.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace")
