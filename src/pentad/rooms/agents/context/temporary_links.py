"""Temporary links: unguessable URLs for contents that remote agents need but cannot read as `context://`.

A link serves one content, read-only, for a day at most, and only while its owner may read in this room. Its token has
256 random bits and only its hash is stored, so the store reveals no URL. The item that refers to it has the content's
hash and size, so the reader can verify what it gets.
"""

import base64
import re
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pentad.access.owners import OwnerNow, owner_as_saved, require_owner
from pentad.kernel.clock import Clock, SystemRandomness
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Forbidden, LimitExceeded, NotFound
from pentad.kernel.ids import token_digest
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.context_store import StoredContent, drop_unused, put_body

PATH: Final = "/agents/_content"
"""No agent can have this name: names start with a letter or a digit."""
LINK_SECONDS: Final = 86_400.0
MAX_LINKED_BYTES: Final = 256 * MIB
"""Per owner at a time."""
_TOKEN: Final = re.compile(r"[a-z2-7]{52}")
"""No secret detector matches these letters, so a receiver that masks secrets keeps the URL."""
_LINK_PATH: Final = re.compile(re.escape(PATH) + r"/[a-z2-7]{52}")
_RANDOMNESS: Final = SystemRandomness()
_INSERT: Final = (
    "INSERT INTO agent_lent_contents (token, owner, sha256, media_type, size, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
)


class _Link(NamedTuple):
    """A content, and a token that is not stored yet."""

    token: str
    content: StoredContent


class TemporaryLinks:
    """The temporary links of one store, below the public URL of this server (`site`), if the operator set one."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        site: str | None,
        owner_now: OwnerNow = owner_as_saved,
    ) -> None:
        self._owner_now = owner_now
        self.site = None if site is None else site.rstrip("/")
        self._database = database
        self._clock = clock

    def for_message(self, caller: Principal) -> "MessageLinks":
        """The links of one message by this caller."""
        return MessageLinks(self, caller)

    def token(self) -> str:
        return base64.b32encode(_RANDOMNESS.token_bytes(32)).decode("ascii").rstrip("=").lower()

    async def write(self, caller: Principal, links: list[_Link]) -> None:
        """Store links; LimitExceeded if one owner has too many bytes."""
        now = self._clock.now()
        expires_at = now + LINK_SECONDS

        def work(tx: Transaction) -> None:
            for token, content in links:
                put_body(tx, content.sha256, content.body, now)
                tx.run(
                    _INSERT,
                    token_digest(token).hex(), caller.id, content.sha256, content.media_type, len(content.body),
                    expires_at,
                )  # fmt: skip
            total = tx.value(
                "SELECT coalesce(sum(size), 0) FROM agent_lent_contents WHERE owner = ? AND expires_at > ?",
                caller.id,
                now,
            )
            if total > MAX_LINKED_BYTES:
                raise LimitExceeded(
                    f"Your temporary links would hold {total} bytes; the maximum is {MAX_LINKED_BYTES}.",
                    hint="Send less, or wait: links expire after a day.",
                )

        await self._database.write(work)

    async def read(self, token: str) -> StoredContent:
        """The content behind a token; NotFound if it is unknown or expired."""
        if _TOKEN.fullmatch(token):
            with suppress(Forbidden):  # reveal nothing about the owner
                if (found := await self._database.read(lambda rows: self._read(rows, token))) is not None:
                    return found
        raise NotFound("There is no such content, or its link has expired.", hint="Ask the sender for the task again.")

    def _read(self, rows: Rows, token: str) -> StoredContent | None:
        row = rows.one(
            "SELECT lent.owner, contents.sha256, contents.body, lent.media_type FROM agent_lent_contents AS lent"
            " JOIN agent_contents AS contents ON contents.sha256 = lent.sha256"
            " WHERE lent.token = ? AND lent.expires_at > ?",
            token_digest(token).hex(), self._clock.now(),
        )  # fmt: skip
        if row is None:
            return None
        owner, sha256, body, media_type = row
        require_owner(self._owner_now, rows, owner, "agents", "read")
        return StoredContent(sha256, bytes(body), media_type)


class MessageLinks:
    """The links of one message. URLs are created first, and work once `keep` has stored them."""

    def __init__(self, links: TemporaryLinks, caller: Principal) -> None:
        self._store = links
        self._caller = caller
        self._links: dict[str, _Link] = {}

    @property
    def scheme(self) -> str | None:
        """The scheme of the URLs; None if the operator set no public URL."""
        return None if self._store.site is None else urlsplit(self._store.site).scheme

    def address(self, content: StoredContent) -> str:
        """The URL of a content."""
        link = self._links.setdefault(content.sha256, _Link(self._store.token(), content))
        return f"{self._store.site}{PATH}/{link.token}"

    async def keep(self) -> None:
        if self._links:
            await self._store.write(self._caller, list(self._links.values()))
            self._links = {}


def forget_expired_links(tx: Transaction, now: float, most: int) -> int:
    """Delete expired links, in batches; returns how many."""
    over = tx.all("SELECT token, sha256 FROM agent_lent_contents WHERE expires_at <= ? LIMIT ?", now, most)
    tx.run_many("DELETE FROM agent_lent_contents WHERE token = ?", [(token,) for token, _ in over])
    for _, sha256 in over:
        drop_unused(tx, str(sha256))
    return len(over)


def without_token(url: str) -> str:
    """A URL for messages and logs, without the token that grants access."""
    return _LINK_PATH.sub(rf"{PATH}/...", url)
