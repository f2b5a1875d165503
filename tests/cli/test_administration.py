"""The verbs of administration do on a server what they do on the store."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pentad.settings.sources import load_settings
from tests.cli.processes import ROOM, child, run
from tests.cli.server_thread import serving

PASSWORD = "correct horse battery"


class Server:
    """A server with a login, and the store it works on."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        self.url = url

    def remote(self, *args: str, user: str = "root", stdin: str = "", code: int = 0) -> str:
        done = run(*args, "--url", self.url, "--login", f"{user}:{PASSWORD}", home=self.home, stdin=stdin)
        assert done.returncode == code, (args, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def local(self, *args: str) -> str:
        done = run(*args, "--data", "d", home=self.home)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout

    def same(self, *args: str) -> Any:
        found = json.loads(self.remote(*args, "--json"))
        assert found == json.loads(self.local(*args, "--json"))
        return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("administration")
    add = ("users", "add", "root", "--role", "admin", "--password-stdin", "--data", "d")
    assert run(*add, home=home, stdin=PASSWORD).returncode == 0
    with serving(load_settings({"data": home / "d", "rooms": (ROOM,)}, environ={})) as site:
        yield Server(home, f"{site}/mcp")


@pytest.mark.requirement("admin:one-way", "cli:users", "cli:keys")
def test_users_and_keys(server: Server) -> None:
    server.remote("users", "add", "Zoe", "--scope", "audit:admin", "--password-stdin", stdin=PASSWORD)
    assert {user["name"]: user["role"] for user in server.same("users", "list")} == {"root": "admin", "Zoe": "reader"}
    server.remote("users", "change", "zoe", "--role", "writer", "--no-scopes")
    assert [(user["role"], user["scopes"]) for user in server.same("users", "list") if user["name"] == "Zoe"] == [
        ("writer", "")
    ]
    made = json.loads(server.remote("keys", "create", "laptop", "--owner", "zoe", "--json"))
    (key,) = server.same("keys", "list")
    assert (key["id"], key["state"], "token" in key) == (made["id"], "active", False)
    own = json.loads(server.remote("keys", "create", "own", "--mine", "--json", user="zoe"))
    assert own["owner"] == "zoe"
    server.remote("keys", "revoke", own["id"], "--mine", user="zoe")
    server.remote("keys", "revoke", made["id"])
    assert {key["state"] for key in server.same("keys", "list")} == {"revoked"}
    server.remote("users", "passwd", "zoe", "--password-stdin", stdin="another long password")
    server.remote("users", "list", user="zoe", code=4)
    assert server.remote("users", "link", "zoe").startswith(server.url.removesuffix("/mcp") + "/login/link?token=")
    server.remote("users", "remove", "zoe")
    server.remote("users", "remove", "zoe", code=3)
    assert "last administrator" in server.remote("users", "remove", "root", code=1)


@pytest.mark.requirement("access:audit:read", "access:audit:readers-told")
def test_the_audit_trail(server: Server) -> None:
    server.remote("users", "add", "eve", "--password-stdin", stdin=PASSWORD)
    (added,) = json.loads(server.remote("audit", "--tool", "user added", "--user", "eve", "--json"))
    assert (added["principal"], added["target"]) == ("user:root", "user:eve")
    assert json.loads(server.local("audit", "--trace", added["id"], "--json")) == []
    table = server.local("audit", "--room", "access", "--since", "1h", "--limit", "500")
    assert table.splitlines()[0].split() == ["time", "who", "room", "what", "outcome", "ms", "about"]
    assert "audit read" in table
    refused = server.remote("audit", user="eve", code=4)
    assert "audit:admin" in refused
    target = server.home / "trail.jsonl"
    server.remote("audit", "export", str(target), "--tool", "user added")
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert {line["target"] for line in lines} >= {"user:root", "user:eve"}
    assert server.local("audit", "export", "-", "--tool", "user added").splitlines() == target.read_text().splitlines()
    assert "when" in server.remote("audit", "--since", "whenever", code=1)


@pytest.mark.requirement("access:audit:chain")
def test_the_chain_is_verified_and_its_head_is_found_again(server: Server) -> None:
    head = server.remote("audit", "verify").strip()
    later = server.local("audit", "verify", "--head", head).strip()
    assert int(later.partition(":")[0]) >= int(head.partition(":")[0])
    wrong = f"{head.partition(':')[0]}:{'0' * 64}"
    assert "broken" in server.remote("audit", "verify", "--head", wrong, code=1)
    found = run("audit", "verify", "--head", wrong, "--json", "--data", "d", home=server.home)
    assert (found.returncode, json.loads(found.stdout)["ok"]) == (1, False)


def test_following_shows_new_entries(server: Server) -> None:
    args = ("audit", "--follow", "--tool", "user added", "--url", server.url, "--login", f"root:{PASSWORD}")
    with child(*args, home=server.home) as reader:
        server.remote("users", "add", "followed", "--password-stdin", stdin=PASSWORD)
        reader.found(lambda line: "user:followed" in line)


@pytest.mark.requirement("admin:health")
def test_the_doctor_examines_a_server(server: Server) -> None:
    found = {one["check"]: one for one in json.loads(server.remote("doctor", "--json"))}
    assert {"server", "store", "audit trail", "jobs"} <= found.keys()
    assert found["server"]["state"] == "ok"
    assert found["jobs"]["text"] == "0 queued, 0 running, 0 dead"
    refused = json.loads(run("doctor", "--url", server.url, "--login", "root:wrong", "--json", home=server.home).stdout)
    assert [(one["check"], one["state"]) for one in refused] == [("server", "fail")]


@pytest.mark.requirement("admin:settings")
def test_settings(server: Server) -> None:
    rows = json.loads(server.remote("settings", "--json"))
    assert {row["path"]: row["value"] for row in rows}["audit.days"] == "90"
    changed = json.loads(server.remote("settings", "--changed", "--json"))
    assert {"data", "rooms"} <= {row["path"] for row in changed}
    assert all(row["about"] and row["source"] != "default" for row in changed)
    assert "audit.days" in server.local("settings", "audit")


@pytest.mark.requirement("admin:one-way", "admin:jobs", "admin:logins")
def test_jobs_sessions_clients_and_grants(server: Server) -> None:
    for verb in ("jobs", "sessions", "clients", "grants"):
        assert server.same(verb, "list") == []
    assert json.loads(server.remote("sessions", "list", "--mine", "--json")) == []
    server.remote("jobs", "retry", "99", code=3)
    server.remote("jobs", "forget", "99", code=3)
    server.remote("sessions", "end", "nothing", code=3)
    server.remote("grants", "revoke", "nothing", code=3)
    server.remote("clients", "remove", "https://nowhere.example/client.json", code=3)
    server.remote("sessions", "end", "--all-of", "root")
