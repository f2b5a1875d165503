"""`pentad agents`: find agents, send them tasks, manage tasks, register cards; here, or on a server with --url.

Without --url it works on the store as its owner: the configured agents run in this process, and tasks of a server on
the same store can be watched and canceled too.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

import click

from pentad.kernel.errors import PentadError
from pentad.rooms.agents.interface.cli.context import context
from pentad.rooms.agents.interface.cli.files import copy_stored_file, download_file, store_files, upload_files
from pentad.terminal.client import server_options
from pentad.terminal.files import read
from pentad.terminal.launcher import run_in_room
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, say
from pentad.terminal.signing_keys import signing_keys

if TYPE_CHECKING:
    from pentad.access.signing_keys import KeyRing
    from pentad.kernel.ports import Database
    from pentad.rooms.agents.service import Agents
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
_FAILED: Final = ("failed", "rejected", "canceled")
_OVER: Final = (*_FAILED, "completed", "input-required", "auth-required")
_LOOK_AGAIN: Final = 0.5
_NO_TASKS: Final = "There are no tasks; `pentad agents send AGENT TEXT` sends one."
_NEXT_COMMANDS: Final = {
    "agent-not-found": "`pentad agents list` lists them.",
    "waiting-for-approval": "`pentad agents approvals` lists what waits.",
}
"""The command that helps after an error, by the error's reason."""


async def _card_ring(database: "Database", settings: "Settings") -> "KeyRing":
    from pentad.kernel.clock import SystemClock
    from pentad.rooms.agents.keys import open_card_ring

    return await open_card_ring(database, settings.secret_box(), SystemClock())


def _key_id(public: str) -> str:
    from pentad.rooms.agents.card_signing import key_id

    return key_id(public)


@click.group()
def agents() -> None:
    """Find agents, send them tasks, follow and cancel tasks."""


agents.add_command(context)
agents.add_command(signing_keys("agents", "cards", _card_ring, _key_id))


@agents.command("list")
@json_option
@server_options("agent")
def list_agents(as_json: bool, target: "Target") -> None:
    """List hosted agents and those in the registry."""
    _show_agents(_call_tool(target, "agents_list", {"limit": 100}), as_json)


@agents.command()
@click.argument("words", nargs=-1)
@click.option("--tag", "tags", multiple=True, help="A tag; may be repeated.")
@click.option("--skill", help="A skill, by id or name.")
@click.option("--auth", "auth_scheme", help="none, apiKey, bearer, oauth2, ...")
@click.option("--dialect", type=click.Choice(["agentvault", "0.3", "1.0"]), help="The dialect it speaks.")
@click.option("--mcp/--no-mcp", "mcp_context", default=None, help="Whether it accepts context.")
@click.option("--tee/--no-tee", default=None, help="Whether it claims to run in a trusted environment.")
@click.option("--extension", help="The URI of an extension it declares.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="The maximum number.")
@click.option("--offset", type=click.IntRange(0), default=0, help="How many to skip.")
@json_option
@server_options("agent")
def search(
    words: tuple[str, ...],
    tags: tuple[str, ...],
    skill: str | None,
    auth_scheme: str | None,
    dialect: str | None,
    mcp_context: bool | None,
    tee: bool | None,
    extension: str | None,
    limit: int,
    offset: int,
    as_json: bool,
    target: "Target",
) -> None:
    """Find agents by what they do, best match first. Tags, skills and other options must match."""
    arguments = {
        "query": " ".join(words),
        "tags": list(tags),
        "skill": skill,
        "auth_scheme": auth_scheme,
        "dialect": dialect,
        "mcp_context": mcp_context,
        "tee": tee,
        "extension": extension,
        "limit": limit,
        "offset": offset,
    }
    _show_agents(_call_tool(target, "agents_list", arguments), as_json)


@agents.command()
@click.argument("agent_name", metavar="AGENT")
@server_options("agent")
def card(agent_name: str, target: "Target") -> None:
    """Print an agent's card, by readable id (acme/weather), hosted name or card id."""

    print_json(json.loads(_with(target, lambda client: client.read(f"agents://cards/{agent_name}"))))


def _limits(_context: click.Context, _option: click.Parameter, text: str | None) -> dict[str, float] | None:
    """The limits of a budget, written calls=9,tokens=5000."""
    if text is None:
        return None
    limits: dict[str, float] = {}
    for one in text.split(","):
        name, _, number = one.partition("=")
        try:
            limits[name.strip()] = float(number)
        except ValueError:
            raise click.BadParameter(f"{one!r} is not a limit; write calls=9,tokens=5000,seconds=60.") from None
    return limits


def _budget_text(budget: Mapping[str, Any]) -> str:
    used: Mapping[str, float] = budget["used"]
    limits: Mapping[str, float] = budget["limits"]
    names = [name for name in ("calls", "tokens", "seconds") if name in used or name in limits]
    return ", ".join(
        f"{used.get(name, 0)} of {limits[name]} {name}" if name in limits else f"{used[name]} {name}" for name in names
    )


@agents.command()
@click.argument("agent_name", metavar="AGENT")
@click.argument("text", nargs=-1)
@click.option("--input", "data_file", metavar="FILE|-", help="A JSON object, sent as a data part.")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file to send, of any size up to the limit; may be repeated.",
)
@click.option("--context", "context_file", metavar="FILE|-", help="The context (mcp_context) as JSON.")
@click.option("--task", "task_id", metavar="ID", help="Continue this task, for example with an answer.")
@click.option("--conversation", "context_id", metavar="ID", help="Start the task in this conversation (contextId).")
@click.option("--event", metavar="NAME", help="Signal this event to the task, which waits for it.")
@click.option("--deadline", type=click.FloatRange(0, min_open=True), help="Seconds until the task must be over.")
@click.option(
    "--budget", metavar="LIMITS", callback=_limits, help="What the task may use: calls=9,tokens=5000,seconds=60."
)
@click.option("--key", metavar="KEY", help="An idempotency key: a second send with the same key gets the first result.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the result.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 600, min_open=True),
    default=60,
    show_default=True,
    help="How long to wait. The task continues after that.",
)
@json_option
@server_options("agent")
def send(
    agent_name: str,
    text: tuple[str, ...],
    data_file: str | None,
    files: tuple[Path, ...],
    context_file: str | None,
    task_id: str | None,
    context_id: str | None,
    event: str | None,
    deadline: float | None,
    budget: dict[str, float] | None,
    key: str | None,
    no_wait: bool,
    seconds: float,
    as_json: bool,
    target: "Target",
) -> int:
    """Send a task to an agent and wait for the result; Ctrl-C cancels the task.

    AGENT is a hosted name, a readable id (acme/weather) or the URL of a card. Events are printed to stderr.
    """
    if not text and data_file is None and not files and event is None:
        raise click.UsageError("There is nothing to send: give TEXT, --input FILE or --file FILE.")
    arguments = {
        "agent": agent_name,
        "text": " ".join(text) or None,
        "data": None if data_file is None else _object(data_file),
        "context": None if context_file is None else _object(context_file),
        "task_id": task_id,
        "context_id": context_id,
        "event": event,
        "deadline": deadline,
        "budget": budget,
        "idempotency_key": key,
        "wait": not no_wait,
        "seconds": seconds,
    }
    if target.server is not None:
        task = _with(target, lambda client: _send_to_server(client, arguments, files))
    else:
        task = run_in_agents(target.settings, lambda room: _send_locally(room, arguments, files))
    code = _show_task(task, as_json)
    if budget is not None and task.get("budget") and not as_json:
        say(f"Budget: {_budget_text(task['budget'])}")
    if task.get("context_id") and not as_json:
        say(f"Conversation: {task['context_id']}")
    return code


@agents.command()
@click.argument("work", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only show which agents may do it.")
@click.option("--context", "context_file", metavar="FILE", help="A JSON file with the context; - for stdin.")
@click.option("--attempts", type=click.IntRange(1, 5), default=3, show_default=True, help="How many agents to try.")
@click.option("--deadline", type=float, metavar="SECONDS", help="Seconds until the work must be done.")
@click.option("--budget", metavar="LIMITS", callback=_limits, help="What it may use: calls=9,tokens=5000,seconds=60.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the result.")
@json_option
@server_options("agent")
def delegate(
    work: tuple[str, ...],
    dry_run: bool,
    context_file: str | None,
    attempts: int,
    deadline: float | None,
    budget: dict[str, float] | None,
    no_wait: bool,
    as_json: bool,
    target: "Target",
) -> int:
    """Find an agent for WORK, send it there and wait for the result.

    Agents of the directory and the registry are ranked. One that is neither hosted here nor in the setting delegate_to
    gets nothing before a person agrees (`pentad agents approvals`).
    """
    arguments = {
        "work": " ".join(work),
        "dry_run": dry_run,
        "context": None if context_file is None else _object(context_file),
        "attempts": attempts,
        "deadline": deadline,
        "budget": budget,
        "wait": not no_wait,
        "seconds": 600,
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    task = _call_tool(target, "agents_delegate", given)
    if not as_json:
        for line in _plan_lines(task):
            say(line)
    return _show_task(task, as_json)


def _plan_lines(task: Mapping[str, Any]) -> Iterator[str]:
    """The candidates of a delegated task, one line each."""
    plans = [one["data"][0] for one in task.get("artifacts", ()) if one.get("name") == "plan" and one.get("data")]
    for one in plans[0]["candidates"] if plans else ():
        signed = {True: "signed", False: "not signed", None: "no record"}[one.get("signed")]
        notes = [signed, f"cost {one['cost']}", *([] if one["allowed"] else ["needs consent"])]
        if one.get("excluded"):
            notes.append(one["excluded"])
        yield f"{one['agent']}  {one['url']}  ({', '.join(notes)}; {'; '.join(one['reasons'])})"


@agents.command()
@click.argument("file", metavar="FILE")
@click.option("--output", type=click.File("wb", lazy=True), default="-", help="Where to save it; by default stdout.")
@server_options("agent")
def download(file: str, output: BinaryIO, target: "Target") -> None:
    """Download a file of a task, by its URL or id."""
    file_id = file.rpartition("/")[2]
    if target.server is None:
        run_in_agents(target.settings, lambda room: copy_stored_file(room, file_id, output))
    else:
        asyncio.run(download_file(target, file_id, output))


@agents.command()
@click.option("--state", help="Only tasks in this state.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="The maximum number.")
@json_option
@server_options("agent")
def tasks(state: str | None, limit: int, as_json: bool, target: "Target") -> None:
    """List your tasks, last changed first: those of this machine's owner, or with --url those of the login."""
    if target.server is None:
        rows = run_in_agents(target.settings, lambda room: _tasks(room, state, limit))
    else:
        query = {"state": state, "limit": limit}
        rows = _with(target, lambda client: client.call_route("GET", "/api/agents/tasks", query))["tasks"]
    if as_json:
        print_json(rows)
    else:
        print_table(("task", "agent", "state", "changed", "text"), task_rows(rows), empty=_NO_TASKS)


@agents.command()
@click.argument("task_id", metavar="TASK")
@json_option
@server_options("agent")
def watch(task_id: str, as_json: bool, target: "Target") -> int:
    """Follow a task until it ends or waits for an answer. Events are printed to stderr, the task at the end."""
    if target.server is not None:
        return _show_task(_with(target, lambda client: _poll_task(client, task_id)), as_json)
    return _show_task(run_in_agents(target.settings, lambda room: _watch_task(room, task_id)), as_json)


@agents.command()
@click.argument("task_id", metavar="TASK")
@json_option
@server_options("agent")
def cancel(task_id: str, as_json: bool, target: "Target") -> None:
    """Cancel a task that has not ended."""
    _show_task(_call_tool(target, "agents_cancel_task", {"task_id": task_id}), as_json)


@agents.command()
@click.argument("task_id", metavar="TASK")
@json_option
@server_options("agent")
def trace(task_id: str, as_json: bool, target: "Target") -> None:
    """Show what the agent of a task did: its calls, and the tasks it sent to other agents."""
    from pentad.rooms.agents.interface.presentation import trace_lines

    found = json.loads(_with(target, lambda client: client.read(f"agents://tasks/{task_id}/trace")))
    if as_json:
        print_json(found)
        return
    for line in trace_lines(found["task"]):
        print_text(line)
    if "cut" in found:
        say(found["cut"])


@agents.command()
@click.argument("approval_id", metavar="[ID]", required=False)
@click.option("--all", "everything", is_flag=True, help="Also those that are not pending.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="The maximum number.")
@click.option("--cursor", help="The cursor of the previous page.")
@json_option
@server_options("agent")
def approvals(
    approval_id: str | None, everything: bool, limit: int, cursor: str | None, as_json: bool, target: "Target"
) -> None:
    """List approvals that you may decide or asked for, or show the approval ID."""
    arguments = {"approval_id": approval_id, "all": everything, "limit": limit, "cursor": cursor}
    found = _call_tool(target, "agents_approvals", arguments)
    if as_json or approval_id is not None:
        print_json(found["approvals"][0] if approval_id is not None else found)
        return
    columns = ("id", "what", "decides", "agent", "asked by", "state", "until")
    print_table(columns, approval_rows(found["approvals"]), empty="Nothing waits for an approval.")
    if found.get("next_cursor"):
        say(f"--cursor {found['next_cursor']} shows more.")


@agents.command()
@click.argument("approval_id", metavar="ID")
@click.option("--reason", default="", help="Why; the agent and the audit trail get it.")
@json_option
@server_options("agent")
def approve(approval_id: str, reason: str, as_json: bool, target: "Target") -> None:
    """Approve what an agent asked for."""
    _decide(target, approval_id, "approve", reason, as_json)


@agents.command()
@click.argument("approval_id", metavar="ID")
@click.option("--reason", default="", help="Why; the agent and the audit trail get it.")
@json_option
@server_options("agent")
def refuse(approval_id: str, reason: str, as_json: bool, target: "Target") -> None:
    """Refuse what an agent asked for."""
    _decide(target, approval_id, "refuse", reason, as_json)


def _decide(target: "Target", approval_id: str, decision: str, reason: str, as_json: bool) -> None:
    arguments = {"approval_id": approval_id, "decision": decision, "reason": reason}
    (found,) = _call_tool(target, "agents_approvals", arguments)["approvals"]
    if as_json:
        print_json(found)
    else:
        print_text(f"{found['state']}: {found['what']}")


@agents.command()
@click.argument("task_id", metavar="[TASK]", required=False)
@click.option("--reason", required=True, help="The reason, for the audit trail.")
@click.option("--cancel", is_flag=True, help="Cancel TASK.")
@click.option("--migrate", is_flag=True, help="Let TASK continue with the agent's current code.")
@click.option("--owner", metavar="PRINCIPAL", help="Only this user's tasks, e.g. user:ada.")
@click.option("--state", help="Only tasks in this state.")
@click.option("--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="The maximum number.")
@click.option("--cursor", help="The cursor of the previous page.")
@json_option
@server_options("agent")
def operate(
    task_id: str | None,
    reason: str,
    cancel: bool,
    migrate: bool,
    owner: str | None,
    state: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    target: "Target",
) -> None:
    """List the tasks of all users, inspect TASK, cancel or migrate it. Needs agents:admin."""
    filters = {"owner": owner, "state": state, "limit": limit, "cursor": cursor}
    change = {"task_id": task_id, "cancel": cancel, "migrate": migrate}
    found = _call_tool(target, "agents_operate", {"reason": reason, **change, **filters})
    if as_json:
        print_json(found)
    elif task_id is not None:
        _show_task(found["tasks"][0], as_json)
    else:
        columns = ("owner", "task", "agent", "state", "changed", "text")
        rows = [(one["owner"], *row) for one, row in zip(found["tasks"], task_rows(found["tasks"]), strict=True)]
        print_table(columns, rows, empty="There are no tasks.")
        if found.get("next_cursor"):
            say(f"{found['total']} in all; --cursor {found['next_cursor']} shows more.")


@agents.command()
@click.argument("place", metavar="FILE|URL|-")
@click.option("--update", "card_id", metavar="ID", help="Update this card: the given members replace its own.")
@click.option("--no-directory", is_flag=True, help="Create no directory record.")
@json_option
@server_options("agent")
def register(place: str, card_id: str | None, no_directory: bool, as_json: bool, target: "Target") -> None:
    """Register an agent by its card, from a file, a URL or stdin."""
    is_url = place.startswith(("http://", "https://"))
    given: dict[str, Any] = {"url": place} if is_url else {"card": _object(place)}
    given |= {"card_id": card_id, "list_in_directory": not no_directory}
    registered = _call_tool(target, "agents_register_card", given)
    if as_json:
        print_json(registered)
        return
    print_text(registered["agent"]["id"])
    if (listed := registered.get("directory")) is not None:
        say(f"Directory: {listed['status']}{': ' + listed.get('cid', listed.get('reason', ''))}")


def _object(file: str) -> dict[str, Any]:
    try:
        value = json.loads(read(file))
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"{file} is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{file} is not a JSON object.")
    return cast("dict[str, Any]", value)


def _call_tool(target: "Target", tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one of the room's tools."""
    return _with(target, lambda client: client.call_tool(tool, arguments))


def _with(target: "Target", work: "Callable[[Client], Coroutine[Any, Any, T]]") -> T:
    """Run a function with a client, on the given server or in this process."""
    with _hints_for_people():
        return target.run(work, "agents", "directory")


def run_in_agents(settings: "Settings", work: "Callable[[Agents], Coroutine[Any, Any, T]]") -> T:
    """Run a function with the opened room. The other rooms are open too: contexts and agents use them."""
    with _hints_for_people():
        return run_in_room(settings, work, "agents", beside_all=True)


@contextmanager
def _hints_for_people() -> Generator[None]:
    """Make errors name the next command."""
    try:
        yield
    except PentadError as error:
        if (command := _NEXT_COMMANDS.get(error.details.get("reason", ""))) is not None:
            error.hint = f"{error.hint} {command}"
        raise


async def _send_to_server(client: "Client", arguments: Mapping[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    return await client.call_tool("agents_send_task", {**arguments, "files": await upload_files(client, files) or None})


async def _send_locally(room: "Agents", arguments: Mapping[str, Any], files: Sequence[Path]) -> dict[str, Any]:
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.agents.delegation import delegate
    from pentad.rooms.agents.interface.presentation import delegation_view, describe_event
    from pentad.rooms.agents.interface.tools import SendArguments, task_request
    from pentad.rooms.agents.models import Event

    given = SendArguments.model_validate(
        {"files": await store_files(room, files)}
        | {name: value for name, value in arguments.items() if value is not None}
    )

    async def on_event(event: Event) -> None:
        say(describe_event(event.body))

    seconds = given.seconds if given.wait else 0.0
    delegated = await delegate(room, LOCAL, task_request(given), seconds=seconds, on_event=on_event, trusted=True)
    return delegation_view(delegated, given.max_characters).model_dump(exclude_none=True)


async def _watch_task(room: "Agents", task_id: str) -> dict[str, Any]:
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.agents.interface.presentation import describe_event, task_view
    from pentad.rooms.agents.models import Event

    async for event in room.tasks.follow(LOCAL, task_id, after=0, rest=True):
        if isinstance(event, Event):
            say(describe_event(event.body))
    task = await room.tasks.get(LOCAL, task_id)
    return task_view(task, task.agent).model_dump(exclude_none=True)


async def _poll_task(client: "Client", task_id: str) -> dict[str, Any]:
    """Poll a task on a server until it rests."""
    known = ""
    while True:
        task = await client.call_tool("agents_get_task", {"task_id": task_id})
        if (now := f"{task['state']}: {task['text']}") != known:
            known = now
            say(now[:200])
        if task["state"] in _OVER:
            return task
        await asyncio.sleep(_LOOK_AGAIN)


async def _tasks(room: "Agents", state: str | None, limit: int) -> list[dict[str, Any]]:
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.agents.interface.presentation import list_tasks

    return await list_tasks(room, LOCAL, state, limit)


def _show_agents(found: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    columns = ("id", "name", "speaks", "where", "description")
    print_table(columns, agent_rows(found["agents"]), empty="No agent was found.")
    if (offset := found.get("next_offset")) is not None:
        say(f"{found['total']} in all; --offset {offset} shows more.")


def _show_task(task: Mapping[str, Any], as_json: bool) -> int:
    hint = _task_hint(task)
    if as_json:
        print_json({**task, "hint": hint} if task.get("hint") else task)
    else:
        for line in task_lines(task):
            print_text(line)
        waits = f"It waits for {task['waiting_for']}. " if task.get("waiting_for") else ""
        if hint is not None:
            say(waits + hint)
    return ExitCode.FAILED if task["state"] in _FAILED else ExitCode.OK


def _task_hint(task: Mapping[str, Any]) -> str | None:
    """The command that continues a task; None if it is over."""
    if task.get("waiting_for", "").startswith("an approval"):
        return "`pentad agents approvals` shows it."
    if task.get("waiting_for"):
        return f"Answer with `pentad agents send {task['agent']} --task {task['task_id']} ...`"
    return None if task["state"] in _OVER else f"It is running; `pentad agents watch {task['task_id']}` follows it."


def agent_rows(agents: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            one["id"],
            one["name"],
            ", ".join(one["dialects"]),
            "here" if one["hosted_here"] else one["url"],
            _short(one["description"]),
        )
        for one in agents
    ]


def approval_rows(approvals: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            one["id"],
            _short(one["what"]),
            ", ".join(one["by"]),
            one["agent"],
            one["requester"],
            one["state"],
            one["expires"],
        )
        for one in approvals
    ]


def task_rows(tasks: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (one["task_id"], one["agent"], one["state"], one.get("updated_at", ""), _short(one["text"])) for one in tasks
    ]


def task_lines(task: Mapping[str, Any]) -> Iterator[str]:
    """What the agent said, its artifacts, and where to read what was cut."""
    yield from _content_lines(task)
    for one in task.get("artifacts", ()):
        yield f"--- {one.get('name') or one['id']}"
        yield from _content_lines(one)
    if task.get("cut"):
        yield f"[{task['cut']}]"


def _content_lines(content: Mapping[str, Any]) -> Iterator[str]:
    """Texts, values and files: of an artifact, or of what the agent said."""
    if content.get("text"):
        yield content["text"]
    for value in content.get("data") or ():
        yield json.dumps(value, ensure_ascii=False, indent=2)
    for file in content.get("files") or ():
        named = file.get("filename") or file.get("media_type") or "file"
        yield f"[{named} {file.get('url') or str(file.get('bytes', 0)) + ' bytes'}]"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else line[:57] + "..."
