"""Typed tools: `create_permit`, `find_permits`, `get_permit` and `update_permit`, generated from a schema.

A profile names schemas (`typed = ["registers:permits/permit"]`); the tools take the schema's properties as their
arguments. They run the actions of `objects`, with the same rules, limits and history. A caller's tools leave out what
it may not read or change.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, cast
from weakref import WeakKeyDictionary

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
)

from pentad.kernel.errors import PentadError
from pentad.kernel.lru import LruCache
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments, argument_error
from pentad.mcp.call import Call
from pentad.mcp.declarations import Tool, ToolResult, tool
from pentad.mcp.generated_tools import Generated
from pentad.rooms.registers.access.rules import ROOM
from pentad.rooms.registers.definitions.json_schema import to_json_schema
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.interface import tool_schemas
from pentad.rooms.registers.interface.object_tool import ObjectActions, ObjectsArguments
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.service import Registers

Verb = Literal["create", "find", "get", "update"]
Definition = tuple[Any, Any]
"""A field for `create_model`: its type and its `Field`."""

_MOST_KEPT: Final = 256
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 300
_OTHER_LETTERS: Final = re.compile(r"[^A-Za-z0-9_-]+")
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


def _number(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    """A number as given: integers stay integers, however large."""
    return value if type(value) is int else read(value)


_TYPES: Final[Mapping[str, Any]] = {
    "string": str, "integer": int, "number": Annotated[float, WrapValidator(_number)], "boolean": bool,
    "array": list[Any], "object": dict[str, Any],
}  # fmt: skip
_COMPARED: Final = ("gt", "gte", "lt", "lte")
_OPTIONS: Final[Mapping[str, tuple[Any, dict[str, Any]]]] = {
    "id": (int | str, {"type": "string", "description": "uuid, slug or unique value"}),
    "reason": (str, {"type": "string", "description": "why, for the history"}),
    "if_version": (int, {"type": "integer", "description": "fail if it changed since"}),
    "idempotency_key": (str, {"type": "string", "description": "same key, done once"}),
    "search": (str, {"type": "string", "description": "words to find in all texts"}),
    "sort": (list[str], {"type": "array", "items": {"type": "string"}, "description": '["-due", "name"]'}),
    "fields": (list[str], {"type": "array", "items": {"type": "string"}, "description": "return only these"}),
    "limit": (int, {"type": "integer"}),
    "cursor": (str, {"type": "string", "description": "from the last answer"}),
    "max_tokens": (int, {"type": "integer", "description": "cut the answer to fit"}),
}
"""Tool arguments that are not properties. If a property has the same name, the argument is called `_name`."""
_USES: Final[Mapping[Verb, tuple[str, ...]]] = {
    "create": ("reason", "idempotency_key"),
    "find": ("search", "sort", "fields", "limit", "cursor", "max_tokens"),
    "get": ("id", "fields"),
    "update": ("id", "reason", "if_version", "idempotency_key"),
}
_ACTIONS: Final[Mapping[Verb, str]] = {"create": "create", "find": "list", "get": "get", "update": "patch"}


class _Typed(Arguments):
    """The base of the generated models; only the names in the schema count."""

    model_config = ConfigDict(populate_by_name=False, protected_namespaces=())


_kept: Final = WeakKeyDictionary[Registers, LruCache[tuple[Any, ...], Sequence[Tool]]]()
"""The tools of each open room, built once per schema version and set of rights."""


async def generate_tools(registers: Registers, principal: Principal, names: Sequence[str]) -> Generated:
    """The tools of the schemas the caller may see; see `Room.generated_tools`."""
    caller = Caller(principal)
    labels = tool_labels([name for name in names if "/" in name])
    tools: list[Tool] = []
    problems: dict[str, str] = {}
    for name in names:
        register, _, schema = name.partition("/")
        if not labels.get(name):
            problems[name] = "Write it as registers:<register>/<schema>, both by slug."
            continue
        try:
            pair = await registers.catalogue.pair(caller, register, schema)
        except PentadError as error:
            problems[name] = error.sentence()
            continue
        label = labels[name]
        plural = label if label.endswith("s") or f"{label}s" in labels.values() else f"{label}s"
        tools += _tools_of(registers, caller, pair, label, plural)
    return Generated(tools, problems)


def _tools_of(registers: Registers, caller: Caller, pair: Pair, label: str, plural: str) -> Sequence[Tool]:
    access, register, schema = registers.access, pair.register, pair.schema
    hidden = access.hidden(caller, pair)
    fixed = frozenset(name for name in pair.definition.properties if not access.may_set(caller, pair, name))
    verbs: tuple[Verb, ...] = tuple(verb for verb in _USES if _may(registers, caller, pair, verb))
    key = (
        register.id,
        register.updated_at,
        schema.id,
        schema.changes,
        schema.updated_at,
        label,
        plural,
        hidden,
        fixed,
        verbs,
    )
    kept = _kept.setdefault(registers, LruCache(_MOST_KEPT))
    if (known := kept.get(key)) is None:
        maker = _ToolMaker(pair, label, plural, hidden, fixed)
        known = [maker.make(verb) for verb in verbs]
        kept.put(key, known)
    return known


def _may(registers: Registers, caller: Caller, pair: Pair, verb: Verb) -> bool:
    """Whether the rules allow it for some object. Callers without the scope get the tool, and a clear error."""
    right: Literal["read", "create", "update"] = verb if verb in ("create", "update") else "read"
    if right != "read" and not caller.principal.may(ROOM, "write"):
        return True
    try:
        registers.access.check(caller, pair, right)
    except PentadError:
        return False
    return True


def tool_labels(names: Sequence[str]) -> dict[str, str]:
    """The schema's part of the tool names. If two schemas share a slug, the register is put in front.

    It depends only on the names in the profile, so a tool has the same name for every caller.
    """
    short = {name: _OTHER_LETTERS.sub("_", name.rpartition("/")[2]).strip("_") for name in names}
    counts = Counter(short.values())
    labels: dict[str, str] = {}
    for name, label in short.items():
        whole = label if counts[label] == 1 else _OTHER_LETTERS.sub("_", name).strip("_")
        longest = _LONGEST_NAME - len("create_") - 1
        labels[name] = whole[:longest] if whole[:longest] not in labels.values() else ""
    return labels


class _ToolMaker:
    """Makes the tools of one schema."""

    def __init__(self, pair: Pair, label: str, plural: str, hidden: frozenset[str], fixed: frozenset[str]) -> None:
        self._pair = pair
        self._label = label
        self._plural = plural
        self._document = to_json_schema(pair.definition.body)
        properties = pair.definition.properties
        self._readable = {name: one for name, one in properties.items() if name not in hidden}
        self._writable = {
            name: one
            for name, one in properties.items()
            if name not in fixed and one.computed is None and not (one.ref is not None and one.ref.filled)
        }

    def make(self, verb: Verb) -> Tool:
        title, register = _plain(self._pair.schema.title), _plain(self._pair.register.title)
        about = _plain(self._pair.schema.body.get("description") or "")
        texts = {
            "create": f"Create one {title} in {register}.",
            "find": f"Find objects of {title} in {register}. A property takes a value, or comparisons.",
            "get": f"Get one {title} of {register}.",
            "update": f"Change some properties of one {title} in {register}. null clears one.",
        }
        fields, schema = self._arguments(verb)
        model = create_model(f"{verb}_{self._label}", __base__=_Typed, **cast("dict[str, Any]", fields))
        reads = verb in ("find", "get")
        name = f"find_{self._plural}" if verb == "find" else f"{verb}_{self._label}"
        return tool(
            name,
            title=f"{verb.capitalize()} {title}"[:100],
            description=f"{texts[verb]} {about}".strip(),
            action="read" if reads else "write",
            read_only=reads,
            destructive=verb == "update",
            input_schema=schema,
            output_schema=tool_schemas.LIST_ANSWER if verb == "find" else {"type": "object"},
            stands_for=f"objects:{_ACTIONS[verb]}",
            tags=("search",) if verb == "find" else (),
        )(self._function(verb, model))

    def _arguments(self, verb: Verb) -> tuple[dict[str, Definition], dict[str, Any]]:
        """The fields of the arguments model, and the schema clients see."""
        fields: dict[str, Definition] = {}
        listed: dict[str, Any] = {}
        required: list[str] = []
        for number, (name, one) in enumerate(self._properties(verb).items()):
            needed = verb == "create" and one.required and one.default is None
            kind = _filter_type(one) if verb == "find" else _value_type(one)
            optional: Any = kind if needed or verb == "find" else kind | None
            fields[f"property_{number}"] = (
                optional, Field(alias=name) if needed else Field(default=None, alias=name)
            )  # fmt: skip
            listed[name] = self._listed(name, one, verb, nullable=verb == "update" and not one.required)
            required += [name] if needed else []
        for option, alias in self._options(verb).items():
            kind, schema = _OPTIONS[option]
            needed = option == "id"
            fields[f"option_{option}"] = (kind, Field(alias=alias)) if needed else (
                kind | None, Field(default=None, alias=alias)
            )  # fmt: skip
            listed[alias] = schema
            required += [alias] if needed else []
        document: dict[str, Any] = {"type": "object", "properties": listed}
        if required:
            document["required"] = required
        if inner := {name: self._document[name] for name in ("$defs", "definitions") if name in self._document}:
            document |= inner
        return fields, {**document, "additionalProperties": False}

    def _properties(self, verb: Verb) -> Mapping[str, Property]:
        if verb == "find":
            return {name: one for name, one in self._readable.items() if one.kind or one.item_kind}
        return {} if verb == "get" else self._writable

    def _options(self, verb: Verb) -> dict[str, str]:
        """The argument name of each option."""
        taken = self._properties(verb)
        return {option: f"_{option}" if option in taken else option for option in _USES[verb]}

    def _listed(self, name: str, one: Property, verb: Verb, *, nullable: bool) -> dict[str, Any]:
        plain: dict[str, Any] = dict(self._document.get("properties", {}).get(name) or {})
        described = _described(one)
        if verb == "find":
            return {**_listed_filter(one, plain), **described}
        if nullable and isinstance(plain.get("type"), str):
            plain["type"] = [plain["type"], "null"]
        if nullable and "enum" in plain and None not in plain["enum"]:
            plain["enum"] = [*plain["enum"], None]
        return {**plain, **described}

    def _function(self, verb: Verb, model: type[BaseModel]) -> Callable[..., Any]:
        register, schema, action = self._pair.register.id, self._pair.schema.id, _ACTIONS[verb]
        options = self._options(verb)
        by_alias = {alias: option for option, alias in options.items()}

        async def run(arguments: Any, call: Call[Registers]) -> ToolResult:
            given: dict[str, Any] = arguments.model_dump(by_alias=True, exclude_unset=True)
            chosen = {by_alias[name]: value for name, value in given.items() if name in by_alias}
            data = {name: value for name, value in given.items() if name not in by_alias}
            if verb == "find":
                chosen["filter"] = data or None
            elif verb != "get":
                chosen["data"] = data
            whole = {"action": action, "register": register, "schema": schema, **chosen}
            try:
                asked = ObjectsArguments.model_validate(whole)
            except ValidationError as error:
                raise argument_error(ObjectsArguments, error, whole) from None
            caller = Caller.of(call, asked.reason)
            return ToolResult(structured=await ObjectActions(call.service, caller, asked).run())

        run.__annotations__ = {"arguments": model, "call": Call[Registers], "return": ToolResult}
        return run


def _plain(text: Any) -> str:
    """A schema's text as one line, for a description."""
    return " ".join(_UNPRINTABLE.sub(" ", str(text)).split())[:_LONGEST_DESCRIPTION]


def _described(one: Property) -> dict[str, str]:
    text = _plain(one.description or one.title or "")
    if one.ref is not None:
        target = f"uuid of {_plain(one.ref.target)}"
        text = f"{text} ({target})" if text else target
    return {"description": text} if text else {}


def _value_type(one: Property) -> Any:
    """The Python type of a property's values; the schema validates the rest."""
    if one.enum:
        return _literal(one.enum)
    if one.ref is not None:
        return list[Any] if one.many else Any
    kinds = [_TYPES[kind] for kind in one.types if kind in _TYPES]
    if len(kinds) != 1 or len(kinds) != len([kind for kind in one.types if kind != "null"]):
        return Any
    return kinds[0] | None if "null" in one.types else kinds[0]


def _literal(values: Sequence[Any]) -> Any:
    plain = all(value is None or isinstance(value, str | int | bool) for value in values)
    return Literal[tuple(values)] if plain else Any


def _filter_type(one: Property) -> Any:
    """A value, comparisons, or null for objects without one."""
    kind = (one.item_kind if one.many else one.kind) or "text"
    value: Any = {"number": int | float, "boolean": bool}.get(kind, str)
    return value | dict[str, Any] | None


def _listed_filter(one: Property, plain: Mapping[str, Any]) -> dict[str, Any]:
    source: Mapping[str, Any] = cast("Mapping[str, Any]", plain.get("items") or {}) if one.many else plain
    kind = (one.item_kind if one.many else one.kind) or "text"
    named = {"number": "number", "boolean": "boolean"}.get(kind, "string")
    value: dict[str, Any] = {"type": named}
    if source.get("enum"):
        value = {"enum": list(source["enum"])}
    elif source.get("format") and named == "string":
        value["format"] = source["format"]
    if one.many:
        return {"anyOf": [value, _comparisons({"contains": value})]}
    if kind == "boolean":
        return value
    if kind in ("number", "date", "moment"):
        return {"anyOf": [value, _comparisons(dict.fromkeys(_COMPARED, value))]}
    texts: dict[str, Any] = {"in": {"type": "array", "items": value}, "ne": value}
    if "enum" not in value:
        texts["like"] = {"type": "string"}
    return {"anyOf": [value, _comparisons(texts)]}


def _comparisons(operators: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(operators)}
