"""The verbs of rooms on a running server: what they print is what they print on the store."""

import asyncio
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from pentad.app import open_app
from pentad.entry_points import entry_points, load
from pentad.kernel.default_limits import Limits
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import beekeeper, keeper
from tests.cli.processes import run
from tests.cli.server_thread import serving
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.sources import SERVER, SKILL

pytestmark = pytest.mark.requirement("cli:room-verbs:url")

ROOMS = "directory,registers,avatars,metrics,agents"
SCHEMA = {"title": "Tree", "slug": "tree", "properties": {"name": {"type": "string"}, "height": {"type": "integer"}}}


NO_MODEL = {"PENTAD_SEARCH_EMBEDDER": "none"}
WORDS_ALONE = SearchSettings(embedder="none")


class Place:
    """A store, and a server on it."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url

    def run(self, *args: str, where: tuple[str, ...] = (), stdin: str = "", code: int = 0) -> str:
        done = run(*args, *where, home=self.home, stdin=stdin, environ=NO_MODEL)
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

    def alike(self, *args: str) -> tuple[int, str, str]:
        """What a verb that changes something does on the server, and just so on another store."""
        there = run(*args, "--url", self.url, home=self.home, environ=NO_MODEL)
        here = run(*args, "--data", "other", home=self.home, environ=NO_MODEL)
        assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
        return there.returncode, there.stdout, there.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    home = tmp_path_factory.mktemp("verbs")
    folder = str(keeper(home))
    for data in ("d", "other"):
        made = run("avatars", "ingest", folder, "--data", data, home=home, environ=NO_MODEL)
        assert made.returncode == 0, made.stderr
    with serving(Settings(data=home / "d", auth="none", search=WORDS_ALONE)) as site:
        yield Place(home, f"{site}/mcp")


@pytest.mark.requirement("registers:organisations:verbs")
def test_organisations(place: Place) -> None:
    place.remote("registers", "organisations", "create", "acme", "--title", "Acme Inc.")
    place.remote("registers", "organisations", "add", "acme", "user:ada")
    assert [(one["slug"], one["title"]) for one in place.same("registers", "organisations", "list")] == [
        ("acme", "Acme Inc.")
    ]
    assert place.same("registers", "organisations", "members", "acme") == ["user:ada"]
    place.remote("registers", "organisations", "remove", "acme", "user:ada")
    place.remote("registers", "organisations", "remove", "acme", "user:ada", code=3)
    place.remote("registers", "organisations", "delete", "acme")
    assert place.same("registers", "organisations", "list") == []
    assert "cannot name an organisation" in place.remote("registers", "organisations", "create", "Not a slug", code=1)


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
    assert "validation failed" in place.remote("directory", "push", "-", stdin='{"schema_version": "1.0.0"}', code=1)


@pytest.mark.requirement("cli:url:every-verb")
def test_an_import_sends_records_and_never_a_source(place: Place) -> None:
    folder = place.home / "agents"
    (folder / "forms").mkdir(parents=True)
    (folder / "forms" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (folder / "forms" / "fill.py").write_text("print('filled')", encoding="utf-8")
    (folder / "server.json").write_text(json.dumps(SERVER), encoding="utf-8")
    secret = {"command": "notes", "args": ["--token", "ghp_" + "a1B2" * 9]}
    configuration = {"mcpServers": {"notes": secret, "more": {"command": "more"}}}
    (folder / "mcp.json").write_text(json.dumps(configuration), encoding="utf-8")
    (folder / "agent-card.json").write_text("{", encoding="utf-8")
    with zipfile.ZipFile(folder / "packed.zip", "w") as archive:
        archive.writestr("SKILL.md", SKILL.replace("name: ", "name: packed-"))
    for more in (("--dry-run", "--json"), (), ()):
        code, out, err = place.alike("directory", "import", str(folder), *more)
        assert code == 1, err
        assert "agents/forms/SKILL.md" in out
        assert "ghp_" not in out + err
    assert "5 already there, 1 bad" in err
    assert {"agents/mcp.json#notes", "agents/mcp.json#more"} <= set(out.split()), "each server is a record"
    for cid in (one.split()[0] for one in out.splitlines()):
        assert "ghp_" not in place.remote("directory", "pull", cid)
        place.remote("directory", "delete", cid)


@pytest.mark.requirement("cli:url:every-verb", "dir:push:immutable")
def test_namespaces(place: Place) -> None:
    before = place.same("directory", "namespaces", "list")
    assert before == [{"namespace": "", "immutable": True, "quarantine": False}]
    for verb in (("set", "example.org/loose", "--mutable"), ("set", "", "--immutable")):
        assert place.alike("directory", "namespaces", *verb)[0] == 0
    assert place.same("directory", "namespaces", "list") == [
        *before,
        {"namespace": "example.org/loose", "immutable": False, "quarantine": False},
    ]
    assert "replaceable" in place.remote("directory", "namespaces", "list")
    record = place.home / "loose.json"
    for name, code in (("example.org/loose/agent", 0), ("example.org/strict", 1)):
        record.write_text(json.dumps(sample("1.0.0") | {"name": name}), encoding="utf-8")
        place.remote("directory", "push", str(record))
        record.write_text(json.dumps(sample("1.0.0") | {"name": name, "description": "Other."}), encoding="utf-8")
        place.remote("directory", "push", str(record), code=code)
    for one in json.loads(place.remote("directory", "search", "--name", "example.org/*", "--json"))["records"]:
        place.remote("directory", "delete", one["cid"])
    for code in (0, 3):
        assert place.alike("directory", "namespaces", "remove", "example.org/loose")[0] == code
    assert "cannot be removed" in place.remote("directory", "namespaces", "remove", "", code=1)
    assert place.same("directory", "namespaces", "list") == before


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
    rename = '[{"op": "rename", "property": "height", "to": "metres"}]'
    assert place.same("registers", "schema", "plan", "tree", rename)["migrated"]["objects"] == 2
    place.remote("registers", "schema", "patch", "tree", rename)
    assert place.same("registers", "schema", "history", "tree")[0]["action"] == "patch"
    assert place.same("registers", "schema", "diff", "tree", "1")["to"] == 2
    assert json.loads(place.remote("registers", "schema", "undo", "tree", "--json"))["version"] == "0.0.3"
    assert "nothing not found" in place.remote("registers", "export", "-r", "nothing", "-s", "tree", code=3)
    assert "UTF-8" in place.remote("registers", "import", str(trees), *where, "--encoding", "latin-1", code=2)


@pytest.mark.requirement("registers:views:verbs")
def test_views(place: Place) -> None:
    def call(tool: str, **data: Any) -> Any:
        arguments = json.dumps({"action": "create", "data": data})
        return json.loads(place.remote("call", tool, "--args", "-", "--json", stdin=arguments))["structuredContent"]

    schema = call("schemas", **{**SCHEMA, "slug": "shrub"})
    call("registers", title="Garden", slug="garden", schemas=[schema["id"]])
    shrubs = place.home / "shrubs.csv"
    shrubs.write_text("name,height\nbox,2\nyew,3\n", encoding="utf-8")
    where = ("-r", "garden", "-s", "shrub")
    place.remote("registers", "import", str(shrubs), *where)
    query = json.dumps({"sort": ["-height"], "columns": ["name", {"name": "Double", "expression": "height * 2"}]})
    made = json.loads(place.remote("registers", "views", "create", "High shrubs", *where, "--query", query, "--json"))
    assert made["slug"] == "high-shrubs"
    assert [one["slug"] for one in place.same("registers", "views", "list")] == ["high-shrubs"]
    assert [row["Double"] for row in place.same("registers", "views", "run", "high-shrubs")["results"]] == [6, 4]
    printed = place.remote("registers", "views", "run", "high-shrubs").splitlines()
    assert printed == ["name  Double", "yew   6", "box   4"]
    assert json.loads(place.remote("registers", "views", "show", "high-shrubs"))["title"] == "High shrubs"
    exported = ("registers", "views", "export", "high-shrubs", "--filter", '{"height": 2}', "--format", "jsonl")
    assert json.loads(place.remote(*exported)) == {"name": "box", "Double": 4}
    assert place.remote(*exported) == place.local(*exported)
    place.local("registers", "views", "create", "Names", *where, "--columns", "name", "--shared")
    assert "shared" in place.remote("registers", "views", "list")
    for view in ("high-shrubs", "names"):
        place.remote("registers", "views", "delete", view)
    assert "There is no view" in place.remote("registers", "views", "run", "names", code=3)
    assert place.same("registers", "views", "list") == []


@pytest.mark.requirement("cli:url:every-verb")
def test_avatars(place: Place) -> None:
    assert [one["id"] for one in place.same("avatars", "list")] == ["ida-brandt"]
    question = ("avatars", "ask", "When was the lamp lit?")
    assert place.remote(*question) == place.local(*question)
    assert json.loads(place.remote(*question, "--json"))["avatar"] == "ida-brandt"
    assert place.same("avatars", "eval")["passed"] in (True, False)
    assert place.remote("avatars", "eval") == place.local("avatars", "eval")
    folder = beekeeper(place.home)
    (folder / "corpus" / "hive.png").write_bytes(b"no document")
    for more in (("--dry-run",), ("--json",), ()):
        code, _, err = place.alike("avatars", "ingest", str(folder), *more)
        assert code == 0, err
    assert "hive.png" in err
    assert "2 unchanged" in err
    note = place.home / "more.md"
    note.write_text("# Drones\n\nA drone has no sting and lives for a single summer.\n", encoding="utf-8")
    for extra in ((str(note),), (str(note), "--force", "--json"), (str(folder / "corpus" / "hive.png"),)):
        place.alike("avatars", "ingest", "--avatar", "tomas-orlik", *extra)
    assert {one["id"]: one["documents"] for one in place.same("avatars", "list")}["tomas-orlik"] == 3
    assert "no-such-avatar" in place.remote("avatars", "ingest", "--avatar", "no-such-avatar", str(note), code=3)
    (place.home / "empty").mkdir()
    assert "There is no config.json" in place.remote("avatars", "ingest", "empty", code=3)
    here, there = (json.loads(ask("avatars", "publish", "--print")) for ask in (place.local, place.remote))
    assert [one["name"] for one in here] == [one["name"] for one in there]
    assert [bool(one["locators"]) for one in here] == [False, True], "the first has an address only on a server"
    assert all(one["locators"] for one in there)
    published = json.loads(place.remote("avatars", "publish", "--json"))
    assert [(one["avatar"], one["new"]) for one in published] == [("ida-brandt", True), ("tomas-orlik", True)]
    again = json.loads(place.remote("avatars", "publish", "--json"))
    assert [(one["cid"], one["new"]) for one in again] == [(one["cid"], False) for one in published]
    for one in published:
        place.remote("directory", "delete", one["cid"])


@pytest.mark.requirement("cli:url:every-verb")
def test_agents(place: Place) -> None:
    task = json.loads(place.remote("agents", "send", "echo", "hello", "--json"))["task_id"]
    assert [one["task_id"] for one in place.same("agents", "tasks")] == [task]
    assert place.remote("agents", "tasks") == place.local("agents", "tasks")
    assert place.same("agents", "tasks", "--state", "failed", "--limit", "3") == []
    card = place.home / "context.json"
    card.write_text(json.dumps({"items": {"card": {"ref": "avatar://ida-brandt"}, "a": {"content": "b"}}}))
    whole = place.same("agents", "context", "resolve", str(card))["items"]
    assert "Ida Brandt" in json.dumps(whole["card"]["content"])
    card.write_text(json.dumps({"items": {"card": {"ref": "context://" + "0" * 64}}}))
    assert place.remote("agents", "context", "resolve", str(card), code=3) == place.local(
        "agents", "context", "resolve", str(card), code=3
    )


@pytest.mark.parametrize("room", ["agents", "directory"])
def test_signing_keys(place: Place, room: str) -> None:
    before = place.same(room, "keys", "list")
    rotated = json.loads(place.remote(room, "keys", "rotate", "--json"))
    assert len(rotated) == len(before) + 1
    assert place.same(room, "keys", "list") == rotated
    assert "PRIVATE" not in json.dumps(rotated)
    forgotten = json.loads(place.remote(room, "keys", "rotate", "--forget-old", "--json"))
    assert place.same(room, "keys", "list") == forgotten
    assert len(forgotten) == 1
    assert place.remote(room, "keys", "list") == place.local(room, "keys", "list")


@pytest.mark.requirement("cli:url:every-verb")
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
    before = len(place.same("metrics", "history", "host", "memory.percent")[0]["points"])
    said = run("metrics", "poll", "host", "--url", place.url, home=place.home)
    assert (said.returncode, said.stdout) == (0, "")
    assert "Recorded " in said.stderr
    assert len(place.same("metrics", "history", "host", "memory.percent")[0]["points"]) > before
    watched = ("metrics", "watch", "host", "--count", "2", "--every", "0.1")
    for keys in ((), ("memory", "network.sentBytes")):
        lines = [
            [[(one["key"], one["labels"], one["state"]) for one in json.loads(line)["samples"]] for line in printed]
            for printed in (
                place.remote(*watched, *keys, "--json").splitlines(),
                place.local(*watched, *keys, "--json").splitlines(),
            )
        ]
        assert sorted(lines[0][0]) == sorted(lines[1][0])
        assert len(lines[0]) == len(lines[1]) == 2
        assert lines[0][0]
    drawn = place.remote(*watched, "memory.percent", "network.sentBytes")
    assert drawn.count("memory.percent") == 2
    assert "network.sentBytes, each second" in drawn
    assert "no-such" in place.remote("metrics", "poll", "no-such", code=3)


def test_the_server_decides_what_a_login_may_do(tmp_path: Path) -> None:
    roles = {"reader": ["*:read"], "writer": ["*:read", "*:write"], "admin": ["*:read", "*:write", "*:admin"]}

    async def made_keys() -> dict[str, str]:
        async with open_app(Settings(data=tmp_path / "d", rooms=("directory",))) as app:
            return {name: (await app.api_keys.create(name, scopes=scopes)).token for name, scopes in roles.items()}

    keys = asyncio.run(made_keys())
    record, context = tmp_path / "agent.json", tmp_path / "context.json"
    record.write_text(json.dumps(sample("1.0.0")), encoding="utf-8")
    context.write_text('{"items": {"a": {"content": "b"}}}', encoding="utf-8")
    folder = str(keeper(tmp_path))
    verbs = {
        "reader": (
            ("directory", "search"),
            ("directory", "import", str(record), "--dry-run"),
            ("directory", "keys", "list"),
            ("agents", "tasks"),
            ("agents", "keys", "list"),
            ("agents", "context", "resolve", str(context)),
            ("metrics", "watch", "host", "--count", "1"),
            ("avatars", "publish", "--print"),
        ),
        "writer": (
            ("directory", "import", str(record)),
            ("metrics", "poll", "host"),
            ("avatars", "ingest", folder),
            ("avatars", "eval"),
            ("avatars", "publish"),
        ),
        "admin": (
            ("agents", "keys", "rotate"),
            ("directory", "keys", "rotate"),
            ("directory", "namespaces", "set", "example.org", "--immutable"),
        ),
    }
    with serving(Settings(data=tmp_path / "d", search=WORDS_ALONE)) as site:
        url = f"{site}/mcp"
        for place, (role, allowed) in enumerate(verbs.items()):
            for verb in allowed:
                for name in roles:
                    done = run(*verb, "--url", url, "--token", keys[name], home=tmp_path)
                    may = list(roles).index(name) >= place
                    assert done.returncode == (0 if may else 4), (role, name, verb, done.stderr)
        assert run("agents", "tasks", "--url", url, home=tmp_path).returncode == 4
        assert run("directory", "delete", "x", "--url", url, "--token", keys["reader"], home=tmp_path).returncode == 4


SERVING = {"avatars serve", "@avatar-sdk/mcp-server"}
"""Verbs that are servers themselves."""
WITHOUT_STORE = {"directory validate"}
"""Verbs that take the options of the store but never open one; the next test shows it."""


def commands(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for word, inner in command.commands.items():
            yield from commands(f"{name} {word}", inner)
    else:
        yield name, command


@pytest.mark.requirement("cli:url:every-verb")
def test_every_verb_of_every_room_takes_a_url_or_needs_no_store() -> None:
    found = {
        name: {option.name for option in command.params}
        for reference in entry_points("pentad.cli").values()
        for word, verb in load(reference).items()
        for name, command in commands(word, load(verb.target))
    }
    assert len(found) > 40
    refusing = {name for name, options in found.items() if options & {"data", "database"} and "url" not in options}
    assert refusing == SERVING | WITHOUT_STORE


def test_a_record_is_validated_without_a_store(tmp_path: Path) -> None:
    (tmp_path / "agent.json").write_text(json.dumps(sample("1.0.0")), encoding="utf-8")
    assert run("directory", "validate", "agent.json", "--data", "d", home=tmp_path).returncode == 0
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("size", [200_000, 20_000_000])
def test_a_folder_that_is_too_large_for_the_server_is_refused_with_its_limit(tmp_path: Path, size: int) -> None:
    folder = keeper(tmp_path)
    (folder / "corpus" / "large.md").write_bytes(b"word " * (size // 5))
    settings = Settings(data=tmp_path / "d", auth="none", rooms=("avatars",), limits=Limits(upload_bytes=100_000))
    with serving(settings) as site:
        done = run("avatars", "ingest", str(folder), "--url", f"{site}/mcp", home=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "larger than 100000 bytes" in done.stderr
    assert "limits.upload_bytes" in done.stderr


@pytest.mark.requirement("events:rules:wires")
def test_rules_for_events(place: Place) -> None:
    asked = ("--kind", "object.created", "--agent", "echo", "--text", "Review this.")
    made = json.loads(place.remote("rules", "add", "review", *asked, "--json"))
    hook = place.remote("rules", "add", "tell", "--room", "registers", "--webhook", "https://1.1.1.1/hook")
    assert hook.startswith("whsec_")
    found = place.same("rules", "list")
    assert [(one["name"], one["enabled"]) for one in found] == [("review", True), ("tell", True)]
    assert made["task"] == {"agent": "echo", "text": "Review this."}
    table = place.local("rules", "list")
    assert "task to echo" in table
    assert "POST https://1.1.1.1/hook" in table
    place.local("rules", "resume", made["id"])
    for one in found:
        place.remote("rules", "remove", one["id"])
    assert place.same("rules", "list") == []
    assert "no rule" in place.remote("rules", "remove", made["id"], code=3)
    for wrong in (("--agent", "echo"), ("--webhook", "https://1.1.1.1", "--agent", "echo"), ()):
        assert "pentad rules add --help" in place.local("rules", "add", "x", *wrong, code=2)
