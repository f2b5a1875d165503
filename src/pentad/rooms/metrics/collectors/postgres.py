"""A PostgreSQL server: connections, transactions, cache, replication, slow statements.

It is the store's own database if that is PostgreSQL, or the one in the setting `postgres_url`. Each part is read on its
own, so that a view the login may not see costs only that part.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.ports import Database, Rows
from pentad.platform import Platform
from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream, plan_facts, tree_snapshot
from pentad.rooms.metrics.models import (
    Fact,
    Facts,
    FetchError,
    Info,
    Metric,
    Plan,
    ProblemKind,
    Query,
    Snapshot,
)

SLOWEST: Final = 10


def _metric(key: str, description: str, unit: str | None = None, **more: Any) -> Metric:
    return Metric(key=key, description=description, unit=unit, facts=(f"postgres.{key.partition('.')[0]}",), **more)


CATALOGUE: Final = (
    _metric("connections.total", "Connections to this database.", better="lower"),
    _metric("connections.active", "Connections running a statement."),
    _metric("connections.idleInTransaction", "Idle connections with an open transaction.", better="lower"),
    _metric("connections.waiting", "Connections waiting for a lock.", better="lower", warn=10),
    _metric("connections.most", "Connections the server allows."),
    _metric(
        "connections.percent", "Share of the allowed connections in use, by all databases.", "%",
        formula="all connections / max_connections x 100", better="lower", warn=80, alarm=95,
    ),
    _metric("connections.longestTransaction", "Age of the oldest open transaction.", "s", better="lower", warn=600),
    _metric("database.bytes", "Size of the database.", "By", better="lower"),
    _metric("database.commits", "Transactions committed.", kind="counter"),
    _metric("database.rollbacks", "Transactions rolled back.", kind="counter", better="lower"),
    _metric("database.deadlocks", "Deadlocks.", kind="counter", better="lower"),
    _metric("database.temporaryBytes", "Bytes written to temporary files.", "By", kind="counter", better="lower"),
    _metric(
        "database.cacheHitPercent", "Share of blocks found in the cache.", "%", formula="hit / (hit + read) x 100",
        better="higher", warn=90, alarm=70,
    ),
    _metric("database.version", "Version of the server.", kind="text"),
    _metric("replication.replicas", "Connected replicas."),
    _metric("replication.lagBytes", "How far the slowest replica is behind.", "By", better="lower"),
    _metric("replication.lagSeconds", "How far this server, as a replica, is behind.", "s", better="lower", warn=60),
    _metric(
        "statements.mean", "Mean time of a slow statement.", "ms", labels=("id",), better="lower", kept=False
    ),
    _metric("statements.calls", "How often it ran.", labels=("id",), kept=False),
    _metric("statements.total", "Its total time.", "ms", labels=("id",), kept=False),
    _metric("statements.text", "The statement.", labels=("id",), kind="text", kept=False),
)  # fmt: skip


def _connections(rows: Rows) -> dict[str, Any]:
    row = rows.one(
        "SELECT count(*) FILTER (WHERE datname = current_database()),"
        " count(*) FILTER (WHERE datname = current_database() AND state = 'active'),"
        " count(*) FILTER (WHERE datname = current_database() AND state = 'idle in transaction'),"
        " count(*) FILTER (WHERE datname = current_database() AND wait_event_type = 'Lock'),"
        " current_setting('max_connections')::bigint, count(*) FILTER (WHERE backend_type = 'client backend'),"
        " coalesce(max(extract(epoch FROM now() - xact_start))"
        "   FILTER (WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::double precision"
        " FROM pg_stat_activity"
    )
    total, active, idle, waiting, most, everybody, oldest = row or (0, 0, 0, 0, 1, 0, 0.0)
    return {
        "total": total, "active": active, "idleInTransaction": idle, "waiting": waiting, "most": most,
        "percent": round(100 * everybody / most, 1), "longestTransaction": round(oldest, 3),
    }  # fmt: skip


def _database(rows: Rows) -> dict[str, Any]:
    row = rows.one(
        "SELECT pg_database_size(current_database()), xact_commit, xact_rollback, deadlocks, temp_bytes,"
        " blks_hit, blks_read, current_setting('server_version')"
        " FROM pg_stat_database WHERE datname = current_database()"
    )
    size, commits, rollbacks, deadlocks, temporary, hit, read, version = row or (None,) * 8
    looked = (hit or 0) + (read or 0)
    return {
        "bytes": size, "commits": commits, "rollbacks": rollbacks, "deadlocks": deadlocks, "temporaryBytes": temporary,
        "cacheHitPercent": round(100 * (hit or 0) / looked, 2) if looked else None, "version": version,
    }  # fmt: skip


def _replication(rows: Rows) -> dict[str, Any]:
    replicas, behind = rows.one(
        "SELECT count(*), max(pg_wal_lsn_diff("
        " CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, replay_lsn"
        "))::bigint FROM pg_stat_replication"
    ) or (0, None)
    seconds = rows.value(
        "SELECT CASE WHEN pg_is_in_recovery()"
        " THEN extract(epoch FROM now() - pg_last_xact_replay_timestamp())::double precision END"
    )
    return {"replicas": replicas, "lagBytes": behind, "lagSeconds": seconds}


def _statements(rows: Rows) -> list[dict[str, Any]] | None:
    """None without the extension: an error would roll back a transaction of the database that is measured."""
    if not rows.value("SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements'"):
        return None
    found = rows.all(
        "SELECT queryid::text, mean_exec_time, calls, total_exec_time, left(query, 200) FROM pg_stat_statements"
        " JOIN pg_database ON pg_database.oid = dbid WHERE datname = current_database()"
        " ORDER BY mean_exec_time DESC LIMIT ?",
        SLOWEST,
    )
    return [
        {"id": name, "mean": round(mean, 3), "calls": calls, "total": round(total, 3), "text": query}
        for name, mean, calls, total, query in found
    ]


READERS: Final[dict[str, Callable[[Rows], Any]]] = {
    "connections": _connections, "database": _database, "replication": _replication, "statements": _statements,
}  # fmt: skip


class Postgres:
    """Statistics of a PostgreSQL server."""

    id = "postgres"
    title = "PostgreSQL"
    aliases = ("postgresql", "pg")

    def __init__(self, platform: Platform, url: str | None) -> None:
        self._platform = platform
        self._url = url
        self._opened: Database | None = None
        self._opening = asyncio.Lock()

    def info(self) -> Info:
        ready = self._url is not None or self._platform.database.dialect == "postgres"
        return Info(
            id=self.id,
            takes=frozenset(),
            title=self.title,
            description="Connections, transactions, cache, replication and slow statements.",
            catalogue=CATALOGUE,
            ttl=5.0,
            ready=ready,
            missing="" if ready else "The store is SQLite: set rooms.metrics.postgres_url to look at a PostgreSQL.",
            poll_seconds=60.0,
        )

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(CATALOGUE, query, known, is_local=True)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        part = fact.name.removeprefix("postgres.")
        try:
            database = await self._database()
            found = await database.read(READERS[part])
        except PentadError as error:
            kind: ProblemKind = "network"
            if isinstance(error, InvalidInput):
                kind = "unsupported"
            elif isinstance(error, Forbidden):
                kind = "permission"
            raise FetchError.of(kind, error.message, call=f"read {part}") from None
        if found is None:
            raise FetchError.of(
                "unsupported", "The extension pg_stat_statements is not installed.", call=f"read {part}"
            )
        return found

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        tree = {part: facts[Fact(f"postgres.{part}")] for part in READERS if facts.value(Fact(f"postgres.{part}"))}
        return tree_snapshot(self.id, CATALOGUE, query, facts, tree)

    async def close(self) -> None:
        """Close the database of the setting, if it was opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def _database(self) -> Database:
        if self._url is None:
            return self._platform.database
        async with self._opening:  # facts are fetched at the same time, and want the same one
            if self._opened is None:
                self._opened = await self._platform.other_database(self._url)
            return self._opened


def collectors(source: CollectorContext) -> Sequence[Collector]:
    collector = Postgres(source.platform, source.settings.postgres_url)
    source.closing.append(collector.close)
    return (collector,)
