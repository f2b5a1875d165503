"""Finds this user's running servers on this machine, so that verbs without `--data` use their store.

While they run, `serve` and `demo` keep a small file with their address and data folder, and no secrets. Files of
processes that ended are ignored. Verbs open the store a file names; they never send credentials because of it.
"""

import contextlib
import json
import os
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from pentad.settings.model import user_data_folder
from pentad.settings.sources import load_settings
from pentad.terminal.output import say

if TYPE_CHECKING:
    from pentad.settings.model import Settings

RunningStores = Literal["use", "fallback", "ignore"]
"""Whether a verb without `--data` uses the store of a running server: always, only if there is no default store, or
never."""
Started = Callable[["Settings"], None]

_POSTGRES: Final = "postgres"
_CLOCK_SECONDS: Final = 60.0
"""The largest clock adjustment to tolerate since a process started. Process ids are not reused that quickly."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The contents of a server's file."""

    pid: int
    started: float
    host: str
    port: int
    grpc_port: int
    public_url: str | None
    data: str
    database: str | None
    """The URL of an SQLite file outside `data`. For PostgreSQL just `postgres`, because its URL may hold a password."""
    config: str | None
    demo: bool

    @property
    def kind(self) -> str:
        return "demo" if self.demo else "server"


@contextlib.contextmanager
def server_file() -> Generator[Started]:
    """Yields a function that writes this process's file once it serves; the file is removed at the end.

    If it cannot be written, for example without a home folder, the server runs anyway.
    """
    path = _folder() / f"{os.getpid()}.json"

    def write(settings: "Settings") -> None:
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            unfinished.unlink(missing_ok=True)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(asdict(_this_server(settings)), file)
            unfinished.replace(path)

    try:
        yield write
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def running_servers() -> list[RunningServer]:
    """This user's running servers, newest first."""
    try:
        paths = sorted(_folder().glob("*.json"))
    except OSError:
        return []
    found = [server for path in paths if (server := _read(path)) is not None]
    return sorted(found, key=lambda server: server.started, reverse=True)


def find_store(
    settings: "Settings", use: RunningStores, *, flags: dict[str, Any], config: Path | None = None
) -> tuple["Settings", RunningServer | None]:
    """The settings for a verb, with the store of a running server unless the settings name one.

    If there is a choice, prints the chosen store to stderr.
    """
    if use == "ignore" or settings.database is not None or settings.origin("data").layer != "default":
        return settings, None
    has_default = _has_store(settings)
    if use == "fallback" and has_default:
        return settings, None
    servers = running_servers()
    for server in servers:
        found = _settings_of(server, flags, config)
        if found is None:
            say(
                f"The server at {_url(server)} keeps its data in PostgreSQL; name that with --database to use it."
                f" This uses {settings.data}."
            )
            continue
        stores = [*(other.data for other in servers), *([str(settings.data)] if has_default else [])]
        others = set(stores) - {server.data}
        if others:
            names = ", ".join(sorted(others))
            say(f"Using the {server.kind} at {found.url('/')}. To use another store, name it with --data: {names}")
        return found, server
    return settings, None


def site_of(settings: "Settings") -> str | None:
    """The URL of the server on the store of these settings: the running one, or the configured public URL."""
    place = (str(settings.data.absolute()), _database(settings))
    for server in running_servers():
        if (str(Path(server.data).absolute()), server.database) == place:
            return _url(server).rstrip("/")
    return None if settings.public_url is None else settings.public_url.rstrip("/")


def makes_default_store(settings: "Settings") -> bool:
    """Whether opening the store would create one in the default folder."""
    is_default = settings.database is None and settings.origin("data").layer == "default"
    return is_default and not _has_store(settings)


def report_new_store(settings: "Settings") -> None:
    """Report the new store: the user may have expected another one."""
    say(f"This is a new, empty store: {settings.data}")


def _settings_of(server: RunningServer, flags: dict[str, Any], config: Path | None) -> "Settings | None":
    """The settings for the server's store; None if only the server knows where that is."""
    file = config or (Path(server.config) if server.config is not None and Path(server.config).is_file() else None)
    settings = load_settings({**flags, "data": Path(server.data)}, config=file)
    if server.database == _POSTGRES:
        if not (settings.database or "").startswith(_POSTGRES):
            return None
    else:
        settings = replace(settings, database=server.database)
    return replace(
        settings,
        demo=server.demo,
        host=server.host,
        port=server.port,
        grpc_port=server.grpc_port,
        public_url=server.public_url,
    )


def _this_server(settings: "Settings") -> RunningServer:
    import psutil

    return RunningServer(
        pid=os.getpid(),
        started=psutil.Process().create_time(),
        host=settings.host,
        port=settings.port,
        grpc_port=settings.grpc_port,
        public_url=settings.public_url,
        data=str(settings.data),
        database=_database(settings),
        config=None if settings.file is None else str(settings.file.absolute()),
        demo=settings.demo,
    )


def _database(settings: "Settings") -> str | None:
    from pentad.storage.open import locate

    if settings.database is None:
        return None
    place = locate(settings.database, settings.data)
    return f"sqlite:///{place.absolute()}" if isinstance(place, Path) else _POSTGRES


def _read(path: Path) -> RunningServer | None:
    """Parse a server's file; None unless it is this user's and its process is alive."""
    try:
        if hasattr(os, "getuid") and path.lstat().st_uid != os.getuid():
            return None
        server = RunningServer(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return server if _is_alive(server) else None


def _is_alive(server: RunningServer) -> bool:
    import psutil

    try:
        return abs(psutil.Process(server.pid).create_time() - server.started) < _CLOCK_SECONDS
    except (psutil.Error, ValueError, TypeError, OverflowError):
        return False


def _has_store(settings: "Settings") -> bool:
    from pentad.storage.open import FILE_NAME

    return (settings.data / FILE_NAME).exists()


def _url(server: RunningServer) -> str:
    from pentad.settings.model import Settings

    return Settings(host=server.host, port=server.port, public_url=server.public_url).url("/")


def _folder() -> Path:
    return user_data_folder() / "running"
