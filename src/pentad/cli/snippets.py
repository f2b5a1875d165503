"""What to paste where, to reach a running server from a client or a shell with a name and a password."""

import json
import shlex

from pentad.cli.clients.client import Client, HttpServer
from pentad.cli.clients.cursor import CURSOR
from pentad.cli.clients.vscode import VSCODE
from pentad.terminal.client import basic_authorization


def snippets(url: str, user: str, password: str) -> list[tuple[str, str]]:
    """Title and text of each."""
    header = f"Authorization: {basic_authorization(user, password)}"
    claude = ["claude", "mcp", "add", "--transport", "http", "pentad", url, "--header", header]
    return [
        ("Claude Code:", shlex.join(claude)),
        ("Cursor, in ~/.cursor/mcp.json:", _entry(CURSOR, url, header)),
        ("VS Code, in mcp.json (MCP: Open User Configuration):", _entry(VSCODE, url, header)),
        ("curl:", _curl(url, f"{user}:{password}")),
    ]


def _entry(client: Client, url: str, header: str) -> str:
    known = {key: value for key, value in client.entry(HttpServer(url)).items() if value is not None}
    name, _, value = header.partition(": ")
    return client.form.snippet({client.servers: {"pentad": {**known, "headers": {name: value}}}})


def _curl(url: str, login: str) -> str:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return shlex.join(["curl", "-u", login, url, "-H", "Content-Type: application/json", "-d", json.dumps(body)])
