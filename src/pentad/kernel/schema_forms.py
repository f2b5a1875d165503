"""Forms from JSON Schemas: the fields for a value, and the value of a submitted form.

The name of a field is the JSON Pointer of its value (`/person/name`, `/tags/0`). `form_fields` shows a value,
`read_form` reads it back. Nothing is validated here: text that is not a number stays text, so that the owner of the
schema reports the problem, at the field with that pointer.

    form_fields(schema, {"name": "Ada"}, {"/name": "is taken"})      -> fields
    read_form(schema, {"/name": "Ada", "/age": "36"})                -> {"name": "Ada", "age": 36}

A value without a shape (any object, several alternatives, very long lists) is JSON in a text area.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote

from pentad.kernel.errors import PentadError
from pentad.kernel.json_pointer import pointer, steps_of
from pentad.kernel.json_values import as_texts
from pentad.kernel.pages import (
    ADD,
    REMOVE,
    SEVERAL,
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
from pentad.kernel.schema import FORMAT_EXAMPLES
from pentad.kernel.schema_nodes import (
    MISSING,
    Missing,
    Node,
    Path,
    Schemas,
    count_in,
    default_text,
    field_text,
    hint,
    json_or_text,
    json_text,
    label,
    mapping_in,
    number_of,
    option_values,
    options,
    properties_of,
    scalar_of,
    types_of,
    unix_lines,
    value_at,
)

_DEEPEST_EMPTY: Final = 3
"""Missing objects get fields down to this depth, not counting places in lists; deeper ones are shown as JSON, because
schemas may contain themselves."""
_DEEPEST: Final = 8
_MOST_ITEMS: Final = 50
_FEW_OPTIONAL: Final = 6
_LONG_TEXT: Final = 300
_MULTILINE: Final = frozenset({"markdown", "html", "multiline", "textarea"})
_SHOWN_FORMATS: Final = frozenset({"date-time", "time", "duration"})
"""Formats that nobody knows by heart: the empty field shows an example."""
_KINDS: Final = {"date": "date", "email": "email", "uri": "url", "url": "url"}


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The suggestions of a field: values with labels, and the path that finds more. If the field has one of the values,
    the form shows its label."""

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
    """The form for an object of this schema. If the visitor has just submitted it, it contains what was typed, with
    each problem at its field; after a button for list items it has one more, or one fewer. `extra` are additional
    fields. If an item of a list asks for suggestions, the form includes it, just like the page that asks."""
    focus = ""
    if suggest is not None:
        value = _with_items(value, visit.query)
    was_sent = visit.posted == unquote(action)
    if was_sent:
        value = edited(read_form(schema, visit.fields, value, draft=True), visit.typed(ADD), visit.typed(REMOVE))
        focus = f"{visit.typed(ADD)}/" if visit.typed(ADD) else ""
    fields = form_fields(schema, value, visit.problems if was_sent else {}, suggest)
    return Form([*fields, *extra], buttons, action, validated=True, focus=focus)


def form_fields(
    schema: Node, value: Any = MISSING, problems: Mapping[str, str] | None = None, suggest: Suggest | None = None
) -> list[Field]:
    """The fields for an object of this schema. `problems` are messages by pointer. Beyond a few, optional fields are
    folded away unless they have a value or a problem."""
    writer = _Writer(schema, dict(problems or {}), suggest)
    node = writer.schemas.resolved(schema)
    given = mapping_in(value)
    required = frozenset(as_texts(node.get("required")))
    members = properties_of(node)
    shown = {name: writer.field((name,), one, given.get(name, MISSING), name in required) for name, one in members}
    asked = [name for name, _ in members if name in required or name in given or _has_problem(name, writer.problems)]
    asked = asked or [name for name, _ in members[:_FEW_OPTIONAL]]
    rest = [name for name, _ in members if name not in asked]
    if len(rest) <= _FEW_OPTIONAL:
        return [shown[name] for name, _ in members]
    more = Group("More", [shown[name] for name in rest], folded=True)
    return [*(shown[name] for name in asked), more]


def read_form(schema: Node, fields: Mapping[str, str], before: Any = MISSING, *, draft: bool = False) -> dict[str, Any]:
    """The object in a submitted form. Untouched values stay exactly as in `before`, even those that the schema does not
    name. A `draft` keeps empty items, so that the form can be shown again."""
    reader = _Reader(Schemas(schema), {name: text for name, text in fields.items() if name.startswith("/")}, draft)
    found = reader.members((), reader.schemas.resolved(schema), before)
    return {} if isinstance(found, Missing) else found


def edited(value: Any, add: str, remove: str) -> Any:
    """A draft after a button press: with one more item at the pointer `add`, or without the one at `remove`."""
    if add and isinstance(items := value_at(value, steps_of(add), make=True), list):
        cast("list[Any]", items).append("")
    if remove:
        *parent, last = steps_of(remove) or [""]
        if isinstance(items := value_at(value, parent), list) and str(last).isdecimal():
            numbered = cast("list[Any]", items)
            del numbered[int(last) : int(last) + 1]
    return value


def _with_items(value: Any, names: Iterable[str]) -> Any:
    """The value, with empty items added at these pointers."""
    places = [steps_of(name) for name in names if name.startswith("/")]
    items = [(steps[:-1], int(steps[-1])) for steps in places if len(steps) > 1 and steps[-1].isdecimal()]
    if not items:
        return value
    found: Any = dict[str, Any]() if isinstance(value, Missing) else deepcopy(value)
    for parent, number in items:
        if number < _MOST_ITEMS and isinstance(held := value_at(found, parent, make=True), list):
            listed = cast("list[Any]", held)
            listed += [""] * (number + 1 - len(listed))
    return found


def field_problems(error: PentadError) -> dict[str, str]:
    """An error's messages about individual values, by pointer."""
    found: dict[str, str] = {}
    for one in cast("list[Any]", error.details.get("problems") or []):
        if isinstance(one, Mapping):
            problem = cast("Mapping[str, Any]", one)
            place, message = str(problem.get("path") or ""), str(problem.get("message") or "")
            capitalised = message[:1].upper() + message[1:]
            found[place] = f"{found[place]}; {message}" if place in found else capitalised
    return found


class _Writer:
    """Makes fields."""

    def __init__(self, root: Node, problems: dict[str, str], suggest: Suggest | None) -> None:
        self.schemas = Schemas(root)
        self.problems = problems
        self._suggest = suggest

    def field(self, path: Path, schema: Any, value: Any, required: bool) -> Field:
        node = self.schemas.resolved(schema)
        kind = self.schemas.kind(node)
        if kind in ("object", "list", "choices") and not self._fits(path, node, kind, value):
            kind = "json"
        makers = {
            "object": self._object,
            "list": self._list,
            "choices": self._choices,
            "enum": self._enum,
            "boolean": self._boolean,
            "file": self._file,
            "files": self._file,
            "json": self._json,
        }
        return makers.get(kind, self._text)(path, node, value, required)

    def _fits(self, path: Path, node: Node, kind: str, value: Any) -> bool:
        """Whether fields can show the whole value."""
        if isinstance(value, Missing) or value is None or value == "":
            return sum(isinstance(step, str) for step in path) <= _DEEPEST_EMPTY
        if kind == "object":
            return isinstance(value, Mapping) and len(path) <= _DEEPEST and self._is_known(path, node, value)
        if isinstance(value, str) and kind == "list" and "string" in types_of(node):
            return True
        if not isinstance(value, list):
            return False
        members = cast("list[Any]", value)
        if len(members) > _MOST_ITEMS or len(path) > _DEEPEST:
            return False
        items = self.schemas.resolved(node.get("items"))
        if kind == "choices":
            return all(field_text(one) in [text for text, _ in options(items)] for one in members)
        if self.schemas.kind(items) != "object":
            return True
        return all(one == "" or self._is_known((*path, 0), items, one) for one in members)

    def _is_known(self, path: Path, node: Node, value: Any) -> bool:
        """Whether an object has only properties that the schema names. Outside lists, others are kept anyway."""
        if not any(isinstance(step, int) for step in path):
            return True
        return isinstance(value, Mapping) and set(cast("Mapping[str, Any]", value)) <= {
            n for n, _ in properties_of(node)
        }

    def _object(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        given = mapping_in(value)
        needed = frozenset(as_texts(node.get("required")))
        fields = [self.field((*path, n), one, given.get(n, MISSING), n in needed) for n, one in properties_of(node)]
        is_item = isinstance(path[-1], int)  # the visitor added it, or the schema requires it
        folded = not (required or given or is_item or _has_problem(pointer(path)[1:], self.problems))
        return Group(label(path, node), fields, hint(node), self._error(path), folded, required)

    def _list(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        single = [value] if isinstance(value, str) and value else []
        items = cast("list[Any]", value) if isinstance(value, list) else single
        least, most = count_in(node.get("minItems"), 0), count_in(node.get("maxItems"), _MOST_ITEMS)
        items = [*items, *([""] * (min(least, _MOST_ITEMS) - len(items)))]
        inner = mapping_in(node.get("items"))
        one_of_them = str(inner.get("title") or label(path, node))
        shown_items = [
            self._item((*path, number), {**inner, "title": f"{one_of_them} {number + 1}"}, one)
            for number, one in enumerate(items)
        ]
        can_add = len(items) < min(most, _MOST_ITEMS)
        name = pointer(path)
        return Repeated(name, label(path, node), shown_items, hint(node), self._error(path), can_add, required)

    def _item(self, path: Path, schema: Node, value: Any) -> Field:
        """An item of a list. If a browser would send nothing for it, as for an empty list, it is shown as JSON;
        otherwise it would look like a removed item."""
        field = self.field(path, schema, value, required=False)
        if value == "" or _is_sent(field):
            return field
        return self._json(path, self.schemas.resolved(schema), value, required=False)

    def _choices(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        items = self.schemas.resolved(node.get("items"))
        chosen = [field_text(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []
        boxes = [
            CheckBox(f"{pointer(path)}/{number}", text, option, checked=option in chosen)
            for number, (option, text) in enumerate(options(items))
        ]
        return Group(label(path, node), boxes, hint(node), self._error(path), required=required)

    def _enum(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        given = "" if isinstance(value, Missing) else field_text(value)
        known = options(node)
        if given and given not in [text for text, _ in known]:
            known = [*known, (given, given)]
        none = [] if required and given else [("", default_text(node) or "—")]
        name = pointer(path)
        return Choice(name, label(path, node), [*none, *known], given, hint(node), required, self._error(path))

    def _boolean(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        name, given = pointer(path), "" if isinstance(value, Missing) else field_text(value)
        if node.get("default") is False and given in ("", "true", "false"):
            return CheckBox(name, label(path, node), "true", hint(node), given == "true", error=self._error(path))
        answers = [("", default_text(node) or "—"), ("true", "yes"), ("false", "no")]
        return Choice(name, label(path, node), answers, given, hint(node), required, self._error(path))

    def _file(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        kept = "" if isinstance(value, Missing) or not value else " Leave it empty to keep the present one."
        name = pointer(path) + (SEVERAL if "array" in types_of(node) else "")
        return FileField(name, label(path, node), hint(node) + kept, required, self._error(path))

    def _json(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        text = "" if isinstance(value, Missing) else json_text(value)
        lines = min(20, max(4, text.count("\n") + 1))
        types = types_of(node)
        what = {"array": "A list as JSON.", "object": "An object as JSON."}.get("".join(types), "JSON, or plain text.")
        about = f"{hint(node)} {what}".strip()
        return TextField(
            pointer(path), label(path, node), text, about, required=required, error=self._error(path), lines=lines,
            code=True,
        )  # fmt: skip

    def _text(self, path: Path, node: Node, value: Any, required: bool) -> Field:
        text = "" if isinstance(value, Missing) else field_text(value)
        name, form = pointer(path), str(node.get("format") or "")
        if form == "password" or node.get("writeOnly") is True:
            return TextField(name, label(path, node), "", hint(node), "password", "off", required, self._error(path))
        offered = self._suggest(name, node) if self._suggest is not None else None
        named = dict(offered.options).get(text) if offered is not None else None
        about = f"This is {named}. {hint(node)}".rstrip() if named else hint(node)
        kind = self.schemas.kind(node)
        is_long = count_in(node.get("maxLength"), 0) > _LONG_TEXT or form in _MULTILINE or "contentMediaType" in node
        lines = min(20, max(4 if is_long else 1, text.count("\n") + 1))
        placeholder = default_text(node) or (FORMAT_EXAMPLES[form] if form in _SHOWN_FORMATS else "")
        examples = [(field_text(one), "") for one in cast("list[Any]", node.get("examples") or ())[:20]]
        return TextField(
            name, label(path, node), text, about, cast("Any", _KINDS.get(form, "text")), "off", required,
            self._error(path), lines,
            keyboard="numeric" if kind == "integer" else "decimal" if kind == "number" else "text",
            placeholder=placeholder, options=examples if offered is None else offered.options,
            suggest="" if offered is None else offered.path,
        )  # fmt: skip

    def _error(self, path: Path) -> str:
        return self.problems.get(pointer(path), "")


class _Reader:
    """Reads fields."""

    def __init__(self, schemas: Schemas, fields: Mapping[str, str], draft: bool) -> None:
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
        if kind == "files":
            return self._items(path, node, MISSING) if name in self._inner else before
        if kind in ("list", "choices") and name not in self._fields:
            return self._items(path, node, before)
        if name not in self._fields:
            return False if kind == "boolean" and before is True else before
        return self._leaf(kind, node, unix_lines(self._fields[name]), before)

    def members(self, path: Path, node: Node, before: Any) -> Any:
        kept = dict(mapping_in(before))
        for name, one in properties_of(node):
            found = self.value((*path, name), one, kept.get(name, MISSING))
            if isinstance(found, Missing):
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
        kept = ["" if isinstance(one, Missing) else one for one in found]
        if not self._draft:
            kept = [one for one, was in zip(kept, found, strict=True) if not isinstance(was, Missing)]
        if not kept and not earlier:
            return list[Any]() if before == [] else MISSING
        return kept

    def _leaf(self, kind: str, node: Node, text: str, before: Any) -> Any:
        is_secret = node.get("format") == "password" or node.get("writeOnly") is True
        if not isinstance(before, Missing) and (
            (is_secret and not text) or text in (unix_lines(field_text(before)), unix_lines(json_text(before)))
        ):
            return before
        if not text:
            return MISSING
        if kind == "enum":
            return next((value for value in option_values(node) if field_text(value) == text), text)
        if kind == "boolean":
            return {"true": True, "false": False}.get(text, text)
        if kind in ("integer", "number"):
            return number_of(text.strip())
        if kind == "scalar":
            return scalar_of(text, self._scalar_types(node))
        return json_or_text(text) if kind in ("json", "object", "list", "choices") else text

    def _scalar_types(self, node: Node) -> set[str]:
        every = [node, *(self.schemas.resolved(one) for one in (node.get("anyOf") or node.get("oneOf") or ()))]
        return {kind for one in every for kind in types_of(one)}


def _is_sent(field: Field) -> bool:
    """Whether browsers always send a value for the field."""
    if isinstance(field, Group | Repeated):
        return any(map(_is_sent, field.fields if isinstance(field, Group) else field.items))
    return not isinstance(field, CheckBox | FileField)


def _has_problem(name: str, problems: Mapping[str, str]) -> bool:
    return any(place.strip("/") == name or place.startswith(f"/{name}/") for place in problems)
