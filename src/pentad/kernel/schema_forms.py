"""Forms from JSON Schemas: the fields for a value, and the value of a form that was sent.

The name of a field is the JSON Pointer of its value (`/person/name`, `/tags/0`). `form_fields` shows a value,
`read_form` reads it back. Nothing is validated here: text that is no number stays text, so that the validator of the
schema's owner says what is wrong, at the field with that pointer.

    form_fields(schema, {"name": "Ada"}, {"/name": "is taken"})      -> fields
    read_form(schema, {"/name": "Ada", "/age": "36"})                -> {"name": "Ada", "age": 36}

A value without a shape (any object, several alternatives, very long lists) is JSON in a text area.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote

import msgspec

from pentad.kernel.errors import PentadError
from pentad.kernel.pages import (
    ADD,
    REMOVE,
    Button,
    CheckBox,
    Choice,
    Field,
    FileField,
    Form,
    Group,
    Repeated,
    TextField,
    Visit,
)
from pentad.kernel.schema import pointer

Node = Mapping[str, Any]
Path = tuple[str | int, ...]

_DEEPEST_EMPTY: Final = 3
"""Objects that are not there are offered to this depth; below, as JSON. Schemas may contain themselves."""
_DEEPEST: Final = 8
_MOST_ITEMS: Final = 50
_MOST_CHOICES: Final = 24
_FEW_OPTIONAL: Final = 6
_LONG_TEXT: Final = 300
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_MULTILINE: Final = frozenset({"markdown", "html", "multiline", "textarea"})
_KINDS: Final = {"date": "date", "email": "email", "uri": "url", "url": "url"}
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,300})")


class _Missing:
    """Stands for "no value", because None is a JSON value."""


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What a field offers: values with labels, and the path that finds more."""

    options: Sequence[tuple[str, str]] = ()
    path: str = ""


Suggest = Callable[[str, Node], Suggestions | None]
"""Takes the pointer of a field and its schema."""


def schema_form(
    schema: Node,
    visit: Visit,
    buttons: Sequence[Button],
    action: str,
    value: Any = MISSING,
    *,
    extra: Sequence[Field] = (),
    suggest: Suggest | None = None,
) -> Form:
    """The form for an object of this schema. If the visitor has just sent it, it has what was typed, and each problem
    at its field; after a button for list items it has one more, or one fewer. `extra` are fields of the form's own."""
    focus = ""
    was_sent = visit.posted == unquote(action)
    if was_sent:
        value = edited(read_form(schema, visit.fields, value, draft=True), visit.typed(ADD), visit.typed(REMOVE))
        focus = f"{visit.typed(ADD)}/" if visit.typed(ADD) else ""
    fields = form_fields(schema, value, visit.problems if was_sent else {}, suggest)
    return Form([*fields, *extra], buttons, action, validated=True, focus=focus)


def form_fields(
    schema: Node, value: Any = MISSING, problems: Mapping[str, str] | None = None, suggest: Suggest | None = None
) -> list[Field]:
    """The fields for an object of this schema. `problems` are messages by pointer. Optional fields beyond a few are
    folded away, unless they have a value or a problem."""
    writer = _Writer(schema, dict(problems or {}), suggest)
    node = writer.schemas.resolved(schema)
    given = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
    required = frozenset(_texts(node.get("required")))
    members = _properties(node)
    shown = {name: writer.field((name,), one, given.get(name, MISSING), name in required) for name, one in members}
    asked = [name for name, _ in members if name in required or name in given or _has_problem(name, writer.problems)]
    rest = [name for name, _ in members if name not in asked]
    if len(rest) <= _FEW_OPTIONAL:
        return [shown[name] for name, _ in members]
    more = Group("More", [shown[name] for name in rest], folded=True)
    return [*(shown[name] for name in asked), more]


def read_form(schema: Node, fields: Mapping[str, str], before: Any = MISSING, *, draft: bool = False) -> dict[str, Any]:
    """The object that a form sent. What nobody touched keeps its value `before` exactly, also what the schema does not
    name. A `draft` keeps empty items, for showing the form again."""
    reader = _Reader(_Schemas(schema), {name: text for name, text in fields.items() if name.startswith("/")}, draft)
    found = reader.members((), reader.schemas.resolved(schema), before)
    return {} if isinstance(found, _Missing) else found


def edited(value: Any, add: str, remove: str) -> Any:
    """A draft after a button was pressed: with one more item at the pointer `add`, or without the one at `remove`."""
    if add and isinstance(items := _at(value, _steps(add), make=True), list):
        cast("list[Any]", items).append("")
    if remove:
        *parent, last = _steps(remove) or [""]
        if isinstance(items := _at(value, parent), list) and str(last).isdecimal():
            numbered = cast("list[Any]", items)
            del numbered[int(last) : int(last) + 1]
    return value


def field_problems(error: PentadError) -> dict[str, str]:
    """What an error says about single values, by pointer."""
    found: dict[str, str] = {}
    for one in cast("list[Any]", error.details.get("problems") or []):
        if isinstance(one, Mapping):
            problem = cast("Mapping[str, Any]", one)
            place, message = str(problem.get("path") or ""), str(problem.get("message") or "")
            found[place] = f"{found[place]} {message}" if place in found else message
    return found


class _Schemas:
    """Resolves references inside one document, and says what kind of field a schema needs."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def resolved(self, node: Any) -> Node:
        """The schema with `$ref` followed, `allOf` merged, and a single alternative beside null taken."""
        found = cast("Node", node) if isinstance(node, Mapping) else {}
        for _ in range(16):  # a chain of references ends somewhere, or is refused by whoever compiles the schema
            target = found.get("$ref")
            if isinstance(target, str) and target.startswith("#/"):
                inner = _at(self.root, _steps(target[1:]))
                beside = {name: value for name, value in found.items() if name != "$ref"}
                found = {**(cast("Node", inner) if isinstance(inner, Mapping) else {}), **beside}
            elif isinstance(every := found.get("allOf"), list) and every:
                found = self._merged(found, cast("list[Any]", every))
            elif (only := _only_alternative(found)) is not None:
                found = only
            else:
                break
        return found

    def _merged(self, node: Node, every: Sequence[Any]) -> Node:
        merged: dict[str, Any] = {name: value for name, value in node.items() if name != "allOf"}
        for one in every:
            part = self.resolved(one)
            properties = {**_mapping(part.get("properties")), **_mapping(merged.get("properties"))}
            required = [*_texts(merged.get("required")), *_texts(part.get("required"))]
            merged = {**part, **merged}
            if properties:
                merged |= {"properties": properties, "required": required}
        return merged

    def kind(self, node: Node) -> str:
        """What a resolved schema needs: object, list, choices, enum, file, boolean, integer, number, string, scalar or
        json."""
        types = _types(node)
        if "enum" in node or "const" in node:
            return "enum"
        if any(name in node for name in ("anyOf", "oneOf")):
            inner = [self.resolved(one) for one in (node.get("anyOf") or node.get("oneOf") or ())]
            if all(_types(one) and set(_types(one)) <= _SCALARS for one in inner):
                return "scalar"
            return "json"
        if "object" in types and len(types) == 1:
            return "object" if node.get("properties") else "json"
        if "array" in types and set(types) <= {"array", "string"}:
            return self._list_kind(node)
        if len(types) == 1 and types[0] in _SCALARS:
            is_file = types[0] == "string" and node.get("contentEncoding") == "base64"
            return "file" if is_file else types[0]
        return "scalar" if types and set(types) <= _SCALARS else "json"

    def _list_kind(self, node: Node) -> str:
        items = self.resolved(node.get("items"))
        kind = self.kind(items) if items else "json"
        if kind == "enum" and len(options(items)) <= _MOST_CHOICES:
            return "choices"
        return "json" if kind == "json" and not _types(items) else "list"


class _Writer:
    """Makes fields."""

    def __init__(self, root: Node, problems: dict[str, str], suggest: Suggest | None) -> None:
        self.schemas = _Schemas(root)
        self.problems = problems
        self._suggest = suggest

    def field(self, path: Path, schema: Any, value: Any, required: bool) -> Field:
        node = self.schemas.resolved(schema)
        kind = self.schemas.kind(node)
        if kind in ("object", "list", "choices") and not self._fits(path, node, kind, value):
            kind = "json"
        make = getattr(self, f"_{kind}", self._text)
        return make(path, node, value, required)

    def _fits(self, path: Path, node: Node, kind: str, value: Any) -> bool:
        """Whether fields can show the value without losing any of it."""
        if isinstance(value, _Missing) or value is None or value == "":
            return len(path) <= _DEEPEST_EMPTY
        if kind == "object":
            return isinstance(value, Mapping) and len(path) <= _DEEPEST and self._is_known(path, node, value)
        if isinstance(value, str) and kind == "list" and "string" in _types(node):
            return True
        if not isinstance(value, list) or len(value) > _MOST_ITEMS or len(path) > _DEEPEST:
            return False
        members = cast("list[Any]", value)
        items = self.schemas.resolved(node.get("items"))
        if kind == "choices":
            return all(shown(one) in [text for text, _ in options(items)] for one in members)
        if self.schemas.kind(items) != "object":
            return True
        return all(one == "" or self._is_known((*path, 0), items, one) for one in members)

    def _is_known(self, path: Path, node: Node, value: Any) -> bool:
        """Whether an object has only properties that the schema names. Outside lists others are kept anyway."""
        if not any(isinstance(step, int) for step in path):
            return True
        return isinstance(value, Mapping) and set(cast("Mapping[str, Any]", value)) <= {n for n, _ in _properties(node)}

    def _object(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        given = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
        needed = frozenset(_texts(node.get("required")))
        fields = [self.field((*path, n), one, given.get(n, MISSING), n in needed) for n, one in _properties(node)]
        folded = not required and not given and not _has_problem(pointer(path)[1:], self.problems)
        return Group(label(path, node), fields, hint(node), self._error(path), folded, required)

    def _list(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        single = [value] if isinstance(value, str) and value else []
        items = cast("list[Any]", value) if isinstance(value, list) else single
        least, most = _count(node.get("minItems"), 0), _count(node.get("maxItems"), _MOST_ITEMS)
        items = [*items, *([""] * (min(least, _MOST_ITEMS) - len(items)))]
        inner = _mapping(node.get("items"))
        shown_items = [
            self.field((*path, number), {**inner, "title": f"{label(path, node)} {number + 1}"}, one, required=False)
            for number, one in enumerate(items)
        ]
        can_add = len(items) < min(most, _MOST_ITEMS)
        name = pointer(path)
        return Repeated(name, label(path, node), shown_items, hint(node), self._error(path), can_add, required)

    def _choices(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        items = self.schemas.resolved(node.get("items"))
        chosen = [shown(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []
        boxes = [
            CheckBox(f"{pointer(path)}/{number}", text, option, checked=option in chosen)
            for number, (option, text) in enumerate(options(items))
        ]
        return Group(label(path, node), boxes, hint(node), self._error(path), required=required)

    def _enum(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        given = "" if isinstance(value, _Missing) else shown(value)
        known = options(node)
        if given and given not in [text for text, _ in known]:
            known = [*known, (given, given)]
        none = [] if required and given else [("", _default(node) or "—")]
        name = pointer(path)
        return Choice(name, label(path, node), [*none, *known], given, hint(node), required, self._error(path))

    def _boolean(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        name, given = pointer(path), "" if isinstance(value, _Missing) else shown(value)
        if node.get("default") is False and given in ("", "true", "false"):
            return CheckBox(name, label(path, node), "true", hint(node), given == "true", error=self._error(path))
        answers = [("", _default(node) or "—"), ("true", "yes"), ("false", "no")]
        return Choice(name, label(path, node), answers, given, hint(node), required, self._error(path))

    def _file(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        kept = "" if isinstance(value, _Missing) or not value else " Leave it empty to keep the present one."
        return FileField(pointer(path), label(path, node), hint(node) + kept, required, self._error(path))

    def _json(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        text = "" if isinstance(value, _Missing) else json_text(value)
        lines = min(20, max(4, text.count("\n") + 1))
        types = _types(node)
        what = {"array": "A list as JSON.", "object": "An object as JSON."}.get("".join(types), "JSON, or plain text.")
        about = f"{hint(node)} {what}".strip()
        return TextField(
            pointer(path), label(path, node), text, about, required=required, error=self._error(path), lines=lines,
            code=True,
        )  # fmt: skip

    def _text(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        text = "" if isinstance(value, _Missing) else shown(value)
        name, form = pointer(path), str(node.get("format") or "")
        if form == "password" or node.get("writeOnly") is True:
            return TextField(name, label(path, node), "", hint(node), "password", "off", required, self._error(path))
        offered = self._suggest(name, node) if self._suggest is not None else None
        kind = self.schemas.kind(node)
        is_long = _count(node.get("maxLength"), 0) > _LONG_TEXT or form in _MULTILINE or "contentMediaType" in node
        lines = min(20, max(4 if is_long else 1, text.count("\n") + 1))
        placeholder = {"date-time": "2026-01-31T12:00:00Z", "time": "12:00:00"}.get(form, _default(node))
        examples = [(shown(one), "") for one in cast("list[Any]", node.get("examples") or ())[:20]]
        return TextField(
            name, label(path, node), text, hint(node), cast("Any", _KINDS.get(form, "text")), "off", required,
            self._error(path), lines,
            keyboard="numeric" if kind == "integer" else "decimal" if kind == "number" else "text",
            placeholder=placeholder, options=examples if offered is None else offered.options,
            suggest="" if offered is None else offered.path,
        )  # fmt: skip

    def _error(self, path: Path) -> str:
        return self.problems.get(pointer(path), "")


class _Reader:
    """Reads fields."""

    def __init__(self, schemas: _Schemas, fields: Mapping[str, str], draft: bool) -> None:
        self.schemas = schemas
        self._fields = fields
        self._draft = draft
        self._inner = {name[:at] for name in fields for at, sign in enumerate(name) if sign == "/"}

    def value(self, path: Path, schema: Any, before: Any) -> Any:
        """The value at a place, or MISSING."""
        node, name = self.schemas.resolved(schema), pointer(path)
        kind = self.schemas.kind(node)
        if kind == "object" and name not in self._fields:
            return self.members(path, node, before) if name in self._inner else before
        if kind in ("list", "choices") and name not in self._fields:
            return self._items(path, node, before)
        if name not in self._fields:
            return False if kind == "boolean" and before is True else before
        return self._leaf(kind, node, _unix_lines(self._fields[name]), before)

    def members(self, path: Path, node: Node, before: Any) -> Any:
        kept = dict(cast("Mapping[str, Any]", before)) if isinstance(before, Mapping) else {}
        for name, one in _properties(node):
            found = self.value((*path, name), one, kept.get(name, MISSING))
            if isinstance(found, _Missing):
                kept.pop(name, None)
            else:
                kept[name] = found
        return kept if kept or isinstance(before, Mapping) or self._draft else MISSING

    def _items(self, path: Path, node: Node, before: Any) -> Any:
        name = pointer(path)
        numbers = {key[len(name) + 1 :].partition("/")[0] for key in self._fields if key.startswith(f"{name}/")}
        indexes = sorted(int(one) for one in numbers if one.isdecimal() and len(one) < 5)
        earlier = cast("list[Any]", before) if isinstance(before, list) else []
        found = [
            self.value((*path, at), node.get("items"), earlier[at] if at < len(earlier) else MISSING) for at in indexes
        ]
        kept = ["" if isinstance(one, _Missing) else one for one in found]
        if not self._draft:
            kept = [one for one, was in zip(kept, found, strict=True) if not isinstance(was, _Missing)]
        if not kept and not earlier:
            return [] if self._draft and isinstance(before, list) else before if before == [] else MISSING
        return kept

    def _leaf(self, kind: str, node: Node, text: str, before: Any) -> Any:
        is_secret = node.get("format") == "password" or node.get("writeOnly") is True
        if not isinstance(before, _Missing) and (
            (is_secret and not text) or text in (_unix_lines(shown(before)), _unix_lines(json_text(before)))
        ):
            return before
        if not text:
            return MISSING
        if kind == "enum":
            return next((value for value in option_values(node) if shown(value) == text), text)
        if kind == "boolean":
            return {"true": True, "false": False}.get(text, text)
        if kind in ("integer", "number"):
            return _number(text.strip())
        if kind == "scalar":
            return _scalar(text, self._scalar_types(node))
        return _parsed(text) if kind in ("json", "object", "list", "choices") else text

    def _scalar_types(self, node: Node) -> set[str]:
        every = [node, *(self.schemas.resolved(one) for one in (node.get("anyOf") or node.get("oneOf") or ()))]
        return {kind for one in every for kind in _types(one)}


def shown(value: Any) -> str:
    """A value as the text of a field."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, _Missing):
        return ""
    return json_text(value)


def _unix_lines(text: str) -> str:
    """The text as it comes out of a form, whatever its line breaks were."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def json_text(value: Any) -> str:
    """A value as JSON for people; text that cannot be mistaken for JSON stays as it is."""
    if isinstance(value, str) and _parsed(value) == value:
        return value
    if value is None or isinstance(value, _Missing):
        return ""
    encoded = msgspec.json.encode(value)
    return msgspec.json.format(encoded, indent=2).decode() if isinstance(value, dict | list) else encoded.decode()


def options(node: Node) -> list[tuple[str, str]]:
    """The values of an enumeration, as texts with labels."""
    return [(shown(one), shown(one) or "null") for one in option_values(node)]


def option_values(node: Node) -> list[Any]:
    values = cast("list[Any]", node["enum"]) if isinstance(node.get("enum"), list) else [node.get("const")]
    return [one for one in values if one is not None]


def label(path: Path, node: Node) -> str:
    title = node.get("title")
    return title if isinstance(title, str) and title else str(path[-1])


def hint(node: Node) -> str:
    """What the schema says about a value, its default and its bounds."""
    about = str(node.get("description") or "").strip()
    low, high = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum", node.get("exclusiveMaximum"))
    bounds = f"{low} to {high}." if low is not None and high is not None else ""
    ends = about if not about or about.endswith((".", "!", "?", ":", "}")) else f"{about}."
    return " ".join(part for part in (ends, bounds) if part)


def _default(node: Node) -> str:
    value = node.get("default")
    if value is None or value in ("", [], {}):
        return ""
    text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else shown(value)
    return f"default: {text if len(text) <= 60 else text[:57] + '...'}"


def _only_alternative(node: Node) -> Node | None:
    """The one alternative of anyOf or oneOf that is not null, with what stands beside it."""
    for keyword in ("anyOf", "oneOf"):
        every = node.get(keyword)
        if isinstance(every, list):
            given = [one for one in cast("list[Any]", every) if one != {"type": "null"}]
            if len(given) == 1 and isinstance(given[0], Mapping):
                return {**cast("Node", given[0]), **{name: value for name, value in node.items() if name != keyword}}
    return None


def _types(node: Node) -> list[str]:
    given = node.get("type")
    if isinstance(given, str):
        return [given]
    if isinstance(given, list):
        return [one for one in _texts(given) if one != "null"]
    return ["object"] if "properties" in node else ["array"] if "items" in node else []


def _properties(node: Node) -> list[tuple[str, Any]]:
    return [(name, one) for name, one in _mapping(node.get("properties")).items() if not _is_read_only(one)]


def _is_read_only(node: Any) -> bool:
    return isinstance(node, Mapping) and cast("Node", node).get("readOnly") is True


def _has_problem(name: str, problems: Mapping[str, str]) -> bool:
    return any(place.strip("/") == name or place.startswith(f"/{name}/") for place in problems)


def _number(text: str) -> Any:
    try:
        return int(text) if _INTEGER.fullmatch(text) else msgspec.json.decode(text, type=float)
    except (msgspec.MsgspecError, ValueError):
        return text


def _scalar(text: str, types: set[str]) -> Any:
    if "integer" in types or "number" in types:
        number = _number(text.strip())
        if not isinstance(number, str) and ("number" in types or isinstance(number, int)):
            return number
    if "boolean" in types and text in ("true", "false"):
        return text == "true"
    return text


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return text


def _steps(place: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:]]


def _at(value: Any, steps: Sequence[str], *, make: bool = False) -> Any:
    """What is at a place; with `make`, a list is put where there is nothing."""
    for number, step in enumerate(steps):
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if make and not members.get(step):
                members[step] = [] if number == len(steps) - 1 else {}
            value = members.get(step)
        elif isinstance(value, list):
            listed = cast("list[Any]", value)
            if not (step.isdecimal() and int(step) < len(listed)):
                return None
            if make and listed[int(step)] == "":
                listed[int(step)] = {}
            value = listed[int(step)]
        else:
            return None
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    return [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []


def _count(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
