"""An object passed on as the text it is stored as: the same JSON as one that was read and written again."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from pentad.rooms.registers.models import StoredObject

PLAIN: dict[str, Any] = {"title": "Thing", "slug": "thing", "properties": {}}
NAMED: dict[str, Any] = {**PLAIN, "configuration": {"objectNameField": "{{ title }} {{ label }}"}}
DEFINITIONS = [compile_schema(body, parents=lambda _ref: None) for body in (PLAIN, NAMED)]
LOCK = '{"principal":"user:ada","process":null,"since":1.5,"seconds":60,"expires_at":61.5}'

names = st.sampled_from(["id", "@self", "name", "title", "label", "uuid", "é"]) | st.text(max_size=4)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(names, values, max_size=5),
    st.sampled_from(DEFINITIONS),
    st.sampled_from([None, "a-slug"]),
    st.sampled_from([None, LOCK]),
    st.booleans(),
)
def test_the_text_of_an_object_says_what_the_object_says(
    data: dict[str, Any], definition: Any, slug: str | None, lock: str | None, known: bool
) -> None:
    text = msgspec.json.encode(data).decode()
    uuid = "0190a000-0000-7000-8000-000000000001"
    stored = StoredObject(
        1, uuid, 2, 3, 4, text, slug, "user:ada", "home", 1.25, 2.5, None, lock, None, data if known else None
    )
    passed_on = msgspec.json.decode(msgspec.json.encode(stored.raw(definition)))
    read = msgspec.json.decode(msgspec.json.encode(stored.wire(definition)))
    assert passed_on == read
    assert list(passed_on) == list(read)
    assert passed_on["@self"]["name"] == (definition.name_of(data) or uuid)
