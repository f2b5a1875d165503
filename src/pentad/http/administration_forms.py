"""The actions behind the forms on the administration and account pages. `pentad.administration` checks the rights."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from pentad.administration.rights import account_of, require
from pentad.administration.services import Administration
from pentad.console.account import AccountPages
from pentad.console.admin_page import ACCOUNT, ADMIN
from pentad.console.administration import AdministrationPages
from pentad.console.credentials import new_key_sheet
from pentad.console.routes import Console, Load
from pentad.http.forms import Fields, page_form
from pentad.http.guards.credentials import client_of
from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import Sheet
from pentad.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Posted:
    """A submitted form."""

    admin: Administration
    actor: Principal
    path: Mapping[str, Any]
    fields: Fields
    address: str | None

    @property
    def name(self) -> str:
        """The user in the form's path."""
        return self.path["name"]

    @property
    def id(self) -> Any:
        """The id in the form's path."""
        return self.path["id"]

    def text(self, name: str) -> str:
        return self.fields.get(name, "").strip()

    def password(self, name: str = "password") -> str:
        """A field whose spaces are kept."""
        return self.fields.get(name, "")

    def scopes(self) -> list[str]:
        return self.text("scopes").replace(",", " ").split()

    def days(self) -> float:
        try:
            found = float(self.text("days"))
        except ValueError:
            found = -1.0
        if not 0 <= found <= 100_000:
            raise InvalidInput("The days must be a number, 0 or more.", hint="With 0 the key never expires.")
        return found

    def key(self) -> dict[str, Any]:
        return {"scopes": self.scopes() or None, "days": self.days(), "own_only": "own_only" in self.fields}


Do = Callable[[Posted], Awaitable[Any]]
"""Performs a form's action. If it returns a page, that page is shown."""


class AdministrationForms:
    """The routes of the forms."""

    def __init__(
        self, admin: Administration, console: Console, pages: AdministrationPages, account: AccountPages
    ) -> None:
        self._admin = admin
        self._console = console
        self._pages = pages
        self._account = account

    def routes(self) -> list[BaseRoute]:
        """A route for each form: its path, its page, its action, and where the browser goes afterwards."""
        accounts, logins, server = self._admin.accounts, self._admin.logins, self._admin.server
        pages, account = self._pages, self._account
        of_admin: list[tuple[str, Load, Do, str]] = [
            ("users", pages.users, _add_user, "/users?done=added"),
            ("users/{name}/rights", pages.user, _change_rights, "/users/{name}?done=changed"),
            ("users/{name}/password", pages.user,
             lambda it: accounts.set_password(it.actor, it.name, it.password()), "/users/{name}?done=password"),
            ("users/{name}/logout", pages.user,
             lambda it: logins.end_sessions(it.actor, it.name), "/users/{name}?done=all-ended"),
            ("users/{name}/remove", pages.user,
             lambda it: accounts.remove_user(it.actor, it.name), "/users?done=removed"),
            ("keys", pages.keys, _create_key, ""),
            ("keys/{id}/revoke", pages.key,
             lambda it: accounts.revoke_key(it.actor, it.id), "/keys/{id}?done=key-revoked"),
            ("clients/remove", pages.clients,
             lambda it: logins.remove_client(it.actor, it.text("id")), "/clients?done=client-removed"),
            ("grants/{id}/revoke", pages.grant,
             lambda it: logins.revoke_grant(it.actor, it.id), "/grants?done=grant-revoked"),
            ("sessions/{id}/end", pages.session,
             lambda it: logins.end_session(it.actor, it.id), "/sessions?done=ended"),
            ("jobs/{id:int}/retry", pages.job, lambda it: server.retry_job(it.actor, it.id), "/jobs?done=retried"),
            ("jobs/{id:int}/forget", pages.job, lambda it: server.forget_job(it.actor, it.id), "/jobs?done=forgotten"),
        ]  # fmt: skip
        of_account: list[tuple[str, Load, Do, str]] = [
            ("password", account.account, _change_own_password, "?done=password"),
            ("logout", account.account, lambda it: logins.end_own_sessions(it.actor), ""),
            ("keys", account.account, _create_own_key, ""),
            ("keys/{id}/revoke", account.key, lambda it: accounts.revoke_own_key(it.actor, it.id), "?done=key-revoked"),
            ("grants/{id}/revoke", account.grant,
             lambda it: logins.revoke_own_grant(it.actor, it.id), "?done=grant-revoked"),
            ("sessions/{id}/end", account.session, lambda it: logins.end_own_session(it.actor, it.id), "?done=ended"),
        ]  # fmt: skip
        return [
            *(self._route(ADMIN, path, page, do, then) for path, page, do, then in of_admin),
            *(self._route(ACCOUNT, path, page, do, then) for path, page, do, then in of_account),
        ]

    def _route(self, part: str, path: str, page: Load, do: Do, then: str) -> BaseRoute:
        async def checked(request: Request, fields: Fields) -> object:
            actor: Principal = request.state.principal
            require(actor) if part == ADMIN else account_of(actor)  # before the fields are read
            return await do(Posted(self._admin, actor, request.path_params, fields, client_of(request.scope)))

        return page_form(self._console, part, path, page, checked, then)


async def _add_user(posted: Posted) -> None:
    name, password = posted.text("name"), posted.password()
    role, scopes = posted.text("role"), posted.scopes()
    await posted.admin.accounts.add_user(posted.actor, name, password, role=role, scopes=scopes)


async def _change_rights(posted: Posted) -> None:
    role, scopes = posted.text("role"), posted.scopes()
    await posted.admin.accounts.change_user(posted.actor, posted.name, role=role, scopes=scopes)


async def _create_key(posted: Posted) -> Sheet:
    made = await posted.admin.accounts.create_key(
        posted.actor, posted.text("label"), owner=posted.text("owner") or None, **posted.key()
    )
    return new_key_sheet(made, ADMIN)


async def _change_own_password(posted: Posted) -> None:
    current, new = posted.password("current"), posted.password()
    await posted.admin.accounts.change_own_password(posted.actor, current, new, address=posted.address)


async def _create_own_key(posted: Posted) -> Sheet:
    made = await posted.admin.accounts.create_own_key(posted.actor, posted.text("label"), **posted.key())
    return new_key_sheet(made, ACCOUNT)
