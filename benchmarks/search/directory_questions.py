"""How well the directory answers questions nobody tuned on: `python -m benchmarks.search.directory_questions`.

`judged_directory.json` has MCP servers, A2A agents and skills, some in several versions of themselves and of OASF, and
questions in English, German and Spanish, some of which nothing there answers. A hash of its text decides whether a
question is held out, so that a new one cannot be moved. Without `--held-out` only the others are asked: search is tuned
on these. The same vectors without anything else (plain cosine) are asked beside it.
"""

import argparse
import asyncio
import hashlib
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.search.marks import COLUMNS, Answer, Marks
from pentad.app import App, open_app
from pentad.kernel.ports import Embedder
from pentad.rooms.directory.oasf.taxonomy import map_class, taxonomy
from pentad.rooms.directory.oasf.versions import Family
from pentad.settings.model import SearchSettings, Settings

_SET: Final = json.loads((Path(__file__).parent / "judged_directory.json").read_text("utf-8"))
_BASE: Final = "1.0.0"
_MODULES: Final = {"mcp": "integration/mcp", "a2a": "integration/a2a", "skill": "core/language_model/agentskills"}
_EVERYWHERE: Final = {"skill": "problem_solving", "domain": "security"}
"""Classes that every version of OASF has, for agents whose own class one of them lacks."""
_SIGNATURE: Final = {
    "algorithm": "none", "certificate": "", "content_bundle": "", "content_type": "application/json", "signature": "",
    "signed_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
_OLD: Final = ("0.3.1", "0.7.0", "0.8.0")

Ask = Callable[[str], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the agents that answer it, by the last part of their names; none if nothing does."""

    language: str
    question: str
    answers: tuple[str, ...]

    @property
    def held_out(self) -> bool:
        return bool(hashlib.sha256(self.question.encode()).digest()[0] & 1)


QUESTIONS: Final = tuple(Question(one["language"], one["question"], tuple(one["answers"])) for one in _SET["questions"])


def records() -> list[dict[str, Any]]:
    """Every version of every agent as a valid record, the oldest version of each agent first."""
    return [_record(agent, *at.split("@")) for agent in _SET["records"] for at in agent["versions"]]


def _record(agent: dict[str, Any], version: str, schema: str) -> dict[str, Any]:
    name = agent["name"].partition("/")[2]
    record: dict[str, Any] = {
        "schema_version": schema, "name": agent["name"], "version": version, "description": agent["description"],
        "created_at": "2026-01-01T00:00:00Z", "authors": [agent["name"].partition(".")[0]],
        "locators": [_locator(schema, f"https://git.{agent['name']}")],
        "skills": _classes(schema, "skill", agent["skills"]),
    }  # fmt: skip
    if schema == "0.3.1":
        return {**record, "extensions": [], "signature": _SIGNATURE}
    record["domains"] = _classes(schema, "domain", agent["domains"])
    record["modules"] = [] if schema in _OLD else [{"name": _MODULES[agent["kind"]], "data": _module(agent, name)}]
    return record


def _locator(schema: str, url: str) -> dict[str, Any]:
    kind = "source-code" if schema == "0.3.1" else "source_code"
    return {"type": kind, "url": url} if schema in _OLD else {"type": kind, "urls": [url]}


def _classes(schema: str, family: Family, names: Sequence[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name in names:
        entry = taxonomy(_BASE, family).by_name(name)
        if entry is None:
            raise SystemExit(f"There is no {family} {name}.")
        there = taxonomy(schema, family).by_name(name)
        if there is None and (mapped := map_class(entry, _BASE, schema, family)) is not None:
            there = mapped.entry
        if there is not None:
            old = {"class_uid": there.id, "category_uid": there.id // 10_000, "class_name": there.caption}
            found.append(old if schema == "0.3.1" else {"id": there.id, "name": there.name})
    return found or _classes(schema, family, [_EVERYWHERE[family]])


def _module(agent: dict[str, Any], name: str) -> dict[str, Any]:
    if agent["kind"] == "mcp":
        return {"name": name, "connections": [{"type": "streamable-http", "url": f"https://{agent['name']}/mcp"}]}
    if agent["kind"] == "skill":
        return {
            "skill_file": "SKILL.md",
            "skill_manifest": {"name": name, "description": agent["description"], "license": "MIT"},
        }
    return {"card_data": {"name": name, "description": agent["description"]}, "card_schema_version": "0.3.0"}


async def push(client: Any) -> dict[str, str]:
    """Push all records; the name behind each CID."""
    names: dict[str, str] = {}
    for record in records():
        answer = await _tool(client, "agntcy_dir_push_record", {"record_json": json.dumps(record)})
        if "cid" not in answer:
            raise SystemExit(answer["error_message"])
        names[answer["cid"]] = record["name"].partition("/")[2]
    return names


def directory(client: Any, names: dict[str, str]) -> Ask:
    """Asks the directory's search tool."""

    async def ask(question: str) -> Answer:
        found = await _tool(client, "agntcy_dir_search_local", {"query": question, "limit": 10})
        hits = found.get("hits", [])
        best = hits[0]["score"] if hits else 0.0
        return Answer([names[hit["cid"]] for hit in hits], best, found.get("no_good_match", False))

    return ask


def described(given: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The descriptions of agents by the last part of their names; that of the newest version."""
    return {record["name"].partition("/")[2]: record["description"] for record in given}


async def plain_cosine(embedder: Embedder, agents: Mapping[str, str]) -> Ask:
    """Ranks agents by the cosine of name and description, and knows no verdict."""

    def unit(data: bytes) -> NDArray[np.float32]:
        found = np.frombuffer(data, "<f4").reshape(-1, embedder.dimensions)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    rows = unit(await embedder.embed([f"{name.replace('-', ' ')}. {text}" for name, text in agents.items()]))

    async def ask(question: str) -> Answer:
        cosines = rows @ unit(await embedder.embed([question]))[0]
        order = np.argsort(-cosines)
        return Answer([list(agents)[place] for place in order[:10]], float(cosines[order[0]]), no_match=False)

    return ask


async def marks(ask: Ask, language: str, *, held_out: bool, told: bool = False) -> Marks:
    """The marks of one half of the questions in a language."""
    found = Marks()
    for one in QUESTIONS:
        if one.language == language and one.held_out == held_out:
            got = await ask(one.question)
            found.note(one.answers, got)
            wrong = got.names[:1] != [*one.answers[:1]] or got.no_match if one.answers else not got.no_match
            if told and wrong:
                print(f"  {got.best:.2f} {'silent' if got.no_match else '      '} {one.question!r}: {got.names[:3]}")
    return found


async def _tool(client: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    return result["structuredContent"]


async def _run(models: Path, *, held_out: bool, told: bool) -> None:
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(
            data=Path(data), rooms=("directory",), auth="none", models=models, search=SearchSettings(embedder="auto")
        )
        async with open_app(settings) as app, app.client() as client:
            ask = directory(client, await push(client))
            await app.search.embed_pending()
            await _print("directory", ask, held_out=held_out, told=told)
            await _print(
                "plain cosine", await plain_cosine(_embedder(app), described(records())), held_out=held_out, told=False
            )


def _embedder(app: App) -> Embedder:
    if app.search.embedder is None:
        raise SystemExit("There is no embedding model: `pentad models pull` fetches one.")
    return app.search.embedder


async def _print(title: str, ask: Ask, *, held_out: bool, told: bool) -> None:
    for language in ("en", "de", "es"):
        found = await marks(ask, language, held_out=held_out, told=told)
        print(f"{f'{title}, {language}':<24}{found.line()}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", type=Path, default=Path(".cache/models"), help="folder with the embedding model")
    arguments.add_argument("--held-out", action="store_true", help="ask the questions that were not tuned on")
    arguments.add_argument("--wrong", action="store_true", help="show what was answered wrongly")
    chosen = arguments.parse_args()
    print(f"{'held out' if chosen.held_out else 'tuned':<24}" + "".join(f"{one:>8}" for one in COLUMNS))
    asyncio.run(_run(chosen.models, held_out=chosen.held_out, told=chosen.wrong))


if __name__ == "__main__":
    main()
