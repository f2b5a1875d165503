"""Fits answers into limits: a summary beyond three groups, selected fields, a number of groups or tokens.

A token counts as four characters of compact JSON. Nothing is cut in half: details are dropped first, then whole groups
from the end. Notes explain how to get the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.metrics.metric_keys import Match, flatten, select
from pentad.rooms.metrics.models import Info

SUMMARY_BEYOND: Final = 3
DETAILS: Final = frozenset({"details", "byRegion"})
CHARACTERS_PER_TOKEN: Final = 4
FEWEST_TOKENS: Final = 60
_MOST_CUT: Final = 20
FRAME: Final = 600
"""Characters reserved for what surrounds the tree: coverage, problems, notes."""

Form = Literal["tree", "flat", "value"]
RowDetails = Callable[[Match], Mapping[str, Any]]
"""Returns the members of a flat row besides path, value and labels."""


class ResponseShape(msgspec.Struct, frozen=True, kw_only=True):
    """The requested shape. If `details` is None, details are included for up to three groups."""

    form: Form = "tree"
    keys: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    details: bool | None = None
    limit: int | None = None
    offset: int = 0
    max_tokens: int | None = None


class ShapedResponse(msgspec.Struct, kw_only=True):
    """The content, and what was left out."""

    content: Any
    matches: list[Match]
    notes: list[str]
    left_out: int = 0
    """How many groups, or rows of a flat answer, were left out."""
    is_summary: bool = False


def shape_response(
    tree: Any, info: Info, shape: ResponseShape, row_details: RowDetails | None = None
) -> ShapedResponse:
    """The tree in the requested shape; `row_details` adds members to the rows of a flat answer."""
    if shape.max_tokens is not None and shape.max_tokens < FEWEST_TOKENS:
        raise InvalidInput(f"max_tokens is {shape.max_tokens}.", hint=f"Allow {FEWEST_TOKENS} or more.")
    notes: list[str] = []
    matches: list[Match] = []
    if shape.keys:
        tree, matches = select(tree, info, shape.keys)
    if shape.fields:
        tree, matches = _select_fields(tree, info, shape.fields)
    groups = _group_count(tree)
    is_summary = shape.details is False or (
        shape.details is None and groups > SUMMARY_BEYOND and not _names_details((*shape.keys, *shape.fields))
    )
    if is_summary:
        short = drop_members(tree, DETAILS)
        is_summary = short != tree and (shape.details is False or bool(flatten(short)))
        if is_summary and shape.details is None:
            notes.append(f"A summary of {groups} groups, without details; ask with details, or for one group.")
        tree = short if is_summary else tree
    if shape.form == "value":
        return _single_value(tree, matches, notes)
    content: Any = [flat_row(match, row_details) for match in flatten(tree)] if shape.form == "flat" else tree
    limited, left_out = _apply_limit(content, shape, notes)
    fitting, cut, is_shorter = _fit_tokens(limited, shape, notes)
    return ShapedResponse(
        content=fitting, matches=matches, notes=notes, left_out=left_out + cut, is_summary=is_summary or is_shorter
    )  # fmt: skip


def fit_entries(entries: Sequence[Any], max_tokens: int) -> list[Any]:
    """The first entries that fit into a number of tokens, at least one if there is any."""
    room = max_tokens * CHARACTERS_PER_TOKEN - FRAME
    kept: list[Any] = []
    for entry in entries:
        room -= json_size(entry) + 1
        if room < 0 and kept:
            break
        kept.append(entry)
    return kept


def _names_details(keys: Sequence[str]) -> bool:
    """Whether a key names what a summary leaves out."""
    left_out = {name.casefold() for name in DETAILS}
    return any(step.casefold() in left_out for key in keys for step in key.split("."))


def flat_row(match: Match, row_details: RowDetails | None = None) -> dict[str, Any]:
    """A match as a row: path, value, details and labels."""
    labels = {"labels": dict(match.labels)} if match.labels else {}
    return {
        "path": match.path,
        "value": match.value,
        **(row_details(match) if row_details is not None else {}),
        **labels,
    }


def drop_members(tree: Any, names: frozenset[str]) -> Any:
    """The tree without these members, at any depth."""
    if isinstance(tree, dict):
        members = cast("dict[str, Any]", tree)
        return {name: drop_members(value, names) for name, value in members.items() if name not in names}
    if isinstance(tree, list):
        return [drop_members(entry, names) for entry in cast("list[Any]", tree)]
    return tree


def _select_fields(tree: Any, info: Info, fields: Sequence[str]) -> tuple[Any, list[Match]]:
    """The named fields. A field without a match is refused, because an empty answer would look like missing values."""
    for field in fields:
        if tree is not None and not select(tree, info, (field,))[1]:
            known = dict.fromkeys(match.path.rsplit(".", 1)[-1] for match in flatten(tree))
            close = nearest(field.rsplit(".", 1)[-1], known, limit=5) or list(known)[:5]
            raise InvalidInput(
                f"There is no field {field[:100]!r} in the answer.", hint=f"Nearest: {', '.join(close)}."
            )
    return select(tree, info, fields)


def _group_count(tree: Any) -> int:
    return len(cast("list[Any]", tree)) if isinstance(tree, list) else 1


def _single_value(tree: Any, matches: Sequence[Match], notes: list[str]) -> ShapedResponse:
    found = list(matches) or flatten(tree)
    if len(found) != 1 or isinstance(found[0].value, dict):
        paths = ", ".join(dict.fromkeys(match.path for match in found[:10]))
        raise InvalidInput(
            f"That key has {len(found)} values, not one.",
            hint=f"Name one of them, or leave `shape` out: {paths or 'none'}.",
        )
    return ShapedResponse(content=found[0].value, matches=found, notes=notes)


def _apply_limit(content: Any, shape: ResponseShape, notes: list[str]) -> tuple[Any, int]:
    entries = cast("list[Any] | None", content if isinstance(content, list) else None)
    if entries is None or (shape.limit is None and not shape.offset):
        return cast("Any", content), 0
    if (shape.limit is not None and shape.limit < 1) or shape.offset < 0:
        raise InvalidInput("The limit is less than 1, or the offset less than 0.")
    end = len(entries) if shape.limit is None else shape.offset + shape.limit
    kept = entries[shape.offset : end]
    if len(kept) < len(entries):
        more = f"; continue with offset {end}" if end < len(entries) else ""
        notes.append(f"{len(kept)} of {len(entries)}{more}.")
    return kept, len(entries) - len(kept)


def _fit_tokens(content: Any, shape: ResponseShape, notes: list[str]) -> tuple[Any, int, bool]:
    """Cut the content to the token limit: drop details first, then entries from the end, then members."""
    if shape.max_tokens is None:
        return content, 0, False
    room = max(shape.max_tokens * CHARACTERS_PER_TOKEN - FRAME, shape.max_tokens)
    if json_size(content) <= room:
        return content, 0, False
    shorter = drop_members(content, DETAILS)
    is_shorter = shorter != content
    if is_shorter:
        notes.append(f"Details are left out to stay within {shape.max_tokens} tokens.")
    if not isinstance(shorter, list):
        return _fit_members(shorter, room, shape, notes), 0, is_shorter
    entries = cast("list[Any]", shorter)
    kept: list[Any] = []
    for entry in entries:
        room -= json_size(entry) + 1
        if room < 0:
            break
        kept.append(entry)
    if len(kept) < len(entries):
        notes.append(
            f"{len(kept)} of {len(entries)} fit into {shape.max_tokens} tokens; continue with offset"
            f" {shape.offset + len(kept)}, name fields, or raise max_tokens."
        )
    return kept, len(entries) - len(kept), is_shorter


def _fit_members(content: Any, room: int, shape: ResponseShape, notes: list[str]) -> Any:
    members = cast("dict[str, Any] | None", content if isinstance(content, dict) else None)
    if members is None or json_size(members) <= room:
        return cast("Any", content)
    cut: list[str] = []
    kept = _fitting_members(members, room, "", cut)
    more = f" and {len(cut) - _MOST_CUT} more" if len(cut) > _MOST_CUT else ""
    left_out = ", ".join(cut[:_MOST_CUT]) + more
    notes.append(
        f"Left out to stay within {shape.max_tokens} tokens: {left_out}. Ask for them by key, or raise max_tokens."
    )
    return kept


def _fitting_members(members: Mapping[str, Any], room: int, place: str, cut: list[str]) -> dict[str, Any]:
    """The members that fit, and of an object that does not fit those that do."""
    kept: dict[str, Any] = {}
    for name, member in members.items():
        value, frame = member, len(name) + 4
        if json_size(value) + frame > room and isinstance(value, dict):
            value = _fitting_members(cast("dict[str, Any]", value), room - frame - 2, f"{place}{name}.", cut) or None
        elif json_size(value) + frame > room:
            cut.append(f"{place}{name}")
            value = None
        if value is not None or member is None:
            room -= json_size(value) + frame
            kept[name] = value
    return kept


def json_size(value: Any) -> int:
    """The length of a value as compact JSON."""
    return len(msgspec.json.encode(value).decode())
