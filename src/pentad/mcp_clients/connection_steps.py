"""The steps to connect each client to a server's URL: a command, a configuration, or just the URL.

Checked against the clients' documentation and, for Claude Code, Codex and Gemini CLI, against the programs.
"""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.mcp_clients.clients import CLIENTS, CURSOR, TOKEN_VARIABLE, VSCODE, HttpServer

_NAME: Final = "pentad"
_START_IN_VSCODE: Final = "Run MCP: List Servers in VS Code and start pentad."


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, and the text to copy, if any."""

    about: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Server:
    """The server a client is connected to."""

    url: str
    is_local: bool
    """Whether only this machine can reach the URL."""
    has_login: bool = True
    install: str = "pentad install"
    """The command with which a client on this machine can start Pentad itself."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One client, and how to connect it."""

    name: str
    title: str
    reports: Sequence[str]
    """The client's self-reported name in its first message, in lower case; a prefix is enough."""
    by_login: Callable[[Server], list[Step]]
    """The steps for a client that opens a browser for the login."""
    by_key: Callable[[str, str], list[Step]] | None = None
    """The steps with an API key, from the URL and the key; None if the client takes no key."""


def claude_code_command(url: str, authorization: str | None = None) -> list[str]:
    """The command that adds a server to Claude Code."""
    header = [] if authorization is None else ["--header", f"Authorization: {authorization}"]
    return ["claude", "mcp", "add", "--transport", "http", _NAME, url, *header]


def connection_of(reported: str) -> Connection | None:
    """The client with that self-reported name; None if it is not listed."""
    name = reported.casefold()
    return next((one for one in CONNECTIONS if name.startswith(tuple(one.reports))), None)


def _then(server: Server, about: str) -> list[Step]:
    """Steps that are needed only for the login."""
    return [Step(about)] if server.has_login else []


def _claude_code(server: Server) -> list[Step]:
    return [
        Step("Run", shlex.join(claude_code_command(server.url))),
        *_then(server, "Start Claude Code, type /mcp, choose pentad and log in."),
    ]


def _claude_code_key(url: str, key: str) -> list[Step]:
    return [Step("Run", shlex.join(claude_code_command(url, f"Bearer {key}")))]


def _hosted(title: str, steps: Sequence[Step]) -> Callable[[Server], list[Step]]:
    """The steps for a client that calls from the internet."""

    def by_login(server: Server) -> list[Step]:
        if server.is_local:
            return [
                Step(f"{title} calls from the internet, and only this machine can reach {server.url}."),
                Step("Serve Pentad at a public https URL (setting public_url); open that, and it says what to paste."),
            ]
        return [*steps, Step("Paste this URL", server.url), *_then(server, "Choose Connect and log in.")]

    return by_login


_CLAUDE_STEPS: Final = (Step("In Claude, open Settings > Connectors and choose Add custom connector."),)
_CHATGPT_STEPS: Final = (
    Step("In ChatGPT, open Settings > Apps > Advanced settings and switch Developer mode on."),
    Step("Choose Create app; for Authentication choose OAuth."),
)


def _claude_desktop(server: Server) -> list[Step]:
    if not server.is_local:
        return _hosted("Claude Desktop", _CLAUDE_STEPS)(server)
    return [
        Step("Claude Desktop can start Pentad itself, on the same data. Run", f"{server.install} claude-desktop"),
        Step(CLIENTS["claude-desktop"].next_step),
    ]


def _cursor(server: Server) -> list[Step]:
    configuration = CURSOR.snippet({_NAME: HttpServer(server.url)})
    return [
        Step("Add this to ~/.cursor/mcp.json", configuration),
        *_then(server, "In Cursor's settings, under MCP, choose pentad and log in."),
    ]


def _cursor_key(url: str, key: str) -> list[Step]:
    headers = {"Authorization": f"Bearer {key}"}
    return [Step("Add this to ~/.cursor/mcp.json", CURSOR.snippet({_NAME: HttpServer(url)}, headers=headers))]


def _vscode(server: Server) -> list[Step]:
    entry = json.dumps({"name": _NAME, "type": "http", "url": server.url})
    return [
        Step("Run", shlex.join(["code", "--add-mcp", entry])),
        Step(_START_IN_VSCODE),
        *_then(server, "VS Code opens the browser for the login."),
    ]


def _vscode_key(url: str, key: str) -> list[Step]:
    return [
        Step(
            "Run MCP: Open User Configuration in VS Code and add this to mcp.json",
            VSCODE.snippet({_NAME: HttpServer(url, with_key=True)}),
        ),
        Step(_START_IN_VSCODE),
        Step("It asks for the key", key),
    ]


def _codex(server: Server) -> list[Step]:
    login = [Step("Then log in", f"codex mcp login {_NAME}")] if server.has_login else []
    return [Step("Run", shlex.join(["codex", "mcp", "add", _NAME, "--url", server.url])), *login]


def _codex_key(url: str, key: str) -> list[Step]:
    add = ["codex", "mcp", "add", _NAME, "--url", url, "--bearer-token-env-var", TOKEN_VARIABLE]
    return [
        Step("Run", shlex.join(add)),
        Step("Set this wherever you start Codex, e.g. in ~/.profile", f"export {TOKEN_VARIABLE}={shlex.quote(key)}"),
    ]


def _gemini(server: Server) -> list[Step]:
    return [
        Step("Run", shlex.join(_gemini_command(server.url))),
        *([Step("Start gemini and log in with", f"/mcp auth {_NAME}")] if server.has_login else []),
    ]


def _gemini_key(url: str, key: str) -> list[Step]:
    return [Step("Run", shlex.join([*_gemini_command(url), "--header", f"Authorization: Bearer {key}"]))]


def _gemini_command(url: str) -> list[str]:
    return ["gemini", "mcp", "add", "--scope", "user", "--transport", "http", _NAME, url]


CONNECTIONS: Final[tuple[Connection, ...]] = (
    Connection("claude-code", "Claude Code", ("claude-code",), _claude_code, _claude_code_key),
    Connection("claude-desktop", "Claude Desktop", ("claude-ai",), _claude_desktop),
    Connection("claude-ai", "claude.ai", ("anthropic",), _hosted("claude.ai", _CLAUDE_STEPS)),
    Connection("chatgpt", "ChatGPT", ("openai-mcp", "chatgpt"), _hosted("ChatGPT", _CHATGPT_STEPS)),
    Connection("cursor", "Cursor", ("cursor",), _cursor, _cursor_key),
    Connection("vscode", "VS Code", ("visual studio code",), _vscode, _vscode_key),
    Connection("codex", "Codex", ("codex",), _codex, _codex_key),
    Connection("gemini", "Gemini CLI", ("gemini-cli",), _gemini, _gemini_key),
)
"""All clients, in the order they are offered."""
