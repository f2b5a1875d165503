"""What must never leave, or be kept: personal data and secrets, cut out of raw answers.

Values are replaced, names stay, so that the shape can still be read. Whatever stands under `properties` or
`configuration` is foreign and goes as a whole.
"""

from typing import Any, Final, cast

from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.secrets.text import scrub_text

REDACTED: Final = "[redacted]"
_WHOLE: Final = frozenset({"properties", "configuration", "owners"})
_NAMES: Final = frozenset(
    {
        "clientid", "ownerid", "ownername", "owner", "idprovider_id", "email", "firstname", "lastname", "username",
        "phonenumber", "createdby", "coreservicesid",
    }
)  # fmt: skip


def redacted(value: Any) -> Any:
    """The same without what is sensitive."""
    if isinstance(value, dict):
        return {name: _member(name, inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [redacted(entry) for entry in cast("list[Any]", value)]
    return scrub_text(value) if isinstance(value, str) else value


def _member(name: str, value: Any) -> Any:
    if name.casefold() in _WHOLE:
        return _blank(value)
    if name.casefold() in _NAMES or is_secret_member(name, value):
        return value if value is None or isinstance(value, bool) else REDACTED
    return redacted(value)


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _blank(inner) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_blank(entry) for entry in cast("list[Any]", value)]
    return value if value is None else REDACTED
