"""What a server for one avatar loads before anybody searches: the start of a stdio server is part of the product."""

import subprocess
import sys
from pathlib import Path

import pytest

from pentad.search.models.catalogue import PulledModel
from tests.behaviour.avatars.folders import keeper
from tests.cli.processes import REPOSITORY, child_environment, run

HEAVY = (
    "numpy",
    "onnxruntime",
    "tokenizers",
    "pypdfium2",
    "lxml",
    "markdown_it",
    "starlette",
    "aiohttp",
    "rich",
    "rapidfuzz",
)
START = """
import asyncio, sys
from pathlib import Path

async def main() -> None:
    import pentad.rooms.avatars.interface.cli.commands, pentad.cli.mcp, pentad.mcp.stdio
    from pentad.app import open_app
    from pentad.mcp.connection import MemoryClient
    from pentad.rooms.avatars.interface.single_avatar import one_avatar
    from pentad.settings.model import Settings
    async with open_app(Settings(data=Path(sys.argv[1]), rooms=("avatars",), models=Path(sys.argv[2]))) as app:
        opened = app.rooms[0]
        server = app.one_part(await one_avatar(opened.room, opened.service, "ida-brandt"))
        async with MemoryClient(lambda write: app.connection(write, transport="stdio", server=server)) as client:
            assert (await client.call_tool("get_avatar_info", {}))["structuredContent"]["id"] == "ida-brandt"

asyncio.run(main())
print("\\n".join(sys.modules))
"""


@pytest.mark.interop
@pytest.mark.requirement("avatars:connection:light")
def test_an_avatar_says_who_it_is_without_loading_what_only_a_search_needs(
    tmp_path: Path, pulled_model: PulledModel
) -> None:
    models = str(pulled_model.folder.parent)
    folder = str(keeper(tmp_path))
    made = run("avatars", "ingest", folder, "--data", "data", home=tmp_path, environ={"PENTAD_MODELS": models})
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        [sys.executable, "-c", START, str(tmp_path / "data"), models],
        capture_output=True,
        encoding="utf-8",
        cwd=REPOSITORY,
        env=child_environment(tmp_path),
        timeout=60,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert "pentad.rooms.avatars.interface.single_avatar" in loaded
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY)
    for part in ("ingest", "fitting", "evaluation", "off_topic", "extract.pdf", "demo"):
        assert f"pentad.rooms.avatars.{part}" not in loaded, part
