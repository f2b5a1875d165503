"""The settings and commands of the tutorial in `docs/directory.md`, with a real server and curl."""

import json
import re
import subprocess
from http.client import HTTPConnection
from pathlib import Path

import pytest

from docs_src.directory_tour import WEATHER
from tests.conformance.server import REPOSITORY, environment, pentad
from tests.processes.servers import Server

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

PAGE = (REPOSITORY / "docs/directory.md").read_text(encoding="utf-8")


def commands(text: str) -> list[str]:
    """The commands of a block, each on one line."""
    return [line.removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines()]


def listed(port: int) -> list[str]:
    """The versions that a host without credentials gets."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/v0.1/servers")
        answer = connection.getresponse()
        assert answer.status == 200
        return [one["server"]["version"] for one in json.loads(answer.read())["servers"]]
    finally:
        connection.close()


@pytest.mark.requirement("dir:docs:page", "dir:registry:readers")
def test_a_build_publishes_and_hosts_get_what_was_approved(tmp_path: Path) -> None:
    settings = re.search(r"```toml\n(\[rooms\.directory\]\n.*?)```", PAGE, re.DOTALL)
    shown = re.search(r"<!-- publish -->\n```\n(.*?)```", PAGE, re.DOTALL)
    assert settings is not None
    assert shown is not None
    create, change, publish, waiting, approve = commands(shown[1])
    (tmp_path / "pentad.toml").write_text(settings[1], encoding="utf-8")
    (tmp_path / "server.json").write_text(json.dumps(WEATHER), encoding="utf-8")
    store = ["--data", str(tmp_path), "--config", str(tmp_path / "pentad.toml")]
    server = Server(store, tmp_path / "log", "required", rooms="directory")
    token = ""

    def run(line: str) -> str:
        line = line.replace("https://agents.example.org", f"http://127.0.0.1:{server.port}")
        if line.startswith("pentad "):
            line = f"{pentad()} {line.removeprefix('pentad ')} --data {tmp_path}"
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False,
            env={**environment(), "PENTAD_TOKEN": token},
        )  # fmt: skip
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout

    run("pentad directory import server.json")
    token = run(create.removeprefix("PENTAD_TOKEN=$(").removesuffix(")")).strip()
    run(change)
    server.start()
    try:
        server.wait_until_ready()
        published = json.loads(run(publish))["server"]
        assert (published["name"], published["version"]) == (WEATHER["name"], "1.3.0")
        assert listed(server.port) == ["1.2.0"]
        assert "org.example/weather  1.3.0" in run(waiting)
        run(approve)
        assert listed(server.port) == ["1.2.0", "1.3.0"]
    finally:
        server.stop()
