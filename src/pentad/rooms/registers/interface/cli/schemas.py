"""Change schemas that have objects, and show their history."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import click

from pentad.kernel.counts import counted
from pentad.rooms.registers.interface.cli.options import call_tool, parse_json
from pentad.terminal.client import server_options
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, say, warn

if TYPE_CHECKING:
    from pentad.terminal.client import Target


@click.group("schema")
def schemas() -> None:
    """Change schemas that have objects: patch, plan, history, diff, undo."""


_OPERATIONS: Final = click.argument("operations", metavar="OPERATIONS")
_MIGRATION: Final = click.option("--migration", metavar="JSON", help="Steps that make the objects fit, or @FILE.")
_CONFIRM: Final = click.option("--confirm", metavar="TOKEN", help="The token of the answer that asked for it.")
_REASON: Final = click.option("--reason", metavar="TEXT", help="Why, for the history.")


@schemas.command("patch")
@click.argument("ref", metavar="SCHEMA")
@_OPERATIONS
@_MIGRATION
@_CONFIRM
@_REASON
@json_option
@server_options()
def patch_schema(
    ref: str,
    operations: str,
    migration: str | None,
    confirm: str | None,
    reason: str | None,
    as_json: bool,
    target: "Target",
) -> None:
    """Add, change, rename, drop or reorder properties of SCHEMA (id, uuid or slug); its objects follow.

    OPERATIONS is a JSON list such as '[{"op": "rename", "property": "fee", "to": "amount"}]', or @FILE.
    """
    arguments = {**_patch(operations, migration), "confirm": confirm, "reason": reason}
    _print_schema(_call_schemas(target, "patch", ref, arguments), as_json)


@schemas.command("plan")
@click.argument("ref", metavar="SCHEMA")
@_OPERATIONS
@_MIGRATION
@json_option
@server_options()
def plan_schema(ref: str, operations: str, migration: str | None, as_json: bool, target: "Target") -> int:
    """Say what a patch would do, without doing it. OPERATIONS is a JSON list or @FILE."""
    report = _call_schemas(target, "plan", ref, _patch(operations, migration))
    if as_json:
        print_json(report)
    else:
        _print_plan(report)
    return ExitCode.FAILED if report["failing"] else ExitCode.OK


@schemas.command("history")
@click.argument("ref", metavar="SCHEMA")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_option
@server_options()
def schema_history(ref: str, limit: int, as_json: bool, target: "Target") -> None:
    """List the changes of SCHEMA, newest first."""
    rows: list[dict[str, Any]] = _call_schemas(target, "history", ref, {"limit": limit})["results"]
    if as_json:
        print_json(rows)
    else:
        cells = [
            (row["version"], row["action"], row["at"], row["principal"], "; ".join(row["changes"])) for row in rows
        ]
        print_table(("version", "action", "at", "by", "changes"), cells, empty="Nothing is recorded.")


@schemas.command("diff")
@click.argument("ref", metavar="SCHEMA")
@click.argument("version", type=click.IntRange(1))
@click.argument("to_version", type=click.IntRange(1), required=False)
@json_option
@server_options()
def diff_schema(ref: str, version: int, to_version: int | None, as_json: bool, target: "Target") -> None:
    """Show what changed between VERSION and TO_VERSION, or now."""
    found = _call_schemas(target, "diff", ref, {"version": version, "to_version": to_version})
    if as_json:
        print_json(found)
    else:
        print_table(("change",), [(line,) for line in found["changes"]], empty="The versions are the same.")


@schemas.command("undo")
@click.argument("ref", metavar="SCHEMA")
@click.option("--version", type=click.IntRange(1), help="The change to take back.  [default: the newest]")
@_CONFIRM
@_REASON
@json_option
@server_options()
def undo_schema(
    ref: str, version: int | None, confirm: str | None, reason: str | None, as_json: bool, target: "Target"
) -> None:
    """Take back a change of SCHEMA, with what it did to objects."""
    arguments = {"version": version, "confirm": confirm, "reason": reason}
    _print_schema(_call_schemas(target, "undo", ref, arguments), as_json)


def _call_schemas(target: "Target", action: str, ref: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return call_tool(target, "schemas", {"action": action, "id": ref, **arguments})


def _patch(operations: str, migration: str | None) -> dict[str, Any]:
    steps = None if migration is None else _steps(migration, "--migration", '[{"step": "drop", "property": "note"}]')
    return {
        "operations": _steps(operations, "OPERATIONS", '[{"op": "drop", "property": "note"}]'), "migration": steps
    }  # fmt: skip


def _steps(text: str, name: str, example: str) -> Any:
    """Read a list of steps, given as JSON or as @FILE."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except OSError as error:
            raise click.BadParameter(f"cannot be read: {error.strerror}.", param_hint=name) from None
    found = parse_json(text, name, example)
    return cast("list[Any]", found) if isinstance(found, list) else [found]


def _print_schema(changed: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(changed)
        return
    for line in changed.get("changes", ()):
        click.echo(line)
    if undone := changed.get("undone"):
        say(f"Version {undone['version']} ({undone['action']}) was taken back.")
        if ids := undone.get("ids"):
            print_table(("migrated back",), [(one,) for one in ids], empty="")
    migrated = changed.get("migrated")
    were = f" {counted(migrated, 'object was', 'objects were')} migrated." if migrated else ""
    say(f"{changed['slug']} is at version {changed['version']} now.{were}")
    for one in changed.get("warnings", ()):
        warn(f"{one['path']} {one['message']}")


def _print_plan(report: dict[str, Any]) -> None:
    for line in report.get("changes", ()):
        click.echo(line)
    rows = [(kind, count) for kind, count in report["counts"].items()]
    if rows:
        print_table(("would break", "objects"), rows, empty="")
    for one in report.get("breaks", ()):
        warn(f"{one['kind']} {one['title']}: {one['because']}")
    for one in report.get("follows", ()):
        say(f"{one['kind']} {one['title']} would follow the new names.")
    for one in report.get("unused_steps", ()):
        say(f"The step {one['step']} of {one['property']} would change no object.")
    migrated = report.get("migrated", {}).get("objects", 0)
    say(f"{counted(report['total'], 'object')}: {migrated:,} would change, {report['failing']:,} would not fit.")
    if report["failing"]:
        say(_way_out(report))
    elif "confirm" in report:
        say(f"Values or rules would be lost; go ahead with --confirm {report['confirm']}.")


def _way_out(report: dict[str, Any]) -> str:
    """Suggestions for objects that would not fit."""
    steps, left = report.get("migration"), int(report.get("failing_after_migration", 0))
    if steps and not left:
        return f"With these steps all would fit: --migration '{json.dumps(steps, ensure_ascii=False)}'"
    if "next_step" in report:
        return "The schema tolerates them: the change would be made."
    if steps:
        return f"The migration that --json suggests would leave {counted(left, 'object')} that would not fit."
    return "Change those objects first, loosen the rules, or give steps that make them fit with --migration."
