"""Figures of Prometheus, of JSON over HTTP, and of PostgreSQL, over real connections."""

from pathlib import Path
from typing import Any, cast

import pytest

from pentad.kernel.errors import InvalidInput, Misconfigured, Unavailable
from pentad.platform import Platform
from pentad.rooms.metrics.collectors import host, http_json, postgres, prometheus, sdlc
from pentad.rooms.metrics.collectors.contract import CollectorContext, KeepsHistory
from pentad.rooms.metrics.collectors.http_json import Missing, figure_at
from pentad.rooms.metrics.collectors.prometheus import Prometheus
from pentad.rooms.metrics.collectors.promql import instant_query
from pentad.rooms.metrics.engine.query_engine import source_step
from pentad.rooms.metrics.engine.upstream import UpstreamSession
from pentad.rooms.metrics.history.history_lines import HistoryLine
from pentad.rooms.metrics.history.source_history import find_gaps, merge_lines
from pentad.rooms.metrics.models import FetchError
from pentad.rooms.metrics.store import Gap, Series, sample_point
from pentad.storage.postgres import PostgresDatabase
from tests.room_settings import room_settings
from tests.rooms.metrics.collectors.opening import Opened, opened
from tests.rooms.metrics.sources import Request, Response, http_source
from tests.stores import PostgresServer

CANARY = "canary-77aa"
LOAD = [{"labels": {"job": "a"}, "value": 1.5}, {"labels": {"job": "b", "x": "y"}, "value": None}]


def vector(*series: dict[str, Any]) -> Response:
    return Response(json={"status": "success", "data": {"resultType": "vector", "result": list(series)}})


async def prometheus_like(asked: Request) -> Response:
    if asked.path == "/api/v1/query_range":
        values = [[100, "1"], [160, "NaN"]]
        return Response(json={"data": {"resultType": "matrix", "result": [{"metric": {"job": "a"}, "values": values}]}})
    if "unclosed" in asked.query:
        return Response(
            400, json={"status": "error", "errorType": "bad_data", "error": "1:5: parse error: unclosed left"}
        )
    if "broken" in asked.query:
        return Response(400, json={"error": CANARY})
    if "by" in asked.query:
        return vector(
            {"metric": {"job": "a"}, "value": [0, "1.5"]}, {"metric": {"job": "b", "x": "y"}, "value": [0, "+Inf"]}
        )
    if "nothing" in asked.query:
        return vector()
    if "many" in asked.query:
        return vector(*({"metric": {"n": str(n)}, "value": [0, "1"]} for n in range(501)))
    return vector({"metric": {}, "value": [0, "7"]})


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:built-in")
async def test_named_queries_are_numbers_or_lists_by_label(tmp_path: Path):
    async with http_source(prometheus_like) as source:
        settings = {
            "prometheus_url": source.url + "/",
            "prometheus_queries": {
                "web.up": "sum(up)",
                "web.load": "sum by (job)",
                "bad": "broken",
                "wide": "many",
                "gone": "nothing",
            },
            "prometheus_token": CANARY,
        }
        async with opened(tmp_path, prometheus.collectors, settings=settings) as room:
            answer = await room.answer("prom")
            assert answer.snapshot.tree == {
                "web": {"up": 7.0, "load": LOAD},
                "gone": None,
            }
            states = [(sample.key, sample.value, sample.state) for sample in answer.snapshot.samples]
            assert states == [
                ("web.up", 7.0, "ok"), ("web.load", 1.5, "ok"), ("web.load", None, "unsupported"),
                ("bad", None, "failed"), ("wide", None, "failed"), ("gone", None, "unsupported"),
            ]  # fmt: skip
            assert [one.call for one in answer.snapshot.problems if one.affects == ("gone",)] == ["query gone"]
            assert answer.snapshot.coverage.failed == 2
            assert CANARY not in repr(answer.snapshot)
            assert {asked.headers["authorization"] for asked in source.asked} == {f"Bearer {CANARY}"}
            collector = room.engine.catalogue.find("prometheus")
            assert isinstance(collector, KeepsHistory)
            points, notes = await collector.history("web.load", 100, 160, 60, UpstreamSession(room.engine.pool))
            assert points == {(("job", "a"),): [(100.0, 1.0), (160.0, None)]}
            assert notes == []
            with pytest.raises(FetchError):
                await collector.history("no", 0, 1, 1, UpstreamSession(room.engine.pool))


@pytest.mark.anyio
@pytest.mark.requirement("metrics:prometheus:warnings")
async def test_what_prometheus_warns_of_makes_a_figure_partial(tmp_path: Path):
    """As of a remote store that did not answer: there are data, but not all of them."""

    async def warning(asked: Request) -> Response:
        data = {"resultType": "vector", "result": [{"metric": {}, "value": [0, "7"]}]}
        return Response(json={"status": "success", "data": data, "warnings": ["no store matched"], "infos": ["hm"]})

    async with http_source(warning) as source:
        settings = {"prometheus_url": source.url, "prometheus_queries": {"load": "sum(load)"}}
        async with opened(tmp_path, prometheus.collectors, settings=settings) as room:
            answer = await room.answer("prom")
            collector = cast("Prometheus", room.engine.catalogue.find("prometheus"))
            session = UpstreamSession(room.engine.pool)
            direct = await instant_query(collector, session, "sum(load)", 0.0, max_series=5)
    (sample,), (problem,) = answer.snapshot.samples, answer.snapshot.problems
    assert (sample.value, sample.state) == (7.0, "partial")
    assert (problem.message, problem.affects) == ("Prometheus warns: no store matched", ("load",))
    assert direct.notes == ["Prometheus warns: no store matched"]


@pytest.mark.anyio
@pytest.mark.requirement("metrics:prometheus:source")
async def test_what_is_wrong_with_a_query_is_told_in_the_words_of_prometheus(tmp_path: Path):
    async with http_source(prometheus_like) as source:
        settings = {"prometheus_url": source.url, "prometheus_queries": {"typo": "sum(unclosed"}}
        async with opened(tmp_path, prometheus.collectors, settings=settings) as room:
            answer = await room.answer("prom")
    (problem,) = answer.snapshot.problems
    assert problem.message == "Prometheus refused the query: 1:5: parse error: unclosed left"
    assert (problem.http, problem.affects) == (400, ("typo",))


@pytest.mark.requirement("metrics:prometheus:source")
def test_what_the_source_remembers_and_what_was_recorded_here_are_one_line():
    series = Series(1, "prometheus", "", "web.load", (("job", "a"),), "gauge", None)
    recorded = HistoryLine(
        series=series,
        points=[sample_point(at, 1.0) for at in (10.0, 100.0, 160.0, 900.0)],
        gaps=[Gap(200.0, 400.0, "not_collected"), Gap(600.0, 800.0, "failed")],
    )
    remembered = HistoryLine(series=series, points=[sample_point(at, 2.0) for at in (100.0, 160.0, 220.0, 280.0)])
    (line,) = merge_lines([recorded], [remembered], 60.0, 900.0)
    assert [(point.at, point.last) for point in line.points] == [
        (10.0, 1.0), (100.0, 2.0), (160.0, 2.0), (220.0, 2.0), (280.0, 2.0), (900.0, 1.0),
    ]  # fmt: skip
    assert line.gaps == [Gap(280.0, 400.0, "not_collected"), Gap(600.0, 800.0, "failed")], "what neither has"
    other = HistoryLine(series=Series(0, "prometheus", "", "web.load", (("job", "b"),), "gauge", None))
    assert merge_lines([recorded], [other], 60.0, 900.0) == [recorded, other]


@pytest.mark.requirement("metrics:prometheus:source")
def test_a_hole_in_what_the_source_remembers_is_a_gap_unless_it_was_recorded_here():
    series = Series(1, "prometheus", "", "web.load", (), "gauge", None)
    points = [sample_point(at, 2.0) for at in (0.0, 60.0, 600.0, 660.0, 1_200.0)]
    remembered = HistoryLine(series=series, points=points, gaps=find_gaps(points, 60.0))
    assert remembered.gaps == [Gap(60.0, 600.0, "not_collected"), Gap(660.0, 1_200.0, "not_collected")]
    recorded = HistoryLine(series=series, points=[sample_point(at, 1.0) for at in (300.0, 330.0)])
    (line,) = merge_lines([recorded], [remembered], 60.0, 1_260.0)
    assert line.gaps == [Gap(660.0, 1_200.0, "not_collected")]
    late = HistoryLine(series=series, points=[sample_point(0.0, 1.0)], gaps=[Gap(30.0, None, "not_collected")])
    (line,) = merge_lines([late], [remembered], 60.0, 1_260.0)
    assert line.gaps[-1].end == 1_200.0, "nobody polls here, but the source goes on"
    (line,) = merge_lines([late], [remembered], 60.0, 3_600.0)
    assert line.gaps[-1] == Gap(1_200.0, None, "not_collected"), "and neither does the source"


@pytest.mark.anyio
async def test_the_past_a_source_kept_itself_is_its_history(tmp_path: Path):
    async with http_source(prometheus_like) as source:
        settings = {"prometheus_url": source.url, "prometheus_queries": {"web.load": "sum by (job)"}}
        async with opened(tmp_path, prometheus.collectors, host.collectors, settings=settings) as room:
            ((series, points),), _ = await room.engine.source_history(
                "prometheus", ["web.load"], 0.0, 7_200.0, step=source_step(0.0, 7_200.0, None, 100)
            )
            assert (series.key, series.labels) == ("web.load", (("job", "a"),))
            assert [(point.at, point.last) for point in points] == [(100.0, 1.0)]
            assert "step=72" in source.asked[-1].query
            assert await room.engine.source_history("host", ["cpu.percent"], 0.0, 1.0, step=15) == ([], [])
            with pytest.raises(Unavailable, match="No such query"):
                await room.engine.source_history("prometheus", ["no"], 0.0, 1.0, step=15)


@pytest.mark.anyio
async def test_a_collector_without_its_settings_says_what_to_set(tmp_path: Path):
    async with opened(tmp_path, prometheus.collectors, http_json.collectors, postgres.collectors) as room:
        for name, setting in (
            ("prometheus", "prometheus_url"),
            ("http_json", "http_json.NAME"),
            ("pg", "postgres_url"),
        ):
            with pytest.raises(InvalidInput, match=setting):
                await room.answer(name)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:built-in")
async def test_figures_are_taken_out_of_json_and_the_rest_of_it_is_not_kept(tmp_path: Path):
    async def shop(asked: Request) -> Response:
        if asked.path == "/down":
            return Response(403, body=CANARY.encode())
        return Response(
            json={"today": {"orders": 12, "secret": CANARY}, "queues": [{"seconds": 0.5}], "open": True, "none": None}
        )

    async with http_source(shop) as source:
        settings = {
            "http_json": {
                "shop": {
                    "url": f"{source.url}/status",
                    "values": {
                        "orders": "/today/orders",
                        "slow": "queues[0].seconds",
                        "open": "open",
                        "no": "/x",
                        "none": "none",
                    },
                    "headers": {"authorization": CANARY},
                },
                "down": {"url": f"{source.url}/down", "values": {"a": "/a"}},
            }
        }
        async with opened(tmp_path, http_json.collectors, settings=settings) as room:
            answer = await room.answer("http_json")
            assert answer.snapshot.tree == {
                "shop": {"orders": 12, "slow": 0.5, "open": 1, "no": None, "none": None}, "down": {"a": None},
            }  # fmt: skip
            states = {sample.key: sample.state for sample in answer.snapshot.samples}
            assert states["shop.orders"] == "ok"
            assert (states["shop.no"], states["down.a"]) == ("failed", "no_permission")
            assert states["shop.none"] == "unsupported", "a null is no figure"
            assert CANARY not in repr(answer.snapshot) + repr(dict(answer.facts))
            one = await room.answer("http_json", keys="shop.orders")
            assert one.snapshot.tree == {"shop": {"orders": 12}}
            assert source.calls == {"/status": 1, "/down": 1}


@pytest.mark.parametrize(("place", "found"), [
    ("/a/0/b~1c", 1), ("a[0].b/c", 1), ("/n", None), ("/w", ["x"]), ("/t", 1),
])  # fmt: skip
def test_places_are_pointers_or_paths(place: str, found: Any):
    assert figure_at({"a": [{"b/c": 1}], "n": None, "w": ["x"], "t": True}, place) == found


@pytest.mark.parametrize("place", ["/a/1", "/a/x", "/a/-1", "a[9]", "/z", "/a", "/a/0"])
def test_a_place_without_a_figure_is_missing(place: str):
    with pytest.raises(Missing):
        figure_at({"a": [{"b": 1}]}, place)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:collectors:built-in")
async def test_a_postgresql_is_measured_as_our_own_or_as_another(postgres_server: PostgresServer, tmp_path: Path):
    with postgres_server.empty_database() as url:
        async with opened(tmp_path / "own", postgres.collectors, database=url) as room:
            await _is_measured(room)
        async with opened(tmp_path / "other", postgres.collectors, settings={"postgres_url": url}) as room:
            assert room.app.database.dialect == "sqlite"
            await _is_measured(room)
        alone = await PostgresDatabase.open(url, connections=1, exclusive=True)  # refused while anybody has it open
        await alone.close()


async def _is_measured(room: Opened) -> None:
    answer = await room.answer("postgres")
    tree = answer.snapshot.tree
    assert 1 <= tree["connections"]["total"] <= tree["connections"]["most"]
    assert tree["database"]["bytes"] > 1_000_000
    assert tree["database"]["commits"] >= 0
    assert tree["replication"]["replicas"] == 0
    states = {sample.key: sample.state for sample in answer.snapshot.samples}
    assert states["statements.mean"] == "unsupported"
    assert states["connections.total"] == "ok"


@pytest.mark.anyio
@pytest.mark.requirement("metrics:postgres:rights")
async def test_a_login_that_sees_only_its_own_sessions_counts_no_others_as_idle(
    postgres_server: PostgresServer, tmp_path: Path
):
    with postgres_server.empty_database() as url:
        owner = await PostgresDatabase.open(url, connections=1, listens=False)
        try:
            await owner.write(lambda tx: tx.run("CREATE ROLE stranger LOGIN"))
            settings = {"postgres_url": url.replace("postgres@", "stranger@")}
            async with opened(tmp_path, postgres.collectors, settings=settings) as room:
                answer = await room.answer("postgres")
        finally:
            await owner.write(lambda tx: tx.run("DROP ROLE stranger"))
            await owner.close()
    found = {sample.key: (sample.value, sample.state) for sample in answer.snapshot.samples}
    assert found["connections.total"][1] == found["database.bytes"][1] == found["replication.replicas"][1] == "ok"
    hidden = {key for key, (value, state) in found.items() if (value, state) == (None, "no_permission")}
    assert hidden >= {
        "connections.active", "connections.waiting", "connections.percent", "connections.longestTransaction",
        "replication.lagBytes", "statements.calls",
    }  # fmt: skip
    assert {problem.needs for problem in answer.snapshot.problems} == {"pg_read_all_stats"}


@pytest.mark.anyio
@pytest.mark.requirement("metrics:postgres:observer")
async def test_a_postgresql_that_is_observed_is_left_alone(postgres_server: PostgresServer, tmp_path: Path):
    """No LISTEN, no lock, and no transaction that is rolled back, which would spoil what is measured."""
    with postgres_server.empty_database() as url:
        async with opened(tmp_path, postgres.collectors, settings={"postgres_url": url}) as room:
            await room.answer("postgres")
            witness = await PostgresDatabase.open(url, connections=1, listens=False)
            try:
                statements = await witness.read(lambda rows: rows.all(
                    "SELECT query FROM pg_stat_activity WHERE datname = current_database()"
                ))  # fmt: skip
                locks = await witness.read(
                    lambda rows: rows.value(
                        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database"
                        " WHERE locktype = 'advisory' AND datname = current_database()"
                    )
                )
                raised = await witness.read(
                    lambda rows: rows.value(
                        "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
                    )
                )
            finally:
                await witness.close()
        assert not [text for (text,) in statements if "listen" in text.lower() and "pg_stat" not in text]
        assert (locks, raised) == (0, 0)


@pytest.mark.anyio
async def test_a_postgresql_that_is_away_is_a_problem_without_its_password(tmp_path: Path):
    url = f"postgresql://ada:{CANARY}@127.0.0.1:9/none"
    async with opened(tmp_path, postgres.collectors, settings={"postgres_url": url}) as room:
        answer = await room.answer("postgres", keys="connections.total")
        assert [problem.kind for problem in answer.snapshot.problems] == ["network"]
        assert all(sample.value is None for sample in answer.snapshot.samples)
        assert CANARY not in repr(answer.snapshot)


def test_settings_are_tables_or_json_texts():
    assert room_settings("metrics", poll='{"b": 1}').poll == room_settings("metrics", poll={"b": 1}).poll == {"b": 1}
    for wrong in ({"poll": "["}, {"poll": 3}, {"prometheus_url": 3}):
        with pytest.raises(Misconfigured):
            room_settings("metrics", **wrong)
    with pytest.raises(Misconfigured, match="jira is not a table"):
        sdlc.collectors(CollectorContext(cast("Platform", None), room_settings("metrics", sdlc={"jira": 3})))


@pytest.mark.parametrize("given", [{"x": {"url": "https://a"}}, {"x": 3}, {"x": {"url": 1, "values": {}}}])
def test_a_source_of_json_without_address_or_values_is_refused(given: dict[str, Any]):
    with pytest.raises(Misconfigured, match="x has no url"):
        http_json.collectors(CollectorContext(cast("Platform", None), room_settings("metrics", http_json=given)))
