"""UUIDs made many at a time are those of version 7."""

import uuid

from pentad.rooms.registers.objects.pending_changes import new_uuids


def test_they_are_different_and_of_version_7_with_the_time_in_front():
    made = list(new_uuids(1_700_000_000.123, 500))
    assert len(set(made)) == 500
    for text in made:
        found = uuid.UUID(text)
        assert str(found) == text
        assert (found.version, found.variant) == (7, uuid.RFC_4122)
        assert found.int >> 80 == 1_700_000_000_123


def test_none_are_made_of_nothing():
    assert list(new_uuids(0.0, 0)) == []
