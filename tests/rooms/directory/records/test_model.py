"""Model-based test: after any sequence of operations the store agrees with plain dictionaries."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.errors import Conflict, NotFound
from pentad.rooms.directory.records.index_fields import labels_of
from pentad.rooms.directory.records.namespaces import Namespaces
from pentad.rooms.directory.records.publications import PublishRequest
from pentad.rooms.directory.records.routing import RouteQuery, RouteQueryType
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.records.parts import SETS, WHO, Parts, parts_over, recounted
from tests.selection import IS_LONG
from tests.stores import PostgresServer, Stores

T = TypeVar("T")

NAMES = ["a", "A", "http://a", "b", "b:1", "b/c"]
NAMESPACES = ["", "a", "b"]
VERSIONS = ["v1", "v2", "V2"]
SKILLS = [
    {"id": 10201},
    {"name": "natural_language_processing/natural_language_generation/summarization"},
    {"name": "retrieval_augmented_generation/document_or_database_question_answering", "id": 602},
]
LOCATORS = [
    {"type": "docker_image", "url": "https://x"},
    {"type": "binary", "url": "https://X"},
    {"type": "binary", "url": "https://y"},
]
QUERIES = [
    RouteQuery(RouteQueryType.SKILL, "natural_language_processing"),
    RouteQuery(RouteQueryType.SKILL, "retrieval_augmented_generation/document_or_database_question_answering"),
    RouteQuery(RouteQueryType.LOCATOR, "binary"),
    RouteQuery(RouteQueryType.LOCATOR, "docker_image"),
    RouteQuery(RouteQueryType.MODULE, "runtime"),
]

agents = st.builds(
    lambda name, version, skills, locators, notes: (
        sample("0.7.0")
        | {"name": name, "version": version, "skills": skills, "locators": locators, "annotations": notes}
    ),
    st.sampled_from(NAMES),
    st.sampled_from(VERSIONS),
    st.lists(st.sampled_from(SKILLS), min_size=1),
    st.lists(st.sampled_from(LOCATORS), min_size=1),
    st.dictionaries(st.sampled_from(["k", "K", "é"]), st.sampled_from(["v", "V", ""]), max_size=2),
)


class Directories(RuleBasedStateMachine):
    """The model: records by CID in the order they came, which of them are published, and where versions are final."""

    def __init__(self, runner: asyncio.Runner, parts: Parts) -> None:
        super().__init__()
        self.runner = runner
        self.parts = parts
        self.records: dict[str, dict[str, Any]] = {}
        self.published: set[str] = set()
        self.is_final: dict[str, bool] = {}
        self.namespaces = Namespaces(parts.database)
        for namespace in NAMESPACES:
            self.set_rule(namespace, False)
        for cid in self.run(_all(parts)):
            self.run(parts.records.delete(WHO, cid))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @rule(namespace=st.sampled_from(NAMESPACES), immutable=st.booleans())
    def set_rule(self, namespace: str, immutable: bool) -> None:
        self.run(self.namespaces.set(namespace, immutable=immutable))
        self.is_final[namespace] = immutable

    def is_refused(self, many: "list[dict[str, Any]]") -> bool:
        """Whether one of these is another content of a version that is final."""
        held = dict(self.records)
        for data in many:
            cid = cid_of(canonical_json(data))
            namespace = data["name"].removeprefix("http://").partition("/")[0].lower()
            holds = self.is_final[namespace if namespace in NAMESPACES else ""]
            key = data["name"], data["version"]
            if holds and cid not in held and key in [(one["name"], one["version"]) for one in held.values()]:
                return True
            held[cid] = data
        return False

    @rule(data=agents)
    def push(self, data: dict[str, Any]) -> None:
        if self.is_refused([data]):
            with pytest.raises(Conflict):
                self.run(self.parts.records.push(WHO, data))
            return
        pushed = self.run(self.parts.records.push(WHO, data))
        assert pushed.cid == cid_of(canonical_json(data))
        assert pushed.new is (pushed.cid not in self.records)
        self.records.setdefault(pushed.cid, data)

    @rule(many=st.lists(agents, max_size=6))
    def push_many(self, many: list[dict[str, Any]]) -> None:
        if self.is_refused(many):
            with pytest.raises(Conflict):
                self.run(self.parts.records.push_many(WHO, many))
            return
        for pushed, data in zip(self.run(self.parts.records.push_many(WHO, many)), many, strict=True):
            assert pushed.new is (pushed.cid not in self.records)
            self.records.setdefault(pushed.cid, data)

    @precondition(lambda self: self.records)
    @rule(pick=st.randoms(use_true_random=False))
    def delete(self, pick: Any) -> None:
        cid = pick.choice(list(self.records))
        assert self.run(self.parts.records.delete(WHO, cid))
        assert not self.run(self.parts.records.delete(WHO, cid))
        del self.records[cid]
        self.published.discard(cid)

    @precondition(lambda self: self.records)
    @rule(pick=st.randoms(use_true_random=False))
    def publish(self, pick: Any) -> None:
        cids = pick.sample(list(self.records), min(2, len(self.records)))
        self.run(self.parts.routing.publish(WHO, PublishRequest(record_refs=tuple(cids))))
        self.published |= set(cids)

    @precondition(lambda self: self.records)
    @rule(pick=st.randoms(use_true_random=False))
    def unpublish(self, pick: Any) -> None:
        cid = pick.choice(list(self.records))
        self.run(self.parts.routing.unpublish(WHO, [cid]))
        self.published.discard(cid)

    @rule(name=st.sampled_from(NAMES), version=st.none() | st.sampled_from(VERSIONS))
    def resolve(self, name: str, version: str | None) -> None:
        names = {name} if "://" in name else {name, f"http://{name}", f"https://{name}"}
        expected = [
            cid
            for cid, data in reversed(self.records.items())
            if data["name"] in names and version in (None, data["version"])
        ]
        try:
            found = [one.cid for one in self.run(self.parts.naming.resolve(name, version))]
        except NotFound:
            found = []
        assert found == expected

    @rule(queries=st.lists(st.sampled_from(QUERIES), max_size=2))
    def list(self, queries: "list[RouteQuery]") -> None:
        found = self.run(self.parts.routing.list(queries))
        expected = [
            (cid, labels_of(data))
            for cid, data in reversed(self.records.items())
            if cid in self.published and all(one.matches(labels_of(data)) for one in queries)
        ]
        assert [(one.cid, one.labels) for one in found] == expected

    @invariant()
    def everything_is_there_and_counted(self) -> None:
        pulled = self.run(self.parts.records.pull_many([*self.records, cid_of(b"never")]))
        assert [record and record.data for record in pulled] == [*self.records.values(), None]
        assert self.run(self.parts.records.count()) == len(self.records)
        self.run(self.parts.database.read(recounted))


async def _all(parts: Parts) -> "list[str]":
    return [one.cid for _, one in await parts.records.newest(1_000_000)]


@pytest.fixture(params=["sqlite", "postgres"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[asyncio.Runner, Parts]]:
    """Parts on an event loop that the machine can run step by step."""
    url = None
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.fresh_database()
    with asyncio.Runner() as runner:
        stores = Stores(url, tmp_path)

        async def begin() -> Parts:
            return parts_over(await stores.open(SETS))

        parts = runner.run(begin())
        yield runner, parts
        runner.run(parts.stop())
        runner.run(stores.close())


@pytest.mark.hypothesis
def test_the_directory_behaves_as_plain_dictionaries_do(running: tuple[asyncio.Runner, Parts]):
    runner, parts = running
    run_state_machine_as_test(
        cast("type[Directories]", lambda: Directories(runner, parts)),
        settings=settings(
            max_examples=12 if IS_LONG else 4,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=ALL_HEALTH_CHECKS,
        ),
    )
