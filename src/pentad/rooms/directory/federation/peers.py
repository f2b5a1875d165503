"""Peers: the directories that this one follows, with their credentials and status.

Credentials are stored encrypted and never shown. Secrets are never sent in plain text beyond this machine.
"""

import asyncio
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from pentad.access.sealed_columns import SealedColumn
from pentad.access.secret_box import SecretBox
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.namespaces import rule_for
from pentad.rooms.directory.records.syncs import parse_peer
from pentad.settings.model import is_loopback

JOB: Final = "directory.peer"
"""Follows one peer, whose name is the key."""
CREDENTIALS: Final = SealedColumn("directory_peers", "credentials", ("name",), is_text=True)
MOST_PEERS: Final = 50
_MOST_FILTERS: Final = 100
_LONGEST: Final = 20_000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_COLUMNS: Final = (
    "name, url, auth, credentials, filters, removing, position, generation, skipped, skipped_reason, problem,"
    " failing_since, in_step_at, created_by, created_at"
)
Auth = Literal["none", "token", "oauth", "certificate"]
PeerStatus = Literal["starting", "in step", "failing", "removing"]


class PeerCredentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """How to log in: a token (a Pentad key or another bearer token), OAuth client credentials, or a certificate. `ca`
    signed the peer's own certificate. Certificates and keys are PEM."""

    token: str = ""
    issuer: str = ""
    client_id: str = ""
    client_secret: str = ""
    scopes: str = ""
    audience: str = ""
    certificate: str = ""
    private_key: str = ""
    ca: str = ""

    @property
    def auth(self) -> Auth:
        return "token" if self.token else "oauth" if self.issuer else "certificate" if self.certificate else "none"

    def __repr__(self) -> str:
        return f"PeerCredentials({self.auth})"


class PeerFilters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which records to copy: those in these namespaces, with a label that begins with one of these. Empty means all."""

    namespaces: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def want_name(self, name: str) -> bool:
        return not self.namespaces or rule_for(name, dict.fromkeys(self.namespaces, True)) is True

    def want_labels(self, labels: Collection[str]) -> bool:
        return not self.labels or any(
            label == wanted or label.startswith(f"{wanted}/") for label in labels for wanted in self.labels
        )


@dataclass(frozen=True, slots=True)
class Peer:
    """A directory to follow, and how far this one has read it."""

    name: str
    url: str
    auth: Auth
    filters: PeerFilters
    removing: bool
    position: str
    generation: int
    skipped: int
    skipped_reason: str | None
    problem: str | None
    failing_since: float | None
    in_step_at: float | None
    created_by: str
    created_at: float
    credentials: PeerCredentials = field(default_factory=PeerCredentials, repr=False)

    @property
    def status(self) -> PeerStatus:
        if self.removing:
            return "removing"
        if self.problem is not None:
            return "failing"
        return "starting" if self.in_step_at is None else "in step"


@dataclass(frozen=True, slots=True)
class PeerState:
    """A peer as administrators see it."""

    peer: Peer
    records: int
    next_attempt: float | None

    def as_json(self) -> dict[str, Any]:
        one = self.peer
        about: dict[str, Any] = {"name": one.name, "url": one.url, "auth": one.auth, "status": one.status}
        about |= {
            "records": self.records,
            "namespaces": list(one.filters.namespaces),
            "labels": list(one.filters.labels),
        }
        if one.problem is not None:
            about |= {"problem": one.problem, "failing_since": _time(one.failing_since)}
            about["next_attempt"] = _time(self.next_attempt)
        if one.in_step_at is not None:
            about["in_step_at"] = _time(one.in_step_at)
        if one.skipped:
            about |= {"skipped": one.skipped, "skipped_reason": one.skipped_reason}
        return {**about, "created_by": one.created_by, "created_at": _time(one.created_at)}


class Peers:
    """The peers of one store."""

    def __init__(self, jobs: JobQueue, box: SecretBox) -> None:
        self._jobs = jobs
        self._database = jobs.database
        self._clock = jobs.clock
        self._box = box

    async def add(
        self, who: Principal, name: str, url: str, credentials: PeerCredentials, filters: PeerFilters
    ) -> None:  # fmt: skip
        """Follow a directory from now on."""
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot name a peer.", hint="Use up to 63 of a-z, 0-9, dots, hyphens and underscores."
            )
        await asyncio.to_thread(_check, url, credentials, filters)
        plain = msgspec.json.encode(credentials)
        sealed = CREDENTIALS.seal(self._box, plain, name) if credentials != PeerCredentials() else None

        def work(tx: Transaction) -> None:
            if tx.value("SELECT 1 FROM directory_peers WHERE name = ?", name) is not None:
                raise Conflict(f"There is a peer {name!r}.", hint="Remove it first, or choose another name.")
            if tx.value("SELECT count(*) FROM directory_peers") >= MOST_PEERS:
                raise InvalidInput(f"There are at most {MOST_PEERS} peers.", hint="Remove one.")
            tx.run(
                "INSERT INTO directory_peers (name, url, auth, credentials, filters, created_by, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                name, url.strip(), credentials.auth, sealed, msgspec.json.encode(filters).decode(), who.id,
                self._clock.now(),
            )  # fmt: skip
            self._jobs.enqueue(tx, JOB, key=name)

        await self._database.write(work)

    async def remove(self, name: str) -> None:
        """Stop following a directory. Its copies are removed, unless they were also pushed here."""

        def work(tx: Transaction) -> None:
            if not tx.run("UPDATE directory_peers SET removing = 1 WHERE name = ?", name.replace("\0", "")):
                raise NotFound(f"There is no peer {name[:80]!r}.")
            self._jobs.cancel(tx, JOB, name)  # a running follower loses its lease
            self._jobs.enqueue(tx, JOB, key=name)

        await self._database.write(work)

    async def try_again(self) -> None:
        """Retry failed peers now: a restart may have fixed what was wrong."""
        await self._jobs.retry_now(JOB)

    async def states(self) -> list[PeerState]:
        """Every peer, by name."""
        return await self._database.read(self._states)

    async def all(self) -> list[Peer]:
        """The peers to search, with their credentials."""
        rows = await self._database.read(
            lambda rows: rows.all(f"SELECT {_COLUMNS} FROM directory_peers WHERE removing = 0 ORDER BY name")  # noqa: S608  own columns
        )
        return [self._peer(row) for row in rows]

    async def get(self, name: str) -> Peer | None:
        """A peer with its credentials."""
        row = await self._database.lookup(f"SELECT {_COLUMNS} FROM directory_peers WHERE name = ?", name)  # noqa: S608  own columns
        return None if row is None else self._peer(row)

    def _states(self, rows: Rows) -> list[PeerState]:
        found = rows.all(f"SELECT {_COLUMNS} FROM directory_peers ORDER BY name")  # noqa: S608  own columns
        counts = dict(rows.all("SELECT peer, count(*) FROM directory_origins GROUP BY peer"))
        due = dict(rows.all("SELECT key, run_at FROM jobs WHERE name = ? AND state = 'queued'", JOB))
        return [PeerState(one, counts.get(one.name, 0), due.get(one.name)) for one in map(_peer_from, found)]

    def _peer(self, row: Row) -> Peer:
        """A peer with its credentials."""
        kept, name = row[3], row[0]
        credentials = PeerCredentials()
        if kept is not None:
            credentials = msgspec.json.decode(CREDENTIALS.open(self._box, kept, name), type=PeerCredentials)
        return _peer_from(row, credentials)


def _peer_from(row: Row, credentials: PeerCredentials | None = None) -> Peer:
    """A peer, by default without its credentials."""
    name, url, auth, _, filters, removing, *rest = row
    wanted = msgspec.json.decode(filters, type=PeerFilters)
    return Peer(name, url, auth, wanted, bool(removing), *rest, credentials=credentials or PeerCredentials())


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)


def _check(url: str, given: PeerCredentials, filters: PeerFilters) -> None:
    """Raise InvalidInput if a peer cannot be followed with these settings."""
    peer = parse_peer(url)
    ways = [bool(given.token), bool(given.issuer or given.client_id or given.client_secret), bool(given.certificate)]
    if sum(ways) > 1:
        raise InvalidInput("A peer takes one kind of credentials.", hint="Give a token, OAuth or a certificate.")
    if any(len(value) > _LONGEST for value in msgspec.structs.asdict(given).values()):
        raise InvalidInput(f"Credentials have at most {_LONGEST} characters each.")
    if any(ways) and not peer.tls and not is_loopback(peer.host):
        raise InvalidInput("Credentials would be sent in plain text.", hint="Use an https:// address.")
    if (given.certificate or given.ca) and not peer.tls:
        raise InvalidInput("Certificates are for TLS.", hint="Use an https:// address.")
    if not given.token.isascii() or not given.token.isprintable():
        raise InvalidInput("The token has characters that cannot be sent.")
    if ways[1]:
        _check_oauth(given)
    _check_certificates(given)
    if max(len(filters.namespaces), len(filters.labels)) > _MOST_FILTERS:
        raise InvalidInput(f"A peer has at most {_MOST_FILTERS} namespaces and labels.")
    if wrong := next((one for one in filters.labels if not one.startswith("/")), None):
        raise InvalidInput(
            f"{wrong[:80]!r} is not a label.", hint="Write it as /skills/..., /domains/... or /modules/..."
        )


def _check_oauth(given: PeerCredentials) -> None:
    if not (given.issuer and given.client_id and given.client_secret):
        raise InvalidInput("OAuth needs issuer, client_id and client_secret.")
    parts = urlsplit(given.issuer)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise InvalidInput("The issuer is not an https:// address.")


def _check_certificates(given: PeerCredentials) -> None:
    if bool(given.certificate) != bool(given.private_key):
        raise InvalidInput("A certificate and its private key belong together.", hint="Give both.")
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization

    try:
        for pem in (given.certificate, given.ca):
            if pem:
                x509.load_pem_x509_certificates(pem.encode())
        if given.private_key:
            serialization.load_pem_private_key(given.private_key.encode(), None)
    except (ValueError, TypeError):
        raise InvalidInput("A certificate or its key cannot be read.", hint="Give PEM text, not encrypted.") from None
