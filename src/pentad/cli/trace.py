"""`pentad trace`: everything a request caused, in all rooms."""

from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.command()
@click.argument("trace_id", metavar="ID")
@json_option
@server_options("rooms")
def trace(trace_id: str, as_json: bool, target: "Target") -> None:
    """Show everything a request caused, in all rooms.

    ID is the X-Request-Id of a response, a trace id or a traceparent. You see your own part of the trace, or all of it
    if you may read the audit trail.
    """
    found = target.call_route("GET", f"/api/traces/{quote(trace_id, safe='')}")
    if as_json:
        print_json(found)
        return
    rows = [
        (
            f"{one['offset_ms']:,.1f}",
            f"{one['duration_ms']:,.1f}" if "duration_ms" in one else "...",
            f"{'  ' * one['depth']}{one['kind']} {one['name']}",
            one.get("room", ""), one["outcome"], one.get("principal", ""), one.get("resource", ""),
        )
        for one in found["spans"]
    ]  # fmt: skip
    print_table(("start ms", "ms", "what", "room", "outcome", "who", "resource"), rows, empty="The trace is empty.")
    going_on = ", and is still running" if found["is_running"] else ""
    say(f"Trace {found['trace_id']} began at {found['at']} and took {found['seconds'] * 1000:,.1f} ms{going_on}.")
    if "incomplete" in found:
        say(found["incomplete"]["reason"])
