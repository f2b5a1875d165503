"""Contents lent to agents elsewhere, which cannot read `context://`: each at an address only who was given it knows.

An address leads to one content, to be read and no more, for a day, and no longer than its owner may read in this room.
Its token is 256 random bits, kept as a hash alone: who reads the store learns no address. The item that refers to it
has the content's hash and size, so the reader knows whether it got what was meant.
"""

import base64
import hashlib
import re
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from pentad.access.owners import OwnerNow, owner_as_saved, require_owner
from pentad.kernel.clock import Clock, Randomness, SystemRandomness
from pentad.kernel.errors import Forbidden, LimitExceeded, NotFound
from pentad.kernel.limits import MIB
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.rooms.agents.context.context_store import Kept, drop_unused, put_body

PATH: Final = "/agents/_content"
"""No agent is called like that: names begin with a letter or a digit."""
LENT_SECONDS: Final = 86_400.0
MOST_LENT: Final = 256 * MIB
"""By one owner at a time."""
_TOKEN: Final = re.compile(r"[a-z2-7]{52}")
"""Letters in which no detector of secrets sees one: a receiver that masks secrets keeps the address."""
_LENT: Final = re.compile(re.escape(PATH) + r"/[a-z2-7]{52}")
_RANDOMNESS: Final = SystemRandomness()
_INSERT: Final = (
    "INSERT INTO agent_lent_contents (token, owner, sha256, media_type, size, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
)


class _Lent(NamedTuple):
    """One content under a token that is not written down yet."""

    token: str
    kept: Kept


class Lending:
    """What one store lends, at the address others reach this server by (`site`), where the operator named one."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        site: str | None,
        randomness: Randomness = _RANDOMNESS,
        owner_now: OwnerNow = owner_as_saved,
    ) -> None:
        self._owner_now = owner_now
        self.site = None if site is None else site.rstrip("/")
        self._database = database
        self._clock = clock
        self._randomness = randomness

    def loan(self, who: Principal) -> "Loan":
        """What is to be lent with one message of this caller's."""
        return Loan(self, who)

    def token(self) -> str:
        return base64.b32encode(self._randomness.token_bytes(32)).decode("ascii").rstrip("=").lower()

    async def write(self, who: Principal, lent: list[_Lent]) -> None:
        """Write down what is lent; LimitExceeded where one lends too much at a time."""
        now = self._clock.now()

        def work(tx: Transaction) -> None:
            for token, kept in lent:
                put_body(tx, kept.sha256, kept.body, now)
                tx.run(
                    _INSERT,
                    _digest(token), who.id, kept.sha256, kept.media_type, len(kept.body), now + LENT_SECONDS,
                )  # fmt: skip
            total = tx.value(
                "SELECT coalesce(sum(size), 0) FROM agent_lent_contents WHERE owner = ? AND expires_at > ?", who.id, now
            )
            if total > MOST_LENT:
                raise LimitExceeded(
                    f"You would lend {total} bytes of contents at a time; the most are {MOST_LENT}.",
                    hint="Send less, or wait: what is lent is given back after a day.",
                )

        await self._database.write(work)

    async def read(self, token: str) -> Kept:
        """The content a token is for; NotFound for one that never was or is no more."""
        if _TOKEN.fullmatch(token):
            with suppress(Forbidden):  # a stranger hears nothing of the owner
                if (found := await self._database.read(lambda rows: self._read(rows, token))) is not None:
                    return found
        raise NotFound("There is no such content, or it is lent no longer.", hint="Ask the sender for the task again.")

    def _read(self, rows: Rows, token: str) -> Kept | None:
        row = rows.one(
            "SELECT lent.owner, contents.sha256, contents.body, lent.media_type FROM agent_lent_contents AS lent"
            " JOIN agent_contents AS contents ON contents.sha256 = lent.sha256"
            " WHERE lent.token = ? AND lent.expires_at > ?",
            _digest(token), self._clock.now(),
        )  # fmt: skip
        if row is None:
            return None
        owner, sha256, body, media_type = row
        require_owner(self._owner_now, rows, owner, "agents", "read")
        return Kept(sha256, bytes(body), media_type)


class Loan:
    """What is lent with one message: addresses are made first, and lead somewhere once `keep` has written them down."""

    def __init__(self, lending: Lending, who: Principal) -> None:
        self._lending = lending
        self._who = who
        self._lent: dict[str, _Lent] = {}

    @property
    def scheme(self) -> str | None:
        """How the addresses begin; None where there is no place to lend from."""
        return None if self._lending.site is None else urlsplit(self._lending.site).scheme

    def address(self, kept: Kept) -> str:
        """Where the content will be."""
        lent = self._lent.setdefault(kept.sha256, _Lent(self._lending.token(), kept))
        return f"{self._lending.site}{PATH}/{lent.token}"

    async def keep(self) -> None:
        if self._lent:
            await self._lending.write(self._who, list(self._lent.values()))
            self._lent = {}


def take_back(tx: Transaction, now: float, most: int) -> int:
    """Forget what is lent no longer, so many at once; how many there were."""
    over = tx.all("SELECT token, sha256 FROM agent_lent_contents WHERE expires_at <= ? LIMIT ?", now, most)
    tx.run_many("DELETE FROM agent_lent_contents WHERE token = ?", [(token,) for token, _ in over])
    for _, sha256 in over:
        drop_unused(tx, str(sha256))
    return len(over)


def without_token(url: str) -> str:
    """An address for messages and logs: who reads it there could read the content."""
    return _LENT.sub(rf"{PATH}/...", url)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("ascii")).hexdigest()
