"""Uploads documents to a server: the command line packs them into a form, the server unpacks it into a folder.

The server trusts no name: every path must stay inside the folder, and no file may occur twice.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.net.multipart import UploadedFile, write_form
from pentad.rooms.avatars.config import CONFIG_FILE
from pentad.rooms.avatars.corpus.ingest_plan import CORPUS_FOLDER, FoundFile, corpus_of, documents_in
from pentad.rooms.avatars.corpus.ingest_report import FileLine
from pentad.rooms.avatars.corpus.sources import SOURCES_FILE

MOST_FILES: Final = 2_000
_MOST_BYTES: Final = 64 * MIB
"""What the command line packs. The server's own limit is `limits.upload_bytes`."""
_LONGEST_PATH: Final = 1_000
_DEEPEST: Final = 32


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form, its media type, and report lines for files that were left out of it."""

    body: bytes
    media_type: str
    left_out: Sequence[FileLine]


def pack_folder(folder: Path) -> UploadForm:
    """An avatar's folder: its descriptions and its documents, under their paths in the folder."""
    corpus = corpus_of(folder)
    descriptions = [(CONFIG_FILE, folder / CONFIG_FILE), (f"{CORPUS_FOLDER}/{SOURCES_FILE}", corpus / SOURCES_FILE)]
    files = {name: path for name, path in descriptions if path.is_file()}
    found = list(documents_in(corpus))
    for one in found:
        if isinstance(one, FoundFile):
            files[f"{CORPUS_FOLDER}/{one.path.relative_to(corpus.resolve()).as_posix()}"] = one.path
    return _packed(files, [one for one in found if isinstance(one, FileLine)])


def pack_files(found: Iterable[FoundFile | FileLine]) -> UploadForm:
    """Documents for an avatar, under their names."""
    files: dict[str, Path] = {}
    left_out: list[FileLine] = []
    for one in found:
        if isinstance(one, FileLine):
            left_out.append(one)
        elif str(one.name) in files:
            left_out.append(FileLine(str(one.name), "skipped", note="another file has this name"))
        else:
            files[str(one.name)] = one.path
    return _packed(files, left_out)


def _packed(files: dict[str, Path], left_out: Sequence[FileLine]) -> UploadForm:
    hint = "Ingest it with direct access to the server's store: --data or --database."
    if len(files) > MOST_FILES:
        raise LimitExceeded(f"There are {len(files):,} files; an upload has at most {MOST_FILES:,}.", hint=hint)
    try:
        if sum(path.stat().st_size for path in files.values()) > _MOST_BYTES:
            raise LimitExceeded(f"The files exceed {_MOST_BYTES // MIB} MiB in total.", hint=hint)
        body, media_type = write_form((name, path.read_bytes()) for name, path in files.items())
    except OSError as error:
        raise InvalidInput(f"{error.filename} cannot be read: {error.strerror}.") from None
    return UploadForm(body, media_type, left_out)


@asynccontextmanager
async def unpack(files: Sequence[UploadedFile]) -> AsyncGenerator[Path]:
    """A temporary folder with the files of a form."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="pentad-upload-"))
    try:
        await asyncio.to_thread(_unpack, files, folder)
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _unpack(files: Sequence[UploadedFile], folder: Path) -> None:
    for file in files:
        path = folder / checked_path(file.name)
        if not path.resolve().is_relative_to(folder.resolve()):  # a drive letter, for example
            raise _bad_path(file.name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as written:
                shutil.copyfileobj(file.content, written)
        except (FileExistsError, NotADirectoryError):
            raise InvalidInput(f"{file.name[:200]!r} came twice.", hint="Send each file once.") from None
        except OSError as error:
            raise InvalidInput(f"{file.name[:200]!r} cannot be stored: {error.strerror}.") from None


def checked_path(name: str) -> PurePosixPath:
    """The path of an uploaded file; InvalidInput unless it stays inside its folder."""
    parts = name.split("/")
    is_plain = name.isprintable() and "\\" not in name and len(name) <= _LONGEST_PATH and len(parts) <= _DEEPEST
    if not is_plain or any(part.strip() in ("", ".", "..") for part in parts):
        raise _bad_path(name)
    return PurePosixPath(*parts)


def _bad_path(name: str) -> InvalidInput:
    return InvalidInput(
        f"{name[:200]!r} is not a path inside the folder.", hint="Name files like corpus/letters/1921.md."
    )
