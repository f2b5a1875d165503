"""A2A cards to records and back, rule by rule."""

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.translate.a2a_cards import from_record, to_record
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import CARD


def test_a_card_becomes_a_record():
    record, _ = to_record({"a2aCard": CARD})
    assert record == to_record(CARD).result
    assert (record["name"], record["version"], record["authors"]) == ("Route planner", "3.0.1", ["Example Logistics"])
    assert "locators" not in record
    module = record["modules"][0]
    assert module["name"] == "integration/a2a"
    assert module["data"] == {"card_data": CARD, "card_schema_version": "v1.0.0"}


def test_an_empty_card_has_defaults():
    record, _ = to_record({})
    assert (record["name"], record["description"]) == ("generated-agent", "Agent generated from A2A card")
    assert (record["version"], record["authors"]) == ("v1.0.0", ["Unknown"])
    assert from_record(record).result == {}


def test_a_wrapped_card_must_be_an_object():
    with pytest.raises(InvalidInput, match="'a2aCard' is not a struct"):
        to_record({"a2aCard": "x"})


@pytest.mark.parametrize("version", ["0.7.0", "0.8.0"])
def test_cards_of_older_versions_are_found(version: str):
    card, losses = from_record(sample(version))
    assert card == {"name": "Paper reader", "url": "https://reader.example.org/a2a"}
    assert {"skills", "locators"} <= {loss.path for loss in losses}


def test_a_record_without_a_card_says_so():
    with pytest.raises(InvalidInput, match="A2A module not found in record"):
        from_record(sample("1.0.0"))
    with pytest.raises(InvalidInput, match="A2A card data not found in module"):
        from_record({"modules": [{"name": "integration/a2a", "data": {}}]})
