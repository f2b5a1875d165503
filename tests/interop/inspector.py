"""The Inspector's command line, in its own environment."""

import json

from tests.conformance.node import node, npm_folder

PACKAGE = "@modelcontextprotocol/inspector"
VERSION = "2.12.0"


def inspector_command() -> list[str]:
    """The command that starts the Inspector without its browser."""
    folder = npm_folder("interop/inspector", [f"{PACKAGE}@{VERSION}"])
    package = folder / "node_modules" / PACKAGE
    described = json.loads((package / "package.json").read_text(encoding="utf-8"))
    return [node(folder), str(package / described["bin"]["mcp-inspector"]), "--cli"]
