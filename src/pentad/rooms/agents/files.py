"""Files too large for a message: uploaded before a message refers to them, or produced by an agent.

Files are stored in pieces, so neither an upload nor a download holds a whole file in memory. Messages and artifacts
refer to a file by URL, which every dialect can carry. Only its owner can read it. A file is kept as long as a task
refers to it; unused files expire.
"""

import asyncio
import hashlib
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import UNSET, Struct
from msgspec.structs import replace

from pentad.kernel.clock import Clock
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.kernel.ids import uuid7_text
from pentad.kernel.ports import Database, Fetcher, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.models import Message, Part
from pentad.rooms.agents.settings import TaskLimits

PATH: Final = "/api/agents/files"
UPLOAD_PATH: Final = "/api/agents/upload"
PIECE: Final = 1 * MIB
_URL: Final = re.compile(r"https?://[^/?#]+" + re.escape(PATH) + r"/([0-9a-f-]{36})")
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f/\\\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_FILES: Final = 10_000
"""Per owner."""
_LONGEST_NAME: Final = 200
_LONGEST_TYPE: Final = 200
_UNTYPED: Final = "application/octet-stream"
_COLUMNS: Final = "id, owner, name, media_type, size, sha256, created_at, expires_at"
_IN_USE: Final = "EXISTS (SELECT 1 FROM agent_file_uses AS u WHERE u.file = agent_files.id)"
_LIVES: Final = f"sha256 IS NOT NULL AND (expires_at > ? OR {_IN_USE})"
_CREATE: Final = f"INSERT INTO agent_files ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608  constants
_GROW: Final = "UPDATE agent_files SET size = ?, sha256 = ? WHERE id = ?"
_FIND: Final = f"SELECT {_COLUMNS} FROM agent_files WHERE id = ? AND owner = ? AND {_LIVES}"  # noqa: S608  constants
_LIST: Final = f"SELECT {_COLUMNS} FROM agent_files WHERE owner = ? AND {_LIVES} ORDER BY id DESC LIMIT ?"  # noqa: S608  constants
_USE: Final = (
    "INSERT INTO agent_file_uses (task, file) SELECT CAST(? AS TEXT), id FROM agent_files WHERE id = ? AND owner = ?"
    " ON CONFLICT (task, file) DO NOTHING"
)

Content = bytes | Path | AsyncIterable[bytes]
"""The content of a new file: bytes, a local file, or chunks as they arrive."""


class StoredFile(Struct, frozen=True):
    """A complete file."""

    id: str
    owner: str
    name: str
    media_type: str
    size: int
    sha256: str
    created_at: float
    expires_at: float


class Files:
    """The files of one store. `site` is this server's URL in file URLs."""

    def __init__(
        self, database: Database, clock: Clock, limits: TaskLimits, *, site: str = "", fetcher: Fetcher | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._limits = limits
        self._site = site
        self._fetcher = fetcher

    def url(self, file_id: str, site: str | None = None) -> str:
        return f"{self._site if site is None else site}{PATH}/{file_id}"

    async def write(
        self, owner: str, content: Content, *, name: str, media_type: str | None = None, task: str | None = None
    ) -> StoredFile:
        """Store a file; with a `task` it is kept as long as that task. LimitExceeded if it, or all files of its owner,
        are too large.
        """
        now = self._clock.now()
        file = StoredFile(
            uuid7_text(self._clock), owner, clean_name(name), (media_type or _UNTYPED)[:_LONGEST_TYPE], 0, "",
            now, now + self._limits.file_seconds,
        )  # fmt: skip
        digest, size, number = hashlib.sha256(), 0, 0
        try:
            async for piece, is_last in _pieces(content):
                await asyncio.to_thread(digest.update, piece)
                size += len(piece)
                file = replace(file, size=size, sha256=digest.hexdigest() if is_last else "")
                await self._put(file, number, piece, task)
                number += 1
        except BaseException:
            with suppress(Exception):
                await asyncio.shield(self._database.write(lambda tx: _drop(tx, [file.id])))
            raise
        return file

    async def _put(self, file: StoredFile, number: int, piece: bytes, task: str | None) -> None:
        """Store one piece of a file; the first piece also stores its row."""
        if file.size > self._limits.file_bytes:
            raise LimitExceeded(
                f"The file has more than {self._limits.file_bytes} bytes.",
                hint="Send less, or ask the operator to raise rooms.agents.file_bytes.",
                details={"reason": "file-limit"},
            )

        def work(tx: Transaction) -> None:
            if number == 0:
                tx.run(
                    _CREATE, file.id, file.owner, file.name, file.media_type, file.size, file.sha256 or None,
                    file.created_at, file.expires_at,
                )  # fmt: skip
                if task is not None:
                    tx.run(_USE, task, file.id, file.owner)
            else:
                tx.run(_GROW, file.size, file.sha256 or None, file.id)
            tx.run("INSERT INTO agent_file_pieces (file, number, body) VALUES (?, ?, ?)", file.id, number, piece)
            self._check_total(tx, file.owner)

        await self._database.write(work)

    def _check_total(self, tx: Transaction, owner: str) -> None:
        most = self._limits.files_bytes
        total, count = tx.all("SELECT coalesce(sum(size), 0), count(*) FROM agent_files WHERE owner = ?", owner)[0]
        if total > most or count > _MOST_FILES:
            raise LimitExceeded(
                f"You would have {count} files with {total} bytes; the maximum is {_MOST_FILES} with {most} bytes.",
                hint=f"Delete some (DELETE {PATH}/<id>), or wait: files that no task uses expire.",
                details={"reason": "file-limit"},
            )

    async def find(self, owner: str, file_id: str) -> StoredFile:
        """A file of this owner; NotFound for anyone else's, and for one that has expired."""
        row = await self._database.lookup(_FIND, file_id, owner, self._clock.now())
        if row is None:
            raise NotFound(
                f"There is no file {file_id[:100]!r}.",
                hint=f"Only its owner can use it, and unused files expire. Upload it with POST {UPLOAD_PATH}.",
                details={"reason": "file-not-found"},
            )
        return StoredFile(*row)

    async def list(self, owner: str, limit: int) -> list[StoredFile]:
        """The owner's files, newest first."""
        found = await self._database.read(lambda rows: rows.all(_LIST, owner, self._clock.now(), limit))
        return [StoredFile(*row) for row in found]

    async def delete(self, owner: str, file_id: str) -> None:
        file = await self.find(owner, file_id)
        await self._database.write(lambda tx: _drop(tx, [file.id]))

    async def content(self, file: StoredFile) -> AsyncIterator[bytes]:
        """The content, piece by piece."""
        for number in range(max(1, -(-file.size // PIECE))):
            row = await self._database.lookup(
                "SELECT body FROM agent_file_pieces WHERE file = ? AND number = ?", file.id, number
            )
            if row is None:
                raise Unavailable(f"The file {file.name!r} was deleted meanwhile.", hint="Upload it again.")
            yield bytes(row[0])

    async def accept(self, caller: Principal, message: Message) -> Message:
        """A message whose parts have the names and types of the files they refer to.

        NotFound if it refers to a file on this server that the caller does not own.
        """
        for part in message.parts:
            if part.url is not UNSET:
                break
        else:
            return message
        return replace(message, parts=tuple([await self._accept_part(caller, part) for part in message.parts]))

    async def _accept_part(self, caller: Principal, part: Part) -> Part:
        file = await self.referred(caller, part)
        return part if file is None else named_after(part, file)

    async def referred(self, caller: Principal, part: Part) -> StoredFile | None:
        """The caller's file that a part refers to; None if its URL leads elsewhere.

        NotFound if it leads to a file on this server that the caller does not own.
        """
        if (file_id := file_id_in(part)) is None:
            return None
        try:
            return await self.find(caller.id, file_id)
        except NotFound:
            if self._site and str(part.url).startswith(f"{self._site}/"):
                raise
            return None

    def use(self, tx: Transaction, owner: str, task_id: str, message: Message) -> None:
        """Keep the files a message refers to as long as its task."""
        for part in message.parts:
            if part.url is not UNSET and (file_id := file_id_in(part)) is not None:
                tx.run(_USE, task_id, file_id, owner)

    def open(self, caller: Principal, part: Part) -> "MessageFile | None":
        """The file in a part of a message; None if the part is not a file."""
        return None if part.raw is UNSET and part.url is UNSET else MessageFile(self, caller, part)

    async def chunks_of(self, caller: Principal, part: Part) -> AsyncIterator[bytes]:
        """The content of a part: its bytes, a file of the caller, or what is at its URL."""
        if (inline := part.raw_bytes) is not None:
            yield inline
            return
        if (file := await self.referred(caller, part)) is not None:
            async for piece in self.content(file):
                yield piece
            return
        if self._fetcher is None:
            raise InvalidInput(f"The file is at {str(part.url)[:200]}, and nothing is fetched here.")
        left = self._limits.file_bytes
        async with self._fetcher.stream(str(part.url)) as answer:
            if answer.status != 200:
                raise Unavailable(
                    f"{str(part.url)[:200]} answered {answer.status}.", hint="Send a URL that can be read."
                )
            async for chunk in answer.chunks:
                left -= len(chunk)
                if left < 0:
                    raise LimitExceeded(f"The file has more than {self._limits.file_bytes} bytes.")
                yield chunk


class IncomingFile(Protocol):
    """A file in a message, as an agent reads it: all of it, in chunks, or as a file on this machine."""

    @property
    def name(self) -> str: ...
    @property
    def media_type(self) -> str: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The content as it is read."""
        ...

    async def read(self) -> bytes:
        """The whole content, in memory."""
        ...

    def path(self) -> AbstractAsyncContextManager[Path]:
        """A file with the content, inside the block."""
        ...


class MessageFile:
    """A file in a message (`IncomingFile`), read in the server."""

    __slots__ = ("_caller", "_files", "_part")

    def __init__(self, files: Files, caller: Principal, part: Part) -> None:
        self._files = files
        self._caller = caller
        self._part = part

    @property
    def name(self) -> str:
        return clean_name(self._part.filename or "file")

    @property
    def media_type(self) -> str:
        return self._part.media_type or _UNTYPED

    def chunks(self) -> AsyncIterator[bytes]:
        """The content as it is read."""
        return self._files.chunks_of(self._caller, self._part)

    async def read(self) -> bytes:
        """The whole content, in memory."""
        return b"".join([chunk async for chunk in self.chunks()])

    @asynccontextmanager
    async def path(self) -> AsyncGenerator[Path]:
        """A temporary file with the content, inside the block."""
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="pentad-file-"))
        place = folder / f"content{Path(self.name).suffix[:20]}"
        try:
            with await asyncio.to_thread(open, place, "xb") as target:
                async for chunk in self.chunks():
                    await asyncio.to_thread(target.write, chunk)
            yield place
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def file_id_in(part: Part) -> str | None:
    """The id in a URL of a file."""
    found = None if part.url is UNSET else _URL.fullmatch(str(part.url))
    return None if found is None else found[1]


def named_after(part: Part, file: StoredFile) -> Part:
    """A part with the name and type of its file, unless it has its own."""
    return replace(part, filename=part.filename or file.name, media_type=part.media_type or file.media_type)


def clean_name(name: str) -> str:
    """A name without path separators or invisible characters."""
    return _UNSAFE.sub("_", name).strip(" .")[:_LONGEST_NAME] or "file"


def forget_expired_files(tx: Transaction, now: float, most: int) -> int:
    """Delete files that no task uses any more, in batches; returns how many."""
    found = tx.all(
        f"SELECT id FROM agent_files WHERE expires_at <= ? AND NOT {_IN_USE} LIMIT ?",  # noqa: S608  constants
        now, most,
    )  # fmt: skip
    _drop(tx, [file_id for (file_id,) in found])
    return len(found)


def _drop(tx: Transaction, ids: Iterable[Any]) -> None:
    each = [(one,) for one in ids]
    tx.run_many("DELETE FROM agent_file_pieces WHERE file = ?", each)
    tx.run_many("DELETE FROM agent_file_uses WHERE file = ?", each)
    tx.run_many("DELETE FROM agent_files WHERE id = ?", each)


async def _pieces(content: Content) -> AsyncIterator[tuple[bytes, bool]]:
    """The content in pieces of equal size, each with whether it is the last. There is always at least one."""
    waiting = bytearray()
    async for chunk in _chunks(content):
        waiting += chunk
        while len(waiting) > PIECE:
            yield bytes(waiting[:PIECE]), False
            del waiting[:PIECE]
    yield bytes(waiting), True


async def _chunks(content: Content) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        for start in range(0, len(content), PIECE):
            yield content[start : start + PIECE]
    elif isinstance(content, Path):
        with await asyncio.to_thread(open, content, "rb") as source:
            while chunk := await asyncio.to_thread(source.read, PIECE):
                yield chunk
    else:
        async for chunk in content:
            yield chunk
