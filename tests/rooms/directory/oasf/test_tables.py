"""The embedded tables match the framework's own: row counts, and selected rows."""

from importlib.resources import files

import pytest

from pentad.rooms.directory.oasf.objects import objects
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family

ROWS = {
    "0.3.1": (92, 58, 5, 146, 1, 23),
    "0.7.0": (92, 58, 11, 225, 4, 28),
    "0.8.0": (136, 204, 10, 201, 4, 28),
    "1.0.0": (136, 204, 11, 270, 8, 28),
    "1.1.0": (513, 201, 11, 270, 8, 28),
}
DEPTHS = {
    ("0.3.1", "skill"): [7, 34, 51],
    ("0.7.0", "skill"): [7, 34, 51],
    ("0.8.0", "skill"): [15, 70, 51],
    ("1.1.0", "skill"): [18, 131, 364],
    ("0.7.0", "domain"): [9, 49],
    ("1.0.0", "domain"): [24, 140, 40],
    ("1.1.0", "domain"): [24, 149, 28],
    ("0.3.1", "module"): [4, 1],
    ("0.7.0", "module"): [4, 7],
    ("0.8.0", "module"): [2, 6, 2],
    ("1.1.0", "module"): [2, 7, 2],
}
DISTINCT_OBJECTS = {"0.3.1": 35, "0.7.0": 46, "0.8.0": 42, "1.0.0": 56, "1.1.0": 56}

FAMILIES: tuple[Family, ...] = ("skill", "domain", "module")


@pytest.mark.parametrize("version", EMBEDDED)
def test_every_table_has_all_its_rows(version: str):
    facts = objects(version)
    classes = tuple(len(taxonomy(version, family).all) for family in FAMILIES)
    attributes = sum(len(shape.attributes) + shape.open for shape in facts.shapes.values())
    constraints = sum(len(shape.constraints) for shape in facts.shapes.values())
    assert (*classes, attributes, constraints, len(facts.types)) == ROWS[version]
    assert sum(shape.family == "object" for shape in facts.shapes.values()) == DISTINCT_OBJECTS[version]


@pytest.mark.parametrize(("version", "family"), DEPTHS)
def test_the_classes_of_each_level_are_all_there(version: str, family: Family):
    levels = [entry.name.count("/") for entry in taxonomy(version, family).all]
    assert [levels.count(level) for level in range(max(levels) + 1)] == DEPTHS[version, family]


@pytest.mark.parametrize("version", EMBEDDED)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_class_is_found_by_id_and_by_either_name(version: str, family: Family):
    classes = taxonomy(version, family)
    for entry in classes.all:
        assert classes.by_id(entry.id) is entry
        assert classes.by_name(entry.name) is entry
        assert classes.by_name(entry.short) is entry
        assert entry.id // 100 == (classes.parents(entry)[-1].id if entry.parent else 0)
        assert entry in classes.children(entry.parent)


@pytest.mark.parametrize(
    ("version", "family", "entry"),
    [
        ("0.3.1", "skill", ClassEntry(101, "nlp/nlu", "Natural Language Understanding")),
        ("0.7.0", "skill", ClassEntry(1, "natural_language_processing", "Natural Language Processing", grouping=True)),
        ("1.0.0", "domain", ClassEntry(104, "technology/data_science", "Data Science")),
        (
            "1.1.0",
            "skill",
            ClassEntry(1804, "governance_compliance/audit_trail_summarization", "Audit Trail Summarization"),
        ),
        ("0.8.0", "module", ClassEntry(201, "integration/acp", "ACP Manifest", deprecated=True)),
        ("1.1.0", "module", ClassEntry(10302, "core/language_model/agentskills", "Language Model Agent Skills")),
    ],
)
def test_a_class_is_exactly_as_the_framework_has_it(version: str, family: Family, entry: ClassEntry):
    assert taxonomy(version, family).by_id(entry.id) == entry


def test_an_attribute_is_exactly_as_the_framework_has_it():
    record = objects("0.7.0").root
    assert (record.name, record.extends) == ("record", "object")
    assert record.attributes["domains"].type == "class_t:base_domain"
    assert record.attributes["domains"].one_of
    assert record.attributes["domains"].requirement == "recommended"
    locator = objects("1.1.0").object("locator").attributes
    assert locator["type"].values[1:4] == ("helm_chart", "container_image", "package")
    assert (locator["urls"].array, locator["annotations"].map_of) == (True, "string_t")


def test_types_inherit_what_they_do_not_say():
    kinds = objects("1.0.0").types
    assert (kinds["url_t"].max_len, kinds["url_t"].inherited, kinds["url_t"].kind) == (2000, True, "string")
    assert (kinds["cid_t"].max_len, kinds["cid_t"].inherited) == (120, False)
    assert (kinds["unit_interval_t"].low, kinds["unit_interval_t"].high) == (0, 1)
    assert objects("0.3.1").types["string_t"].max_len is None


def test_the_tables_are_small_and_say_where_they_are_from():
    folder = files("pentad.rooms.directory.oasf") / "tables"
    assert sum(len(table.read_bytes()) for table in folder.iterdir()) < 200_000
    assert (folder / "README.md").read_text().startswith("Facts from OASF, Apache-2.0")


def test_a_patch_release_has_the_classes_of_its_line():
    assert taxonomy("0.7.5", "skill") is taxonomy("0.7.0", "skill")
    assert taxonomy("1.0.3", "module").version == "1.0.0"


def test_a_version_that_is_not_embedded_has_no_taxonomy():
    with pytest.raises(ValueError, match="not an embedded"):
        taxonomy("0.5.0", "skill")
