"""Every command and URL in the terminal blocks of the page on metrics works as written there."""

import re
import shlex
from pathlib import Path
from urllib.parse import unquote

import pytest

from pentad.app import App
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import run
from tests.conformance.server import REPOSITORY

PAGE = (REPOSITORY / "docs" / "metrics.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(one, comments=True)[1:] for one in re.findall(r"^pentad metrics .*$", PAGE, re.MULTILINE)]
ADDRESSES = re.findall(r"^curl .*'(?:URL|http://localhost:8700)(/\S+)'$", PAGE, re.MULTILINE)
WITHOUT_PROMETHEUS = "prometheus_url"


@pytest.mark.interop
@pytest.mark.requirement("metrics:page")
def test_the_commands_of_the_page_run(tmp_path: Path, anypoint: dict[str, str]) -> None:
    assert len(COMMANDS) >= 12
    environ = {"PENTAD_SEARCH_EMBEDDER": "none", **anypoint}
    for command in COMMANDS:
        once = ["--count", "1"] if command[1] == "watch" else []
        done = run(*command, *once, "--data", "data", home=tmp_path, environ=environ)
        if command[1] == "promql":
            assert WITHOUT_PROMETHEUS in done.stderr, command
        elif "--end" in command:
            assert "ID" in done.stderr, command
        else:
            assert done.returncode == 0, (command, done.stderr)


@pytest.mark.anyio
@pytest.mark.interop
@pytest.mark.requirement("metrics:page")
async def test_the_addresses_of_the_page_answer(lab: App) -> None:
    assert len(ADDRESSES) >= 3
    for address in ADDRESSES:
        answer = send(front_of(lab), "GET", unquote(address))
        body = await answer.json()
        if "/promql" in address:
            assert WITHOUT_PROMETHEUS in str(body), address
        else:
            assert answer.status == 200, (address, body)
