"""Files on the command line: sends them with a task and downloads them, in the local store or on a server."""

import asyncio
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pentad.rooms.agents.service import Agents
    from pentad.terminal.client import Client, Target

_PATH: Final = "/api/agents/files"
_UPLOAD: Final = "/api/agents/upload"


async def store_files(room: "Agents", files: Sequence[Path]) -> list[str]:
    """Put files into the store; returns their URLs."""
    from pentad.kernel.principal import LOCAL

    made = [await room.files.write(LOCAL.id, one, name=one.name, media_type=_media_type(one)) for one in files]
    return [room.files.url(one.id) for one in made]


async def upload_files(client: "Client", files: Sequence[Path]) -> list[str]:
    """Upload files to a server; returns their URLs."""
    urls: list[str] = []
    for one in files:
        body = await asyncio.to_thread(one.read_bytes)
        made = await client.call_route("POST", _UPLOAD, {"name": one.name}, body, _media_type(one))
        urls.append(made["url"])
    return urls


async def copy_stored_file(room: "Agents", file_id: str, output: BinaryIO) -> None:
    from pentad.kernel.principal import LOCAL

    async for piece in room.files.content(await room.files.find(LOCAL.id, file_id)):
        await asyncio.to_thread(output.write, piece)


async def download_file(target: "Target", file_id: str, output: BinaryIO) -> None:
    async with target.stream_route("GET", f"{_PATH}/{file_id}") as chunks:
        async for chunk in chunks:
            await asyncio.to_thread(output.write, chunk)


def _media_type(file: Path) -> str:
    return mimetypes.guess_type(file.name)[0] or "application/octet-stream"
