"""The trust policy and peers agree over MCP, REST and the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.principal import LOCAL
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import run
from tests.rooms.directory.records.parts import agent
from tests.rooms.directory.trust.key_files import private_pem, public_pem

TRUST, PEERS = "/api/directory/trust", "/api/directory/peers"


async def request(app: App, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    content = b"" if body is None else json.dumps(body).encode()
    answer = send(front_of(app), method, path, {"content-type": "application/json"}, content)
    said = json.loads(await answer.body())
    return answer.status, said


async def call(app: App, tool: str, **arguments: Any) -> Any:
    async with app.client() as client:
        result = await client.call_tool(tool, arguments)
        assert not result["isError"], result
        return result["structuredContent"]


@pytest.mark.anyio
@pytest.mark.requirement("dir:trust:managed", "dir:trust:quarantine")
async def test_the_policy_over_mcp_and_rest(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("directory",), auth="none")) as app:
        room = app.rooms[0].service
        good = (await room.records.push(LOCAL, agent(name="example.org/good"))).cid
        held = (await room.records.push(LOCAL, agent(name="example.org/held"))).cid
        await room.trust.sign(LOCAL, good, private_pem("Ed25519"))
        body = {"name": "release", "namespace": "example.org", "key": public_pem("Ed25519")}
        status, added = await request(app, "POST", TRUST, body)
        assert (status, added["pending"]) == (200, False), added
        assert (await request(app, "GET", TRUST))[1]["entries"] == added["entries"]
        assert (await call(app, "directory_trust"))["entries"] == added["entries"]
        assert (await request(app, "POST", TRUST, {"name": "x", "key": 5}))[0] == 422
        path = "/api/directory/namespaces?namespace=example.org"
        assert (await request(app, "PUT", f"{path}&quarantine=true"))[0] == 200
        assert (await request(app, "PUT", path))[0] == 422
        hits = (await call(app, "agntcy_dir_search_local", names=["*"], **{"return": "hits"}))["hits"]
        assert hits == [{"cid": good, "trusted_by": ["release"]}]
        listed = (await call(app, "agntcy_dir_search_local", names=["*"], quarantined=True))["hits"]
        reason = "it is not signed"
        assert {"cid": held, "trusted_by": [], "quarantined": reason} in listed
        assert (await call(app, "agntcy_dir_pull_record", cid=held))["quarantined"] == reason
        (one,) = (await request(app, "GET", "/api/directory/quarantine"))[1]["records"]
        assert (one["cid"], one["name"], one["reason"]) == (held, "example.org/held", reason)
        assert (await call(app, "directory_trust", action="quarantined"))["records"] == [one]
        verdict = await call(app, "agntcy_dir_verify_record", cid=good)
        assert (verdict["success"], verdict["trusted_by"]) == (True, ["release"])
        status, left = await request(app, "DELETE", f"{TRUST}?name=release&namespace=example.org")
        assert (status, left["entries"]) == (200, [])
        assert (await request(app, "DELETE", f"{TRUST}?name=release&namespace=example.org"))[0] == 404


@pytest.mark.anyio
@pytest.mark.requirement("dir:federation:managed", "dir:federation:credentials")
async def test_peers_over_mcp_and_rest_never_show_credentials(tmp_path: Path) -> None:
    secret = "a-secret-that-nobody-sees"
    async with open_app(Settings(data=tmp_path, rooms=("directory",), auth="none")) as app:
        body = {
            "name": "acme",
            "url": "https://directory.invalid:8888",
            "token": secret,
            "namespaces": ["acme.example"],
        }
        status, added = await request(app, "POST", PEERS, body)
        assert status == 200, added
        (peer,) = added["peers"]
        assert (peer["name"], peer["auth"], peer["namespaces"]) == ("acme", "token", ["acme.example"])
        oauth = {"issuer": "https://i.example", "client_id": "c", "client_secret": secret}
        both = await call(app, "directory_peers", action="add", name="other", url="https://other.invalid", **oauth)
        assert [one["auth"] for one in both["peers"]] == ["token", "oauth"]
        shown = await request(app, "GET", PEERS)
        assert secret not in json.dumps([added, both, shown])
        status, refused = await request(app, "POST", PEERS, {"name": "x", "url": "x:1", "token": [secret]})
        assert status == 422
        assert secret not in json.dumps(refused)
        await call(app, "directory_peers", action="remove", name="other")
        assert (await request(app, "DELETE", f"{PEERS}?name=nobody"))[0] == 404


@pytest.mark.requirement("dir:trust:managed", "dir:federation:managed")
def test_the_policy_and_peers_with_commands(tmp_path: Path) -> None:
    def directory(*arguments: str, code: int = 0) -> str:
        done = run("directory", *arguments, "--data", "d", home=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    (tmp_path / "key.pem").write_text(public_pem("Ed25519"), encoding="ascii")
    (tmp_path / "agent.json").write_text(json.dumps(agent(name="example.org/held")), encoding="utf-8")
    cid = directory("push", "agent.json").strip()
    assert "any valid signature" in run("directory", "trust", "list", "--data", "d", home=tmp_path).stderr
    directory("trust", "add", "release", "--namespace", "example.org", "--key", "key.pem")
    directory("trust", "add", "release", "--namespace", "example.org", "--key", "key.pem", code=1)
    (entry,) = json.loads(directory("trust", "list", "--json"))["entries"]
    assert (entry["namespace"], entry["name"]) == ("example.org", "release")
    assert entry["fingerprints"][0] in directory("trust", "list")
    directory("namespaces", "set", "example.org", "--quarantine")
    assert "quarantined" in directory("namespaces", "list")
    assert [one["cid"] for one in json.loads(directory("quarantine", "--json"))] == [cid]
    assert "it is not signed" in directory("quarantine")
    assert json.loads(directory("search", "--json"))["records"] == []
    (found,) = json.loads(directory("search", "--quarantined", "--json"))["records"]
    assert (found["cid"], found["quarantined"]) == (cid, "it is not signed")
    assert "no record found" in directory("pull", "example.org/held", code=3)
    directory("trust", "remove", "release", "--namespace", "example.org")
    (tmp_path / "acme.key").write_text("pk_secret\n", encoding="ascii")
    directory("peers", "add", "acme", "https://directory.invalid:8888", "--token-file", "acme.key")
    (peer,) = json.loads(directory("peers", "list", "--json"))
    assert (peer["name"], peer["auth"], peer["status"]) == ("acme", "token", "starting")
    assert "pk_secret" not in directory("peers", "list", "--json")
    directory("peers", "remove", "acme")
    left = directory("peers", "list")  # whichever command runs meanwhile may have finished the removal
    assert "removing" in left or "acme" not in left
