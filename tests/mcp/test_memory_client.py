"""The client in the server's own process."""

import asyncio
from pathlib import Path

import pytest

from pentad.app import open_app
from pentad.settings.model import Settings

pytestmark = pytest.mark.anyio


async def test_an_answer_that_nobody_waits_for_any_more_does_no_harm(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=("metrics",), auth="none")) as app, app.client() as client:
        asked = asyncio.ensure_future(client.request("tools/list"))
        await asyncio.sleep(0)  # it has been sent
        asked.cancel()
        await asyncio.wait([asked])
        assert await client.request("ping") == {}
        assert client.notifications == []
