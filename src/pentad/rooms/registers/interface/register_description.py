"""`describe`: what a register holds, in one answer of limited size: schemas, relations, counts, examples, next calls.

Limited to what the caller may see. To fit the budget, examples are shortened first, then properties lose their details,
then whole schemas are left out; `cut` says what is missing.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pentad.kernel.ports import Rows
from pentad.rooms.registers.catalogue.related_schemas import SchemaReader
from pentad.rooms.registers.definitions.properties import Property
from pentad.rooms.registers.interface.response_budget import CHARACTERS_PER_TOKEN, check_budget, json_size
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.presentation import present
from pentad.rooms.registers.query.models import Query
from pentad.rooms.registers.service import Registers

DEFAULT_TOKENS: Final = 2_000
_EXAMPLES: Final = 2
_LONG_TEXT: Final = 200
_SHORT_TEXT: Final = 60
_MOST_ENUM: Final = 30
_FEW_ENUM: Final = 8
_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern")
_FRAME: Final = 160
"""Characters reserved for the note about what was cut."""
_NEXT: Final = (
    "objects action=list with filter, sort, search, aggregate; names of relations work in paths (name.property)",
    "objects action=create|patch|bulk to write; schemas action=get for a whole schema",
)

Answer = dict[str, Any]
Step = tuple[str, Callable[[Answer], Answer]]
"""One way to shorten a schema, and what `cut` says about it."""


async def describe_register(
    registers: Registers, caller: Caller, ref: int | str, max_tokens: int | None = None
) -> Answer:
    """Describe one register for a caller."""
    budget = DEFAULT_TOKENS if max_tokens is None else max_tokens
    check_budget(budget)
    register = await registers.catalogue.registers.get(caller, ref)
    pairs = [pair for pair in await registers.catalogue.visible_pairs(caller) if pair.register.id == register.id]
    relations = await _relations(registers, caller, pairs)
    schemas = [await _schema(registers, caller, pair, relations.get(pair.schema.id, {})) for pair in pairs]
    about: Answer = {"id": register.id, "slug": register.slug, "title": register.title}
    about["objects"] = sum(schema["objects"] for schema in schemas)
    if description := register.body.get("description"):
        about["description"] = _shortened(description, _LONG_TEXT)
    return _fitted({"register": about, "schemas": schemas, "next": list(_NEXT)}, budget)


async def _schema(registers: Registers, caller: Caller, pair: Pair, relations: Mapping[str, str]) -> Answer:
    found = await registers.objects.find(caller, pair, Query(limit=_EXAMPLES))
    hidden = registers.access.hidden(caller, pair)
    single = {one.paths[0][0] for one in pair.definition.unique if len(one.paths) == 1 and len(one.paths[0]) == 1}
    answer: Answer = {"slug": pair.schema.slug, "title": pair.schema.title}
    if description := pair.schema.body.get("description"):
        answer["description"] = _shortened(description, _LONG_TEXT)
    answer["objects"] = found.total
    answer["properties"] = {
        name: _property(one, pair, unique=name in single)
        for name, one in pair.definition.properties.items()
        if name not in hidden
    }
    if relations:
        answer["relations"] = dict(relations)
    examples = [present(registers.access, caller, pair, StoredObject(*row)) for row in found.rows]
    if examples:
        answer["examples"] = [
            _texts_cut({k: v for k, v in one.items() if k != "@self"}, _LONG_TEXT) for one in examples
        ]
    return answer


def _property(one: Property, pair: Pair, *, unique: bool) -> Answer:
    kind: Any = one.value_types[0] if len(one.value_types) == 1 else list(one.value_types)
    answer: Answer = {"type": kind} if kind else {}
    if one.format:
        answer["format"] = one.format
    for keyword in _BOUNDS:
        if (bound := one.definition.get(keyword)) is not None:
            answer[keyword] = _texts_cut(bound, _SHORT_TEXT)
    if one.many and one.item_kind:
        answer["items"] = one.item_kind
    if one.name in pair.definition.required:
        answer["required"] = True
    if unique:
        answer["unique"] = True
    if one.enum:
        answer["enum"] = list(one.enum[:_MOST_ENUM])
    if one.computed is not None:
        answer["computed"] = True
    if one.ref is not None:
        answer["reference"] = one.ref.target
    if one.description:
        answer["description"] = _shortened(one.description, _LONG_TEXT)
    return answer


async def _relations(registers: Registers, caller: Caller, pairs: Sequence[Pair]) -> dict[int, dict[str, str]]:
    """For each schema, the query names that follow references, and where each leads."""
    catalogue = registers.catalogue

    def read(rows: Rows) -> dict[int, dict[str, str]]:
        reader = SchemaReader(rows, catalogue.definitions, registers.access, caller)
        slugs = {pair.schema.id: pair.schema.slug for pair in pairs}
        return {pair.schema.id: _relations_of(reader, pair, slugs) for pair in pairs}

    return await registers.platform.database.read(read)


def _relations_of(reader: SchemaReader, pair: Pair, slugs: Mapping[int, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    related = reader.with_relations(pair).relations
    if related is None:
        return found
    hidden = reader.access.hidden(reader.caller, pair)
    for reference in pair.definition.references:
        if reference.path[0] in hidden:
            continue
        targets = [slugs.get(far.id, str(far.id)) for far in related.targets(reference)]
        if targets:
            name = ".".join(step for step in reference.path if step != "*")
            found[name] = f"{'many' if reference.many else 'one'} {' or '.join(targets)}"
    for name in related.names():
        far = related.referring(name)
        if far is not None and name not in found:
            found[name] = f"many {slugs.get(far.id, str(far.id))}, which refer here"
    return found


# the budget


def _fitted(answer: Answer, budget: int) -> Answer:
    """Fit the answer into the budget. Every step applies to all schemas, so none is favoured by chance."""
    most = budget * CHARACTERS_PER_TOKEN
    if json_size(answer) <= most:
        return answer
    cut: list[str] = []
    schemas: list[Answer] = answer["schemas"]
    for label, shorten in _STEPS:
        schemas = [shorten(dict(schema)) for schema in schemas]
        cut.append(label)
        if json_size({**answer, "schemas": schemas}) + _FRAME <= most:
            return {**answer, "schemas": schemas, "cut": {"max_tokens": budget, "shortened": cut}}
    total = len(schemas)
    while schemas and json_size({**answer, "schemas": schemas}) + _FRAME > most:
        schemas = schemas[:-1]
    left_out = [schema["slug"] for schema in answer["schemas"][len(schemas) :]]
    note: Answer = {"max_tokens": budget, "shortened": cut, "schemas_left_out": total - len(schemas)}
    whole = {**answer, "schemas": schemas, "cut": note}
    while left_out and json_size({**whole, "cut": {**note, "names": left_out}}) > most:
        left_out = left_out[:-1]
    if left_out:
        note["names"] = left_out
    if json_size(whole) > most:
        whole = {"register": {"id": answer["register"]["id"]}, "schemas": schemas, "cut": note}
    return whole


def _short_examples(schema: Answer) -> Answer:
    if "examples" in schema:
        schema["examples"] = [_texts_cut(one, _SHORT_TEXT) for one in schema["examples"]]
    return schema


def _one_example(schema: Answer) -> Answer:
    if "examples" in schema:
        schema["examples"] = schema["examples"][:1]
    return schema


def _no_examples(schema: Answer) -> Answer:
    return {name: value for name, value in schema.items() if name != "examples"}


def _no_descriptions(schema: Answer) -> Answer:
    properties = {
        name: {key: value for key, value in one.items() if key != "description"}
        for name, one in schema["properties"].items()
    }
    return {name: value for name, value in schema.items() if name != "description"} | {"properties": properties}


def _few_values(schema: Answer) -> Answer:
    schema["properties"] = {
        name: {**one, "enum": [*one["enum"][:_FEW_ENUM], "..."]} if len(one.get("enum", ())) > _FEW_ENUM else one
        for name, one in schema["properties"].items()
    }
    return schema


def _only_names(schema: Answer) -> Answer:
    return {**schema, "properties": list(schema["properties"])}


_STEPS: Final[Sequence[Step]] = (
    ("long texts in examples", _short_examples),
    ("second examples", _one_example),
    ("descriptions", _no_descriptions),
    ("examples", _no_examples),
    ("long lists of values", _few_values),
    ("details of properties", _only_names),
)


def _texts_cut(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return _shortened(value, longest)
    if isinstance(value, list):
        return [_texts_cut(one, longest) for one in value[:10]]  # pyright: ignore[reportUnknownVariableType]  plain JSON
    if isinstance(value, dict):
        return {name: _texts_cut(one, longest) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType]  likewise
    return value


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
