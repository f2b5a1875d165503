"""The verbs of rooms on a running server: what they print is what they print on the store."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.settings.model import Settings
from tests.behaviour.avatars.folders import keeper
from tests.cli.processes import child, run
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.requirement("cli:room-verbs:url")

ROOMS = "directory,registers,avatars,metrics,agents"
SCHEMA = {"title": "Tree", "slug": "tree", "properties": {"name": {"type": "string"}, "height": {"type": "integer"}}}


class Place:
    """A store, and a server on it."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url

    def run(self, *args: str, where: tuple[str, ...] = (), stdin: str = "", code: int = 0) -> str:
        done = run(*args, *where, home=self.home, stdin=stdin)
        assert done.returncode == code, (args, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def remote(self, *args: str, stdin: str = "", code: int = 0) -> str:
        return self.run(*args, where=("--url", self.url), stdin=stdin, code=code)

    def local(self, *args: str, code: int = 0) -> str:
        return self.run(*args, where=("--data", "d"), code=code)

    def same(self, *args: str) -> Any:
        """What a verb prints as JSON, which is the same on the store and on the server."""
        found = json.loads(self.remote(*args, "--json"))
        assert found == json.loads(self.local(*args, "--json"))
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("verbs")
    made = run("avatars", "ingest", str(keeper(home)), "--data", "d", home=home)
    assert made.returncode == 0, made.stderr
    more = {"PENTAD_SEARCH_EMBEDDER": "none"}
    with child(
        "serve", "--auth", "none", "--port", "0", "--grpc-port", "0", "--data", "d", home=home, **more
    ) as server:
        yield Place(home, server.line("Pentad is ready at ").partition("MCP: ")[2].partition(",")[0].rstrip(")"))


def test_the_directory(place: Place) -> None:
    record = place.home / "agent.json"
    record.write_text(json.dumps(sample("1.0.0")), encoding="utf-8")
    cid = place.remote("directory", "push", str(record)).strip()
    name = sample("1.0.0")["name"]
    assert [one["cid"] for one in place.same("directory", "search")["records"]] == [cid]
    assert place.same("directory", "search", "--name", name)["total"] == 1
    assert place.same("directory", "resolve", name)["cid"] == cid
    assert [one["cid"] for one in place.same("directory", "lineage", name)] == [cid]
    assert place.same("directory", "versions")["available_versions"]
    assert place.same("directory", "diff", cid, str(record))["same"] is True
    pulled = place.remote("directory", "pull", name)
    assert json.loads(pulled) == sample("1.0.0")
    assert pulled == place.local("directory", "pull", cid)
    assert place.remote("directory", "pull", cid, "--canonical") == place.local("directory", "pull", cid, "--canonical")
    assert place.same("directory", "migrate", cid, "--to", "1.1.0")["valid"] is True
    export = ("directory", "export", cid, "--to", "a2a")  # a record without a card: both say the same
    assert place.remote(*export, code=1) == place.local(*export, code=1)
    assert "no record found" in place.remote("directory", "pull", "no-such-name", code=3)
    assert json.loads(place.remote("directory", "sign", cid, "--json"))["cid"] == cid
    assert place.same("directory", "verify", cid)["success"] is True
    assert "the server signs with its own key" in place.remote("directory", "sign", cid, "--key", "k.pem", code=2)
    assert json.loads(place.remote("directory", "delete", cid, "--json")) == {"cid": cid, "deleted": True}
    assert place.same("directory", "search")["records"] == []
    assert "directory_import" in place.remote("directory", "import", str(record), code=2)
    assert "validation failed" in place.remote("directory", "push", "-", stdin='{"schema_version": "1.0.0"}', code=1)


def test_registers(place: Place) -> None:
    def call(tool: str, **data: Any) -> Any:
        arguments = json.dumps({"action": "create", "data": data})
        return json.loads(place.remote("call", tool, "--args", "-", "--json", stdin=arguments))["structuredContent"]

    schema = call("schemas", **SCHEMA)
    call("registers", title="Park", slug="park", schemas=[schema["id"]])
    trees = place.home / "trees.csv"
    trees.write_text("name,height\noak,20\nelm,18\n", encoding="utf-8")
    where = ("--register", "park", "--schema", "tree")
    report = json.loads(place.remote("registers", "import", str(trees), *where, "--json"))
    assert (report["created"], report["failed"], report["mode"]) == (2, 0, "all or nothing")
    assert place.same("registers", "list") == [{"register": "park", "title": "Park", "schema": "tree", "objects": 2}]
    for form in ("csv", "jsonl"):
        asked = ("registers", "export", *where, "--format", form, "--filter", '{"height": {"gte": 19}}')
        exported = place.remote(*asked)
        assert "oak" in exported
        assert "elm" not in exported
        assert exported == place.local(*asked)
    place.remote("registers", "export", *where, "--out", str(place.home / "out.json"))
    assert len(json.loads((place.home / "out.json").read_text(encoding="utf-8"))) == 2
    trees.write_text("name,height\nash,tall\n", encoding="utf-8")
    assert (
        json.loads(
            run("registers", "import", str(trees), *where, "--json", "--url", place.url, home=place.home).stdout
        )["failed"]
        == 1
    )
    assert "nothing not found" in place.remote("registers", "export", "-r", "nothing", "-s", "tree", code=3)
    assert "UTF-8" in place.remote("registers", "import", str(trees), *where, "--encoding", "latin-1", code=2)


def test_avatars(place: Place) -> None:
    assert [one["id"] for one in place.same("avatars", "list")] == ["ida-brandt"]
    question = ("avatars", "ask", "When was the lamp lit?")
    assert place.remote(*question) == place.local(*question)
    assert json.loads(place.remote(*question, "--json"))["avatar"] == "ida-brandt"
    for verb in (("ingest", "."), ("eval",), ("publish",)):
        assert "--data" in place.remote("avatars", *verb, code=2)


def test_metrics(place: Place) -> None:
    place.local("metrics", "poll", "host")
    assert {one["id"] for one in place.same("metrics", "collectors")} >= {"host", "pentad"}
    assert "ready" in place.remote("metrics", "collectors")
    shown = json.loads(place.remote("metrics", "show", "host", "memory.percent", "--json"))
    assert shown["collector"] == "host"
    assert "memory.percent" in place.remote("metrics", "show", "host", "memory.percent")
    assert place.same("metrics", "history", "host", "memory.percent")[0]["key"] == "memory.percent"
    assert "memory.percent" in place.remote("metrics", "history", "host", "memory.percent")
    assert "memory.percent" in place.remote("metrics", "export", "host", "memory.percent")
    for verb in ("poll", "watch"):
        assert "cannot be done on a server" in place.remote("metrics", verb, "host", code=2)


def test_what_only_the_store_can_do_says_what_to_do_instead(place: Place) -> None:
    for verb in (("agents", "tasks"), ("agents", "keys", "list"), ("directory", "keys", "rotate")):
        assert "cannot be done on a server" in place.remote(*verb, code=2)


def test_the_server_decides_what_a_login_may_do(tmp_path: Path) -> None:
    async def made_key() -> str:
        async with open_app(Settings(data=tmp_path / "d", rooms=("directory",))) as app:
            return (await app.api_keys.create("reader", scopes=["directory:read"])).token

    key = asyncio.run(made_key())
    with child(
        "serve", "--rooms", "directory", "--port", "0", "--grpc-port", "0", "--data", "d", home=tmp_path
    ) as server:
        url = server.line("Pentad is ready at ").partition("MCP: ")[2].rstrip(")")
        where = ("--url", url, "--token", key)
        assert run("directory", "search", *where, home=tmp_path).returncode == 0
        assert run("directory", "delete", "x", *where, home=tmp_path).returncode == 4
        assert run("directory", "search", "--url", url, home=tmp_path).returncode == 4
