"""Checks of bodies and queries: a request that the real platform would reject is refused here, too."""

import re
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tests.anypoint.platform_request import PlatformRequest, Refused

FIELDS = {
    "assets": {"organizationIds", "types", "latestVersionsOnly", "limit", "offset"},
    "asset": {"groupId", "assetId", "version"},
}
"""The arguments of each field of Exchange."""

_DECLARED = re.compile(r"\$(\w+):")
# The variables, the field, and its arguments.
_QUERY = re.compile(r"query Platform\(([^)]*)\) *\{ *(\w+)\(([^)]*)\) *\{[^(]*\} *\}")


def checked_graph(asked: PlatformRequest) -> dict[str, Any]:
    """The variables of a query, which must have one field with known arguments and declare and set all variables."""
    said = asked.json()
    found = _QUERY.fullmatch(str(said.get("query")))
    if found is None or said.get("operationName") != "Platform":
        raise Refused(400)
    given = {name.strip(): value.strip() for name, _, value in (one.partition(":") for one in found[3].split(","))}
    declared, used = set(_DECLARED.findall(found[1])), {value[1:] for value in given.values() if value.startswith("$")}
    variables = dict(said.get("variables") or {})
    if FIELDS.get(found[2]) != given.keys() or declared != used or not declared <= variables.keys():
        raise Refused(400)
    return variables


def checked_analytics(asked: PlatformRequest) -> None:
    said = asked.json()
    if said.get("type") != "enriched-http-event" or not re.fullmatch(r"\d+[dm]", str(said.get("duration"))):
        raise Refused(400)
    if not said.get("aggregators") or not all(one.get("dimension") for one in said["aggregators"]):
        raise Refused(400)


def checked_day(asked: PlatformRequest, *, seconds: bool) -> None:
    """Check a period and two times in order. If the period is in seconds, the times may be HTTP dates."""
    try:
        begin, end = (_moment(asked.query[name], mails=seconds) for name in ("startDate", "endDate"))
        is_right = int(asked.query["period"]) > 0 if seconds else asked.query["period"] == "1day"
    except (KeyError, ValueError):
        raise Refused(400) from None
    if not is_right or begin >= end:
        raise Refused(400)


def _moment(text: str, *, mails: bool) -> datetime:
    return parsedate_to_datetime(text) if mails and "," in text else datetime.fromisoformat(text)


_METER = re.compile(
    r"SELECT ([\w, ]+) FROM (runtime_\w+) WHERE timestamp between (\d+) and (\d+) TIMESERIES (P1D|P1M)", re.ASCII
)
_DAY = 86_400_000


def checked_meter(asked: PlatformRequest) -> str:
    """The measurement of a meter query, which is the last column. A daily query spans at most thirty days."""
    found = _METER.fullmatch(str(asked.json().get("query")))
    if found is None or not 0 < int(found[4]) - int(found[3]) < (30 if found[5] == "P1D" else 60) * _DAY:
        raise Refused(400)
    return found[1].split(",")[-1].strip()
