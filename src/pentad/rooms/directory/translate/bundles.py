"""Skill bundles: a folder with a SKILL.md, packed as zip or tar. Read in memory, never unpacked to disk.

Bundles are untrusted: path traversal, links and decompression bombs are refused before any file is read.
"""

import io
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.secrets.text import scrub_text
from pentad.rooms.directory.translate import agent_skills
from pentad.rooms.directory.translate.envelope import NO_OVERRIDES, Doubt, Overrides, digest_of
from pentad.rooms.directory.translate.formats import import_format, import_record
from pentad.rooms.directory.translate.losses import Loss, Translated

MIB: Final = 1024 * 1024
MOST_PACKED: Final = 16 * MIB
MOST_UNPACKED: Final = 32 * MIB
MOST_FILES: Final = 1_000
MOST_RATIO: Final = 200
"""The highest accepted compression ratio of a file. Text rarely exceeds 20."""

SMALL: Final = 256 * 1024
"""The ratio is not checked below this size."""

_DEEPEST: Final = 16
_LONGEST: Final = 255
_FOLDERS: Final = {
    "scripts": "script", "references": "reference", "assets": "asset", "templates": "template", "workflows": "workflow",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a bundle."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Bundle:
    """A skill with its other files; paths are relative to the skill's folder."""

    markdown: str
    files: tuple[Member, ...]


def is_bundle(content: bytes) -> bool:
    """Whether this is a zip or tar archive."""
    return content[:4] in (b"PK\x03\x04", b"PK\x05\x06") or content[:2] == b"\x1f\x8b" or content[257:262] == b"ustar"


def bundle_record(
    bundle: Bundle, given: Overrides = NO_OVERRIDES, doubt: Doubt = "refuse"
) -> Translated[dict[str, Any]]:  # fmt: skip
    """The record of a skill with other files, of which it keeps the paths and hashes."""
    source = {"skillMarkdown": bundle.markdown}
    record, losses = import_record(import_format("agentskills"), source, given, doubt)
    if bundle.files:
        record["modules"][0]["data"]["artifacts"] = [
            {
                "path": scrub_text(member.path),
                "type": _FOLDERS.get(member.path.split("/")[0], "other"),
                "artifact_hash": digest_of(member.content),
            }
            for member in bundle.files
        ]
    kept = "the record keeps the file's path and hash, not its content"
    return Translated(record, losses + [Loss(scrub_text(member.path), kept) for member in bundle.files])


def read_bundle(content: bytes) -> Bundle:
    """The skill in an archive. Archives with more than one skill are refused."""
    if len(content) > MOST_PACKED:
        raise LimitExceeded(f"the bundle has {len(content)} bytes; the most are {MOST_PACKED}", hint="Leave files out.")
    if not is_bundle(content):
        raise InvalidInput("the bundle is neither a zip nor a tar archive", hint="Pack the skill's folder as zip.")
    members = dict[str, bytes]()
    for member in _zip_members(content) if content.startswith(b"PK") else _tar_members(content):
        if member.path in members:
            raise InvalidInput(f"the bundle has {member.path[:80]!r} twice", hint="Pack every file once.")
        members[member.path] = member.content
    skills = sorted((path for path in members if path.split("/")[-1] == agent_skills.SKILL_FILE), key=_depth)
    if not skills:
        raise InvalidInput("the bundle has no SKILL.md", hint="Pack the folder that has the SKILL.md in it.")
    if _depth(skills[0]) > 1 or (len(skills) > 1 and _depth(skills[1]) == _depth(skills[0])):
        raise InvalidInput("the bundle is not the folder of one skill", hint="Pack each skill separately.")
    folder = skills[0].removesuffix(agent_skills.SKILL_FILE)
    try:
        markdown = members[skills[0]].decode()
    except UnicodeDecodeError:
        raise InvalidInput("the bundle's SKILL.md is not UTF-8", hint="Save it as UTF-8.") from None
    files = [
        Member(path.removeprefix(folder), data) for path, data in sorted(members.items()) if path.startswith(folder)
    ]
    return Bundle(markdown, tuple(file for file in files if file.path != agent_skills.SKILL_FILE))


def _depth(path: str) -> int:
    return path.count("/")


def checked_path(name: str) -> str:
    """The path of a file within its folder; InvalidInput if it leads out of it."""
    parts = name.split("/")
    while parts and parts[0] == ".":
        parts.pop(0)
    quoted = repr(name[:80])
    if name.startswith(("/", "~")) or (len(name) > 1 and name[1] == ":"):
        raise InvalidInput(f"the bundle has an absolute path: {quoted}", hint="Pack it with paths from its folder.")
    if "\\" in name or any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise InvalidInput(f"the bundle has a path with characters that are not allowed: {quoted}")
    if any(part in ("", ".", "..") for part in parts) or not parts:
        raise InvalidInput(f"the bundle has a path that leads out of its folder: {quoted}", hint="Pack it again.")
    if len(name) > _LONGEST or len(parts) > _DEEPEST:
        raise LimitExceeded(f"the bundle has a path that is too long: {quoted}")
    return "/".join(parts)


def _check_totals(files: int, size: int) -> None:
    if files > MOST_FILES:
        raise LimitExceeded(f"the bundle has more than {MOST_FILES} files", hint="Leave files out.")
    if size > MOST_UNPACKED:
        raise LimitExceeded(f"the bundle unpacks to more than {MOST_UNPACKED} bytes", hint="Leave files out.")


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > SMALL and unpacked > packed * MOST_RATIO:
        raise LimitExceeded(f"the bundle unpacks to more than {MOST_RATIO} times its size, like a decompression bomb")


def _zip_members(content: bytes) -> Iterator[Member]:
    _check_totals(
        content.count(b"PK\x01\x02") // 2, 0
    )  # counted before the directory is parsed; file content may contain the mark too
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_totals(len(entries), sum(entry.file_size for entry in entries))
            for entry in entries:
                _check_entry(entry)
            for entry in entries:
                if not entry.is_dir():
                    yield Member(checked_path(entry.filename), archive.read(entry))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError) as error:
        raise InvalidInput("the bundle is not a zip archive that can be read", hint="Pack it again.") from error


def _check_entry(entry: zipfile.ZipInfo) -> None:
    # Not is_dir(): before Python 3.12 it raises IndexError for an entry without a name.
    checked_path(entry.filename.rstrip("/"))
    mode = entry.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise InvalidInput(
            f"the bundle has a link or a device: {entry.filename[:80]!r}", hint="Pack the files themselves."
        )
    if entry.flag_bits & 0x1:
        raise InvalidInput("the bundle is encrypted", hint="Pack it without a password.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInput("the bundle is compressed in an unusual way", hint="Pack it with deflate.")
    _check_ratio(entry.file_size, entry.compress_size)


def _tar_members(content: bytes) -> Iterator[Member]:
    plain = _gunzip(content) if content[:2] == b"\x1f\x8b" else content
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(plain), mode="r:") as archive:
            for number, entry in enumerate(archive, start=1):
                total += entry.size
                _check_totals(number, total)
                path = checked_path(entry.name.rstrip("/"))
                if entry.isdir():
                    continue
                if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
                    raise InvalidInput(f"the bundle has a link or a device: {path[:80]!r}", hint="Pack the files.")
                file = archive.extractfile(entry)
                yield Member(path, file.read() if file else b"")
    except (tarfile.TarError, EOFError, ValueError, OSError) as error:
        raise InvalidInput("the bundle is not a tar archive that can be read", hint="Pack it again.") from error


def _gunzip(content: bytes) -> bytes:
    """Decompress up to the limit."""
    unpacker = zlib.decompressobj(wbits=31)
    most = MOST_UNPACKED + MIB
    try:
        plain = unpacker.decompress(content, most)
    except zlib.error as error:
        raise InvalidInput("the bundle is not a gzip file that can be read", hint="Pack it again.") from error
    if not unpacker.eof:
        if len(plain) < most:
            raise InvalidInput("the bundle is cut off", hint="Pack it again.")
        raise LimitExceeded(f"the bundle unpacks to more than {MOST_UNPACKED} bytes", hint="Leave files out.")
    _check_ratio(len(plain), len(content))
    return plain
