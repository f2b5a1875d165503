"""The original document's examples, run as printed: its server configuration, its command, its client configuration."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App
from tests.behaviour.avatars.conftest import avatar_child
from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import PRINTED_TOOLS
from tests.behaviour.clients import MODERN, Wire
from tests.behaviour.connecting import connected_over_stdio

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

CLIENT_CONFIGURATION = """
{
  "mcpServers": {
    "ida-brandt": {
      "command": "pentad",
      "args": ["@avatar-sdk/mcp-server", "--avatar", "ida-brandt"],
      "env": {
        "SUPABASE_URL": "...",
        "SUPABASE_ANON_KEY": "..."
      }
    }
  }
}
"""
OWN_CONFIGURATION = """
{
  "mcpServers": {
    "ida-brandt": {
      "command": "pentad",
      "args": ["avatars", "serve", "--avatar", "ida-brandt"],
      "env": {"SUPABASE_URL": "...", "SUPABASE_ANON_KEY": "..."}
    }
  }
}
"""


@pytest.mark.parametrize("text", [CLIENT_CONFIGURATION, OWN_CONFIGURATION], ids=["as printed", "in our words"])
@pytest.mark.requirement("avatars:connection:client-configuration", "avatars:connection:stdio")
async def test_the_printed_client_configuration_works_with_pentad_in_place_of_npx(
    text: str, home: Path, site: App
) -> None:
    server: dict[str, Any] = json.loads(text)["mcpServers"]["ida-brandt"]
    assert server["command"] == "pentad"
    with avatar_child(home, *server["args"], **server["env"]) as child:
        async with connected_over_stdio(child, Wire("stdio", "2025-06-18"), {}) as client:
            assert client.server["serverInfo"]["name"] == "avatar-ida-brandt"
            assert client.server["serverInfo"]["version"] == "1.0.0"
            door = Door(client, alone=True)
            assert list(await door.tools()) == [*PRINTED_TOOLS, "verify_response"]
            assert (await door.ask("get_avatar_info"))["id"] == "ida-brandt"
            answer = await door.ask("generate_response", question="How many sluices did the Lower Marsh have?")
            assert answer["citations"][0]["source"] == "Notes on the Lower Marsh"


@pytest.mark.requirement("avatars:connection:unknown")
def test_a_server_for_an_avatar_that_does_not_exist_says_so_and_ends(home: Path, site: App) -> None:
    from tests.cli.processes import run

    environ = {"PENTAD_DATA": str(home / "data"), "PENTAD_MODELS": str(home / "none")}
    ended = run("avatars", "serve", "--avatar", "ida-brant", home=home, environ=environ)
    assert ended.returncode == 3
    assert ended.stdout == ""
    assert "Did you mean 'ida-brandt'?" in ended.stderr
    usage = run("avatars", "serve", home=home, environ=environ)
    assert usage.returncode == 2
    assert "--avatar" in usage.stderr


@pytest.mark.requirement("avatars:server:modern")
async def test_the_stateless_era_is_told_the_name_and_version_too(
    modern_avatar: "subprocess.Popen[bytes]", site: App
) -> None:
    async with connected_over_stdio(modern_avatar, Wire("stdio", MODERN), {}) as client:
        found = (await client.request("server/discover")).result
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "avatar-ida-brandt"
