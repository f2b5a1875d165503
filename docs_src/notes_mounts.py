from collections.abc import Sequence
from dataclasses import replace

import notes_room
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pentad.kernel.errors import NotFound
from pentad.kernel.ports import Database
from pentad.mcp.rights import check_right
from pentad.platform import Mount, MountContext


def mounts(notes: Database, context: MountContext) -> Sequence[Mount]:
    async def read_note(request: Request) -> Response:
        """One note, as plain text."""
        check_right(request.state.principal, "notes", "read")
        row = await notes.lookup("SELECT text FROM notes WHERE name = ?", request.path_params["name"])
        if row is None:
            raise NotFound("There is no such note.", hint="`list_notes` names all of them.")
        return PlainTextResponse(row[0])

    return [Mount(routes=[Route("/notes/{name}", read_note)])]


ROOM = replace(notes_room.ROOM, mounts=mounts)
