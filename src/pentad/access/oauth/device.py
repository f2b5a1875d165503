"""Device codes (RFC 8628): a program without a browser shows a short code, and a person enters it on a page here.

The short code has 8 letters (34 bits) and expires after ten minutes, and the number of wrong guesses is limited. The
program polls with the long code, which is secret and works once.
"""

from dataclasses import dataclass, field
from typing import Final

from pentad.access.anonymous import AddressBuckets
from pentad.access.oauth import store
from pentad.access.oauth.clients import Client
from pentad.access.oauth.errors import OAuthError
from pentad.access.oauth.grants import Consent, Grants, IssuedTokens
from pentad.access.oauth.opaque_tokens import kind_of, new_token
from pentad.access.oauth.store import StoredDevice
from pentad.access.scopes import scopes_from_text, scopes_to_text
from pentad.kernel.clock import Clock, Randomness, SystemClock, SystemRandomness
from pentad.kernel.errors import RateLimited
from pentad.kernel.ids import token_digest
from pentad.kernel.ports import Database, Transaction

LIFE_SECONDS: Final = 600
INTERVAL: Final = 5
WAITING_MOST: Final = 10_000
WRONG_ALLOWED: Final = 10
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_LENGTH: Final = 8
_WRONG_PER_SECOND: Final = 1 / 60
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """The response to a program: its secret code, and the short code to show."""

    device_code: str = field(repr=False)
    user_code: str
    expires_in: int = LIFE_SECONDS
    interval: int = INTERVAL


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request for a person's approval: which program, from where, and for what."""

    user_code: str
    client_id: str
    client_name: str
    address: str
    scopes: frozenset[str]
    resources: str
    created_at: float


class DeviceCodes:
    """The device codes of one store."""

    def __init__(
        self, db: Database, grants: Grants, *, clock: Clock | None = None, randomness: Randomness | None = None
    ) -> None:
        self._db = db
        self._grants = grants
        self._clock = clock or SystemClock()
        self._randomness = randomness or SystemRandomness()
        self._wrong = AddressBuckets(_WRONG_PER_SECOND, WRONG_ALLOWED, self._clock)

    async def start(
        self, client: Client, scopes: frozenset[str], resources: str, *, address: str
    ) -> DeviceAuthorization:
        """New codes for a program."""
        device_code = new_token("device", self._randomness)
        user_codes = [self._user_code() for _ in range(_ATTEMPTS)]
        now = self._clock.now()

        def work(tx: Transaction) -> str | None:
            if store.waiting_devices(tx, now) >= WAITING_MOST:
                return None
            for user_code in user_codes:
                stored = StoredDevice(
                    user_code, client.id, client.name, address, scopes_to_text(scopes), resources,
                    "waiting", None, None, INTERVAL, None, now, now + LIFE_SECONDS,
                )  # fmt: skip
                if store.add_device(tx, token_digest(device_code), stored):
                    return user_code
            return None

        user_code = await self._db.write(work)
        if user_code is None:
            raise OAuthError("temporarily_unavailable", "Too many devices are waiting. Try again in a minute.")
        return DeviceAuthorization(device_code, format_user_code(user_code))

    async def find(self, user_code: str, *, user: str) -> DeviceRequest | None:
        """The request behind a short code; RateLimited after too many wrong codes from this user."""
        if wait := self._wrong.spend(user.lower()):
            raise RateLimited("Too many wrong codes.", retry_after=wait, hint="Wait a minute, then check the code.")
        code = _plain(user_code)
        found = await self._db.read(lambda rows: store.device_by_user_code(rows, code))
        if found is None or found.state != "waiting" or self._clock.now() >= found.expires_at:
            return None
        self._wrong.give_back(user.lower())
        scopes = scopes_from_text(found.scopes)
        return DeviceRequest(
            format_user_code(code),
            found.client_id,
            found.client_name,
            found.address,
            scopes,
            found.resources,
            found.created_at,
        )

    async def approve(self, user_code: str, *, user: str, scopes: frozenset[str], grant_until: float) -> bool:
        """Approve the program; False if the code was already decided or has expired."""
        return await self._decide(user_code, "approved", user, scopes, grant_until)

    async def deny(self, user_code: str, *, user: str) -> bool:
        return await self._decide(user_code, "denied", user, frozenset(), 0.0)

    async def redeem(self, device_code: str, client: Client) -> IssuedTokens:
        """Exchange the code for tokens once the person has approved; until then OAuthError tells the program how to
        continue."""
        if kind_of(device_code) != "device":
            raise OAuthError("invalid_grant", "The device code is unknown.")
        now = self._clock.now()
        issue, key = self._grants.new_issue(), token_digest(device_code)

        def work(tx: Transaction) -> IssuedTokens | OAuthError:
            found = store.device(tx, key)
            if found is None or found.client_id != client.id:
                return OAuthError("invalid_grant", "The device code is unknown, or was used.")
            if now >= found.expires_at:
                return OAuthError("expired_token", "The device code has expired. Start again.")
            if found.state == "waiting":
                is_early = found.polled_at is not None and now - found.polled_at < found.pause
                store.device_polled(tx, key, now, found.pause + INTERVAL if is_early else found.pause)
                if is_early:
                    return OAuthError("slow_down", "Wait longer between requests.")
                return OAuthError("authorization_pending", "Nobody has approved the code yet.")
            if found.state == "denied" or found.user_key is None or not store.user_exists(tx, found.user_key):
                return OAuthError("access_denied", "The request was denied.")
            if not store.remove_device(tx, key):
                return OAuthError("invalid_grant", "The device code was used.")
            consent = Consent(
                found.user_key,
                found.client_id,
                found.client_name,
                scopes_from_text(found.scopes),
                found.resources,
                found.grant_until or now,
            )
            return issue.first_tokens(tx, consent, "", found.resources)

        issued = await self._db.write(work)
        if isinstance(issued, OAuthError):
            raise issued
        return issued

    async def _decide(self, user_code: str, state: str, user: str, scopes: frozenset[str], until: float) -> bool:
        now, code = self._clock.now(), _plain(user_code)
        text = scopes_to_text(scopes)
        return await self._db.write(lambda tx: store.decide_device(tx, code, state, user.lower(), text, until, now))

    def _user_code(self) -> str:
        """Eight letters, each equally likely: bytes that would bias the choice are skipped."""
        letters = ""
        while len(letters) < _LENGTH:
            letters += "".join(
                _LETTERS[byte % len(_LETTERS)] for byte in self._randomness.token_bytes(16) if byte < 240
            )
        return letters[:_LENGTH]


def format_user_code(user_code: str) -> str:
    """A short code formatted for display: BCDF-GHJK."""
    plain = _plain(user_code)
    return f"{plain[: _LENGTH // 2]}-{plain[_LENGTH // 2 :]}"


def _plain(user_code: str) -> str:
    return "".join(letter for letter in user_code[:40].upper() if letter in _LETTERS)
