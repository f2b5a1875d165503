"""The checks of `pentad doctor`: the machine, the store, issuers of tokens and logins, search, ports and clients.

Each check reports a state and, unless it is ok, what to do. Checks change nothing: the store is opened but never
migrated.
"""

import os
import platform
import socket
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pentad.access.sealed_columns import check_sealed
from pentad.app import migration_sets, sealed_columns
from pentad.cli.store import open_store
from pentad.kernel.errors import PentadError
from pentad.rooms.finder import find_rooms
from pentad.storage.diagnostics import probe_folder, probe_store, sqlite_features
from pentad.storage.integrity import Progress, check_integrity
from pentad.storage.migrations import plan
from pentad.storage.open import locate

if TYPE_CHECKING:
    from pentad.access.tokens import IssuerTokens, TokenVerifier
    from pentad.kernel.ports import Database
    from pentad.mcp_clients.clients import Client, Machine
    from pentad.settings.model import Settings

State = Literal["ok", "warn", "fail"]

_OLDEST_PYTHON: Final = (3, 11)
_LOG: Final = "The server's log says more."
_OLDEST_TIME: Final = 1_790_000_000
"""A time in 2026. A correct clock is later."""
_LEAST_FREE: Final = 100 * 1024**2
_LITTLE_FREE: Final = 1024**3
_SLOW_SYNC_SECONDS: Final = 0.25
_MOST_SKEW_SECONDS: Final = 5.0
_MIB: Final = 1024**2
_MOST_FAULTS: Final = 3
_ISSUER: Final = "token issuer"
_PROVIDER: Final = "identity provider"
_PROVIDER_FIX: Final = "Check login.provider.issuer, and that this machine reaches it."


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    check: str
    state: State
    text: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def check_python() -> Finding:
    version = platform.python_version()
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Finding("python", "fail", f"Python {version} is too old.", "Use Python 3.11 or newer.")
    return Finding("python", "ok", f"Python {version} on {platform.system()} {platform.machine()}.")


def check_sqlite() -> Finding:
    import apsw

    missing = [name for name, present in sqlite_features().items() if not present]
    version = apsw.sqlite_lib_version()
    if not missing:
        return Finding("sqlite", "ok", f"SQLite {version} with everything Pentad uses.")
    state: State = "fail" if {"fts5", "strict", "returning"} & set(missing) else "warn"
    return Finding("sqlite", state, f"SQLite {version} lacks {', '.join(missing)}.", "Reinstall apsw from its wheel.")


def check_folder(data: Path) -> list[Finding]:
    """Check that the data folder exists, is writable, syncs quickly and has free space."""
    if not data.exists():
        parent = next(parent for parent in data.parents if parent.exists())
        if parent.is_dir() and os.access(parent, os.W_OK):
            return [Finding("data folder", "ok", f"{data} does not exist yet. The first start creates it.")]
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
    return [*found, _check_space(folder.free_bytes or 0), _check_clock(data)]


def _check_space(free: int) -> Finding:
    text = f"{free // _MIB:,} MiB are free."
    if free < _LITTLE_FREE:
        return Finding("disk", "fail" if free < _LEAST_FREE else "warn", text, "Free some space.")
    return Finding("disk", "ok", text)


def _check_clock(data: Path) -> Finding:
    """Compare this machine's clock with the date of this code and with the disk's clock."""
    import tempfile

    now = time.time()
    if now < _OLDEST_TIME:
        return Finding("clock", "fail", "The clock is years behind.", "Set the time; logins and tokens depend on it.")
    with tempfile.NamedTemporaryFile(dir=data, prefix=".pentad-probe-") as file:
        skew = abs(Path(file.name).stat().st_mtime - time.time())
    if skew > _MOST_SKEW_SECONDS:
        return Finding("clock", "warn", f"The disk's clock is off by {skew:.0f} s.", "Synchronise both clocks.")
    return Finding("clock", "ok", "The clock looks right.")


def check_ports(settings: "Settings") -> list[Finding]:
    ports = {"port": settings.port, "grpc port": settings.grpc_port}
    return [_check_port(name, settings.host, port) for name, port in ports.items() if port]


def running_server(settings: "Settings") -> Finding:
    """Report the running server instead of checking its ports, which it is using."""
    what = "The demo" if settings.demo else "A server"
    return Finding("server", "ok", f"{what} is running at {settings.url('/')}; the above is about its store.")


def _check_port(name: str, host: str, port: int) -> Finding:
    from pentad.net.listen import bind

    try:
        with bind(host, port):
            return Finding(name, "ok", f"{host}:{port} is free.")
    except PentadError as error:
        text = f"{error.message} If that is Pentad itself, all is well."
        return Finding(name, "warn", text, error.hint or "")
    except (OSError, OverflowError):
        return Finding(name, "warn", f"{host}:{port} could not be tried on {socket.gethostname()}.", "Check --host.")


def check_configuration(settings: "Settings") -> list[Finding]:
    source = f"{settings.file} was read." if settings.file else "No file; defaults, environment and flags."
    warnings = [Finding("configuration", "warn", text, "Correct or remove it.") for text in settings.warnings]
    return [Finding("configuration", "ok", source), *warnings]


def check_clients(clients: "Iterable[Client]", machine: "Machine") -> list[Finding]:
    """Check the MCP clients on this machine: whether they have Pentad as a server, and whether it can start."""
    return [_check_client(client, path) for client in clients if (path := client.path(machine)).exists()]


def _check_client(client: "Client", path: Path) -> Finding:
    check = f"client {client.name}"
    try:
        content = client.editor.content(path.read_text(encoding="utf-8"))
    except (PentadError, OSError, UnicodeDecodeError) as error:
        reason = error.message if isinstance(error, PentadError) else "The file cannot be read."
        return Finding(check, "warn", f"{path}: {reason}", "Correct the file; the client cannot read it either.")
    servers = content.get(client.servers)
    known = cast("dict[str, Any]", servers) if isinstance(servers, dict) else {}
    ours = {name: entry for name, entry in known.items() if name == "pentad" or name.startswith("pentad-")}
    if not ours:
        return Finding(
            check, "ok", f"{client.title} is installed, without Pentad (`pentad install {client.name}` adds it)."
        )
    for entry in ours.values():
        command = cast("dict[str, Any]", entry).get("command") if isinstance(entry, dict) else None
        if isinstance(command, str) and Path(command).is_absolute() and not Path(command).exists():
            fix = f"Run `pentad install {client.name}` again."
            return Finding(check, "warn", f"{client.title} would start {command}, which is gone.", fix)
    return Finding(check, "ok", f"{client.title} knows {', '.join(ours)}.")


async def check_store(settings: "Settings", check_seconds: float, progress: Progress) -> list[Finding]:
    """Run all checks of the store. `progress` receives the progress of the integrity check."""
    place = locate(settings.database, settings.data)
    if isinstance(place, Path) and not place.exists():
        return [Finding("store", "ok", "There is no store yet. The first start creates it.")]
    try:
        async with open_store(settings) as database:
            found = [await _check_answering(database), await _check_migrations(database, settings)]
            if found[-1].state == "ok":
                found.append(await _check_secrets(database, settings))
                found += await _check_rooms(database, settings)
            if check_seconds:
                found.append(await _check_integrity(database, check_seconds, progress))
            if database.dialect == "postgres":
                found += [await _check_vectors(database), await _check_server_clock(database)]
            return found
    except PentadError as error:
        return [Finding("store", "fail", error.message, error.hint or "Check --database and --data.")]


async def _check_answering(database: "Database") -> Finding:
    store = await probe_store(database)
    if store.trouble is not None:
        return Finding("store", "fail", store.trouble.message, store.trouble.hint or "Read the server's log.")
    title = "PostgreSQL" if store.dialect == "postgres" else "SQLite"
    return Finding(
        "store", "ok", f"{title} {store.version} answers; a commit takes {(store.write_seconds or 0) * 1000:.1f} ms."
    )


async def _check_migrations(database: "Database", settings: "Settings") -> Finding:
    try:
        pending = await plan(database, migration_sets(find_rooms(settings.rooms)))
    except PentadError as error:
        return Finding("migrations", "fail", error.message, error.hint or "Upgrade Pentad.")
    if pending:
        fix = "`pentad migrate` applies them now; the next start applies them anyway."
        return Finding("migrations", "warn", f"{len(pending)} are due.", fix)
    return Finding("migrations", "ok", "The tables are up to date.")


async def _check_secrets(database: "Database", settings: "Settings") -> Finding:
    """Check that `secret_key` decrypts the keys and secrets in the store."""
    box = settings.secret_box()
    try:
        pending = await check_sealed(database, box, sealed_columns(find_rooms(settings.rooms)))
    except PentadError as error:
        return Finding("secrets", "fail", error.message, error.hint or "Set secret_key.")
    if pending:
        how = "encrypts" if box.is_on else "decrypts"
        return Finding("secrets", "ok", f"The next start {how} {pending} keys and secrets in the store.")
    if box.is_on:
        return Finding("secrets", "ok", "Keys and secrets in the store are encrypted.")
    return Finding("secrets", "ok", "Keys and secrets in the store are not encrypted; secret_key would do that.")


async def _check_rooms(database: "Database", settings: "Settings") -> list[Finding]:
    """The rooms' warnings about their tables; empty if there are none."""
    return [
        Finding(room.name, "warn", warning.text, warning.fix)
        for room in find_rooms(settings.rooms)
        if room.store_warnings is not None
        for warning in await room.store_warnings(database)
    ]


async def _check_integrity(database: "Database", seconds: float, progress: Progress) -> Finding:
    found = await check_integrity(database, seconds=seconds, progress=progress)
    progress("")
    if found.faults:
        faults = "; ".join(found.faults[:_MOST_FAULTS])
        return Finding(
            "integrity", "fail", f"The store is damaged: {faults}", "Stop the server, `pentad restore FILE`."
        )
    if not found.complete:
        fix = "Give it longer with --check-seconds."
        return Finding("integrity", "warn", f"No fault was found in {seconds:g} s, but not everything was read.", fix)
    return Finding("integrity", "ok", f"All of the store was read and is sound ({found.seconds:.1f} s).")


async def _check_vectors(database: "Database") -> Finding:
    store = await probe_store(database)
    if store.pgvector is not None:
        return Finding("pgvector", "ok", f"pgvector {store.pgvector} is installed.")
    if store.features.get("pgvector_available"):
        return Finding(
            "pgvector", "warn", "pgvector is not switched on.", "Run CREATE EXTENSION vector in the database."
        )
    return Finding("pgvector", "warn", "pgvector is not installed; search is lexical.", "Install it on the server.")


async def _check_server_clock(database: "Database") -> Finding:
    theirs = await database.read(lambda rows: float(rows.value("SELECT extract(epoch FROM clock_timestamp())")))
    skew = abs(theirs - time.time())
    if skew > _MOST_SKEW_SECONDS:
        return Finding("store clock", "warn", f"The server's clock is off by {skew:.0f} s.", "Synchronise both clocks.")
    return Finding("store clock", "ok", "The server's clock agrees with this machine's.")


async def check_issuers(settings: "Settings", token: str | None = None) -> list[Finding]:
    """A finding for each token issuer, and one for the token to verify, if given."""
    issuers = settings.trusted_issuers()
    if not issuers:
        return [] if token is None else [Finding("token", "fail", "No token is accepted.", "Set jwt.issuer.")]
    from pentad.access.tokens import TokenVerifier
    from pentad.net.fetch import HttpFetcher

    fetcher = HttpFetcher(settings.fetch)
    try:
        tokens = TokenVerifier(issuers, fetcher)
        found = [await _check_issuer(one) for one in tokens.issuers.values()]
        return found if token is None else [*found, await _check_token(tokens, token)]
    except PentadError as error:
        return [Finding(_ISSUER, "fail", error.message, error.hint or "Correct the settings of jwt.")]
    finally:
        await fetcher.close()


async def _check_issuer(one: "IssuerTokens") -> Finding:
    issuer, keys = one.issuer, one.keys
    if keys is None:
        return Finding(_ISSUER, "ok", f"{issuer.issuer} shares a secret; there are no keys to read.")
    await keys.refresh()
    if keys.trouble is not None:
        fix = f"Check {issuer.keys_setting}, and that this machine reaches it."
        return Finding(_ISSUER, "fail", f"The keys of {issuer.issuer} cannot be read: {keys.trouble}", fix)
    unusable = one.unusable_algorithms()
    text = f"{issuer.issuer} has {len(keys.key_ids)} usable keys at {keys.source}."
    if len(unusable) == len(issuer.algorithms):
        fix = f"Set {issuer.place}.algorithms to what the issuer signs with."
        return Finding(_ISSUER, "fail", f"{text} None fits {', '.join(unusable)}.", fix)
    return Finding(_ISSUER, "ok", text)


async def check_provider(settings: "Settings") -> list[Finding]:
    """Check that users can log in with the identity provider, if one is configured."""
    if (provider := settings.login.provider.checked()) is None:
        return []
    from pentad.access.provider_endpoints import ProviderEndpoints
    from pentad.net.fetch import HttpFetcher

    fetcher = HttpFetcher(settings.fetch)
    try:
        endpoints = ProviderEndpoints(provider, fetcher)
        await endpoints.refresh()
    finally:
        await fetcher.close()
    if endpoints.trouble is not None:
        return [Finding(_PROVIDER, "fail", f"{provider.issuer} cannot be used: {endpoints.trouble}", _PROVIDER_FIX)]
    return [Finding(_PROVIDER, "ok", f"{provider.issuer} answers under that name, and its keys can be used.")]


async def _check_token(tokens: "TokenVerifier", token: str) -> Finding:
    from pentad.access.tokens import RefusedToken

    try:
        verdict = await tokens.verify(token)
    except PentadError as error:
        return Finding("token", "fail", error.message, error.hint or "")
    if isinstance(verdict, RefusedToken):
        return Finding("token", "fail", f"It is refused ({verdict.reason}). {verdict.text}", verdict.fix)
    who = verdict.principal
    scopes = " ".join(sorted(who.scopes))
    if not scopes:
        fix = "Map its roles or scopes in the settings roles and scopes of its issuer."
        return Finding("token", "warn", f"It is accepted as {who.id}, but may do nothing.", fix)
    return Finding("token", "ok", f"It is accepted as {who.id} with {scopes}.")


def check_search(settings: "Settings") -> Finding:
    """Check the embedder that a server with these settings would use."""
    from pentad.search.models.catalogue import find_model

    search = settings.search
    if search.embedder == "none":
        return Finding("search", "ok", "Search is lexical, as the settings say.")
    if search.embedder == "remote" or (search.embedder == "auto" and search.remote_url is not None):
        if search.remote_url is None:
            return Finding(
                "search", "fail", "The embedder is remote, but no endpoint is set.", "Set search.remote_url."
            )
        return Finding("search", "ok", f"Vectors come from {search.remote_model} at {search.remote_url}.")
    found = find_model(settings.model_folders())
    if found is None:
        state = "fail" if search.embedder == "minilm" else "warn"
        return Finding("search", state, "There is no embedding model; search is lexical.", "Run `pentad models pull`.")
    if not found.is_intact():
        return Finding("search", "fail", f"The model in {found.folder} is damaged.", "Run `pentad models pull`.")
    return Finding("search", "ok", f"The model {found.manifest['id']} is in {found.folder}.")


def server_health(body: Mapping[str, Any]) -> list[Finding]:
    """The findings of a running server, from its health report."""
    store, trail, jobs = body["store"], body["audit"], body["jobs"]
    overall: State = "ok" if body["status"] == "ok" else "warn" if body["status"] == "degraded" else "fail"
    troubles = [str(one.get("message", one)) for one in store.get("troubles", ())]
    return [
        Finding("server", overall, f"Pentad {body['version']} is {body['status']}.", "See the lines below."),
        Finding("store", "fail" if troubles else "ok", "; ".join(troubles) or f"{store['dialect']} answers.", _LOG),
        *(
            Finding(f"room {name}", "ok" if state["status"] == "ok" else "warn", _state_text(state), _LOG)
            for name, state in body["rooms"].items()
        ),
        *(
            Finding(f"issuer {name}", "ok" if state == "ok" else "warn", f"Its keys are {state}.", _LOG)
            for name, state in body.get("issuers", {}).items()
        ),
        *(
            Finding(
                f"profile {name}", "warn", f"It offers no tools for {problem}", "Correct `typed`, or make the schema."
            )
            for name, problems in body.get("profiles", {}).items()
            for problem in problems
        ),
        *(
            Finding(_PROVIDER, "ok" if state["status"] == "ok" else "warn", _state_text(state), _PROVIDER_FIX)
            for state in [body.get("identity_provider")]
            if state is not None
        ),
        Finding(
            "audit trail",
            "warn" if trail["dropped"] else "ok",
            f"{trail['waiting']} entries wait, {trail['dropped']} were dropped.",
            "The store was unreachable for too long; the server's log says when.",
        ),
        Finding(
            "jobs",
            "warn" if jobs.get("dead") else "ok",
            ", ".join(f"{count} {state}" for state, count in jobs.items()) or "No jobs are waiting.",
            "`pentad jobs list --state dead` shows what failed.",
        ),
        *(
            Finding(
                f"room {name}",
                "warn",
                "It is not open here, and jobs have waited for it for over a minute.",
                "Open it again.",
            )
            for name in body.get("missing_rooms", ())
        ),
    ]


def _state_text(state: Mapping[str, Any]) -> str:
    return str(state.get("message") or f"It is {state['status']}.")
