"""The context of a task: named items with content or a reference, in a message's metadata under `mcp_context`.

`format_mcp_context` returns exactly what AgentVault's library returns, including `None`: it drops unknown members and
logs a warning. To lose nothing, call `lost_members` first, as the client does.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, Field, ValidationError

from pentad.kernel.json_pointer import pointer
from pentad.kernel.secrets.text import scrub_text

KEY: Final = "mcp_context"
"""The metadata key of the context."""
CARRIED_ROOT_MEMBERS: Final = ("integrity", "turn")
CARRIED_ITEM_MEMBERS: Final = ("kind",)
"""What Pentad adds to a context and AgentVault's library drops."""

_log: Final = logging.getLogger(__name__)


class MCPItem(BaseModel):
    """One item of a context: small ones have content, large ones a reference. Nothing is required."""

    id: str | None = None
    media_type: str | None = Field(default=None, alias="mediaType")
    content: Any | None = None
    ref: str | None = None
    metadata: dict[str, Any] | None = None


class MCPContext(BaseModel):
    """The items by name."""

    items: dict[str, MCPItem] = Field(default_factory=dict[str, MCPItem])


def format_mcp_context(context_data: dict[str, Any]) -> dict[str, Any] | None:
    """The context to send; None, with a log line, if it is not valid."""
    if not isinstance(context_data, dict):  # pyright: ignore[reportUnnecessaryIsInstance]  callers pass anything
        _log.error("An MCP context is a dictionary, not %s.", type(context_data).__name__)
        return None
    try:
        sent = _formatted(context_data)
    except (ValueError, RecursionError) as error:
        problem = reason(error)
    else:
        if lost := lost_members(context_data):
            _log.warning("Not part of an MCP context, so it is left out: %s", scrub_text(", ".join(lost)))
        return sent
    _log.error("This is not an MCP context: %s", problem)
    return None


def reason(error: Exception) -> str:
    """The errors of a validation, without the values: they may be secret."""
    if isinstance(error, ValidationError):
        return "; ".join(f"{pointer(_place(one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it cannot be written as JSON"


def _place(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The place of an error, without pydantic's marker for keys."""
    return loc[:-1] if loc and loc[-1] == "[key]" else loc


def get_mcp_context(message: Any) -> dict[str, Any] | None:
    """The context of a message, unchanged; None if there is none or it is not a dictionary."""
    metadata = getattr(message, "metadata", None)
    if not isinstance(metadata, dict):
        return None
    found: Any = cast("dict[str, Any]", metadata).get(KEY)
    if found is None:
        return None
    if not isinstance(found, dict):
        _log.warning("The mcp_context of a message is not a dictionary but %s.", type(found).__name__)
        return None
    return cast("dict[str, Any]", found)


def checked_context(context: Any) -> dict[str, Any]:
    """The context to send, without losing anything; ValueError lists every problem with its place."""
    if not isinstance(context, dict):
        raise ValueError("an MCP context is a dictionary")  # noqa: TRY004  one kind of error for all that is wrong with a context
    given = cast("dict[str, Any]", context)
    try:
        sent = _formatted(given)
    except (ValueError, RecursionError) as error:
        raise ValueError(reason(error)) from None
    if lost := lost_members(given):
        raise ValueError(f"{', '.join(lost)}: not part of a context, so it would be lost")
    sent |= {name: given[name] for name in CARRIED_ROOT_MEMBERS if name in given}
    for name, item in given.get("items", {}).items():
        sent["items"][name] |= {extra: item[extra] for extra in CARRIED_ITEM_MEMBERS if extra in item}
    return sent


def lost_members(context: Mapping[str, Any]) -> list[str]:
    """JSON pointers of the members that formatting drops silently."""
    known = {"items", *CARRIED_ROOT_MEMBERS}
    lost = [pointer((str(name),)) for name in context if name not in known]
    wire = {field.alias or name for name, field in MCPItem.model_fields.items()} | set(CARRIED_ITEM_MEMBERS)
    for name, item in context.get("items", {}).items():
        if isinstance(item, Mapping):  # a model has no others
            members = cast("Mapping[str, Any]", item)
            lost += [pointer(("items", str(name), str(member))) for member in members if member not in wire]
    return lost


def _formatted(context: dict[str, Any]) -> dict[str, Any]:
    return MCPContext.model_validate(context).model_dump(mode="json", exclude_unset=True, by_alias=True)
