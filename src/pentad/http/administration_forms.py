"""What the forms on the pages of administration and of the account do. Each is a POST with a CSRF token.

After a change the browser is sent back to a page, so that reloading repeats nothing. An error is told on the page that
has the form. Rights and rules are in `pentad.administration`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from pentad.administration.rights import account_of, require
from pentad.administration.services import Administration
from pentad.console.administration import ACCOUNT, ADMIN, AdministrationPages, new_key_sheet
from pentad.console.routes import Console, Load
from pentad.http.guards.browser import form_fields, form_route
from pentad.http.guards.credentials import client_of
from pentad.http.login import see_other
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.pages import Sheet
from pentad.kernel.principal import Principal

Fields = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Posted:
    """A form that was sent."""

    admin: Administration
    actor: Principal
    path: Mapping[str, Any]
    fields: Fields
    address: str | None

    def text(self, name: str) -> str:
        return self.fields.get(name, "").strip()

    def scopes(self) -> list[str]:
        return self.text("scopes").replace(",", " ").split()

    def days(self) -> float:
        try:
            found = float(self.text("days"))
        except ValueError:
            found = -1.0
        if not 0 <= found <= 100_000:
            raise InvalidInput("Days is a number from 0 on.", hint="0 means that the key never expires.")
        return found

    def key(self) -> dict[str, Any]:
        return {"scopes": self.scopes() or None, "days": self.days(), "own_only": "own_only" in self.fields}


Do = Callable[[Posted], Awaitable[str | Sheet]]
"""Does what the form asks for; returns where to go then, or what to show."""


class AdministrationForms:
    """The routes of the forms."""

    def __init__(self, admin: Administration, console: Console, pages: AdministrationPages) -> None:
        self._admin = admin
        self._console = console
        self._pages = pages

    def routes(self) -> list[BaseRoute]:
        pages = self._pages
        return [
            self._route(ADMIN, "users", _add_user, pages.users),
            self._route(ADMIN, "users/{name}/rights", _change_rights, pages.user),
            self._route(ADMIN, "users/{name}/password", _set_password, pages.user),
            self._route(ADMIN, "users/{name}/logout", _log_user_out, pages.user),
            self._route(ADMIN, "users/{name}/remove", _remove_user, pages.user),
            self._route(ADMIN, "keys", _create_key, pages.keys),
            self._route(ADMIN, "keys/{id}/revoke", _revoke_key, pages.key),
            self._route(ADMIN, "clients/remove", _remove_client, pages.clients),
            self._route(ADMIN, "grants/{id}/revoke", _revoke_grant, pages.grant),
            self._route(ADMIN, "sessions/{id}/end", _end_session, pages.session),
            self._route(ADMIN, "jobs/{id:int}/retry", _retry_job, pages.job),
            self._route(ADMIN, "jobs/{id:int}/forget", _forget_job, pages.job),
            self._route(ACCOUNT, "password", _change_own_password, pages.account),
            self._route(ACCOUNT, "logout", _log_out_everywhere, pages.account),
            self._route(ACCOUNT, "keys", _create_own_key, pages.account),
            self._route(ACCOUNT, "keys/{id}/revoke", _revoke_own_key, pages.own_key),
            self._route(ACCOUNT, "grants/{id}/revoke", _revoke_own_grant, pages.own_grant),
            self._route(ACCOUNT, "sessions/{id}/end", _end_own_session, pages.own_session),
        ]

    def _route(self, part: str, path: str, do: Do, page: Load) -> BaseRoute:
        async def handle(request: Request) -> Response:
            """A form of the console."""
            fields = await form_fields(request)
            actor: Principal = request.state.principal
            posted = Posted(self._admin, actor, request.path_params, fields, client_of(request.scope))
            try:
                require(actor) if part == ADMIN else account_of(actor)  # before the fields are read
                done = await do(posted)
            except PentadError as error:
                return await self._console.answer(request, part, page, below=True, error=error)
            if isinstance(done, str):
                return see_other(done)
            shown = done

            async def load(_visit: object) -> Sheet:
                return shown

            return await self._console.answer(request, part, load, below=True)

        return form_route(f"/console/{part}/{path}", handle)


def _user_page(posted: Posted, done: str) -> str:
    return f"/console/admin/users/{quote(posted.path['name'], safe='')}?done={done}"


async def _add_user(posted: Posted) -> str:
    await posted.admin.accounts.add_user(
        posted.actor,
        posted.text("name"),
        posted.fields.get("password", ""),
        role=posted.text("role"),
        scopes=posted.scopes(),
    )
    return "/console/admin/users?done=added"


async def _change_rights(posted: Posted) -> str:
    await posted.admin.accounts.change_user(
        posted.actor, posted.path["name"], role=posted.text("role"), scopes=posted.scopes()
    )
    return _user_page(posted, "changed")


async def _set_password(posted: Posted) -> str:
    await posted.admin.accounts.set_password(posted.actor, posted.path["name"], posted.fields.get("password", ""))
    return _user_page(posted, "password")


async def _log_user_out(posted: Posted) -> str:
    await posted.admin.logins.end_sessions(posted.actor, posted.path["name"])
    return _user_page(posted, "ended")


async def _remove_user(posted: Posted) -> str:
    await posted.admin.accounts.remove_user(posted.actor, posted.path["name"])
    return "/console/admin/users?done=removed"


async def _create_key(posted: Posted) -> Sheet:
    made = await posted.admin.accounts.create_key(
        posted.actor, posted.text("label"), owner=posted.text("owner") or None, **posted.key()
    )
    return new_key_sheet(made, ADMIN)


async def _revoke_key(posted: Posted) -> str:
    await posted.admin.accounts.revoke_key(posted.actor, posted.path["id"])
    return f"/console/admin/keys/{posted.path['id']}?done=revoked"


async def _remove_client(posted: Posted) -> str:
    await posted.admin.logins.remove_client(posted.actor, posted.text("id"))
    return "/console/admin/clients?done=revoked"


async def _revoke_grant(posted: Posted) -> str:
    await posted.admin.logins.revoke_grant(posted.actor, posted.path["id"])
    return "/console/admin/grants?done=revoked"


async def _end_session(posted: Posted) -> str:
    await posted.admin.logins.end_session(posted.actor, posted.path["id"])
    return "/console/admin/sessions?done=ended"


async def _retry_job(posted: Posted) -> str:
    await posted.admin.server.retry_job(posted.actor, posted.path["id"])
    return "/console/admin/jobs?done=retried"


async def _forget_job(posted: Posted) -> str:
    await posted.admin.server.forget_job(posted.actor, posted.path["id"])
    return "/console/admin/jobs?done=forgotten"


async def _change_own_password(posted: Posted) -> str:
    await posted.admin.accounts.change_own_password(
        posted.actor, posted.fields.get("current", ""), posted.fields.get("password", ""), address=posted.address
    )
    return "/console/account?done=password"


async def _log_out_everywhere(posted: Posted) -> str:
    await posted.admin.logins.end_own_sessions(posted.actor)
    return "/console/account"


async def _create_own_key(posted: Posted) -> Sheet:
    made = await posted.admin.accounts.create_own_key(posted.actor, posted.text("label"), **posted.key())
    return new_key_sheet(made, ACCOUNT)


async def _revoke_own_key(posted: Posted) -> str:
    await posted.admin.accounts.revoke_own_key(posted.actor, posted.path["id"])
    return "/console/account?done=revoked"


async def _revoke_own_grant(posted: Posted) -> str:
    await posted.admin.logins.revoke_own_grant(posted.actor, posted.path["id"])
    return "/console/account?done=revoked"


async def _end_own_session(posted: Posted) -> str:
    await posted.admin.logins.end_own_session(posted.actor, posted.path["id"])
    return "/console/account?done=ended"
