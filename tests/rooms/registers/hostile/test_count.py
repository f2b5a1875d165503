"""How many hostile cases there are, each with a name of its own."""

import pytest

from tests.rooms.registers.hostile import asking, files, schemas, test_questions, test_requests, test_schemas, writing

TABLES = {
    "schemas": test_schemas.SENT,
    "schema texts": test_schemas.TEXTS,
    "expressions": [*test_schemas.COMPUTED, *test_schemas.HARMLESS],
    "patterns": test_schemas.PATTERNS,
    "references": test_schemas.PLACES,
    "unusual properties": schemas.KEPT,
    "unusual data": writing.KEPT_TEXTS,
    "data": writing.REFUSED_TEXTS,
    "patches": [*writing.PATCHES, *writing.MERGES],
    "operations": writing.OPERATIONS,
    "entities": writing.ENTITIES,
    "questions": [*asking.REFUSED, *asking.NOTHING],
    "parameters": asking.PARAMETERS,
    "cursors": test_questions.TAMPERING,
    "bodies": test_requests.BODIES,
    "paths": test_requests.PATHS,
    "files": [*files.REFUSED, *files.KEPT],
}


@pytest.mark.requirement("registers:hostile:count")
def test_there_are_hundreds_of_cases_and_every_kind_has_some() -> None:
    cases = {(table, name) for table, names in TABLES.items() for name in names}
    assert len(cases) == sum(len(list(names)) for names in TABLES.values()), "no name occurs twice"
    assert len(cases) >= 250
    assert min(len(list(names)) for names in TABLES.values()) >= 3
