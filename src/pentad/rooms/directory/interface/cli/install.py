"""`pentad directory install`: add an MCP server of the directory to a client's configuration."""

import sys
from typing import TYPE_CHECKING, Any

import click

from pentad.kernel.errors import InvalidInput
from pentad.mcp_clients.clients import CLIENTS, install_entries, this_machine
from pentad.rooms.directory.interface.cli.records import record_text
from pentad.terminal.client import server_options
from pentad.terminal.output import print_text, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Client, Target

_USABLE = ("approved", "deprecated")


@click.command()
@click.argument("record")
@click.option("--client", "name", type=click.Choice(list(CLIENTS)), required=True, help="The MCP client.")
@click.option("--print", "only_print", is_flag=True, help="Show the snippet and change nothing.")
@click.option("--unapproved", is_flag=True, help="Also install a draft or a proposal.")
@server_options()
def install(record: str, name: str, only_print: bool, unapproved: bool, target: "Target") -> None:
    """Add the MCP server RECORD (a CID, name or name:version) to a client's configuration. A name means its newest
    approved version.

    Only this server's entry changes; the old file is kept as FILE.bak. Secrets are not written into the file: the
    client asks for them or reads them from the environment. Claude Desktop can do neither, so this command asks for
    them.
    """
    from pentad.rooms.directory.oasf.parsing import parse_record
    from pentad.rooms.directory.translate.client_entries import client_entry

    async def work(client: "Client") -> tuple[str, dict[str, Any]]:
        found = await client.call_tool("directory_resolve", {"reference": record})
        (state,) = (await client.call_tool("directory_states", {"reference": found["cid"]}))["records"]
        return await record_text(client, state["cid"]), state

    text, state = target.run(work, "directory")
    _check_state(state, unapproved=unapproved)
    client = CLIENTS[name]
    entry = client_entry(client, parse_record(text.encode()), _ask)
    if only_print:
        prompts = {"inputs": entry.prompts} if entry.prompts else {}
        print_text(client.editor.snippet({**prompts, client.servers: {entry.name: entry.members}}))
    else:
        path = client.path(this_machine())
        backup = install_entries(client, path, {entry.name: entry.members}, entry.prompts)
        if backup is None:
            say(f"{client.title} has {entry.name} already: {path} is unchanged.")
            return
        say(f"Added {entry.name} to {client.title}: {path}")
        if backup.exists():
            say(f"Backup of the old file: {backup}")
    for variable in entry.variables:
        say(f"Set {variable} in the environment that {client.title} starts in.")
    for prompt in entry.prompts:
        say(f"{client.title} asks for {prompt['id']} when it starts the server.")


def _check_state(state: dict[str, Any], *, unapproved: bool) -> None:
    what = f"{state['name']} {state['version']}"
    if state.get("quarantined"):
        raise InvalidInput(
            f"{what} is in quarantine: {state['quarantined']}.",
            hint="It needs a signature that the trust policy of its namespace trusts.",
        )
    if state["state"] == "deprecated":
        reason = state["history"][-1]["reason"] if state.get("history") else ""
        warn(f"{what} is deprecated{f': {reason}' if reason else ''}.")
    elif state["state"] not in _USABLE and not (unapproved and state["state"] != "withdrawn"):
        raise InvalidInput(
            f"{what} is {state['state']}, not approved.",
            hint="Ask for its approval, or install another version."
            + ("" if state["state"] == "withdrawn" else " --unapproved installs it anyway."),
        )


def _ask(name: str) -> str:
    if not sys.stdin.isatty():
        raise InvalidInput(
            f"This client needs the value of {name} in its file.",
            hint="Run this on a terminal, or choose another client.",
        )
    return click.prompt(name, hide_input=True, err=True)
