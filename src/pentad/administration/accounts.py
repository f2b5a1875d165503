"""Users and API keys: administrators manage everyone's, users their own.

Every change is an event in the audit trail. REST, verbs and pages show what these functions return.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from pentad.access.api_keys import DEFAULT_LIFETIME, ApiKey, ApiKeys, NewKey
from pentad.access.audit import AuditTrail
from pentad.access.scopes import READ_ONLY, ROLE_ACTIONS, checked_role, checked_scopes, role_scopes, scopes_of
from pentad.access.users import FIRST_ADMIN, User, Users, no_such_user, user_principal_id
from pentad.administration.rights import (
    account_of,
    require,
    require_in_person,
    require_not_above,
    require_within,
)
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Forbidden, Unauthenticated
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.rights import refuse_anonymous

CheckPassword = Callable[[str, str, str | None], Awaitable[None]]
"""Raises if the password (of this user, from this address) is wrong. Wrong ones count as failed logins."""
DAY: Final = 86_400.0


class Accounts:
    """The use cases. `actor` is always the caller."""

    def __init__(
        self, users: Users, keys: ApiKeys, audit: AuditTrail, clock: Clock, check_password: CheckPassword
    ) -> None:
        self._users = users
        self._keys = keys
        self._audit = audit
        self._clock = clock
        self._check_password = check_password

    # Users, for administrators

    async def users(self, actor: Principal) -> list[dict[str, Any]]:
        """Every user, by name."""
        require(actor)
        return [user_json(user) for user in await self._users.all()]

    async def user(self, actor: Principal, name: str) -> dict[str, Any]:
        """One user."""
        require(actor)
        return user_json(await self._user(name))

    async def add_user(
        self, actor: Principal, name: str, password: str, *, role: str = "reader", scopes: Iterable[str] = ()
    ) -> dict[str, Any]:
        """Add a user."""
        require(actor)
        wanted = checked_scopes(scopes)
        require_within(actor, scopes_of([checked_role(role)], wanted))
        user = await self._users.add(name, password, role=role, scopes=wanted)
        self._audit.event(actor, "user added", target=user.principal_id, reason=_rights(user))
        return user_json(user)

    async def ensure_first_admin(self, password: str | None = None) -> str | None:
        """At startup with no users in the store, make `admin`; returns the password if this call made the user."""
        made = await self._users.ensure_first_admin(password)
        if made is not None:
            target = user_principal_id(FIRST_ADMIN)
            self._audit.event(LOCAL, "user added", target=target, reason="admin, the first user of this store")
        return made

    async def change_user(
        self, actor: Principal, name: str, *, role: str | None = None, scopes: Iterable[str] | None = None
    ) -> dict[str, Any]:
        """Give a user another role, or other extra scopes."""
        require(actor)
        before = await self._user(name)
        require_not_above(actor, before)
        wanted = before.scopes if scopes is None else checked_scopes(scopes)
        new_role = before.role if role is None else checked_role(role)
        require_within(actor, scopes_of([new_role], wanted))
        user = await self._users.change(name, role=new_role, scopes=wanted)
        self._audit.event(actor, "user changed", target=user.principal_id, reason=_rights(user))
        return user_json(user)

    async def set_password(self, actor: Principal, name: str, password: str) -> dict[str, Any]:
        """Replace a user's password; logins with the old one end."""
        require(actor)
        user = await self._user(name)
        require_not_above(actor, user)
        await self._users.set_password(name, password)
        self._audit.event(actor, "password set", target=user.principal_id)
        return user_json(user)

    async def remove_user(self, actor: Principal, name: str) -> dict[str, Any]:
        """Remove a user and revoke their keys."""
        require(actor)
        user = await self._user(name)
        require_not_above(actor, user)
        await self._users.remove(name, may_empty=actor.kind == "local")
        self._audit.event(actor, "user removed", target=user.principal_id)
        return user_json(user)

    def roles(self, actor: Principal) -> list[dict[str, Any]]:
        """The roles and what they allow."""
        require(actor)
        return [{"role": role, "scopes": sorted(role_scopes(role))} for role in ROLE_ACTIONS]

    # Keys, for administrators

    async def keys(self, actor: Principal, *, owner: str | None = None) -> list[dict[str, Any]]:
        """Every key, or those of one owner, newest first."""
        require(actor)
        return [self._key_json(key) for key in await self._keys.all(owner=owner)]

    async def create_key(
        self,
        actor: Principal,
        label: str,
        *,
        owner: str | None = None,
        scopes: Iterable[str] | None = None,
        days: float | None = None,
        own_only: bool = False,
    ) -> dict[str, Any]:
        """Make a key for a user, or one that is a principal itself. Only this answer has the token.

        `days` is the lifetime: None means the usual one, 0 that the key never expires.
        """
        require(actor)
        if owner is not None and (user := await self._users.find(owner)) is not None:
            require_not_above(actor, user)
        return await self._create_key(actor, label, owner, scopes, days, own_only)

    async def revoke_key(self, actor: Principal, key_id: str) -> dict[str, Any]:
        """Revoke a key for good."""
        require(actor)
        await self._keys.revoke(key_id)
        self._audit.event(actor, "key revoked", target=f"key:{key_id}")
        return {"id": key_id, "state": "revoked"}

    # The caller's own account

    def account(self, actor: Principal) -> dict[str, Any]:
        """Who the caller is, and what they may do."""
        refuse_anonymous(actor)
        user = None if actor.user is None else actor.user.removeprefix("user:")
        shown = {"id": actor.id, "name": actor.name, "user": user, "scopes": sorted(actor.scopes)}
        return {**shown, "credential": actor.credential} if actor.credential else shown

    async def change_own_password(
        self, actor: Principal, current: str, password: str, *, address: str | None = None
    ) -> dict[str, Any]:
        """Replace the caller's own password; requires the current one."""
        name = require_in_person(actor)
        try:
            await self._check_password(name, current, address)
        except Unauthenticated:
            self._audit.event(actor, "password changed", target=user_principal_id(name), outcome="forbidden")
            raise Forbidden("The current password is wrong.", hint="Check it and try again.") from None
        await self._users.set_password(name, password)
        self._audit.event(actor, "password changed", target=user_principal_id(name))
        return {"name": name}

    async def own_keys(self, actor: Principal) -> list[dict[str, Any]]:
        """The caller's own keys, newest first."""
        return [self._key_json(key) for key in await self._keys.all(owner=account_of(actor))]

    async def create_own_key(
        self,
        actor: Principal,
        label: str,
        *,
        scopes: Iterable[str] | None = None,
        days: float | None = None,
        own_only: bool = False,
    ) -> dict[str, Any]:
        """Make a key that acts as the caller."""
        name = require_in_person(actor)
        return await self._create_key(actor, label, name, scopes, days, own_only)

    async def revoke_own_key(self, actor: Principal, key_id: str) -> dict[str, Any]:
        """Revoke one of the caller's keys; those of others look unknown."""
        await self._keys.revoke(key_id, owner=account_of(actor, "write"))
        self._audit.event(actor, "key revoked", target=f"key:{key_id}")
        return {"id": key_id, "state": "revoked"}

    async def _user(self, name: str) -> User:
        user = await self._users.find(name)
        if user is None:
            raise no_such_user(name)
        return user

    async def _create_key(
        self,
        actor: Principal,
        label: str,
        owner: str | None,
        scopes: Iterable[str] | None,
        days: float | None,
        own_only: bool,
    ) -> dict[str, Any]:
        wanted = READ_ONLY if scopes is None else checked_scopes(scopes)
        require_within(actor, wanted)
        lifetime = DEFAULT_LIFETIME if days is None else days * DAY or None
        made: NewKey = await self._keys.create(label, owner=owner, scopes=wanted, lifetime=lifetime, own_only=own_only)
        whose = "" if made.key.owner is None else f"of {user_principal_id(made.key.owner)}, "
        reason = f"{whose}{' '.join(sorted(made.key.scopes))}"
        self._audit.event(actor, "key created", target=made.key.credential, reason=reason)
        return {**self._key_json(made.key), "token": made.token}

    def _key_json(self, key: ApiKey) -> dict[str, Any]:
        return {
            "id": key.id,
            "label": key.label,
            "owner": key.owner,
            "scopes": sorted(key.scopes),
            "own_only": key.own_only,
            "created": iso(key.created_at),
            "expires": None if key.expires_at is None else iso(key.expires_at),
            "last_used": None if key.last_used_at is None else iso(key.last_used_at),
            "state": self._state(key),
        }

    def _state(self, key: ApiKey) -> str:
        if key.revoked_at is not None:
            return "revoked"
        return "expired" if key.expires_at is not None and key.expires_at <= self._clock.now() else "active"


def user_json(user: User) -> dict[str, Any]:
    """A user for REST, verbs and pages."""
    return {
        "name": user.name,
        "role": user.role,
        "scopes": sorted(user.scopes),
        "created": iso(user.created_at),
    }


def _rights(user: User) -> str:
    return " ".join([user.role, *sorted(user.scopes)])
