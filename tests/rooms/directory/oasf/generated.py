"""Records made from the tables: valid ones of any version, and what becomes of them after a change or two."""

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from pentad.kernel.secrets.names import is_secret_member
from pentad.rooms.directory.oasf.class_rules import FEATURE_NAMES, OLD_MODULE_NAMES
from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, ValueType, objects
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family

Json = dict[str, Any]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 20000),
    st.floats(-3, 3),
    st.text(max_size=8),
    st.sampled_from(["1", "binary"]),
)
free_names = st.text(max_size=4).filter(lambda name: not is_secret_member(name, "1234"))
"""Names of members that a record may choose itself. What goes by the name of a secret, such as `Otp`, is refused."""
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(free_names, inner, max_size=2)),
    max_leaves=4,
)
_SHAPED = {
    "datetime_t": st.sampled_from(["2026-03-02T09:30:00Z", "2026-03-02t09:30:00.5+01:00"]),
    "cid_t": st.just("b" + "a" * 58),
    "file_hash_t": st.just("sha256:" + "0" * 64),
    "mime_t": st.just("application/json"),
    "uuid_t": st.just("0f8fad5b-d9cb-469f-a165-70867728950e"),
    "bytestring_t": st.just("YnVuZGxl"),
}


def _value(kind: ValueType, values: tuple[str, ...]) -> st.SearchStrategy[Any]:
    if values:
        return st.sampled_from(values)
    if kind.name in _SHAPED:
        return _SHAPED[kind.name]
    return {
        "any": anything,
        "boolean": st.booleans(),
        "integer": st.one_of(st.integers(0, 10**6), st.just(3.0)),
        "number": st.floats(0, 1) | st.integers(0, 1),
        "string": st.text(max_size=6),
    }[kind.kind]


@st.composite
def _attribute(draw: Any, facts: Objects, attribute: Attribute, depth: int) -> Any:
    kind = facts.types.get(attribute.type)
    if attribute.type.startswith("class_t:"):
        item = _class(facts.version, attribute.type.removeprefix("class_t:"), facts)
    elif kind is None:
        shapes = facts.choices(attribute.type) if attribute.one_of else [facts.object(attribute.type)]
        item = st.sampled_from(shapes).flatmap(lambda shape: shaped(facts, shape, depth + 1))
    elif kind.kind == "map":
        item = st.dictionaries(free_names, st.text(max_size=4), max_size=2)
    else:
        item = _value(kind, attribute.values)
    if not attribute.array:
        return draw(item)
    items = draw(st.lists(item, min_size=1, max_size=2 if depth < 2 else 1))
    return [item for index, item in enumerate(items) if repr(item) not in map(repr, items[:index])]


@st.composite
def shaped(draw: Any, facts: Objects, shape: Shape, depth: int = 0) -> Json:
    """An object that is right by the tables."""
    if shape.open:
        return draw(st.dictionaries(free_names, scalars, max_size=2))
    wanted = set(shape.required())
    spare = [name for name in shape.attributes if name not in wanted]
    if depth < 3:
        wanted |= {name for name in spare if draw(st.booleans())}
    for constraint in shape.constraints:
        present = [name for name in constraint.attributes if name in wanted]
        if constraint.kind == "just_one":
            wanted -= set(present)
        if constraint.kind == "just_one" or not present:
            wanted.add(draw(st.sampled_from(constraint.attributes)))
    return {name: draw(_attribute(facts, shape.attributes[name], depth)) for name in shape.attributes if name in wanted}


@st.composite
def _class(draw: Any, version: str, base: str, facts: Objects) -> Json:
    if base == "base_feature":
        name = draw(st.sampled_from([*FEATURE_NAMES, "example.org/own"]))
        shape = facts.shapes["module", FEATURE_NAMES.get(name, "base_feature")]
        return draw(shaped(facts, shape, 1)) | {"name": name}
    family: Family = "skill" if base == "base_skill" else "domain" if base == "base_domain" else "module"
    entries = [entry for entry in taxonomy(version, family).all if not entry.grouping]
    entry = draw(st.sampled_from(entries))
    if version == "0.3.1":
        return {"class_uid": entry.id, "category_uid": taxonomy(version, family).parents(entry)[0].id}
    if family == "module":
        names = [
            entry.name,
            *(old for old, new in OLD_MODULE_NAMES.items() if new == entry.name and version == "0.7.0"),
        ]
        module = draw(shaped(facts, facts.shapes["module", entry.short], 1))
        return module | {"name": draw(st.sampled_from(names))} | ({"id": entry.id} if "id" in module else {})
    both = {"name": entry.name, "id": entry.id}
    return {name: both[name] for name in draw(st.sampled_from([("name",), ("id",), ("name", "id")]))}


@st.composite
def valid_records(draw: Any, version: str | None = None) -> Json:
    """A valid record."""
    version = version or draw(st.sampled_from(EMBEDDED))
    facts = objects(version)
    record = draw(shaped(facts, facts.root)) | {"schema_version": version}
    if not record["name"].strip():
        record["name"] = "a"
    if "locators" in record and version != "0.3.1":
        record["locators"] = list({locator["type"]: locator for locator in record["locators"]}.values())
    return record


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in ((*at, key), *_places(item, (*at, key)))]


@st.composite
def changed_records(draw: Any) -> Json:
    """A record of which something was changed: most are no longer valid."""
    record = deepcopy(draw(valid_records()))
    for _ in range(draw(st.integers(1, 3))):
        places = [place for place in _places(record) if place != ("schema_version",)]
        if places:
            _change(draw, record, draw(st.sampled_from(places)))
    return record


def _change(draw: Any, record: Json, place: tuple[Any, ...]) -> None:
    holder: Any = record
    for key in place[:-1]:
        holder = holder[key]
    key, value = place[-1], holder[place[-1]]
    kind = draw(st.sampled_from(["remove", "replace", "rename", "empty", "add", "twice", "text", "wrap"]))
    if kind == "remove":
        del holder[key]
    elif kind == "replace":
        holder[key] = draw(anything)
    elif kind == "text":
        holder[key] = str(value)
    elif kind == "wrap":
        holder[key] = [value]
    elif kind == "empty":
        holder[key] = type(value)() if isinstance(value, list | dict | str) else None
    elif kind == "twice" and isinstance(holder, list):
        holder.append(deepcopy(value))
    elif isinstance(holder, dict) and kind == "rename" and isinstance(key, str):
        holder[draw(st.sampled_from([key.upper(), key + "s", key[1:], key.replace("_", "-")]))] = holder.pop(key)
    elif isinstance(holder, dict):
        holder[draw(st.sampled_from(["extra", "name", "id", "type"]))] = draw(scalars)
