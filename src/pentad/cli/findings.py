"""What `pentad doctor` finds out about the machine, one question a function, without changing anything.

A finding says how things are and, unless all is well, what to do. Questions about the store are in `store_findings.py`.
"""

import os
import platform
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pentad.kernel.errors import PentadError

if TYPE_CHECKING:
    from pentad.cli.clients.client import Client, Machine
    from pentad.settings.model import Settings

State = Literal["ok", "warn", "fail"]

_OLDEST_PYTHON: Final = (3, 11)
_WRITTEN: Final = 1_790_000_000
"""A time in 2026: no clock that is right shows an earlier one."""
_LEAST_FREE: Final = 100 * 1024**2
_LITTLE_FREE: Final = 1024**3
_SLOW_SYNC_SECONDS: Final = 0.25
_MOST_SKEW_SECONDS: Final = 5.0
_MIB: Final = 1024**2


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    check: str
    state: State
    text: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def about_python() -> Finding:
    version = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Finding("python", "fail", f"Python {version} is too old.", "Use Python 3.11 or newer.")
    return Finding("python", "ok", f"Python {version} on {platform.system()} {platform.machine()}.")


def about_sqlite() -> Finding:
    import apsw

    from pentad.storage.probe import sqlite_features

    missing = [name for name, present in sqlite_features().items() if not present]
    version = apsw.sqlite_lib_version()
    if not missing:
        return Finding("sqlite", "ok", f"SQLite {version} with everything Pentad uses.")
    state: State = "fail" if {"fts5", "strict", "returning"} & set(missing) else "warn"
    return Finding("sqlite", state, f"SQLite {version} lacks {', '.join(missing)}.", "Reinstall apsw from its wheel.")


def about_folder(data: Path) -> list[Finding]:
    """The data folder: there, writable, on a disk that keeps what it confirms, with room left."""
    from pentad.storage.probe import probe_folder

    if not data.exists():
        parent = next(parent for parent in data.parents if parent.exists())
        if parent.is_dir() and os.access(parent, os.W_OK):
            return [Finding("data folder", "ok", f"{data} does not exist yet; the first start makes it.")]
        return [Finding("data folder", "fail", f"{data} cannot be made in {parent}.", "Choose another --data.")]
    folder = probe_folder(data)
    if not folder.writable:
        fix = "Make it writable for this user, or choose another --data."
        return [Finding("data folder", "fail", f"{data} cannot be written: {folder.trouble}.", fix)]
    seconds = folder.sync_seconds or 0.0
    found = [Finding("data folder", "ok", f"{data} is writable; the disk confirms a write in {seconds * 1000:.1f} ms.")]
    if seconds > _SLOW_SYNC_SECONDS:
        fix = "Use a local disk rather than a network share."
        found = [Finding("data folder", "warn", f"{data} takes {seconds:.1f} s to confirm a write.", fix)]
    return [*found, _about_space(folder.free_bytes or 0), _about_clock(data)]


def _about_space(free: int) -> Finding:
    text = f"{free // _MIB:,} MiB are free."
    if free < _LITTLE_FREE:
        return Finding("disk", "fail" if free < _LEAST_FREE else "warn", text, "Free some space.")
    return Finding("disk", "ok", text)


def _about_clock(data: Path) -> Finding:
    """The clock against the date of this code, and against the clock of the disk the store is on."""
    import tempfile

    now = time.time()
    if now < _WRITTEN:
        return Finding("clock", "fail", "The clock is years behind.", "Set the time; logins and tokens depend on it.")
    with tempfile.NamedTemporaryFile(dir=data, prefix=".pentad-probe-") as file:
        skew = abs(Path(file.name).stat().st_mtime - time.time())
    if skew > _MOST_SKEW_SECONDS:
        return Finding("clock", "warn", f"The disk's clock is off by {skew:.0f} s.", "Synchronise both clocks.")
    return Finding("clock", "ok", "The clock looks right.")


def about_ports(settings: "Settings") -> list[Finding]:
    wanted = {"port": settings.port, "grpc port": settings.grpc_port}
    return [_about_port(name, settings.host, port) for name, port in wanted.items() if port]


def _about_port(name: str, host: str, port: int) -> Finding:
    from pentad.net.listen import bind

    try:
        with bind(host, port):
            return Finding(name, "ok", f"{host}:{port} is free.")
    except PentadError as error:
        taken = f"{error.message} If that is Pentad itself, all is well."
        return Finding(name, "warn", taken, error.hint or "")
    except (OSError, OverflowError):
        return Finding(name, "warn", f"{host}:{port} could not be tried on {socket.gethostname()}.", "Check --host.")


def about_configuration(settings: "Settings") -> list[Finding]:
    source = f"{settings.file} was read." if settings.file else "No file; defaults, environment and flags."
    warnings = [Finding("configuration", "warn", text, "Correct or remove it.") for text in settings.warnings]
    return [Finding("configuration", "ok", source), *warnings]


def about_clients(clients: "Iterable[Client]", machine: "Machine") -> list[Finding]:
    """The clients whose configuration is found here, and whether Pentad is in it and can be started from it."""
    return [_about_client(client, path) for client in clients if (path := client.path(machine)).exists()]


def _about_client(client: "Client", path: Path) -> Finding:
    check = f"client {client.name}"
    try:
        content = client.form.content(path.read_text(encoding="utf-8"))
    except (PentadError, OSError, UnicodeDecodeError) as error:
        told = error.message if isinstance(error, PentadError) else "It cannot be read."
        return Finding(check, "warn", f"{path}: {told}", "Correct the file; the client cannot read it either.")
    servers = content.get(client.servers)
    known = cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}
    ours = {name: entry for name, entry in known.items() if name == "pentad" or name.startswith("pentad-")}
    if not ours:
        return Finding(check, "ok", f"{client.title} is here, without Pentad (`pentad install {client.name}` adds it).")
    for entry in ours.values():
        command = cast("dict[str, Any]", entry).get("command") if isinstance(entry, dict) else None
        if isinstance(command, str) and Path(command).is_absolute() and not Path(command).exists():
            fix = f"Run `pentad install {client.name}` again."
            return Finding(check, "warn", f"{client.title} would start {command}, which is gone.", fix)
    return Finding(check, "ok", f"{client.title} knows {', '.join(ours)}.")
