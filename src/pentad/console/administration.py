"""The pages of administration (`/console/admin`).

`pentad.administration` supplies the data and checks the rights. Each list links to a page for each item, which has the
buttons. `http/administration_forms.py` carries out the forms.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from pentad.administration.rights import AUDIT, require
from pentad.administration.services import Administration
from pentad.console.admin_page import ADMIN, TRAIL, AdminPage, Row, day, one_of, page_sheet
from pentad.console.credentials import (
    SCOPES_HINT,
    grant_sheet,
    grants_table,
    key_fields,
    key_sheet,
    keys_table,
    new_password,
    session_sheet,
    sessions_table,
)
from pentad.kernel.clock import to_minute
from pentad.kernel.pages import (
    Block,
    Button,
    Card,
    Cards,
    Cell,
    Choice,
    Column,
    Facts,
    Form,
    Hidden,
    Links,
    Note,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    TextField,
    Visit,
)

Health = Callable[[], Awaitable[dict[str, Any]]]

_ROLES: Final = (("reader", "reader"), ("writer", "writer"), ("admin", "admin"))


class AdministrationPages:
    """The pages of one server."""

    def __init__(self, admin: Administration, health: Health, rooms: Mapping[str, Pages[Any]] | None = None) -> None:
        self._admin = admin
        self._health = health
        self._room_cards = [
            Card(Cell(title, Place((path,), room=room)), text)
            for room, pages in (rooms or {}).items()
            for path, title, text in pages.administration
        ]

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [
            AdminPage(ADMIN, "", self.overview),
            AdminPage(ADMIN, "users", self.users),
            AdminPage(ADMIN, "users/{name}", self.user),
            AdminPage(ADMIN, "keys", self.keys),
            AdminPage(ADMIN, "keys/{id}", self.key),
            AdminPage(ADMIN, "clients", self.clients),
            AdminPage(ADMIN, "client", self.client),
            AdminPage(ADMIN, "grants", self.grants),
            AdminPage(ADMIN, "grants/{id}", self.grant),
            AdminPage(ADMIN, "sessions", self.sessions),
            AdminPage(ADMIN, "sessions/{id}", self.session),
            AdminPage(ADMIN, "settings", self.settings),
            AdminPage(ADMIN, "jobs", self.jobs),
            AdminPage(ADMIN, "jobs/{id:int}", self.job),
            AdminPage(ADMIN, "health", self.health),
        ]

    async def overview(self, visit: Visit) -> Sheet:
        actor = visit.principal
        require(actor)
        users, keys = await self._admin.accounts.users(actor), await self._admin.accounts.keys(actor)
        jobs, health = await self._admin.server.jobs(actor, limit=1), await self._health()
        grants, sessions = await self._admin.logins.grants(actor), await self._admin.logins.sessions(actor)
        clients = await self._admin.logins.clients(actor)
        counts = jobs["counts"]
        entries: list[tuple[str, str, str, Sequence[tuple[str, str]]]] = [
            (
                "users",
                "Users",
                "Who may log in, and with which role.",
                [("user" if len(users) == 1 else "users", str(len(users)))],
            ),
            ("keys", "API keys", "Credentials for programs.", [("active", str(_active(keys)))]),
            (
                "clients",
                "OAuth clients",
                "Programs that asked for access.",
                [("client" if len(clients) == 1 else "clients", str(len(clients)))],
            ),
            ("grants", "Grants", "Which client acts for which user.", [("active", str(_active(grants)))]),
            (
                "sessions",
                "Sessions",
                "Browsers with a login.",
                [("session" if len(sessions) == 1 else "sessions", str(len(sessions)))],
            ),
            ("jobs", "Jobs", "Background work, and what failed.", [("dead", str(counts["dead"]))]),
            ("settings", "Settings", "Every setting, its value and its source.", []),
            ("health", "Health", "The store, the rooms and the audit trail.", [("", str(health["status"]))]),
        ]
        cards = [Card(Cell(title, Place((path,))), text, figures) for path, title, text, figures in entries]
        cards += self._room_cards
        return Sheet("Administration", [Cards(cards)])

    # Users

    async def users(self, visit: Visit) -> Sheet:
        found = await self._admin.accounts.users(visit.principal)
        rows = [
            [
                Cell(one["name"], Place(("users", one["name"]))),
                one["role"],
                " ".join(one["scopes"]),
                day(one["created"]),
            ]
            for one in found
        ]
        add = Form(
            [
                TextField("name", "Name", hint="Letters, digits and the signs . _ @ -"),
                TextField("password", "Password", kind="password", autocomplete="new-password"),
                Choice("role", "Role", _ROLES, "reader"),
                TextField("scopes", "Extra scopes", hint=SCOPES_HINT, required=False),
            ],
            [Button("Add user")],
            "/console/admin/users",
        )
        table = Table(("Name", Column("Role", short=True), "Extra scopes", Column("Added", short=True)), rows)
        lead = "Readers may read in every room, writers may also change things, admins may also run the server."
        return page_sheet(visit, "Users", [table, Section("Add a user", [add])], lead=lead)

    async def user(self, visit: Visit) -> Sheet:
        actor, name = visit.principal, visit.path["name"]
        user = await self._admin.accounts.user(actor, name)
        shown: str = user["name"]
        facts = Facts(
            [("Role", user["role"]), ("Extra scopes", " ".join(user["scopes"])), ("Added", to_minute(user["created"]))]
        )
        where = f"/console/admin/users/{shown}"
        blocks: list[Block] = [facts]
        if actor.may(AUDIT, "admin"):
            blocks.append(Links([Cell("What this user did", Place(query={"user": shown}, room=TRAIL))]))
        blocks += [
            Section("API keys", [keys_table(await self._admin.accounts.keys(actor, owner=shown), ADMIN)]),
            Section("Grants", [grants_table(await self._admin.logins.grants(actor, user=shown), ADMIN)]),
            Section("Sessions", [sessions_table(await self._admin.logins.sessions(actor, user=shown), ADMIN)]),
            Section(
                "Rights",
                [
                    Form(
                        [
                            Choice("role", "Role", _ROLES, user["role"]),
                            TextField("scopes", "Extra scopes", " ".join(user["scopes"]), SCOPES_HINT, required=False),
                        ],
                        [Button("Change rights")],
                        f"{where}/rights",
                    )
                ],
            ),
            Section("Password", [Form([new_password()], [Button("Set password")], f"{where}/password")], folded=True),
            Section(
                "Log out or remove",
                [
                    Form((), [Button("Log out in all browsers", kind="plain")], f"{where}/logout"),
                    Note("Removing a user also revokes their keys and grants."),
                    Form((), [Button(f"Remove {shown}", kind="bad")], f"{where}/remove"),
                ],
                folded=True,
            ),
        ]
        return page_sheet(visit, shown, blocks, _back("Users", "users"))

    # Keys

    async def keys(self, visit: Visit) -> Sheet:
        actor = visit.principal
        found = await self._admin.accounts.keys(actor)
        owners = [("", "no owner: the key acts as itself")]
        owners += [(user["name"], user["name"]) for user in await self._admin.accounts.users(actor)]
        form = Form([*key_fields()[:1], Choice("owner", "Owner", owners, visit.principal.name), *key_fields()[1:]],
                    [Button("Create key")], "/console/admin/keys")  # fmt: skip
        lead = "Keys let programs in. A key with an owner acts as that user, and never with more rights."
        return page_sheet(visit, "API keys", [keys_table(found, ADMIN), Section("Create a key", [form])], lead=lead)

    async def key(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.accounts.keys(visit.principal), visit.path["id"], "key")
        return key_sheet(visit, found, ADMIN, _back("API keys", "keys"))

    # Clients, grants and sessions

    async def clients(self, visit: Visit) -> Sheet:
        rows = [
            [
                Cell(one["name"], Place(("client",), {"id": one["id"]})), one["kind"], one["verified_host"] or "",
                str(one["grants"]), day(one["created"]), day(one["last_used"]),
            ]
            for one in await self._admin.logins.clients(visit.principal)
        ]  # fmt: skip
        columns = ("Name", Column("Kind", short=True), "Verified host", Column("Grants", numeric=True),
                   Column("Since", short=True), Column("Last used", short=True))  # fmt: skip
        table = Table(columns, rows, "No program has asked for access yet.")
        lead = "Programs that asked to act for users. Open one to remove it and revoke its grants."
        return page_sheet(visit, "OAuth clients", [table], lead=lead)

    async def client(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.logins.clients(visit.principal), visit.asked("id"), "client")
        facts = Facts(
            [
                ("Id", found["id"]),
                ("Kind", found["kind"]),
                ("Verified host", found["verified_host"] or "none: the client chose its name itself"),
                ("Redirects to", "\n".join(found["redirect_uris"])),
                ("Since", to_minute(found["created"])),
                ("Last used", to_minute(found["last_used"])),
                ("Active grants", str(found["grants"])),
            ]
        )
        form = Form([Hidden("id", found["id"])], [Button("Remove client and revoke its grants", kind="bad")],
                    "/console/admin/clients/remove")  # fmt: skip
        return page_sheet(visit, found["name"], [facts, form], _back("OAuth clients", "clients"))

    async def grants(self, visit: Visit) -> Sheet:
        table = grants_table(await self._admin.logins.grants(visit.principal), ADMIN)
        lead = "Each grant lets a client act for a user. Open one to revoke it."
        return page_sheet(visit, "Grants", [table], lead=lead)

    async def grant(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.logins.grants(visit.principal), visit.path["id"], "grant")
        return grant_sheet(visit, found, ADMIN, _back("Grants", "grants"))

    async def sessions(self, visit: Visit) -> Sheet:
        table = sessions_table(await self._admin.logins.sessions(visit.principal), ADMIN)
        lead = "Browsers in which users are logged in. Open one to log it out."
        return page_sheet(visit, "Sessions", [table], lead=lead)

    async def session(self, visit: Visit) -> Sheet:
        found = one_of(await self._admin.logins.sessions(visit.principal), visit.path["id"], "session")
        return session_sheet(visit, found, ADMIN, _back("Sessions", "sessions"))

    # The server

    async def settings(self, visit: Visit) -> Sheet:
        asked = visit.asked()
        rows = [
            [one["path"], one["value"], f"{one['source']} {one['place']}".rstrip(), one["about"]]
            for one in self._admin.server.settings(visit.principal)
            if asked in one["path"] or asked.lower() in one["about"].lower()
        ]
        table = Table(("Setting", "Value", "Source", "Description"), rows, "No setting matches.")
        lead = "Read at start, from the configuration file, the environment and the command line. Secrets are masked."
        return page_sheet(visit, "Settings", [SearchBox("Find a setting", asked), table], lead=lead)

    async def jobs(self, visit: Visit) -> Sheet:
        state = visit.asked("state") or None
        found = await self._admin.server.jobs(visit.principal, state=state, limit=200)
        rows = [
            [
                Cell(f"{one['name']} {one['key'] or ''}".rstrip(), Place(("jobs", one["id"]))), one["state"],
                str(one["attempt"]), to_minute(one["due"]), one["error"],
            ]
            for one in found["jobs"]
        ]  # fmt: skip
        links = [Cell(f"{one}: {count}", Place(("jobs",), {"state": one})) for one, count in found["counts"].items()]
        columns = (
            "Job",
            Column("State", short=True),
            Column("Attempt", numeric=True),
            Column("Due", short=True),
            "Error",
        )
        table = Table(columns, rows, "There are no such jobs.")
        lead = "Background work that is not done. A dead job has failed for good: open it to retry or delete it."
        return page_sheet(visit, "Jobs", [Links([Cell("all", Place(("jobs",))), *links]), table], lead=lead)

    async def job(self, visit: Visit) -> Sheet:
        found = await self._admin.server.job(visit.principal, visit.path["id"])
        facts = Facts(
            [
                ("State", found["state"]),
                ("Key", found["key"] or ""),
                ("Attempt", str(found["attempt"])),
                ("Queued", to_minute(found["created"])),
                ("Changed", to_minute(found["changed"])),
                ("Due", to_minute(found["due"])),
                ("Needs rooms", ", ".join(found["needs"])),
                ("Error", found["error"]),
            ]
        )
        where = f"/console/admin/jobs/{found['id']}"
        retry = Form((), [Button("Retry job")], f"{where}/retry")
        forget = Form((), [Button("Delete job", kind="bad")], f"{where}/forget")
        blocks: list[Block] = [facts, retry, forget] if found["state"] == "dead" else [facts]
        return page_sheet(visit, found["name"], blocks, _back("Jobs", "jobs"))

    async def health(self, visit: Visit) -> Sheet:
        require(visit.principal)
        body = await self._health()
        store = body["store"]
        troubles = [f"{one.get('code', '')}: {one.get('message', '')}" for one in store.get("troubles", ())]
        facts = Facts(
            [
                ("Status", body["status"]),
                ("Version", body["version"]),
                ("Store", f"{store['dialect']}, {store['queued']} requests waiting"),
                ("Problems", "\n".join(troubles)),
                ("Audit trail", f"{body['audit']['waiting']} waiting, {body['audit']['dropped']} dropped"),
                ("Jobs", ", ".join(f"{count} {state}" for state, count in body["jobs"].items())),
                ("Rooms that overdue jobs need", ", ".join(body.get("missing_rooms", ()))),
                ("Token issuers", "\n".join(f"{name}: {state}" for name, state in body.get("issuers", {}).items())),
                ("Identity provider", ": ".join(body.get("identity_provider", {}).values())),
            ]
        )
        rooms = [
            [
                name,
                str(state["status"]),
                ", ".join(f"{key.replace('_', ' ')}: {value}" for key, value in state.items() if key != "status"),
            ]
            for name, state in body["rooms"].items()
        ]
        columns = ("Room", Column("Status", short=True), "Details")
        return page_sheet(visit, "Health", [facts, Section("Rooms", [Table(columns, rooms)])])


def _back(title: str, path: str) -> Sequence[Cell]:
    return (Cell(title, Place((path,))),)


def _active(found: Sequence[Row]) -> int:
    return sum(one["state"] == "active" for one in found)
