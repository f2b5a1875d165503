"""`pentad rules`: rules that act on events."""

from typing import TYPE_CHECKING, Any

import click

from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.group()
def rules() -> None:
    """Manage event rules: what to do when something happens."""


@rules.command("list")
@json_option
@server_options()
def list_rules(as_json: bool, target: "Target") -> None:
    """List your rules, oldest first."""
    found = _call(target, {"action": "list"})["rules"]
    if as_json:
        print_json(found)
        return
    print_table(
        ("id", "name", "kind", "subject", "does", "done", "problem"),
        [
            (one["id"], one["name"], " ".join(one.get("kind", ())), one.get("subject", ""), _does(one), one["done"],
             one.get("problem", ""))
            for one in found
        ],
        empty="There are no rules. Add one with `pentad rules add`.",
    )  # fmt: skip


@rules.command()
@click.argument("name")
@click.option("--kind", multiple=True, help="A kind of event such as object.created, or object.*; may be repeated.")
@click.option("--room", multiple=True, help="Only events of this room; may be repeated.")
@click.option("--subject", help="Only events about this URI; a prefix with * matches many.")
@click.option("--agent", help="Send a task to this agent: its name, or the URL of its card.")
@click.option("--text", help="The task for the agent. The event is attached as data.")
@click.option("--webhook", metavar="URL", help="Post the signed event to this URL instead of sending a task.")
@json_option
@server_options()
def add(
    name: str,
    kind: tuple[str, ...],
    room: tuple[str, ...],
    subject: str | None,
    agent: str | None,
    text: str | None,
    webhook: str | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Add a rule for future events.

    The rule acts with your rights. A webhook's secret is shown once.
    """
    if (webhook is None) == (agent is None):
        raise click.UsageError("Give either --agent with --text, or --webhook.")
    if (agent is None) != (text is None):
        raise click.UsageError("--agent and --text must be given together.")
    rule: dict[str, Any] = {"name": name, "room": list(room), "kind": list(kind), "subject": subject or ""}
    rule |= {"task": {"agent": agent, "text": text}} if webhook is None else {"webhook": {"url": webhook}}
    made = _call(target, {"action": "add", "rule": rule})
    if as_json:
        print_json(made)
        return
    say(f"Rule {made['id']} is active.")
    if secret := made.get("secret"):
        say("The secret that signs its deliveries, shown only this once:")
        click.echo(secret)


@rules.command()
@click.argument("rule_id", metavar="ID")
@server_options()
def resume(rule_id: str, target: "Target") -> None:
    """Resume a rule, starting with the event it failed on."""
    _call(target, {"action": "resume", "id": rule_id})
    say(f"Rule {rule_id} is active.")


@rules.command()
@click.argument("rule_id", metavar="ID")
@server_options()
def remove(rule_id: str, target: "Target") -> None:
    """Remove a rule."""
    _call(target, {"action": "remove", "id": rule_id})
    say(f"Rule {rule_id} is removed.")


def _call(target: "Target", arguments: dict[str, Any]) -> dict[str, Any]:
    return target.call_tool("event_rules", arguments)


def _does(rule: dict[str, Any]) -> str:
    if "webhook" in rule:
        return f"POST {rule['webhook']['url']}"
    return f"task to {rule['task']['agent']}"
