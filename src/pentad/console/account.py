"""The pages of the visitor's own account (`/console/account`)."""

from pentad.administration.services import Administration
from pentad.console.admin_page import ACCOUNT, AdminPage, one_of, page_sheet
from pentad.console.audit_trail import entries_table, pager
from pentad.console.credentials import (
    grant_sheet,
    grants_table,
    key_fields,
    key_sheet,
    keys_table,
    new_password,
    session_sheet,
    sessions_table,
)
from pentad.kernel.errors import Forbidden
from pentad.kernel.pages import Block, Button, Cell, Facts, Form, Links, Place, Section, Sheet, TextField, Visit


class AccountPages:
    """The pages of the visitor's own account: keys, programs, browsers, password and activity."""

    def __init__(self, admin: Administration) -> None:
        self._admin = admin

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [
            AdminPage(ACCOUNT, "", self.account),
            AdminPage(ACCOUNT, "keys/{id}", self.key),
            AdminPage(ACCOUNT, "grants/{id}", self.grant),
            AdminPage(ACCOUNT, "sessions/{id}", self.session),
            AdminPage(ACCOUNT, "activity", self.activity),
        ]

    async def account(self, visit: Visit) -> Sheet:
        actor = visit.principal
        who = self._admin.accounts.account(actor)
        if who["user"] is None:
            raise Forbidden("You have no account on this server.", hint="Log in with a user name and password.")
        facts = Facts([("Name", who["name"]), ("Scopes", " ".join(who["scopes"]))])
        password = Form(
            [
                TextField("current", "Current password", kind="password", autocomplete="current-password"),
                new_password(),
            ],
            [Button("Change password")],
            "/console/account/password",
        )
        make_key = Form(key_fields(), [Button("Create key")], "/console/account/keys")
        blocks: list[Block] = [
            facts,
            Links([Cell("Your activity", Place(("activity",)))]),
            Section("API keys", [
                keys_table(await self._admin.accounts.own_keys(actor), ACCOUNT),
                Section("Create a key", [make_key], folded=True),
            ]),
            Section("Programs that act for you", [grants_table(await self._admin.logins.own_grants(actor), ACCOUNT)]),
            Section("Browsers", [
                sessions_table(await self._admin.logins.own_sessions(actor), ACCOUNT),
                Form((), [Button("Log out in all browsers", kind="plain")], "/console/account/logout"),
            ]),
            Section("Password", [password], folded=True),
        ]  # fmt: skip
        return page_sheet(visit, "Account", blocks)

    async def key(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.accounts.own_keys(visit.principal), visit.path["id"], "key")
        return key_sheet(visit, found, ACCOUNT, ())

    async def grant(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.logins.own_grants(visit.principal), visit.path["id"], "grant")
        return grant_sheet(visit, found, ACCOUNT, ())

    async def session(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.logins.own_sessions(visit.principal), visit.path["id"], "session")
        return session_sheet(visit, found, ACCOUNT, ())

    async def activity(self, visit: Visit) -> Sheet:
        page = await self._admin.trail.own_page(visit.principal, {}, cursor=visit.asked("cursor") or None)
        table = entries_table(page["entries"], {}, visit)
        blocks: list[Block] = [table, pager(page["cursor"], Place(("activity",)), visit)]
        return Sheet("Your activity", blocks, lead="What you did, and what programs did for you.")
