"""The recipe of the image takes only what is there, and what it starts are Pentad's own commands."""

import json
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.processes import PATIENCE, ROOM, child

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")


def lines_of(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.+)$", RECIPE, re.MULTILINE)


@pytest.mark.requirement("dir:setup:docker")
def test_the_image_runs_the_command_the_package_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    (entry,) = lines_of("ENTRYPOINT")

    assert json.loads(entry) == ["pentad"]
    assert "pentad" in project["scripts"]


def test_everything_the_image_copies_is_there_and_let_through():
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"}
    copied = {name for line in lines_of("COPY") if "--from" not in line for name in line.split()[:-1]}

    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_does_not_run_as_root_and_keeps_its_data_in_a_volume():
    assert lines_of("USER") == ["pentad"]
    assert lines_of("VOLUME") == ["/data"]
    assert "PENTAD_DATA=/data" in lines_of("ENV")[0]


@pytest.mark.requirement("setup:docker")
def test_what_the_image_starts_serves_and_its_health_check_notices(tmp_path: Path):
    """The same command, variables and check; only the port and the folder are others, and there is no container."""
    variables = dict(re.findall(r'(PENTAD_\w+)=("[^"]*"|\S+)', lines_of("ENV")[0]))
    assert json.loads(lines_of("CMD")[0]) == ["serve"]
    check = json.loads(lines_of("HEALTHCHECK")[0].partition("CMD ")[2])
    with child(
        "serve", "--port", "0", "--rooms", ROOM, "--data", str(tmp_path),
        home=tmp_path, PENTAD_HOST=variables["PENTAD_HOST"], PENTAD_PROGRAM=json.loads(variables["PENTAD_PROGRAM"]),
        PENTAD_GRPC_PORT="0",
    ) as server:  # fmt: skip
        port = re.findall(r":(\d+)/", server.line("Pentad is ready at"))[0]
        command = [sys.executable, *(word.replace(":8700/", f":{port}/") for word in check[1:])]
        assert subprocess.run(command, timeout=PATIENCE, check=False).returncode == 0
        assert server.end(signal.SIGTERM) == 0
    told = "\n".join(server.stderr)
    assert "`docker exec -it pentad pentad users passwd admin`" in told
    assert subprocess.run(command, timeout=PATIENCE, check=False, stderr=subprocess.DEVNULL).returncode != 0
