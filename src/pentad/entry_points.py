"""Entry points of installed packages: the names declared in a group, and the objects behind them.

`importlib.metadata` gives the same answers, but importing it would take a fifth of the time of `pentad --help`
(docs/decisions/017-verbs-and-settings-of-rooms.md), so the few lines of `entry_points.txt` are read here.
"""

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pentad.kernel.errors import Misconfigured


def entry_points(group: str) -> dict[str, str]:
    """The entry points of a group, from packages on `sys.path`: `module:attribute` by name, sorted."""
    found: dict[str, tuple[str, str]] = {}
    for package, groups in _packages(tuple(sys.path)).items():
        for name, reference in groups.get(group, {}).items():
            if name in found:
                raise Misconfigured(
                    f"Two packages declare {name!r} in {group}: {found[name][0]} and {package}.",
                    hint="Uninstall one of them.",
                )
            found[name] = (package, reference)
    return {name: reference for name, (_, reference) in sorted(found.items())}


def load(reference: str) -> Any:
    """Import the object that `module:attribute` names. Raises ImportError or AttributeError."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


@cache
def _packages(paths: tuple[str, ...]) -> dict[str, dict[str, dict[str, str]]]:
    """The groups of each package. If a package is on the path twice, only the first counts, as for imports."""
    packages: dict[str, dict[str, dict[str, str]]] = {}
    for path in paths:
        try:
            folders = list(Path(path or ".").iterdir())
        except OSError:  # not a folder: a zip file, or nothing at all
            continue
        for folder in folders:
            package = folder.name.partition("-")[0]
            if folder.suffix == ".dist-info" and package not in packages:
                packages[package] = _groups(folder / "entry_points.txt")
    return packages


def _groups(file: Path) -> dict[str, dict[str, str]]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError:  # most packages have none
        return {}
    groups: dict[str, dict[str, str]] = {}
    entries: dict[str, str] = {}
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            entries = groups.setdefault(line.strip("[]").strip(), {})
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, reference = line.partition("=")
            entries[name.strip()] = reference.partition("[")[0].strip()  # extras follow "["
    return groups
