"""Maps accounts at the company's identity provider to users.

`identity_provider.py` talks to the provider. An account is identified by issuer and subject. Names and e-mail addresses
only suggest a user name: they never link an account to an existing user, and the name of a removed user is never
reused. Every login updates the user's role.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pentad.access.issuer import OWN_ROLES, is_safe_url
from pentad.access.scopes import is_role, is_scope, scopes_to_text
from pentad.access.users import CHANNEL, User, Users, user_principal_id
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Forbidden, Misconfigured
from pentad.kernel.ports import Database, Transaction
from pentad.kernel.principal import Role

PLACE: Final = "login.provider"
"""The settings table, for error texts."""
_ROLE_ORDER: Final[tuple[Role, ...]] = ("admin", "writer", "reader")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME: Final = 56
_MOST_TRIED: Final = 10_000


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """The provider's settings, checked."""

    issuer: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    name: str = "your company"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    roles: Mapping[str, str] = field(default_factory=dict[str, str])
    """A group's name at the provider -> a role and extra scopes. Empty means that group names are role names."""
    domains: tuple[str, ...] = ()
    create_users: bool = True

    def __post_init__(self) -> None:
        if not is_safe_url(self.issuer):
            raise Misconfigured(
                f"{PLACE}.issuer must be an https URL.", hint="Plain http is accepted for private addresses and names."
            )
        if not self.client_id:
            raise Misconfigured(
                f"{PLACE}.client_id is missing.", hint="Register this server with the provider and write its id here."
            )
        if "openid" not in self.scopes:
            raise Misconfigured(f"{PLACE}.scopes has no openid.", hint="Without it, the provider sends no ID token.")
        for group, grant in self.roles.items():
            words = grant.split()
            if [word for word in words if not is_role(word) and not is_scope(word)] or not any(map(is_role, words)):
                raise Misconfigured(
                    f"{PLACE}.roles maps {group[:80]!r} to {grant[:80]!r}.",
                    hint="Write reader, writer or admin, with extra scopes such as 'metrics:admin' if needed.",
                )

    def rights(self, groups: Sequence[str]) -> tuple[Role, frozenset[str]] | None:
        """The role and extra scopes for these groups; None if no group is mapped."""
        known = self.roles or OWN_ROLES
        words = {word for group in groups for word in known.get(group, "").split()}
        for role in _ROLE_ORDER:
            if role in words:
                return role, frozenset(word for word in words if is_scope(word))
        return None


@dataclass(frozen=True, slots=True)
class ProvenIdentity:
    """The identity the provider has verified. Only issuer and subject identify the person; the rest can change."""

    issuer: str
    subject: str
    groups: tuple[str, ...]
    name: str
    """The person's name, from which a user name is derived."""
    email: str | None
    """An address that the provider has verified."""
    next_path: str


class LoginRefused(Forbidden, code="login_refused"):
    """A login with the provider is not accepted here. The message is for the person, `reason` for the operator."""

    def __init__(self, message: str, reason: str, explanation: str = "", *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.reason = reason
        self.explanation = explanation
        self.user: str | None = None
        """The user that belonged to this person until now and may no longer log in."""


class UserIdentities:
    """The accounts of one store."""

    def __init__(self, db: Database, users: Users, *, clock: Clock | None = None) -> None:
        self._db = db
        self._users = users
        self._clock = clock or SystemClock()

    async def user_of(self, provider: IdentityProvider, identity: ProvenIdentity) -> User:
        """The user, with the role of the person's groups, created at the first login. Raises LoginRefused."""
        rights = provider.rights(identity.groups)
        now = self._clock.now()

        def work(tx: Transaction) -> str | None:
            name = _known_user(tx, identity)
            if rights is None:
                return name
            role, scopes = rights[0], scopes_to_text(rights[1])
            if name is None:
                return _new_user(tx, identity, role, scopes, now) if provider.create_users else None
            changed = tx.run(
                "UPDATE users SET role = ?, scopes = ? WHERE name_key = ? AND (role <> ? OR scopes <> ?)",
                role, scopes, name, role, scopes,
            )  # fmt: skip
            if changed:
                tx.signal(CHANNEL, user_principal_id(name))
            tx.run(
                "UPDATE user_identities SET used_at = ? WHERE issuer = ? AND subject = ?",
                now, identity.issuer, identity.subject,
            )  # fmt: skip
            return name

        name = await self._db.write(work)
        if rights is None:
            raise _no_group(name)
        if name is None:
            raise LoginRefused(
                "There is no account for you here.", "no_user", hint="Ask the operator of this server for an account."
            )
        self._users.changed(name)
        user = await self._users.find(name)
        if user is None:
            raise LoginRefused("Your account here was just removed.", "no_user")
        return user


def _no_group(user: str | None) -> LoginRefused:
    refusal = LoginRefused(
        "You are logged in at your company, but none of your groups may use this server.",
        "no_group",
        hint="Ask the operator of this server to map one of your groups (login.provider.roles).",
    )
    refusal.user = user
    return refusal


def _known_user(tx: Transaction, identity: ProvenIdentity) -> str | None:
    return tx.value(
        "SELECT i.user_key FROM user_identities i JOIN users u ON u.name_key = i.user_key"
        " WHERE i.issuer = ? AND i.subject = ?",
        identity.issuer, identity.subject,
    )  # fmt: skip


def _new_user(tx: Transaction, identity: ProvenIdentity, role: Role, scopes: str, now: float) -> str | None:
    """Add a user without a password, under a name that has never been used."""
    wanted = _suggested_name(identity.name)
    for number in range(1, _MOST_TRIED):
        name = wanted if number == 1 else f"{wanted}-{number}"
        if tx.one("SELECT 1 FROM removed_users WHERE name_key = ?", name.lower()) is not None:
            continue
        added = tx.run(
            "INSERT INTO users (name_key, name, password_hash, role, scopes, created_at) VALUES (?, ?, '', ?, ?, ?)"
            " ON CONFLICT (name_key) DO NOTHING",
            name.lower(), name, role, scopes, now,
        )  # fmt: skip
        if added == 0:
            continue
        linked = tx.run(
            "INSERT INTO user_identities (issuer, subject, user_key, created_at, used_at) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (issuer, subject) DO NOTHING",
            identity.issuer, identity.subject, name.lower(), now, now,
        )  # fmt: skip
        if linked == 1:
            return name.lower()
        tx.run("DELETE FROM users WHERE name_key = ?", name.lower())  # another process was faster
        return _known_user(tx, identity)
    raise LoginRefused("There is no free user name for you.", "name", f"Every name like {wanted!r} is taken.")


def _suggested_name(text: str) -> str:
    """A user name derived from the provider's name for the person; from an e-mail address, the part before the @."""
    local = text.partition("@")[0] or text
    return _NOT_IN_NAMES.sub("-", local).strip("-.")[:_LONGEST_NAME] or "user"
