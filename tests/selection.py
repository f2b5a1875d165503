"""What `make test` leaves to `make interop`, to stay quick: CI runs both, and every test runs in one of them.

1. Tests marked `interop`: real foreign clients, several processes, large collections.
2. Examples: a property has few in `make test`, and as many as it names in `make interop`.
3. PostgreSQL below `SQLITE_FIRST`. These tests call Pentad from outside, or parts that hardly touch the store. They
   reach it through parts whose own tests run on both stores in `make test`, so PostgreSQL rarely shows anything
   new; `make interop` still checks.
"""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent

IS_LONG: Final = os.environ.get("TEST_FUZZ") == "long"
"""Whether there is time for everything; `make interop` says so."""
FEW: Final = 8
"""How many examples a property gets in `make test`, even if it names more."""

SAME: Final = os.environ.get("TEST_EXAMPLES") == "same"
"""Whether properties use the same examples every time. They do in CI: what fails there is what was changed."""

SQLITE_FIRST: Final = (
    "authorization",
    "behaviour",
    "http",
    "rooms/agents/interface",
    "rooms/avatars/answers",
    "rooms/avatars/corpus/test_ingest_options.py",
    "rooms/avatars/test_service.py",
    "rooms/directory/interface",
    "rooms/directory/translate",
    "rooms/directory/trust",
    "rooms/metrics/interface",
    "rooms/registers/catalogue/test_definition_checks.py",
    "rooms/registers/hostile",
    "rooms/registers/interface",
    "rooms/registers/test_oracles.py",
)
BOTH_AT_ONCE: Final = (
    "http/test_store_troubles.py",  # what a broken store looks like
    "rooms/registers/hostile/test_questions.py",  # what goes into SQL
)
"""Exceptions: tests that are about the store."""


def is_left_to_interop(path: Path, parameters: Iterable[object]) -> bool:
    """Whether a test with these parameters waits for `make interop` by rule 3."""
    return "postgres" in parameters and _is_sqlite_first(path)


@cache
def _is_sqlite_first(path: Path) -> bool:
    return _is_below(path, SQLITE_FIRST) and not _is_below(path, BOTH_AT_ONCE)


def _is_below(path: Path, places: Iterable[str]) -> bool:
    return any(path.is_relative_to(TESTS / place) for place in places)
