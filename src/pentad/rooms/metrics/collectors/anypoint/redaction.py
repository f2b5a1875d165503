"""What must never leave, or be kept: cut out of raw answers, by where it stands and by what it is called.

Values are replaced, names stay, so that the shape can still be read. Whatever stands under `properties` or
`configuration` is foreign and goes as a whole.
"""

import re
from typing import Any, Final, cast

REDACTED: Final = "[redacted]"
_WHOLE: Final = frozenset({"properties", "configuration", "owners"})
_NAMES: Final = frozenset(
    {
        "clientid", "ownerid", "ownername", "owner", "idprovider_id", "email", "firstname", "lastname", "username",
        "phonenumber", "createdby", "coreservicesid",
    }
)  # fmt: skip
_SECRET: Final = re.compile(
    r"(?i)secret|password|passwd|token|credential|private.?key|api.?key|secure\.|authorization|cookie"
)


def redacted(value: Any) -> Any:
    """The same without what is sensitive."""
    if isinstance(value, dict):
        return {name: _member(name, inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [redacted(entry) for entry in cast("list[Any]", value)]
    return value


def _member(name: str, value: Any) -> Any:
    if name.casefold() in _WHOLE:
        return _blank(value)
    if name.casefold() in _NAMES or _SECRET.search(name):
        return value if value is None or isinstance(value, bool) else REDACTED
    return redacted(value)


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _blank(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_blank(entry) for entry in cast("list[Any]", value)]
    return value if value is None else REDACTED
