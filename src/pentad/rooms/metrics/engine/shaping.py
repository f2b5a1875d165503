"""Answers that fit: a summary beyond three groups, chosen fields, so many groups or tokens; and what was left out.

A token is counted as four characters of compact JSON. Nothing is cut in the middle: details go first, then whole groups
from the end, and the answer says how to get what is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.metrics.engine.keys import Match, flat, select
from pentad.rooms.metrics.model import Info

SUMMARY_BEYOND: Final = 3
DETAILS: Final = frozenset({"details", "byRegion"})
CHARACTERS_PER_TOKEN: Final = 4
FEWEST_TOKENS: Final = 60
FRAME: Final = 600
"""Characters for what stands around the tree: coverage, problems, notes."""

Form = Literal["tree", "flat", "value"]
About = Callable[[Match], Mapping[str, Any]]
"""What is to be said of a figure besides its value."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How an answer is wanted. `details` of None means: as long as there are few groups."""

    form: Form = "tree"
    keys: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    details: bool | None = None
    limit: int | None = None
    offset: int = 0
    max_tokens: int | None = None


class Shaped(msgspec.Struct, kw_only=True):
    """The content, and what is not in it."""

    content: Any
    matches: list[Match]
    notes: list[str]
    left_out: int = 0
    """Groups, or rows of a flat answer, that are not in it."""
    is_summary: bool = False


def shaped(tree: Any, info: Info, shape: Shape, about: About | None = None) -> Shaped:
    """The tree as it was asked for; `about` says more of each row of a flat answer."""
    if shape.max_tokens is not None and shape.max_tokens < FEWEST_TOKENS:
        raise InvalidInput(f"max_tokens is {shape.max_tokens}.", hint=f"Allow {FEWEST_TOKENS} or more.")
    notes: list[str] = []
    matches: list[Match] = []
    if shape.keys:
        tree, matches = select(tree, info, shape.keys)
    if shape.fields:
        tree, matches = _chosen(tree, info, shape.fields)
    groups = _groups(tree)
    is_summary = shape.details is False or (
        shape.details is None and groups > SUMMARY_BEYOND and not _names_details((*shape.keys, *shape.fields))
    )
    if is_summary:
        short = without(tree, DETAILS)
        is_summary = short != tree and (shape.details is False or bool(flat(short)))
        if is_summary and shape.details is None:
            notes.append(f"A summary of {groups} groups, without details; ask with details, or for one group.")
        tree = short if is_summary else tree
    if shape.form == "value":
        return _value(tree, matches, notes)
    content: Any = [row(match, about) for match in flat(tree)] if shape.form == "flat" else tree
    limited, left_out = _limited(content, shape, notes)
    fitting, cut, is_shorter = _within(limited, shape, notes)
    return Shaped(
        content=fitting, matches=matches, notes=notes, left_out=left_out + cut, is_summary=is_summary or is_shorter
    )  # fmt: skip


def _names_details(keys: Sequence[str]) -> bool:
    """Whether somebody asks for just what a summary leaves out."""
    left_out = {name.casefold() for name in DETAILS}
    return any(step.casefold() in left_out for key in keys for step in key.split("."))


def row(match: Match, about: About | None = None) -> dict[str, Any]:
    """A match as a row: its path, its value, what there is to say of it, and the labels it has."""
    labels = {"labels": dict(match.labels)} if match.labels else {}
    return {"path": match.path, "value": match.value, **(about(match) if about is not None else {}), **labels}


def without(tree: Any, names: frozenset[str]) -> Any:
    """The tree without these members, at any depth."""
    if isinstance(tree, dict):
        members = cast("dict[str, Any]", tree)
        return {name: without(value, names) for name, value in members.items() if name not in names}
    if isinstance(tree, list):
        return [without(entry, names) for entry in cast("list[Any]", tree)]
    return tree


def tokens(value: Any) -> int:
    """About how many tokens a value takes."""
    return -(-len(msgspec.json.encode(value).decode()) // CHARACTERS_PER_TOKEN)


def _chosen(tree: Any, info: Info, fields: Sequence[str]) -> tuple[Any, list[Match]]:
    """What the fields name; a field that names nothing is refused, lest it look like an answer without values."""
    for field in fields:
        if tree is not None and not select(tree, info, (field,))[1]:
            known = dict.fromkeys(match.path.rsplit(".", 1)[-1] for match in flat(tree))
            close = nearest(field.rsplit(".", 1)[-1], known, limit=5) or list(known)[:5]
            raise InvalidInput(
                f"There is no field {field[:100]!r} in the answer.", hint=f"Nearest: {', '.join(close)}."
            )
    return select(tree, info, fields)


def _groups(tree: Any) -> int:
    return len(cast("list[Any]", tree)) if isinstance(tree, list) else 1


def _value(tree: Any, matches: Sequence[Match], notes: list[str]) -> Shaped:
    found = list(matches) or flat(tree)
    if len(found) != 1 or isinstance(found[0].value, dict):
        paths = ", ".join(dict.fromkeys(match.path for match in found[:10]))
        raise InvalidInput(
            f"That is {len(found)} values, not one.", hint=f"Name one of them, or leave shape out: {paths or 'none'}."
        )
    return Shaped(content=found[0].value, matches=found, notes=notes)


def _limited(content: Any, shape: Shape, notes: list[str]) -> tuple[Any, int]:
    entries = cast("list[Any] | None", content if isinstance(content, list) else None)
    if entries is None or (shape.limit is None and not shape.offset):
        return cast("Any", content), 0
    if (shape.limit is not None and shape.limit < 1) or shape.offset < 0:
        raise InvalidInput("The limit is less than 1, or the offset less than 0.")
    end = len(entries) if shape.limit is None else shape.offset + shape.limit
    kept = entries[shape.offset : end]
    if len(kept) < len(entries):
        more = f"; go on with offset {end}" if end < len(entries) else ""
        notes.append(f"{len(kept)} of {len(entries)}{more}.")
    return kept, len(entries) - len(kept)


def _within(content: Any, shape: Shape, notes: list[str]) -> tuple[Any, int, bool]:
    """No more than the tokens allow: without details, then fewer entries, then the names of what there is."""
    if shape.max_tokens is None:
        return content, 0, False
    room = max(shape.max_tokens * CHARACTERS_PER_TOKEN - FRAME, shape.max_tokens)
    if _size(content) <= room:
        return content, 0, False
    shorter = without(content, DETAILS)
    is_shorter = shorter != content
    if is_shorter:
        notes.append(f"Details are left out to stay within {shape.max_tokens} tokens.")
    if not isinstance(shorter, list):
        return _members(shorter, room, shape, notes), 0, is_shorter
    entries = cast("list[Any]", shorter)
    kept: list[Any] = []
    for entry in entries:
        room -= _size(entry) + 1
        if room < 0:
            break
        kept.append(entry)
    if len(kept) < len(entries):
        notes.append(
            f"{len(kept)} of {len(entries)} fit into {shape.max_tokens} tokens; go on with offset"
            f" {shape.offset + len(kept)}, name fields, or raise max_tokens."
        )
    return kept, len(entries) - len(kept), is_shorter


def _members(content: Any, room: int, shape: Shape, notes: list[str]) -> Any:
    members = cast("dict[str, Any] | None", content if isinstance(content, dict) else None)
    if members is None or _size(members) <= room:
        return cast("Any", content)
    kept: dict[str, Any] = {}
    cut: list[str] = []
    for name, value in members.items():
        size = _size(value) + len(name) + 4
        if size <= room:
            room -= size
            kept[name] = value
        else:
            cut.append(name)
    notes.append(f"Left out to stay within {shape.max_tokens} tokens: {', '.join(cut[:20])}. Ask for them by key.")
    return kept


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value).decode())
