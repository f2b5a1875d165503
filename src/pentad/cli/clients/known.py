"""All clients `pentad install` knows, in the order they are listed."""

from typing import Final

from pentad.cli.clients.claude_code import CLAUDE_CODE
from pentad.cli.clients.claude_desktop import CLAUDE_DESKTOP
from pentad.cli.clients.client import Client
from pentad.cli.clients.codex import CODEX
from pentad.cli.clients.cursor import CURSOR
from pentad.cli.clients.gemini import GEMINI
from pentad.cli.clients.vscode import VSCODE

CLIENTS: Final[dict[str, Client]] = {
    client.name: client for client in (CLAUDE_CODE, CLAUDE_DESKTOP, CURSOR, VSCODE, CODEX, GEMINI)
}
