"""The embedded tables answer as an OASF server would."""

import pytest

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas, SchemaSource, UnknownVersion
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family
from tests.rooms.directory.oasf.samples import sample

SCHEMAS: SchemaSource = EmbeddedSchemas()


@pytest.mark.anyio
async def test_all_five_versions_are_available_and_the_newest_is_the_default():
    assert await SCHEMAS.versions() == (["0.3.1", "0.7.0", "0.8.0", "1.0.0", "1.1.0"], "1.1.0")
    assert (await EmbeddedSchemas("0.8.0").versions())[1] == "0.8.0"
    assert (await EmbeddedSchemas("9.9.9").versions())[1] == "1.1.0"


@pytest.mark.anyio
@pytest.mark.parametrize("version", EMBEDDED)
async def test_every_version_has_a_schema_and_takes_its_sample(version: str):
    assert "$defs" in await SCHEMAS.json_schema(version)
    assert (await SCHEMAS.validate(sample(version))).valid


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("version", "family", "parent", "first", "count"),
    [
        ("0.7.0", "skill", None, "analytical_skills", 7),
        ("1.1.0", "domain", None, "agriculture", 24),
        ("0.7.0", "domain", "technology", "technology/communication_systems", 8),
        (
            "0.7.0",
            "skill",
            "natural_language_generation",
            "natural_language_processing/natural_language_generation/",
            7,
        ),
        (
            "0.7.0",
            "skill",
            "natural_language_processing/natural_language_generation",
            "natural_language_processing/",
            7,
        ),
        ("1.0.0", "module", "integration", "integration/a2a", 4),
    ],
)
async def test_children_are_found_by_short_and_full_name_in_order_of_name(
    version: str, family: Family, parent: str | None, first: str, count: int
):
    found = await SCHEMAS.children(version, family, parent)
    names = [entry.name for entry in found]
    assert names == sorted(names)
    assert names[0].startswith(first)
    assert len(names) == count


@pytest.mark.anyio
@pytest.mark.parametrize("parent", ["non_existent_skill", "summarization", "generation/summarization"])
async def test_a_parent_that_is_unknown_or_a_leaf_is_not_found(parent: str):
    with pytest.raises(NotFound, match=f"parent '{parent}' not found or has no children"):
        await SCHEMAS.children("0.7.0", "skill", parent)


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["99.99.99", "", "0.7.5", "v1.0.0"])
async def test_an_unknown_version_is_refused_naming_the_known_ones(version: str):
    with pytest.raises(UnknownVersion) as refused:
        await SCHEMAS.children(version, "skill")
    assert refused.value.available == list(EMBEDDED)
    assert isinstance(refused.value, InvalidInput)
    with pytest.raises(UnknownVersion):
        await SCHEMAS.json_schema(version)
