"""Reduces a context to the shape AgentVault reads, item by item, like its formatter.

No member of an item is required; unknown members are dropped, NaN becomes null, bytes become text, sets become lists.
The result equals AgentVault's, but each loss is reported. If AgentVault would give up, the result is `None` and an
error.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from pentad.kernel.problems import Place
from pentad.rooms.agents.context.findings import Issues

MEMBERS: Final = ("id", "mediaType", "content", "ref", "metadata")
"""The five members of an item. Everything Pentad adds is in `metadata`, which old peers keep."""
ROOT_MEMBERS: Final = ("items", "integrity", "turn")
"""What Pentad's extension adds to a context next to `items`. AgentVault drops it."""
EXTRA_MEMBERS: Final = ("kind",)
"""Item members that AgentVault drops. `metadata.kind` means the same and survives."""

_OTHER_NAMES: Final = {
    **dict.fromkeys(("mime_type", "mimetype", "content_type", "contenttype"), "mediaType"),
    **dict.fromkeys(("text", "data", "value", "body", "blob"), "content"),
    **dict.fromkeys(("uri", "url", "href", "reference", "link"), "ref"),
    **dict.fromkeys(("meta", "_meta", "annotations"), "metadata"),
}
"""What other formats call the members of an item."""
_MEMBERS_HINT: Final = f"Members are {', '.join(MEMBERS)}; put your own into `metadata`."
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
_MISSING: Final = object()
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode
_TEXTS: Final = ("id", "mediaType", "ref")
_TYPES: Final[dict[str, type]] = {"id": str, "mediaType": str, "content": object, "ref": str, "metadata": dict}


def shape(value: Any, issues: Issues) -> dict[str, Any] | None:
    """The context reduced to known members, with every problem and loss reported."""
    if not (type(value) is dict or isinstance(value, Mapping)):
        issues.add("not-object", None, f"A context is an object, not {kind_word(value)}.", _ROOT_HINT)
        return None
    root = cast("Mapping[Any, Any]", value)
    is_lenient = issues.level == "lenient"
    for key in root:
        if key != "items" and (is_lenient or key not in ROOT_MEMBERS):
            place, message = (None, _name(key)), f"{_name(key)!r} is not part of a context."
            issues.add_name("unknown-root-member", place, message, ROOT_MEMBERS, root, _ROOT_HINT)
    if "items" not in root:
        return {}
    items = root["items"]
    if not (type(items) is dict or isinstance(items, Mapping)):
        message = f"`items` is an object of items by name, not {kind_word(items)}."
        issues.add("items-not-object", _ITEMS, message, _ROOT_HINT)
        return None
    shaped: dict[str, Any] = {}
    is_plain = _is_plain(items)
    for key, item in cast("Mapping[Any, Any]", items).items():
        if is_plain and (made := _as_it_is(item)) is not None:
            shaped[key] = made
            continue
        name = _key(key, _ITEMS, issues)
        if name is not None and (made := _item(item, (_ITEMS, name), issues)) is not None:
            shaped[name] = made
    return {"items": shaped}


_ITEMS: Final[Place] = (None, "items")
_ROOT_HINT: Final = 'Write {"items": {"a name": {"mediaType": ..., "content": ...}}}.'


def kind_word(value: Any) -> str:
    """The JSON type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list() | tuple():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _as_it_is(item: Any) -> dict[str, Any] | None:
    """The unchanged item, if it has only known members of the right type; None if there is something to report."""
    if type(item) is not dict:
        return None
    given = cast("dict[str, Any]", item)
    shaped: dict[str, Any] = {}
    for member, kind in _TYPES.items():
        if member in given:
            value = given[member]
            if value is not None and not isinstance(value, kind):
                return None
            shaped[member] = value
    return shaped if len(shaped) == len(given) else None


def _item(item: Any, place: Place, issues: Issues) -> dict[str, Any] | None:
    dump = getattr(item, "model_dump", None)
    if dump is not None:
        item = dump(mode="json", by_alias=True, exclude_unset=True)
    if not (type(item) is dict or isinstance(item, Mapping)):
        hint = 'Write {"content": ...} or {"ref": ...}.'
        issues.add("item-not-object", place, f"An item is an object, not {kind_word(item)}.", hint)
        return None
    given = cast("Mapping[Any, Any]", item)
    for key in given:
        if key not in MEMBERS and (issues.level == "lenient" or key not in EXTRA_MEMBERS):
            message = f"{_name(key)!r} is no member of an item."
            where = (place, _name(key))
            issues.add_name("unknown-item-member", where, message, MEMBERS, given, _MEMBERS_HINT, _OTHER_NAMES)
    shaped: dict[str, Any] = {}
    for member in MEMBERS:
        if (value := given.get(member, _MISSING)) is not _MISSING:
            shaped[member] = _member(member, value, (place, member), issues)
    return shaped


def _member(member: str, value: Any, place: Place, issues: Issues) -> Any:
    if member == "content":
        return plain(value, place, issues)
    if value is None:
        return None
    if member in _TEXTS:
        text = _text(value)
        if text is None:
            issues.add("wrong-type", place, f"`{member}` is a text, not {kind_word(value)}.")
        elif not isinstance(value, str):
            issues.add("converted", place, f"`{member}` was bytes and is read as text.", "Send a text.")
        elif _HALF_PAIR.search(text):
            issues.add("half-surrogate", place, "The text has half of a surrogate pair.", _UTF8_HINT)
        return text
    if not (type(value) is dict or isinstance(value, Mapping)):
        issues.add("wrong-type", place, f"`metadata` is an object, not {kind_word(value)}.")
        return None
    members = cast("Mapping[Any, Any]", value)
    named = {name: inner for key, inner in members.items() if (name := _key(key, place, issues)) is not None}
    return plain(named, place, issues)


_UTF8_HINT: Final = "Write the character as UTF-8."


def _key(key: Any, place: Place, issues: Issues) -> str | None:
    text = _text(key)
    if text is None:
        issues.add("key-not-text", (place, _name(key)), f"A name is a text, not {kind_word(key)}.")
    elif not isinstance(key, str):
        issues.add("converted", (place, text), "The name was bytes and is read as text.", "Send a text.")
    return text


def _text(value: Any) -> str | None:
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return str(value) if isinstance(value, str) else None


def _name(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)[:100]


def plain(value: Any, place: Place, issues: Issues) -> Any:
    """The value as plain JSON, without recursion. A plain value is returned as it is."""
    if _is_plain(value):
        return value
    made: list[Any] = [None]
    work: list[tuple[Any, Any, Any, Place]] = [(value, made, 0, place)]
    while work:
        given, into, key, at = work.pop()
        turned = _to_json(given, at, issues)
        if isinstance(turned, dict):
            container: dict[str, Any] = {}
            into[key] = container
            for name, inner in cast("dict[Any, Any]", turned).items():
                known = name if isinstance(name, str) else _key_text(name, at, issues)
                container[known] = None  # keeps the order, because work is taken from the end
                work.append((inner, container, known, (at, known)))
        elif isinstance(turned, list):
            into[key] = elements = [None] * len(cast("list[Any]", turned))
            work.extend((inner, elements, n, (at, n)) for n, inner in enumerate(cast("list[Any]", turned)))
        else:
            into[key] = turned
    return made[0]


def _is_plain(root: Any) -> bool:
    try:
        if _decode(_encode(root)) == root:  # a value that comes back unchanged is plain; this fast check covers most
            return True
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        pass
    return _is_plain_inside(root)


def _is_plain_inside(root: Any) -> bool:
    """Whether a value is plain JSON, checked in detail."""
    stack: list[Any] = [root]
    while stack:
        value = stack.pop()
        kind = cast("Any", type(value))
        if kind is str:
            if not value.isascii() and _HALF_PAIR.search(value):
                return False
        elif kind is dict:
            for key in value:
                if type(key) is not str:
                    return False
            stack.extend(value.values())
        elif kind is list:
            stack.extend(value)
        elif kind is float:
            if not math.isfinite(value):
                return False
        elif value is not None and kind is not int and kind is not bool:
            return False
    return True


def _to_json(value: Any, place: Place, issues: Issues) -> Any:
    """One value as JSON, its contents untouched."""
    match value:
        case None | bool() | int() | dict() | list():
            return cast("Any", value)
        case str():
            if _HALF_PAIR.search(value):
                issues.add("half-surrogate", place, "The text has half of a surrogate pair.", _UTF8_HINT)
            return value
        case float():
            if math.isfinite(value):
                return value
            hint = "Use a number, a text or null."
            issues.add("not-finite", place, "The number is not finite; it becomes null.", hint)
            return None
        case _:
            return _foreign(value, place, issues)


def _foreign(value: Any, place: Place, issues: Issues) -> Any:
    """Convert a Python value that JSON does not have."""
    if isinstance(value, Mapping):
        turned: Any = dict(cast("Mapping[Any, Any]", value))
    elif isinstance(value, tuple | set | frozenset):
        turned = list(cast("Iterable[Any]", value))
    elif (dump := getattr(value, "model_dump", None)) is not None:
        turned = dump(mode="json", by_alias=True, exclude_unset=True)
    else:
        from pydantic_core import PydanticSerializationError, to_jsonable_python

        try:
            turned = to_jsonable_python(value)
        except (PydanticSerializationError, ValueError):
            issues.add("not-json", place, f"{kind_word(value).capitalize()} cannot be written as JSON.")
            return None
    message = f"{kind_word(value).capitalize()} is sent as {kind_word(turned)}."
    issues.add("converted", place, message, "Send plain JSON.")
    return turned


def _key_text(key: Any, place: Place, issues: Issues) -> str:
    """The text of a key that is not text."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        text = str(next(iter(to_jsonable_python({key: None}))))
    except (PydanticSerializationError, ValueError):
        text = str(key)
    issues.add("converted", (place, text), f"The key is {kind_word(key)} and is sent as text.", "Send a text.")
    return text
