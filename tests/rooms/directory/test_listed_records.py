"""Records of what the server itself lists."""

import pytest

from pentad.listings.listing import Listing
from pentad.rooms.directory.listed_records import listing_record
from pentad.rooms.directory.oasf.schema_source import EmbeddedSchemas

pytestmark = pytest.mark.anyio

KEY = "sk-" + "a1B2c3D4e5F6g7H8" * 3


def listing(description: str = "Tells the weather.", **more: object) -> Listing:
    card = {"name": "Weather", "description": description, "url": "https://a.example/weather", "version": "1.0.0"}
    fields = {
        "key": "https://a.example/weather", "name": "acme/weather", "version": "1.0.0", "description": description,
        "provider": "Acme", "url": "https://a.example/weather",
        "modules": {"integration/a2a": {"card_data": card, "card_schema_version": "v1.0.0"}}, **more,
    }  # fmt: skip
    return Listing(**fields)  # pyright: ignore[reportArgumentType]  the fields above


async def test_the_record_is_valid_marked_and_the_same_every_time() -> None:
    record = listing_record(listing(), 1_000_000_000.0)
    assert record == listing_record(listing(), 1_000_000_000.0)
    assert (await EmbeddedSchemas("1.0.0").validate(record)).valid
    assert record["annotations"]["listed_by"] == "pentad"
    assert record["annotations"]["listing"] == "https://a.example/weather"
    named = [one["name"] for one in (*record["skills"], *record["domains"])]
    assert record["annotations"]["suggested_classes"] == ", ".join(named)


async def test_declared_classes_are_not_marked_as_suggested() -> None:
    record = listing_record(listing(skills=("question_answering",), domains=("software_engineering",)), 0.0)
    assert [one["id"] for one in record["skills"]] == [10302]
    assert "suggested_classes" not in record["annotations"]


@pytest.mark.requirement("listings:secrets")
async def test_a_secret_in_a_card_does_not_get_into_its_record() -> None:
    record = listing_record(listing(f"Call it with {KEY}."), 0.0)
    assert KEY not in str(record)
    assert record["description"].startswith("Call it with ")
