"""Upload links: unguessable URLs that accept one file, once, without further credentials.

A link is for one file name on one object. It is valid for a few minutes, and only while its owner may change the
object. Its token has 256 random bits and only its hash is stored, so the store reveals no URL.
"""

import base64
import io
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.access.owners import OwnerNow
from pentad.kernel.clock import Clock
from pentad.kernel.errors import LimitExceeded, NotFound
from pentad.kernel.ids import token_digest
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.registers.attachments.files import Attachment, checked_name
from pentad.rooms.registers.attachments.service import Attachments
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.objects.service import Objects

PATH: Final = "/api/uploads"
SECONDS: Final = 900.0
_MOST_LINKS: Final = 100
_TOKEN: Final = re.compile(r"[a-z2-7]{52}")


@dataclass(frozen=True, slots=True)
class UploadLink:
    """A link that can still be used, and its owner with the owner's current rights."""

    digest: str
    owner: Principal
    object: str
    name: str


class UploadLinks:
    """The upload links of one store."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        objects: Objects,
        attachments: Attachments,
        owner_now: OwnerNow,
    ) -> None:
        self._database = database
        self._clock = clock
        self._objects = objects
        self._attachments = attachments
        self._owner_now = owner_now

    async def create(self, caller: Caller, uuid: str, name: str) -> tuple[str, float]:
        """Create a link; returns its token and expiry. First check that the caller may change the object."""
        token = base64.b32encode(secrets.token_bytes(32)).decode("ascii").rstrip("=").lower()
        principal, now = caller.principal, self._clock.now()
        rights = msgspec.json.encode({"scopes": sorted(principal.scopes), "user": principal.user}).decode()
        checked = checked_name(name)

        def insert(tx: Transaction) -> None:
            tx.run("DELETE FROM upload_links WHERE expires_at <= ?", now)
            open_links = tx.value("SELECT count(*) FROM upload_links WHERE principal = ?", principal.id)
            if int(open_links) >= _MOST_LINKS:
                raise LimitExceeded(
                    f"You have {_MOST_LINKS} open upload links.", hint="Use them, or wait: they expire in minutes."
                )
            tx.run(
                "INSERT INTO upload_links (token, principal, rights, object, name, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                token_digest(token).hex(), principal.id, rights, uuid, checked, now + SECONDS,
            )  # fmt: skip

        await self._database.write(insert)
        return token, now + SECONDS

    async def find(self, token: str) -> UploadLink:
        """The link with this token; NotFound if it is unknown, used or expired, or its owner is gone."""
        found = await self._database.read(lambda rows: self._find(rows, token)) if _TOKEN.fullmatch(token) else None
        if found is None:
            raise _no_link()
        return found

    def _find(self, rows: Rows, token: str) -> UploadLink | None:
        digest = token_digest(token).hex()
        row = rows.one(
            "SELECT principal, rights, object, name FROM upload_links WHERE token = ? AND expires_at > ?",
            digest, self._clock.now(),
        )  # fmt: skip
        if row is None:
            return None
        principal, rights, uuid, name = row
        saved: dict[str, Any] = msgspec.json.decode(rights)
        owner = self._owner_now(rows, Principal(principal, principal, frozenset(saved["scopes"]), user=saved["user"]))
        return None if owner is None else UploadLink(digest, owner, uuid, name)

    async def upload(self, link: UploadLink, caller: Caller, content: bytes) -> Attachment:
        """Store the file and use up the link, or neither. `caller` is the owner, with the rights the server allows."""
        pair, _ = await self._objects.find_by_uuid(caller, link.object)
        stored = await self._attachments.object(caller, pair, link.object, "update")

        def use(tx: Transaction) -> None:
            if not tx.run("DELETE FROM upload_links WHERE token = ?", link.digest):
                raise _no_link()

        [made] = await self._attachments.write(stored, [(link.name, io.BytesIO(content))], use)
        return made


def _no_link() -> NotFound:
    return NotFound("There is no such upload link, or it was used or has expired.", hint="Ask for a new one.")
