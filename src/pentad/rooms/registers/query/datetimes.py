"""Times: parses what callers write, and computes sortable keys of date-time texts in Python and both SQL dialects.

One moment has many spellings: 10:00+02:00 is 08:00Z, and 08:00:00.50Z comes after 08:00:00Z. So texts are compared by
key: the seconds since 1970 in UTC plus an offset that makes them 13 digits, then the fraction without trailing zeros.
Keys compare as text, by bytes. The SQL is immutable and has no parameters, so it can be indexed. It tests the usual
spelling first, because every use of the text reads the object again.

Python and both dialects must agree on which texts are date-times: days up to the 31st in any month, hours to 23,
seconds to 69 (a 61st second is the first of the next minute), offsets to 29:59. No other text has a key.
"""

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, cast

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Dialect
from pentad.rooms.registers.query.models import AsOf, Instant
from pentad.rooms.registers.query.relative_times import is_relative, resolve_relative

_OFFSET: Final = 1_062_200_000_000
"""Added to seconds: more than the seconds from year 0 to 1970, so every key has the same number of digits."""
_DIGITS: Final = len(str(_OFFSET))
_MOST_FRACTION_DIGITS: Final = 18
"""Digits of a fraction that count; an index takes only short texts."""
_YEARS: Final = 400
_DAYS: Final = 146_097
"""The calendar repeats after this many days."""
_EPOCH: Final = date(1970, 1, 1)
_SHAPE: Final = (
    "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-6][0-9]"
    "([.][0-9]+)?([Zz]|[+-][0-2][0-9]:[0-5][0-9])"
)
_DATE_TIME: Final = re.compile(_SHAPE)
_GLOB_DAY: Final = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_GLOB: Final = f"{_GLOB_DAY}[Tt ][0-9][0-9]:[0-5][0-9]:[0-6][0-9]"
_GLOBS_USUAL: Final = tuple(f"{_GLOB_DAY}T{hour}:[0-5][0-9]:[0-5][0-9]Z" for hour in ("[01][0-9]", "2[0-3]"))
_GLOB_ZONE: Final = "[+-][0-2][0-9]:[0-5][0-9]"


def datetime_key(text: str) -> str | None:
    """The key of a date-time text; None for any other text."""
    if _DATE_TIME.fullmatch(text) is None:
        return None
    zone = 1 if text[-1] in "Zz" else 6
    year = int(text[:4])
    days = (date(year or _YEARS, int(text[5:7]), 1) - _EPOCH).days - (0 if year else _DAYS) + int(text[8:10]) - 1
    seconds = days * 86_400 + int(text[11:13]) * 3_600 + int(text[14:16]) * 60 + int(text[17:19])
    if zone == 6:
        seconds -= int(f"{text[-6]}1") * (int(text[-5:-3]) * 3_600 + int(text[-2:]) * 60)
    return f"{_OFFSET + seconds}{text[20:-zone][:_MOST_FRACTION_DIGITS].rstrip('0')}"


def datetime_text(key: str) -> str:
    """A key as a date-time text in UTC."""
    seconds, fraction = int(key[:_DIGITS]) - _OFFSET, key[_DIGITS:]
    days, second = divmod(seconds, 86_400)
    day = _EPOCH + timedelta(days=days % _DAYS)
    year = day.year + days // _DAYS * _YEARS
    return f"{year:04d}-{day:%m-%d}T{timedelta(seconds=second)!s:0>8}{'.' if fraction else ''}{fraction}Z"


def datetime_key_sql(dialect: Dialect, text: str) -> str:
    """SQL for the key of a text; NULL if it is not a date-time. `text` is SQL for any text or NULL."""
    return _sqlite(text) if dialect == "sqlite" else _postgres(text)


def seconds_sql(key: str) -> str:
    """SQL for a key's seconds since 1970; NULL before the year 1, which not every calendar has."""
    first = f"{_OFFSET - 62_135_596_800}"
    return f"CASE WHEN {key} >= '{first}' THEN CAST(substr({key}, 1, {_DIGITS}) AS bigint) - {_OFFSET} END"


def _sqlite(text: str) -> str:
    """The SQLite form. SQLite converts text to numbers in arithmetic, and returns NULL for an invalid day or hour.

    SQLite accepts 24:00:00, which is invalid here; the extra second makes SQLite reject it too.
    """
    minute = f"unixepoch(substr({text}, 1, 10) || ' ' || substr({text}, 12, 5) || ':01')"
    utc = f"{_OFFSET - 1} + {minute} + substr({text}, 18, 2)"
    offset = f"(substr({text}, -6, 1) || (substr({text}, -5, 2) * 3600 + substr({text}, -2) * 60))"

    def fraction(zone: int) -> str:
        return f"substr({text}, 21, length({text}) - {20 + zone})"

    def split(shape: str, zone: int, seconds: str) -> str:
        digits = fraction(zone)
        return (
            f" WHEN {text} GLOB '{_GLOB}.[0-9]*{shape}' AND {digits} NOT GLOB '*[^0-9]*'"
            f" THEN ({seconds}) || rtrim(substr({digits}, 1, {_MOST_FRACTION_DIGITS}), '0')"
        )

    usual = "".join(f" WHEN {text} GLOB '{glob}' THEN ({_OFFSET} + unixepoch({text})) || ''" for glob in _GLOBS_USUAL)
    return (
        f"CASE{usual} WHEN {text} GLOB '{_GLOB}[Zz]' THEN ({utc}) || ''"
        f" WHEN {text} GLOB '{_GLOB}{_GLOB_ZONE}' THEN ({utc} - {offset}) || ''"
        f"{split('[Zz]', 1, utc)}{split(_GLOB_ZONE, 6, f'{utc} - {offset}')} END"
    )


def _postgres(text: str) -> str:
    def number(start: int) -> str:
        return f"CAST(substr({text}, {start}, 2) AS integer)"

    year = f"CAST(substr({text}, 1, 4) AS integer) + {_YEARS}"
    days = f"make_date({year}, {number(6)}, 1) - DATE '1970-01-01' - {_DAYS} + {number(9)} - 1"
    utc = f"{_OFFSET} + CAST({days} AS bigint) * 86400 + {number(12)} * 3600 + {number(15)} * 60 + {number(18)}"
    offset = (
        f"CASE WHEN right({text}, 1) IN ('Z', 'z') THEN 0 ELSE CAST(left(right({text}, 6), 1) || '1' AS integer)"
        f" * (CAST(left(right({text}, 5), 2) AS integer) * 3600 + CAST(right({text}, 2) AS integer) * 60) END"
    )
    fraction = f"rtrim(left(substring({text} from '[.]([0-9]+)'), {_MOST_FRACTION_DIGITS}), '0')"
    return (
        f"(CASE WHEN {text} ~ '^{_SHAPE}$' THEN CAST({utc} - ({offset}) AS text)"
        f""" || CASE substr({text}, 20, 1) WHEN '.' THEN {fraction} ELSE '' END END COLLATE "C")"""
    )


_TIME_HINT: Final = (
    "Write 2026-05-17, 2026-05-17T09:30:00Z, seconds since 1970, or relative: now, today, -30d, -1month."
)


def parse_time(value: Any, where: str, now: float | None) -> float:
    """Seconds since the epoch, from ISO 8601 (UTC without an offset), seconds, or a time relative to `now`."""
    if isinstance(value, str):
        if (moment := parse_relative(value, now)) is not None:
            return moment.timestamp()
        try:
            if value.replace(".", "", 1).isdecimal():
                return _bounded(float(value), where)
            return parse_iso(value).timestamp()
        except (ValueError, OverflowError):
            raise InvalidInput(f"{where}: {value[:80]!r} is not a time.", hint=_TIME_HINT) from None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{where} must be a time.", hint=_TIME_HINT)
    return _bounded(value, where)


def parse_relative(value: Any, now: float | None) -> datetime | None:
    """The moment a relative time means; None for anything else, or without `now`."""
    return resolve_relative(value, now) if isinstance(value, str) and now is not None else None


def parse_instant(value: Any, where: str, now: float | None = None) -> Instant:
    """The value to compare date-times with: exactly as written, in any accepted spelling.

    Times relative to `now` are for queries, which are parsed on every use; elsewhere there is no `now`.
    """
    if now is None and is_relative(value):
        raise InvalidInput(f"{where}: {value!r} is not a fixed time.", hint="Write 2026-05-17T09:30:00Z.")
    key = datetime_key(value) if isinstance(value, str) else None
    if key is None:
        try:
            read = datetime.fromtimestamp(parse_time(value, where, now), UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(f"{where}: {value!r} is not a time.", hint=_TIME_HINT) from None
        key = datetime_key(read) or ""
        value = value if isinstance(value, str) else read
    return Instant(key, cast("str", value))


def parse_as_of(value: Any, now: float) -> AsOf:
    """A moment of the past: a time, or `change:N` (also {"change": N}) for right after a change of the feed."""
    if isinstance(value, dict):
        return AsOf(change=_change(cast("dict[str, Any]", value).get("change")))
    if isinstance(value, str) and value.startswith("change:"):
        return AsOf(change=_change(value.removeprefix("change:")))
    return AsOf(at=parse_time(value, "as_of", now))


def _change(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise InvalidInput("as_of: a change is named by its number in the feed.", hint="Write change:1234.")
    return value


def _bounded(value: float, where: str) -> float:
    if not math.isfinite(value) or abs(value) > 1e12:
        raise InvalidInput(f"{where}: {value!r} is not a time.", hint=_TIME_HINT)
    return float(value)
