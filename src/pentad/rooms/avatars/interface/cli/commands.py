"""`pentad avatars`: ingest documents, ask, evaluate and publish avatars, and serve one over stdio.

The verbs work on the store as its owner, or on a server with --url. `serve` is itself a server.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.rooms.avatars.interface.cli.quality import QUALITY_VERBS, avatar_option
from pentad.rooms.avatars.verbs import FIRST_CONTENT
from pentad.terminal.client import server_options
from pentad.terminal.launcher import launcher, open_room, run_in_room
from pentad.terminal.options import json_option, settings_options
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, progress_bar, say
from pentad.terminal.program import program

if TYPE_CHECKING:
    from pentad.rooms.avatars.corpus.ingest import IngestOptions
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport
    from pentad.rooms.avatars.interface.presentation import AnswerView
    from pentad.rooms.avatars.service import Avatars
    from pentad.settings.model import Settings
    from pentad.terminal.client import Client, Target


_URI: Final = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
"""A scheme of more than one letter: `C:` is a drive."""
_OWN_URL: Final = re.compile(r'"url"\s*:\s*"(?!https?:)[a-z]')
_NO_AVATARS: Final = f"There are no avatars; `{FIRST_CONTENT}` makes one."


@click.group()
def avatars() -> None:
    """Create avatars, ingest documents, ask, evaluate and publish them, or serve one."""


for verb in QUALITY_VERBS:
    avatars.add_command(verb)


@avatars.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--name", help="Whose corpus it is: a person, a book, an office.")
@click.option("--description", help="What the corpus is about, in one sentence.")
@click.option(
    "--voice", type=click.Choice(("student", "first_person")), help="Speak about the person, or as the person."
)
@click.option("--id", "avatar_id", metavar="ID", help="Its id; made from the name if left out.")
def new(folder: Path, name: str | None, description: str | None, voice: str | None, avatar_id: str | None) -> None:
    """Turn a folder of documents into an avatar by writing its config.json.

    Prompts for missing options. Documents may be in FOLDER itself or under FOLDER/corpus.
    """
    from pentad.rooms.avatars.config import CONFIG_FILE
    from pentad.rooms.avatars.new_avatar import write_config

    name = name or click.prompt("Whose corpus is it (a person, a book, an office)", default=folder.resolve().name)
    description = description or click.prompt("What is it about, in one sentence")
    voice = voice or click.prompt(
        "Does it speak about the person, or as the person", type=click.Choice(("student", "first_person")),
        default="student",
    )  # fmt: skip
    made = write_config(folder, name, description, voice, avatar_id)
    say(f"{folder / CONFIG_FILE}: {made}. Next: `{program()} avatars ingest {folder}`")


@avatars.command()
@click.argument("sources", nargs=-1, metavar="FOLDER | FILE... | URI...")
@click.option("--avatar", metavar="ID", help="Add files to this avatar. Without it, FOLDER is the folder of an avatar.")
@click.option("--source", metavar="ID", help="Only the source of this id.")
@click.option("--dry-run", is_flag=True, help="Read the documents without storing anything.")
@click.option("--force", is_flag=True, help="Read and embed unchanged documents again.")
@json_option
@server_options()
def ingest(
    sources: tuple[str, ...],
    avatar: str | None,
    source: str | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
    target: "Target",
) -> int:
    """Bring an avatar's folder up to date, or add files to an avatar.

    A folder holds config.json (`pentad avatars new` writes one) and documents, under corpus/ if there is such a folder
    (PDF, Markdown, text, HTML, DOCX, EPUB; scans and pictures with the extra ocr). Unchanged documents are skipped,
    and a failed ingest leaves the avatar as it was. A URI is a resource of any room (openregister://objects/...), read
    with your rights.
    """
    from pentad.rooms.avatars.corpus.ingest import IngestOptions

    uris = [one for one in sources if _URI.match(one)]
    paths = tuple(Path(one) for one in sources if one not in uris)
    if avatar is None and (uris or len(paths) != 1):
        raise click.UsageError("Give one FOLDER, or --avatar ID and files or URIs.")
    if not sources:
        raise click.UsageError("Give the files, folders or URIs to add.")
    if missing := [path for path in paths if not path.exists()]:
        raise click.UsageError(f"There is no file or folder {missing[0]}.")
    options = IngestOptions(source, dry_run, force)
    if target.server is None:
        report = asyncio.run(_ingest(target.settings, paths, uris, avatar, options))
    else:
        report = target.run(lambda client: _upload(client, paths, uris, avatar, options))
    if as_json:
        print_json(report.as_json())
    else:
        for line in report_lines(report):
            say(line)
    return ExitCode.FAILED if report.of("failed") else ExitCode.OK


@avatars.command()
@click.argument("question", nargs=-1, required=True)
@avatar_option
@json_option
@server_options()
def ask(question: tuple[str, ...], avatar: str | None, as_json: bool, target: "Target") -> None:
    """Ask an avatar, and show its answer with citations."""
    asked = {"question": " ".join(question), "avatar": avatar, "mode": "extractive"}
    answer = target.call_tool("generate_response", asked, "avatars")
    if as_json:
        print_json(answer)
        return
    from pentad.rooms.avatars.interface.presentation import AnswerView

    for line in answer_lines(AnswerView.model_validate(answer)):
        print_text(line)


@avatars.command("list")
@json_option
@server_options()
def list_avatars(as_json: bool, target: "Target") -> None:
    """List the avatars and the size of their corpora."""
    rows = target.run(_listed, "avatars")
    if as_json:
        print_json(rows)
        return
    print_table(
        ("id", "name", "documents", "passages", "characters"),
        [(row["id"], row["name"], row["documents"], row["passages"], f"{row['characters']:,}") for row in rows],
        empty=_NO_AVATARS,
    )


async def _listed(client: "Client") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for one in (await client.call_tool("list_avatars", {}))["avatars"]:
        about = await client.call_tool("get_avatar_info", {"avatar": one["id"]})
        rows.append(
            {
                "id": one["id"],
                "name": one["name"],
                "description": one["description"],
                "documents": one["document_count"],
                "passages": one["passage_count"],
                "characters": about["corpus_size"],
                "generation": about["generation"],
            }
        )
    return rows


@avatars.command()
@click.option("--avatar", metavar="ID", help="Only this avatar; without it all of them.")
@click.option("--print", "only_print", is_flag=True, help="Print the records; push nothing.")
@json_option
@server_options()
def publish(avatar: str | None, only_print: bool, as_json: bool, target: "Target") -> int:
    """Push an OASF record of each avatar to the directory on the same server, with an A2A card if it has an address.

    The address is that of the server running on the store, or its public_url. Without either, the record names the
    command that serves the avatar. Unchanged avatars keep their record and CID.
    """
    from pentad.terminal.running_servers import site_of

    query = {"avatar": avatar}
    site = site_of(target.settings)
    if only_print:
        if target.server is None:
            records = run_in_room(target.settings, lambda room: _records(room, avatar, site), "avatars")
        else:
            records = target.run(lambda client: client.call_route("GET", "/api/avatars/records", query))["records"]
        print_json(records)
        return ExitCode.OK
    if target.server is None:
        pushed = run_in_room(target.settings, lambda room: _published(room, avatar, site), "avatars", "directory")
    else:
        pushed = target.run(lambda client: client.call_route("POST", "/api/avatars/publish", query))["published"]
    if as_json:
        print_json(pushed)
    else:
        rows = [(one["avatar"], one.get("cid") or one.get("error_message", "")) for one in pushed]
        print_table(("avatar", "record"), rows, empty=_NO_AVATARS)
    return ExitCode.OK if all(one.get("cid") for one in pushed) else ExitCode.FAILED


@avatars.command()
@click.option("--avatar", required=True, metavar="ID", help="The avatar to serve.")
@settings_options("data", "database", running="fallback")
def serve(avatar: str, settings: "Settings") -> None:
    """Serve one avatar over stdin and stdout, under the name and version its config.json gives it."""
    from pentad.logs import configure_logging

    configure_logging(settings.log.level, settings.log.format)
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(settings, avatar))


async def _serve(settings: "Settings", avatar_id: str) -> None:
    from pentad.rooms.avatars.interface.single_avatar import one_avatar

    await launcher().serve_part(settings, "avatars", lambda opened: one_avatar(opened.room, opened.service, avatar_id))


async def _ingest(
    settings: "Settings", paths: tuple[Path, ...], uris: Sequence[str], avatar: str | None, options: "IngestOptions"
) -> "IngestReport":
    from pentad.kernel.principal import LOCAL

    room: Avatars
    refers = bool(uris) or (avatar is None and await asyncio.to_thread(_refers, paths[0]))
    async with open_room(settings, "avatars", beside_all=refers) as room:
        with progress_bar() as told:
            if avatar is None:
                return await room.ingest(paths[0], options, told, LOCAL)
            return await room.add(avatar, paths, options, told, uris, LOCAL)


def _refers(folder: Path) -> bool:
    """Whether a source of the folder may be a resource of another room."""
    from pentad.rooms.avatars.corpus.ingest_plan import CORPUS_FOLDER
    from pentad.rooms.avatars.corpus.sources import SOURCES_FILE

    try:
        return bool(_OWN_URL.search((folder / CORPUS_FOLDER / SOURCES_FILE).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):  # the ingest says what is wrong
        return False


async def _upload(
    client: "Client", paths: tuple[Path, ...], uris: Sequence[str], avatar: str | None, options: "IngestOptions"
) -> "IngestReport":
    """Upload the documents to a server. Other files are skipped and listed in the report."""
    from pentad.rooms.avatars.corpus.ingest import files_in
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport
    from pentad.rooms.avatars.corpus.upload import pack_files, pack_folder

    packed = pack_folder(paths[0]) if avatar is None else pack_files(files_in(paths))
    flags = {"dry_run": str(options.dry_run).lower(), "force": str(options.force).lower()}
    query = {"avatar": avatar, "source": options.source, "uri": list(uris), **flags}
    answer = await client.call_route("POST", "/api/avatars/ingest", query, packed.body, packed.media_type)
    report = IngestReport.from_json(answer)
    if options.source is None:
        report.lines = sorted([*report.lines, *packed.left_out], key=lambda line: line.path)
    return report


async def _records(room: "Avatars", avatar_id: str | None, site: str | None) -> list[dict[str, Any]]:
    from pentad.rooms.avatars.interface.publication import records_of

    return [record for _, record in await records_of(room, avatar_id, site)]


async def _published(room: "Avatars", avatar_id: str | None, site: str | None) -> list[dict[str, Any]]:
    from pentad.kernel.principal import LOCAL
    from pentad.rooms.avatars.interface.publication import publish_records

    return await publish_records(room, LOCAL, avatar_id, site)


_WIDTH: Final = 100
_INDENT: Final = "    "


def report_lines(report: "IngestReport") -> Iterator[str]:
    """Changed files, warnings, and totals."""
    for line in report.lines:
        if line.status == "unchanged":
            continue
        size = _counted(line.passages, "passage")
        pages = _counted(line.pages or 0, "page")
        notes = "; ".join(part for part in (size, pages, line.note) if part)
        yield f"{line.status:9}  {line.path}{f'  ({notes})' if notes else ''}"
    for warning in report.warnings:
        yield f"warning    {warning}"
    counts = ", ".join(
        f"{len(report.of(status))} {status}"
        for status in ("added", "changed", "unchanged", "removed", "failed")
        if report.of(status) or status in ("added", "unchanged")
    )
    if report.resumed:
        yield f"{_counted(report.resumed, 'document')} already read by an interrupted ingest."
    tail = "Nothing was written: this was a dry run." if report.dry_run else f"Generation {report.generation}."
    yield f"{report.avatar}: {counts}. {tail}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def answer_lines(answer: "AnswerView") -> Iterator[str]:
    """The answer, its citations, and its confidence."""
    yield fill(answer.response, _WIDTH)
    yield ""
    said = {number for one in answer.statements if one.verdict == "quoted" for number in one.citations}
    for one in answer.citations:
        yield f"[{one.n}] {place(one.model_dump())}"
        if one.n not in said:
            yield fill(f"\u201c{one.quote}\u201d", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    for near in answer.nearest or ():
        yield f"nearest: {place(near.model_dump())}"
        yield fill(f"\u201c{near.quote}\u201d", _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    if answer.suggestion:
        yield fill(answer.suggestion, _WIDTH)
    if answer.redirect:
        yield f"Ask {answer.redirect} instead."
    if answer.citations or answer.nearest or answer.suggestion or answer.redirect:
        yield ""
    why = f", {answer.reason}" if answer.reason else ""
    search = "" if answer.retrieval == "none" else f"; {answer.retrieval} search"
    yield f"confidence: {answer.confidence} ({answer.confidence_score:.2f}{why}){search}"
    yield answer.ai_label


def place(cited: Mapping[str, Any]) -> str:
    """Title, page or section, and year."""
    from pentad.rooms.avatars.models import section_below

    where = [str(cited["source"])]
    page, last = cited.get("page"), cited.get("page_end")
    if page is not None:
        where.append(f"p. {page}" if last in (None, page) else f"pp. {page}-{last}")
    elif section := section_below(cited.get("section"), where[0]):
        where.append(section)
    year = f" ({cited['year']})" if cited.get("year") else ""
    as_of = f", as of {cited['as_of']}" if cited.get("as_of") else ""
    scan = f", a scan ({cited['recognition']:.2f})" if cited.get("recognition") else ""
    return ", ".join(where) + year + as_of + scan
