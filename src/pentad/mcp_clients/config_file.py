"""Edits another program's configuration file atomically, and keeps the old one next to it.

If the program changes the file at the same time, its changes are never overwritten.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pentad.kernel.errors import Conflict, Misconfigured, PentadError, Unavailable

_TRIES: Final = 3


def edit_file(path: Path, change: Callable[[str], str]) -> Path | None:
    """Apply `change` to a file, created if missing; returns the path of the backup, or None if nothing changed."""
    # A link stays a link: people keep these files in a repository.
    target = path.resolve()
    for _ in range(_TRIES):
        before = _read(target)
        after = _changed(path, before or b"", change)
        if before is not None and after == before:
            return None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if _replace(target, before, after):
                return target.with_name(target.name + ".bak")
        except OSError as error:
            raise Unavailable(
                f"{path} cannot be written: {error.strerror}.", hint="Check the permissions of the file and its folder."
            ) from None
    raise Conflict(f"{path} keeps changing.", hint="Close the client and try again.")


def _read(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{target} cannot be read: {error.strerror}.", hint="Check its permissions.") from None


def _changed(path: Path, before: bytes, change: Callable[[str], str]) -> bytes:
    try:
        return change(before.decode("utf-8")).encode("utf-8")
    except UnicodeDecodeError:
        raise Misconfigured(f"{path} is not text in UTF-8.", hint="It was left as it is; correct it first.") from None
    except PentadError as error:
        raise Misconfigured(
            f"{path} cannot be changed. {error.message}",
            hint=error.hint or "It was left as it is; correct it first, or use --print and paste the snippet.",
        ) from None


def _replace(target: Path, before: bytes | None, after: bytes) -> bool:
    """Replace the file; False if another process changed it meanwhile."""
    fresh = _write_temporary(target, after)
    try:
        if _read(target) != before:
            return False
        if before is not None:
            fresh.chmod(stat.S_IMODE(target.stat().st_mode))
            _write_temporary(target, before).replace(target.with_name(target.name + ".bak"))
        fresh.replace(target)
        _sync_folder(target.parent)
        return True
    finally:
        fresh.unlink(missing_ok=True)


def _write_temporary(target: Path, content: bytes) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
