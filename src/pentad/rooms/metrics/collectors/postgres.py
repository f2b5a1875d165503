"""A PostgreSQL server: connections, transactions, cache, replication, slow statements.

It is the store's own database if that is PostgreSQL, or the one in the setting `postgres_url`. Each part is read on its
own, so that one the login may not see costs only that part. To a login without `pg_read_all_stats`, the sessions and
statements of others look idle and empty: counts would be too small, so what they do is not counted then.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

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
READ_ALL: Final = "pg_read_all_stats"
_PARTS: Final = {
    **dict.fromkeys(("connections.total", "connections.most"), "sessions"), "replication.lagBytes": "lag"
}  # fmt: skip
"""The part of a figure that is not read with the others of its branch, because it needs less or more rights."""


def _metric(key: str, description: str, unit: str | None = None, **more: Any) -> Metric:
    part = _PARTS.get(key) or key.partition(".")[0]
    return Metric(key=key, description=description, unit=unit, facts=(f"postgres.{part}",), **more)


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


Read = Callable[[Rows], Any]
Missing = tuple[ProblemKind, str]
"""Why a part is not there. It is returned: an error would roll back a transaction of the database that is measured."""


def _if_all_is_visible(read: Read) -> Read:
    def read_if_allowed(rows: Rows) -> Any:
        if not rows.value("SELECT pg_has_role(?, 'USAGE')", READ_ALL):
            missing: Missing = ("permission", "The login sees only its own sessions and statements.")
            return missing
        return read(rows)

    return read_if_allowed


def _sessions(rows: Rows) -> dict[str, Any]:
    total, most = rows.one(
        "SELECT count(*) FILTER (WHERE datname = current_database()), current_setting('max_connections')::bigint"
        " FROM pg_stat_activity"
    ) or (None, None)
    return {"total": total, "most": most}


def _connections(rows: Rows) -> dict[str, Any]:
    active, idle, waiting, percent, oldest = (
        rows.one(
            "SELECT count(*) FILTER (WHERE datname = current_database() AND state = 'active'),"
            " count(*) FILTER (WHERE datname = current_database() AND state = 'idle in transaction'),"
            " count(*) FILTER (WHERE datname = current_database() AND wait_event_type = 'Lock'),"
            " round(100.0 * count(*) FILTER (WHERE backend_type = 'client backend')"
            "   / current_setting('max_connections')::bigint, 1)::double precision,"
            " round(coalesce(max(extract(epoch FROM now() - xact_start)) FILTER"
            "   (WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::numeric, 3)::double precision"
            " FROM pg_stat_activity"
        )
        or (None,) * 5
    )
    return {
        "active": active, "idleInTransaction": idle, "waiting": waiting, "percent": percent,
        "longestTransaction": oldest,
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
    replicas = rows.value("SELECT count(*) FROM pg_stat_replication")
    seconds = rows.value(
        "SELECT CASE WHEN pg_is_in_recovery()"
        " THEN extract(epoch FROM now() - pg_last_xact_replay_timestamp())::double precision END"
    )
    return {"replicas": replicas, "lagSeconds": seconds}


def _lag(rows: Rows) -> dict[str, Any]:
    behind = rows.value(
        "SELECT max(pg_wal_lsn_diff("
        " CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, replay_lsn"
        "))::bigint FROM pg_stat_replication"
    )
    return {"lagBytes": behind}


def _statements(rows: Rows) -> list[dict[str, Any]] | Missing:
    if not rows.value("SELECT count(*) FROM pg_extension WHERE extname = 'pg_stat_statements'"):
        return "unsupported", "The extension pg_stat_statements is not installed."
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


READERS: Final[dict[str, tuple[str, Read]]] = {
    "sessions": ("connections", _sessions), "connections": ("connections", _if_all_is_visible(_connections)),
    "database": ("database", _database), "replication": ("replication", _replication),
    "lag": ("replication", _if_all_is_visible(_lag)), "statements": ("statements", _if_all_is_visible(_statements)),
}  # fmt: skip
"""How to read each part, and the branch of the tree it belongs to."""


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
            permissions={f"postgres.{part}": READ_ALL for part in ("connections", "lag", "statements")},
        )

    def plan(self, query: Query, known: Facts) -> Plan:
        return plan_facts(CATALOGUE, query, known, is_local=True)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        part = fact.name.removeprefix("postgres.")
        try:
            database = await self._database()
            found = await database.read(READERS[part][1])
        except PentadError as error:
            kind: ProblemKind = "network"
            if isinstance(error, InvalidInput):
                kind = "unsupported"
            elif isinstance(error, Forbidden):
                kind = "permission"
            raise FetchError.of(kind, error.message, call=f"read {part}") from None
        if isinstance(found, tuple):
            kind, message = cast("Missing", found)
            raise FetchError.of(kind, message, call=f"read {part}")
        return found

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        tree: dict[str, Any] = {}
        for part, (branch, _) in READERS.items():
            found = facts.value(Fact(f"postgres.{part}"))
            if isinstance(found, list):
                tree[branch] = found
            elif found is not None:
                tree.setdefault(branch, {}).update(found)
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
