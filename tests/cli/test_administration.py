"""The verbs of administration do on a server what they do on the store."""

import json
import urllib.request
from collections.abc import Iterator

import pytest

from tests.cli.administered_server import PASSWORD, Server, administered_server
from tests.cli.processes import ROOM, child, run


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with administered_server(tmp_path_factory.mktemp("administration")) as served:
        yield served


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
    assert json.loads(server.local("audit", "--user", "nobody", "--json")) == [], "which is an entry itself"
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


@pytest.mark.requirement("access:audit:read")
def test_the_audit_trail_by_trace_and_by_request(server: Server) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    given = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01", "x-request-id": "order-7"}
    for headers in (given, {}):
        body = json.dumps({"label": "traced", "owner": "root"}).encode()
        sent = {"authorization": server.basic(), "content-type": "application/json", **headers}
        with urllib.request.urlopen(urllib.request.Request(f"{server.site}/api/admin/keys", body, sent)) as answer:
            assert answer.status == 201
    for asked in (trace, "order-7"):
        found = json.loads(server.remote("audit", "--trace", asked, "--json"))
        assert sorted(one["tool"] for one in found) == ["POST /api/admin/keys", "key created"]
        assert json.loads(server.local("audit", "--trace", asked, "--json")) == found
        exported = server.local("audit", "export", "-", "--trace", asked).splitlines()
        assert len(exported) == 2
    assert json.loads(server.remote("audit", "--trace", "0" * 32, "--json")) == []


@pytest.mark.requirement("trace:verb", "trace:request-id")
def test_a_trace_by_the_id_of_an_answer(server: Server) -> None:
    asked = urllib.request.Request(f"{server.site}/api/account", headers={"authorization": server.basic()})
    with urllib.request.urlopen(asked) as answer:
        request_id = answer.headers["x-request-id"]
    remote = json.loads(server.remote("trace", request_id, "--json"))
    local = json.loads(server.local("trace", request_id, "--rooms", ROOM, "--json"))
    assert remote["spans"] == local["spans"]
    assert [(one["kind"], one["name"], one["outcome"]) for one in remote["spans"]] == [
        ("call", "GET /api/account", "ok")
    ]
    table = server.remote("trace", request_id)
    assert "GET /api/account" in table
    assert "no trace" in server.remote("trace", "never-heard-of", code=3)


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
    assert found["jobs"]["text"].endswith(" running, 0 dead")
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
def test_unknown_jobs_sessions_clients_and_grants(server: Server) -> None:
    for verb in ("sessions", "clients", "grants"):
        assert server.same(verb, "list") == []
    jobs = json.loads(server.remote("jobs", "list", "--json"))
    assert [one for one in jobs if one["key"] != "schedule"] == [], "a scheduled job may be due"
    assert json.loads(server.remote("sessions", "list", "--mine", "--json")) == []
    for args, told in (
        (("jobs", "retry", "99"), "There is no dead job 99."),
        (("jobs", "forget", "99"), "There is no dead job 99."),
        (("sessions", "end", "nothing"), "There is no session 'nothing'."),
        (("sessions", "end", "nothing", "--mine"), "There is no session 'nothing'."),
        (("grants", "revoke", "nothing"), "There is no grant 'nothing'."),
        (("grants", "revoke", "nothing", "--mine"), "There is no grant 'nothing'."),
        (("clients", "remove", "https://nowhere.example/client.json"), "nowhere.example"),
        (("keys", "revoke", "nothing"), "nothing"),
    ):
        said = server.remote(*args, code=3)
        assert said.startswith("error: "), said
        assert told in said
    server.remote("sessions", "end", "--all-of", "root")
