"""The mcp.json of VS Code and GitHub Copilot, which asks its user for values through `inputs`."""

from typing import Any, Final

from pentad.rooms.directory.translate.hosts import Exported
from pentad.rooms.directory.translate.launches import ASKED, PLACE, Launch, checked_command
from pentad.rooms.directory.translate.losses import Translated
from pentad.rooms.directory.translate.shapes import without_nothing

_TYPES: Final = {"streamable-http": "http", "sse": "sse", "stdio": "stdio"}


def from_record(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """As GitHub Copilot takes it: `servers`, and an input for every value nobody has given."""
    return _written(record, typed=False)


def to_vscode(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The same with the transport of every server named."""
    return _written(record, typed=True)


def _written(record: dict[str, Any], *, typed: bool) -> Translated[dict[str, Any]]:
    exported = Exported(record)
    if exported.original is not None and "servers" in exported.original:
        return Translated(exported.original, exported.losses)
    asked: dict[str, None] = {}
    servers = {name: _server(name, launch, asked, typed=typed) for name, launch in exported.named}
    inputs = [
        {"id": name, "type": "promptString", "password": True, "description": f"Secret value for {name}"}
        for name in asked
    ]
    return Translated({"servers": servers, "inputs": inputs}, exported.spelled_anew())


def _server(name: str, launch: Launch, asked: dict[str, None], *, typed: bool) -> dict[str, Any]:
    if launch.transport != "stdio":
        url = _placed(launch.url or "", asked)
        headers = {key: _placed(value, asked) for key, value in launch.headers}
        return {"type": _TYPES[launch.transport], "url": url, **without_nothing({"headers": headers})}
    env = {variable.name: variable.value or f"${{input:{variable.name}}}" for variable in launch.env}
    for text in (*env.values(), *launch.args):
        asked.update(dict.fromkeys(ASKED.findall(text)))
    server = {"command": checked_command(launch, name), "args": list(launch.args), "env": env}
    return {"type": "stdio", **server} if typed else server


def _placed(text: str, asked: dict[str, None]) -> str:
    asked.update(dict.fromkeys([*ASKED.findall(text), *PLACE.findall(text)]))
    return PLACE.sub(r"${input:\1}", text)
