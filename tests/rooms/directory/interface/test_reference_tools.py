"""Tools that resolve references to records."""

from pathlib import Path

import pytest

from pentad.rooms.directory.interface import reference_tools
from tests.rooms.directory.registry.site import opened_site

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("dir:beyond:resolve")
async def test_versions_that_are_not_listed_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened_site(tmp_path) as site, site.app.client() as client:
        for version in ("1.0.0", "2.0.0", "3.0.0"):
            await site.publish("org.example/weather", version)
        given = {"reference": "org.example/weather"}
        assert (await client.call_tool("directory_resolve", given))["structuredContent"]["more_versions"] == 0
        monkeypatch.setattr(reference_tools, "MOST_VERSIONS", 1)
        answer = (await client.call_tool("directory_resolve", given))["structuredContent"]
    assert ([one["version"] for one in answer["versions"]], answer["more_versions"]) == (["3.0.0"], 2)
