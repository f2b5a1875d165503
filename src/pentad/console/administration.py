"""The pages of administration (`/console/admin`), of the audit trail (`/console/audit`) and of the own account.

What they show comes from `pentad.administration`, which checks the rights. Lists lead to a page for each thing, which
has the buttons. `http/administration_forms.py` does what the forms ask for.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.administration.rights import ACCESS, AUDIT, require
from pentad.administration.services import Administration
from pentad.kernel.errors import Forbidden, NotFound
from pentad.kernel.pages import (
    Block,
    Button,
    Card,
    Cards,
    Cell,
    CheckBox,
    Choice,
    Code,
    Column,
    Facts,
    Form,
    Hidden,
    Links,
    Note,
    Pager,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Text,
    TextField,
    Visit,
)
from pentad.kernel.principal import Principal

ADMIN: Final = "admin"
TRAIL: Final = "audit"
ACCOUNT: Final = "account"
Row = dict[str, Any]
Health = Callable[[], Awaitable[dict[str, Any]]]

_ROLES: Final = (("reader", "reader"), ("writer", "writer"), ("admin", "admin"))
_SCOPES_HINT: Final = "Separated by spaces, such as directory:read metrics:write."
_FILTERS: Final = (
    ("user", "Who", "A name, or key:..."),
    ("room", "Room", "access is for logins and administration"),
    ("tool", "What", "A tool, route or event"),
    ("outcome", "Outcome", "ok, failed or an error code"),
    ("trace", "Trace", "A trace or request id"),
    ("since", "Since", "24h, 7d or a time"),
)
_DONE: Final = {
    "added": "The user was added.",
    "changed": "The change counts from now on.",
    "password": "The password was changed.",
    "removed": "The user was removed.",
    "revoked": "It is revoked.",
    "ended": "The browser is logged out.",
    "retried": "The job is queued again.",
    "forgotten": "The dead letter is deleted.",
}
"""What a page says after one of its forms, by the query parameter `done`: never text of the URL."""


@dataclass(frozen=True, slots=True)
class AdminPage:
    """A page below `/console/<part>/`."""

    part: str
    path: str
    load: Callable[[Visit], Awaitable[Sheet]]


def menu(principal: Principal) -> list[tuple[str, str]]:
    """The entries of the console's menu besides the rooms."""
    entries = [
        (ADMIN, "Administration") if principal.may(ACCESS, "admin") else None,
        (TRAIL, "Audit trail") if principal.may(AUDIT, "admin") else None,
    ]
    return [entry for entry in entries if entry is not None]


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
            AdminPage(TRAIL, "", self.trail),
            AdminPage(TRAIL, "verification", self.verification),
            AdminPage(ACCOUNT, "", self.account),
            AdminPage(ACCOUNT, "keys/{id}", self.own_key),
            AdminPage(ACCOUNT, "grants/{id}", self.own_grant),
            AdminPage(ACCOUNT, "sessions/{id}", self.own_session),
            AdminPage(ACCOUNT, "activity", self.activity),
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
                "Browsers that are logged in.",
                [("session" if len(sessions) == 1 else "sessions", str(len(sessions)))],
            ),
            ("jobs", "Jobs", "Work that outlasts a request.", [("dead", str(counts["dead"]))]),
            ("settings", "Settings", "Every setting, its value and its source.", []),
            ("health", "Health", "The store, the rooms and the trail.", [("", str(health["status"]))]),
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
                _day(one["created"]),
            ]
            for one in found
        ]
        add = Form(
            [
                TextField("name", "Name", hint="Letters, digits and . _ @ -"),
                TextField("password", "Password", kind="password", autocomplete="new-password"),
                Choice("role", "Role", _ROLES, "reader"),
                TextField("scopes", "Further scopes", hint=_SCOPES_HINT, required=False),
            ],
            [Button("Add user")],
            "/console/admin/users",
        )
        table = Table(("Name", Column("Role", short=True), "Further scopes", Column("Added", short=True)), rows)
        return _sheet(visit, "Users", [table, Section("Add a user", [add])])

    async def user(self, visit: Visit) -> Sheet:
        actor, name = visit.principal, visit.path["name"]
        user = await self._admin.accounts.user(actor, name)
        shown: str = user["name"]
        facts = Facts(
            [("Role", user["role"]), ("Further scopes", " ".join(user["scopes"])), ("Added", _time(user["created"]))]
        )
        where = f"/console/admin/users/{shown}"
        blocks: list[Block] = [facts]
        if actor.may(AUDIT, "admin"):
            blocks.append(Links([Cell("In the audit trail", Place(query={"user": shown}, room=TRAIL))]))
        blocks += [
            Section("API keys", [_keys_table(await self._admin.accounts.keys(actor, owner=shown), ADMIN)]),
            Section("Grants", [_grants_table(await self._admin.logins.grants(actor, user=shown), ADMIN)]),
            Section("Sessions", [_sessions_table(await self._admin.logins.sessions(actor, user=shown), ADMIN)]),
            Section(
                "Rights",
                [
                    Form(
                        [
                            Choice("role", "Role", _ROLES, user["role"]),
                            TextField(
                                "scopes", "Further scopes", " ".join(user["scopes"]), _SCOPES_HINT, required=False
                            ),
                        ],
                        [Button("Change rights")],
                        f"{where}/rights",
                    )
                ],
            ),
            Section("Password", [Form([_new_password()], [Button("Set password")], f"{where}/password")], folded=True),
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
        return _sheet(visit, shown, blocks, _back("Users", "users"))

    # Keys

    async def keys(self, visit: Visit) -> Sheet:
        actor = visit.principal
        found = await self._admin.accounts.keys(actor)
        owners = [("", "nobody: the key is its own principal")]
        owners += [(user["name"], user["name"]) for user in await self._admin.accounts.users(actor)]
        form = Form([*_key_fields()[:1], Choice("owner", "Owner", owners, visit.principal.name), *_key_fields()[1:]],
                    [Button("Make key")], "/console/admin/keys")  # fmt: skip
        return _sheet(visit, "API keys", [_keys_table(found, ADMIN), Section("Make a key", [form])])

    async def key(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.accounts.keys(visit.principal), visit.path["id"], "key")
        return _key_sheet(visit, found, ADMIN, _back("API keys", "keys"))

    # Clients, grants and sessions

    async def clients(self, visit: Visit) -> Sheet:
        rows = [
            [
                Cell(one["name"], Place(("client",), {"id": one["id"]})), one["kind"], one["verified_host"] or "",
                str(one["grants"]), _day(one["created"]), _day(one["last_used"]),
            ]
            for one in await self._admin.logins.clients(visit.principal)
        ]  # fmt: skip
        columns = ("Name", Column("Kind", short=True), "Verified host", Column("Grants", numeric=True),
                   Column("Since", short=True), Column("Last used", short=True))  # fmt: skip
        return _sheet(visit, "OAuth clients", [Table(columns, rows, "No program has asked for access yet.")])

    async def client(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.logins.clients(visit.principal), visit.asked("id"), "client")
        facts = Facts(
            [
                ("Id", found["id"]),
                ("Kind", found["kind"]),
                ("Verified host", found["verified_host"] or "none: the name is its own claim"),
                ("Redirects to", "\n".join(found["redirect_uris"])),
                ("Since", _time(found["created"])),
                ("Last used", _time(found["last_used"])),
                ("Active grants", str(found["grants"])),
            ]
        )
        form = Form([Hidden("id", found["id"])], [Button("Remove, and end its grants", kind="bad")],
                    "/console/admin/clients/remove")  # fmt: skip
        return _sheet(visit, found["name"], [facts, form], _back("OAuth clients", "clients"))

    async def grants(self, visit: Visit) -> Sheet:
        return _sheet(visit, "Grants", [_grants_table(await self._admin.logins.grants(visit.principal), ADMIN)])

    async def grant(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.logins.grants(visit.principal), visit.path["id"], "grant")
        return _grant_sheet(visit, found, ADMIN, _back("Grants", "grants"))

    async def sessions(self, visit: Visit) -> Sheet:
        return _sheet(visit, "Sessions", [_sessions_table(await self._admin.logins.sessions(visit.principal), ADMIN)])

    async def session(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.logins.sessions(visit.principal), visit.path["id"], "session")
        return _session_sheet(visit, found, ADMIN, _back("Sessions", "sessions"))

    # The server

    async def settings(self, visit: Visit) -> Sheet:
        asked = visit.asked()
        rows = [
            [one["path"], one["value"], f"{one['source']} {one['place']}".rstrip(), one["about"]]
            for one in self._admin.server.settings(visit.principal)
            if asked in one["path"] or asked.lower() in one["about"].lower()
        ]
        table = Table(("Setting", "Value", "Source", "Description"), rows, "No setting is called that.")
        lead = "Settings are read at start: from the file, the environment and flags. Secrets are masked."
        return _sheet(visit, "Settings", [SearchBox("Find a setting", asked), table], lead=lead)

    async def jobs(self, visit: Visit) -> Sheet:
        state = visit.asked("state") or None
        found = await self._admin.server.jobs(visit.principal, state=state, limit=200)
        rows = [
            [
                Cell(f"{one['name']} {one['key'] or ''}".rstrip(), Place(("jobs", one["id"]))), one["state"],
                str(one["attempt"]), _time(one["due"]), one["error"],
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
        return _sheet(visit, "Jobs", [Links([Cell("all", Place(("jobs",))), *links]), Table(columns, rows, "No jobs.")])

    async def job(self, visit: Visit) -> Sheet:
        found = await self._admin.server.job(visit.principal, visit.path["id"])
        facts = Facts(
            [
                ("State", found["state"]),
                ("Key", found["key"] or ""),
                ("Attempt", str(found["attempt"])),
                ("Queued", _time(found["created"])),
                ("Changed", _time(found["changed"])),
                ("Due", _time(found["due"])),
                ("Error", found["error"]),
            ]
        )
        where = f"/console/admin/jobs/{found['id']}"
        retry = Form((), [Button("Retry")], f"{where}/retry")
        forget = Form((), [Button("Forget", kind="bad")], f"{where}/forget")
        blocks: list[Block] = [facts, retry, forget] if found["state"] == "dead" else [facts]
        return _sheet(visit, found["name"], blocks, _back("Jobs", "jobs"))

    async def health(self, visit: Visit) -> Sheet:
        require(visit.principal)
        body = await self._health()
        store = body["store"]
        troubles = [f"{one.get('code', '')}: {one.get('message', '')}" for one in store.get("troubles", ())]
        facts = Facts(
            [
                ("Status", body["status"]),
                ("Version", body["version"]),
                ("Store", f"{store['dialect']}, {store['queued']} queued"),
                ("Troubles", "\n".join(troubles)),
                ("Audit trail", f"{body['audit']['waiting']} entries wait, {body['audit']['dropped']} were dropped"),
                ("Jobs", ", ".join(f"{count} {state}" for state, count in body["jobs"].items())),
                ("Issuers", "\n".join(f"{name}: {state}" for name, state in body.get("issuers", {}).items())),
                ("Identity provider", ": ".join(body.get("identity_provider", {}).values())),
            ]
        )
        rooms = [
            [
                name,
                str(state["status"]),
                ", ".join(f"{key}: {value}" for key, value in state.items() if key != "status"),
            ]
            for name, state in body["rooms"].items()
        ]
        columns = ("Room", Column("Status", short=True), "Details")
        return _sheet(visit, "Health", [facts, Section("Rooms", [Table(columns, rooms)])])

    # The audit trail

    async def trail(self, visit: Visit) -> Sheet:
        given = {name: visit.asked(name) for name, _, _ in _FILTERS}
        page = await self._admin.trail.page(visit.principal, given, cursor=visit.asked("cursor") or None)
        shown = {name: value for name, value in given.items() if value}
        fields = [TextField(name, label, given[name], hint, required=False) for name, label, hint in _FILTERS]
        links = [
            Cell("Export as JSON lines", Place(("export",), shown)),
            Cell("Verify the chain", Place(("verification",))),
        ]
        blocks: list[Block] = [
            Form(fields, [Button("Filter")], "/console/audit", method="get"),
            Links(links),
            _entries_table(page["entries"], given, visit),
            _pager(page["cursor"], Place(query=shown), visit),
        ]
        lead = "Every call, login and administrative action. Reading it leaves an entry as well."
        return Sheet("Audit trail", blocks, lead=lead)

    async def verification(self, visit: Visit) -> Sheet:
        head = visit.asked("head")
        found = await self._admin.trail.verify(visit.principal, head or None)
        if found["ok"]:
            note = Note("The chain is whole." + (" It contains the given head." if head else ""), "good")
        else:
            note = Note(f"The chain is broken. {found['fault']}", "bad")
        removed: str = found["checkpoint"] or ""
        facts = Facts(
            [
                ("Batches", f"{found['batches']:,}"),
                ("Entries", f"{found['entries']:,}"),
                ("Since", _time(found["since"])),
                ("Removed by retention", f"up to batch {removed.partition(':')[0]}" if removed else ""),
                ("Before the chain", f"{found['uncovered']:,} batches" if found["uncovered"] else ""),
            ]
        )
        known = Form(
            [TextField("head", "A head you kept", head, "The chain must contain it.", required=False)],
            [Button("Verify")],
            "/console/audit/verification",
            method="get",
        )
        keep = Section(
            "Head", [Code(found["head"]), Note("Keep it where nobody who can write to the store can change it.")]
        )
        return Sheet("Verification", [note, facts, keep, known])

    # The own account

    async def account(self, visit: Visit) -> Sheet:
        actor = visit.principal
        who = self._admin.accounts.account(actor)
        if who["user"] is None:
            raise Forbidden("You have no account on this server.", hint="Log in with a user name and password.")
        facts = Facts([("Name", who["name"]), ("You may", " ".join(who["scopes"]))])
        password = Form(
            [
                TextField("current", "Current password", kind="password", autocomplete="current-password"),
                _new_password(),
            ],
            [Button("Change password")],
            "/console/account/password",
        )
        make_key = Form(_key_fields(), [Button("Make key")], "/console/account/keys")
        blocks: list[Block] = [
            facts,
            Links([Cell("What you and your programs did", Place(("activity",)))]),
            Section("API keys", [
                _keys_table(await self._admin.accounts.own_keys(actor), ACCOUNT),
                Section("Make a key", [make_key], folded=True),
            ]),
            Section("Programs that act for you", [_grants_table(await self._admin.logins.own_grants(actor), ACCOUNT)]),
            Section("Browsers", [
                _sessions_table(await self._admin.logins.own_sessions(actor), ACCOUNT),
                Form((), [Button("Log out in all browsers", kind="plain")], "/console/account/logout"),
            ]),
            Section("Password", [password], folded=True),
        ]  # fmt: skip
        return _sheet(visit, "Account", blocks)

    async def own_key(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.accounts.own_keys(visit.principal), visit.path["id"], "key")
        return _key_sheet(visit, found, ACCOUNT, ())

    async def own_grant(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.logins.own_grants(visit.principal), visit.path["id"], "grant")
        return _grant_sheet(visit, found, ACCOUNT, ())

    async def own_session(self, visit: Visit) -> Sheet:
        found = _one(await self._admin.logins.own_sessions(visit.principal), visit.path["id"], "session")
        return _session_sheet(visit, found, ACCOUNT, ())

    async def activity(self, visit: Visit) -> Sheet:
        page = await self._admin.trail.own_page(visit.principal, {}, cursor=visit.asked("cursor") or None)
        table = _entries_table(page["entries"], {}, visit)
        return Sheet("What you and your programs did", [table, _pager(page["cursor"], Place(("activity",)), visit)])


def new_key_sheet(made: Row, part: str) -> Sheet:
    """The page that shows a new key's token, once."""
    back = Place() if part == ACCOUNT else Place(("keys",))
    blocks: list[Block] = [
        Note("Copy the token now: it is shown only once.", "good"),
        Code(made["token"]),
        Facts(
            [("Key", made["id"]), ("Scopes", " ".join(made["scopes"])), ("Expires", _time(made["expires"]) or "never")]
        ),
        Links([Cell("Back", back)]),
    ]
    return Sheet(f"Key {made['label']}", blocks)


def _sheet(visit: Visit, title: str, blocks: Sequence[Block], trail: Sequence[Cell] = (), *, lead: str = "") -> Sheet:
    """A page that may say what its form has just done."""
    done = _DONE.get(visit.query.get("done", ""))
    return Sheet(title, [*([] if done is None else [Note(done, "good")]), *blocks], lead=lead, trail=trail)


def _one(found: Sequence[Row], wanted: str, what: str) -> Row:
    one = next((one for one in found if one["id"] == wanted), None)
    if one is None:
        raise NotFound(f"There is no {what} {wanted[:80]!r}.", hint="The list has all of them.")
    return one


def _back(title: str, path: str) -> Sequence[Cell]:
    return (Cell(title, Place((path,))),)


def _keys_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(one["label"], Place(("keys", one["id"]), room=part)), one["owner"] or "", " ".join(one["scopes"]),
            _day(one["expires"]) or "never", _day(one["last_used"]) or "never", one["state"],
        ]
        for one in found
    ]  # fmt: skip
    columns = ("Label", Column("Owner", short=True), "Scopes", Column("Expires", short=True),
               Column("Last used", short=True), Column("State", short=True))  # fmt: skip
    return Table(columns, rows, "There are no keys.")


def _key_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("Id", one["id"]),
            ("State", one["state"]),
            ("Owner", one["owner"] or "nobody: it is a principal of its own"),
            ("Scopes", " ".join(one["scopes"])),
            ("Sees", "only what it created" if one["own_only"] else ""),
            ("Made", _time(one["created"])),
            ("Expires", _time(one["expires"]) or "never"),
            ("Last used", _time(one["last_used"]) or "never"),
        ]
    )
    return _revocable(visit, one["label"], facts, one, f"/console/{part}/keys/{one['id']}/revoke", trail)


def _grants_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(one["client_name"], Place(("grants", one["id"]), room=part)), one["user"], " ".join(one["scopes"]),
            _day(one["last_used"]) or "never", one["state"],
        ]
        for one in found
    ]  # fmt: skip
    columns = (
        "Client",
        Column("User", short=True),
        "Scopes",
        Column("Last used", short=True),
        Column("State", short=True),
    )
    return Table(columns, rows, "No program has been granted access.")


def _grant_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("State", one["state"]),
            ("User", one["user"]),
            ("Client", one["client"]),
            ("Sends people to", one["client_host"]),
            ("Scopes", " ".join(one["scopes"])),
            ("Good at", " ".join(one["resources"])),
            ("Granted", _time(one["created"])),
            ("Expires", _time(one["expires"])),
            ("Last used", _time(one["last_used"]) or "never"),
            ("Ended because", one["revoked_why"] or ""),
        ]
    )
    return _revocable(visit, one["client_name"], facts, one, f"/console/{part}/grants/{one['id']}/revoke", trail)


def _revocable(visit: Visit, title: str, facts: Facts, one: Row, path: str, trail: Sequence[Cell]) -> Sheet:
    form = [Form((), [Button("Revoke", kind="bad")], path)] if one["state"] == "active" else []
    return _sheet(visit, title, [facts, *form], trail)


def _sessions_table(found: Sequence[Row], part: str) -> Table:
    rows = [
        [
            Cell(one["browser"] or "a browser", Place(("sessions", one["id"]), room=part)), one["user"], one["address"],
            _time(one["last_used"]), "this one" if one["current"] else one["method"],
        ]
        for one in found
    ]  # fmt: skip
    columns = ("Browser", Column("User", short=True), Column("Address", short=True), Column("Last used", short=True),
               Column("Login", short=True))  # fmt: skip
    return Table(columns, rows, "No browser is logged in.")


def _session_sheet(visit: Visit, one: Row, part: str, trail: Sequence[Cell]) -> Sheet:
    facts = Facts(
        [
            ("User", one["user"]),
            ("Browser", one["browser"]),
            ("Address", one["address"]),
            ("Login", one["method"]),
            ("Since", _time(one["created"])),
            ("Last used", _time(one["last_used"])),
            ("Ends", _time(one["expires"])),
        ]
    )
    form = Form((), [Button("Log out", kind="bad")], f"/console/{part}/sessions/{one['id']}/end")
    return _sheet(visit, "Session", [facts, form], trail)


def _entries_table(entries: Sequence[Row], given: Mapping[str, str], visit: Visit) -> Table:
    """Entries; who, what, outcome and trace lead to all entries like that, for readers of the whole trail."""
    whole = visit.principal.may(AUDIT, "admin")

    def linked(text: str, name: str, value: str) -> Text:
        others = {key: one for key, one in given.items() if one}
        return Cell(text, Place(query={**others, name: value}, room=TRAIL)) if whole and value else text

    rows = [
        [
            one["at"][:19].replace("T", " "),
            linked(one["principal"].removeprefix("user:"), "user", one.get("credential") or one["principal"]),
            one.get("room", ""),
            linked(one["tool"], "tool", one["tool"]),
            linked(one["outcome"], "outcome", one["outcome"]),
            f"{one['duration_ms']:.1f}" if one["duration_ms"] else "",
            " ".join(str(one[name]) for name in ("target", "login", "address", "reason") if name in one),
            linked("trace" if one.get("trace") else "", "trace", one.get("trace", "")[3:35]),
        ]
        for one in entries
    ]
    columns = (
        Column("Time", short=True), Column("Who", short=True), Column("Room", short=True), "What",
        Column("Outcome", short=True), Column("ms", numeric=True), "About", Column("", short=True),
    )  # fmt: skip
    return Table(columns, rows, "No entry matches in this part of the trail.")


def _pager(cursor: str | None, first: Place, visit: Visit) -> Pager:
    following = None if cursor is None else Place(first.parts, {**first.query, "cursor": cursor}, first.room)
    return Pager("Newest first.", following, first if visit.asked("cursor") else None)


def _key_fields() -> list[TextField | CheckBox]:
    return [
        TextField("label", "Label", hint="What the key is for, such as laptop of ada."),
        TextField("scopes", "Scopes", "*:read", _SCOPES_HINT),
        TextField("days", "Days until it expires", "90", "0 means never."),
        CheckBox("own_only", "Confine the key to what it creates itself"),
    ]


def _new_password() -> TextField:
    return TextField("password", "New password", kind="password", autocomplete="new-password")


def _active(found: Sequence[Row]) -> int:
    return sum(one["state"] == "active" for one in found)


def _time(text: str | None) -> str:
    return "" if not text else text[:16].replace("T", " ")


def _day(text: str | None) -> str:
    return "" if not text else text[:10]
