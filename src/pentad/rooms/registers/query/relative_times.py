"""Relative times in filters: `-30d`, `now`, `today`, `-1month`, `today-1week`. All of them are in UTC.

    relative = [ "now" | "today" ] { ("+" | "-") number unit }     one of the two at least
    unit     = s sec second | min minute | h hour | d day | w week | month | y year     also in the plural

`today` is midnight. Without it, steps count from now. A month or year later is the same day, or the last day of a
shorter month. A space counts as `+`, because URLs decode `+` to a space. `m` alone is refused as ambiguous: minute or
month?
"""

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

_UNITS: Final = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), "seconds"),
    **dict.fromkeys(("min", "minute", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hour", "hours"), "hours"),
    **dict.fromkeys(("d", "day", "days"), "days"),
    **dict.fromkeys(("w", "week", "weeks"), "weeks"),
    **dict.fromkeys(("month", "months"), "months"),
    **dict.fromkeys(("y", "year", "years"), "years"),
}
_STEP: Final = r"[+\- ][0-9]{1,6}[a-z]+"
_RELATIVE: Final = re.compile(rf"(now|today)?((?:{_STEP})*)")
_PARTS: Final = re.compile(r"([+\- ])([0-9]{1,6})([a-z]+)")
_LONGEST: Final = 100


def resolve_relative(text: str, now: float) -> datetime | None:
    """The moment a relative time means; None if the text is not one, or is outside the calendar."""
    if not is_relative(text):
        return None
    moment = datetime.fromtimestamp(int(now), UTC)
    if text.startswith("today"):
        moment = moment.replace(hour=0, minute=0, second=0)
    try:
        for sign, number, unit in _PARTS.findall(text):
            moment = _moved(moment, int(number) * (-1 if sign == "-" else 1), _UNITS[unit])
    except (OverflowError, ValueError):
        return None
    return moment


def is_relative(value: Any) -> bool:
    """Whether a value is written as a relative time."""
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or _RELATIVE.fullmatch(value) is None:
        return False
    return all(unit in _UNITS for _, _, unit in _PARTS.findall(value))


def has_relative(value: Any) -> bool:
    """Whether a filter contains a relative time anywhere."""
    if isinstance(value, dict):
        return any(map(has_relative, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(has_relative, cast("list[Any]", value)))
    return is_relative(value)


def _moved(moment: datetime, count: int, unit: str) -> datetime:
    if unit not in ("months", "years"):
        return moment + timedelta(**{unit: count})
    months = moment.year * 12 + moment.month - 1 + (count if unit == "months" else 12 * count)
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(year)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, calendar.monthrange(year, month + 1)[1]))
