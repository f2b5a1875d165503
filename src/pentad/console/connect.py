"""The panel that connects a client: the exact command or configuration for each client, an API key for those who want
one, and whether the client has called yet."""

from urllib.parse import urlsplit

from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Choice,
    Code,
    Form,
    Hidden,
    Links,
    Note,
    Place,
    Section,
    Sheet,
    Tab,
    Tabs,
    Watch,
)
from pentad.mcp_clients.connection_steps import CONNECTIONS, Connection, Server, Step
from pentad.settings.model import is_loopback

CONNECT = "/console/connect"
"""The action of the form that creates a key."""
CLIENTS = "/console/clients"
"""The URL that reports which clients have called."""
RIGHTS = {"read": ("*:read",), "write": ("*:read", "*:write")}
"""The scopes of a new key, by their names in the form."""


def connect_section(url: str, *, program: str, has_login: bool, may_make_key: bool, since: float) -> Section:
    """A tab for each client. `since` is when the visitor opened the page."""
    server = Server(
        url,
        is_local=is_loopback(urlsplit(url).hostname or ""),
        has_login=has_login,
        install=f"{program} install",
    )
    tabs = [Tab(one.name, one.title, _tab(one, server, may_make_key=may_make_key)) for one in CONNECTIONS]
    waiting = Watch("No client has called since you opened this page.", _watched(since))
    return Section("Connect", [Tabs(tabs), waiting], anchor="connect")


def key_sheet(connection: Connection, url: str, token: str, since: float) -> Sheet:
    """The only page that ever shows the key."""
    steps = [] if connection.by_key is None else connection.by_key(url, token)
    return Sheet(
        f"Connect {connection.title}",
        [
            Note(
                "This is the only time the key is shown. It is valid for 90 days and can be revoked at any time.",
                "good",
            ),
            Code(token, copy=True),
            *_blocks(steps),
            Watch("No client has called since the key was made.", _watched(since)),
            Links([Cell("Back to the start", Place())]),
        ],
    )


def _watched(since: float) -> str:
    return f"{CLIENTS}?since={since:.3f}"


def _tab(connection: Connection, server: Server, *, may_make_key: bool) -> list[Block]:
    blocks = _blocks(connection.by_login(server))
    if may_make_key and connection.by_key is not None:
        blocks.append(Section("With an API key instead", [_key_form(connection)], folded=True))
    return blocks


def _key_form(connection: Connection) -> Form:
    rights = Choice("rights", "The key may", [("read", "read"), ("write", "read and write")], "read")
    return Form([Hidden("client", connection.name), rights], [Button("Make an API key")], CONNECT)


def _blocks(steps: list[Step]) -> list[Block]:
    blocks: list[Block] = []
    for step in steps:
        blocks.append(Note(step.about))
        if step.text:
            blocks.append(Code(step.text, copy=True))
    return blocks
