"""Browser sessions and OAuth clients that act for users: administrators manage everyone's, users their own."""

from typing import Any

from pentad.access.audit import AuditTrail
from pentad.access.browser_sessions import BrowserSessions, Login
from pentad.access.oauth.clients import Client, Clients
from pentad.access.oauth.grants import Grant, Grants
from pentad.access.users import Users, user_principal_id
from pentad.administration.rights import account_of, require, require_not_above
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import NotFound
from pentad.kernel.principal import LOCAL, Principal


class Logins:
    """The use cases. `actor` is always the caller."""

    def __init__(
        self, users: Users, sessions: BrowserSessions, grants: Grants, clients: Clients, audit: AuditTrail, clock: Clock
    ) -> None:
        self._users = users
        self._sessions = sessions
        self._grants = grants
        self._clients = clients
        self._audit = audit
        self._clock = clock

    # Browser sessions

    async def sessions(self, actor: Principal, *, user: str | None = None) -> list[dict[str, Any]]:
        """Every browser session, or those of one user, last used first."""
        require(actor)
        found = await (self._sessions.all() if user is None else self._sessions.of_user(user))
        return [_session_json(one, actor) for one in found]

    async def end_session(self, actor: Principal, session_id: str) -> dict[str, Any]:
        """Log out one browser."""
        require(actor)
        return await self._end_session(actor, session_id, await self._sessions.all())

    async def own_sessions(self, actor: Principal) -> list[dict[str, Any]]:
        """The caller's own browser sessions."""
        return [_session_json(one, actor) for one in await self._sessions.of_user(account_of(actor))]

    async def end_own_session(self, actor: Principal, session_id: str) -> dict[str, Any]:
        """Log out one of the caller's browsers; the sessions of others look unknown."""
        owner = account_of(actor, "write")
        return await self._end_session(actor, session_id, await self._sessions.of_user(owner))

    async def end_own_sessions(self, actor: Principal) -> dict[str, Any]:
        """Log the caller out in all browsers."""
        return await self._end_sessions(actor, account_of(actor, "write"))

    async def end_sessions(self, actor: Principal, user: str) -> dict[str, Any]:
        """Log a user out in all browsers."""
        require(actor)
        return await self._end_sessions(actor, user)

    async def make_link(self, actor: Principal, user: str) -> str:
        """The token of a link that logs a user in once. It is as good as a password, for ten minutes."""
        require(actor)
        found = await self._users.find(user)
        if found is not None:
            require_not_above(actor, found)
        token = await self._sessions.make_link(user)
        self._audit.event(actor, "login link made", target=user_principal_id(user))
        return token

    async def make_first_link(self) -> str | None:
        """The same at startup, for the first administrator; None if there is none."""
        admin = await self._users.first_admin()
        return None if admin is None else await self.make_link(LOCAL, admin.name)

    # Clients and grants

    async def grants(self, actor: Principal, *, user: str | None = None) -> list[dict[str, Any]]:
        """Every grant, or those of one user, newest first."""
        require(actor)
        found = await (self._grants.all() if user is None else self._grants.of_user(user))
        return [self._grant_json(one) for one in found]

    async def revoke_grant(self, actor: Principal, grant_id: str) -> dict[str, Any]:
        """End a grant and its tokens."""
        require(actor)
        return await self._revoke_grant(actor, grant_id, None)

    async def own_grants(self, actor: Principal) -> list[dict[str, Any]]:
        """The caller's own grants, newest first."""
        return [self._grant_json(one) for one in await self._grants.of_user(account_of(actor))]

    async def revoke_own_grant(self, actor: Principal, grant_id: str) -> dict[str, Any]:
        """End one of the caller's grants; those of others look unknown."""
        return await self._revoke_grant(actor, grant_id, account_of(actor, "write"))

    async def clients(self, actor: Principal) -> list[dict[str, Any]]:
        """Every OAuth client, newest first, with the number of its live grants."""
        require(actor)
        now = self._clock.now()
        live = [one.client_id for one in await self._grants.all() if one.is_live(now)]
        return [_client_json(one, live.count(one.id)) for one in await self._clients.all()]

    async def remove_client(self, actor: Principal, client_id: str) -> dict[str, Any]:
        """Forget a client and end all its grants."""
        require(actor)
        await self._clients.remove(client_id)
        ended = await self._grants.revoke_client(None, client_id, why="Its client was removed.")
        self._audit.event(actor, "client removed", target=f"client:{client_id}", reason=f"{ended} grants ended")
        return {"id": client_id, "grants": ended}

    async def _end_session(self, actor: Principal, session_id: str, among: list[Login]) -> dict[str, Any]:
        found = next((one for one in among if one.id == session_id), None)
        if found is None or not await self._sessions.end(session_id):
            raise NotFound(f"There is no session {session_id[:80]!r}.", hint="List the sessions to see their ids.")
        target = f"session:{session_id}"
        self._audit.event(actor, "session ended", target=target, reason=f"of {user_principal_id(found.user)}")
        return {"id": session_id, "user": found.user}

    async def _end_sessions(self, actor: Principal, user: str) -> dict[str, Any]:
        ended = await self._sessions.end_all(user)
        self._audit.event(actor, "sessions ended", target=user_principal_id(user), reason=f"{ended} sessions")
        return {"user": user, "ended": ended}

    async def _revoke_grant(self, actor: Principal, grant_id: str, user: str | None) -> dict[str, Any]:
        grant = await self._grants.revoke(grant_id, user=user)
        reason = f"of {user_principal_id(grant.user)} for {grant.client_name}"
        self._audit.event(actor, "grant revoked", target=grant.credential, reason=reason)
        return {"id": grant_id, "state": "revoked"}

    def _grant_json(self, grant: Grant) -> dict[str, Any]:
        state = (
            "revoked" if grant.revoked_at is not None else "active" if grant.is_live(self._clock.now()) else "expired"
        )
        return {
            "id": grant.id,
            "user": grant.user,
            "client": grant.client_id,
            "client_name": grant.client_name,
            "client_host": grant.client_host,
            "scopes": sorted(grant.scopes),
            "resources": list(grant.resources),
            "created": iso(grant.created_at),
            "expires": iso(grant.expires_at),
            "last_used": None if grant.last_used_at is None else iso(grant.last_used_at),
            "state": state,
            "revoked_why": grant.revoked_why,
        }


def _session_json(one: Login, actor: Principal) -> dict[str, Any]:
    return {
        "id": one.id,
        "user": one.user,
        "method": one.method,
        "browser": one.browser,
        "address": one.address,
        "created": iso(one.created_at),
        "last_used": iso(one.used_at),
        "expires": iso(one.expires_at),
        "current": actor.credential == f"session:{one.id}",
    }


def _client_json(one: Client, grants: int) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "kind": one.kind,
        "verified_host": one.verified_host,
        "redirect_uris": list(one.redirect_uris),
        "created": iso(one.created_at),
        "last_used": None if one.used_at is None else iso(one.used_at),
        "grants": grants,
    }
