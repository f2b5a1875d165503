"""Records put into a store directly, with the facts that other parts find out about them later."""

from collections.abc import Sequence
from typing import Any

from pentad.kernel.ports import Database, Dialect, Transaction
from pentad.rooms.directory import store
from pentad.rooms.directory.records.service import draft_record
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import SETS as JOB_SETS
from tests.stores import Stores

EVENTS = MigrationSet("events", "pentad.events.schema")
SETS = (*JOB_SETS, EVENTS, MigrationSet("directory", "pentad.rooms.directory.schema"))
FOUND_OUT_LATER = ("verified", "trusted", "scan_severity", "scan_safe", "pulls", "lookups")


def agent(name: str, **changes: Any) -> dict[str, Any]:
    """A record with everything a search can look at; its classes are of no taxonomy, so nothing is completed."""
    return {
        "schema_version": "1.0.0",
        "name": name,
        "version": "v1.0.0",
        "description": "",
        "created_at": "2026-01-01T00:00:00Z",
        "authors": [],
        "skills": [],
        "domains": [],
        "modules": [],
        "locators": [],
        "annotations": {},
        "verified": 0,
        "trusted": 0,
        "scan_severity": None,
        "scan_safe": None,
        "pulls": 0,
        "lookups": 0,
    } | changes


def put(tx: Transaction, dialect: Dialect, records: Sequence[dict[str, Any]]) -> list[str]:
    """Store records in this order; their CIDs."""
    store.lock_terms(tx, dialect)
    drafts = [draft_record({key: value for key, value in one.items() if key not in FOUND_OUT_LATER}) for one in records]
    store.insert(tx, dialect, drafts, "tester", 0.0)
    tx.run_many(
        "UPDATE directory_records SET verified = ?, trusted = ?, scan_severity = ?, scan_safe = ?, pulls = ?,"
        " lookups = ? WHERE cid = ?",
        [(*(one[key] for key in FOUND_OUT_LATER), draft.cid) for one, draft in zip(records, drafts, strict=True)],
    )
    return [draft.cid for draft in drafts]


def emptied(tx: Transaction, dialect: Dialect) -> None:
    """Take every record out again."""
    store.lock_terms(tx, dialect)
    for table in ("postings", "terms", "words", "texts", "records"):
        tx.run(f"DELETE FROM directory_{table}")


async def open_directory(stores: Stores) -> Database:
    return await stores.open(SETS)
