"""How good the rooms' searches are on judged questions: `python -m benchmarks.search.relevance`.

Records of agents with questions (`judged_agents.json`, every second one held out from tuning) are asked of the
directory and of a hybrid register: by words alone, with half of the vectors made, and with all of them. The avatars'
batteries are asked of the demo avatars. AUROC compares best scores; `marks.py` says what the other columns are.
"""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.search.directory_questions import Ask, described, directory, plain_cosine
from benchmarks.search.marks import COLUMNS, Answer, Marks
from pentad.app import App, open_app
from pentad.rooms.avatars.interface.demo import fill_demo
from pentad.rooms.avatars.search.retrieval import retrieve
from pentad.rooms.avatars.verification.normalization import normalized
from pentad.search.embedders import Choice
from pentad.settings.model import SearchSettings, Settings
from tests.rooms.avatars.acceptance import babbage, nightingale

AGENTS = json.loads((Path(__file__).parent / "judged_agents.json").read_text("utf-8"))
_SCHEMA = {
    "title": "Agent",
    "slug": "agent",
    "configuration": {"search": "hybrid"},
    "properties": {key: {"type": "string"} for key in ("name", "description", "skills")},
}


async def halves(ask: Ask) -> tuple[Marks, Marks]:
    """The marks of the tuned and of the held-out half."""
    found = Marks(), Marks()
    for place, question in enumerate(AGENTS["questions"]):
        found[place % 2].note(question["answers"], await ask(question["question"]))
    return found


async def _ask_all(title: str, ask: Ask) -> None:
    for name, marks in zip(("tuned", "held out"), await halves(ask), strict=True):
        _say(f"{title}, {name}", marks)


def _say(title: str, marks: Marks) -> None:
    print(f"{title:<44}{marks.line()}", flush=True)


async def _tool(client: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    return result.get("structuredContent") or json.loads(result["content"][0]["text"])


async def _directory(app: App, client: Any, way: str, embedded: int | None) -> None:
    ask = directory(client, await push_agents(client))
    await _embed(app, embedded)
    await _ask_all(f"directory, {way}", ask)
    if embedded is None and app.search.embedder is not None:
        await _ask_all("plain cosine", await plain_cosine(app.search.embedder, described(AGENTS["records"])))


async def push_agents(client: Any) -> dict[str, str]:
    """Push the records; the name behind each CID."""
    names: dict[str, str] = {}
    for record in AGENTS["records"]:
        full = {
            "schema_version": "1.0.0", "created_at": "2026-01-01T00:00:00Z", "authors": ["A"], "locators": [],
            "modules": [], **record,
            **{family: [{"name": _class(family, name)} for name in record[family]] for family in ("skills", "domains")},
        }  # fmt: skip
        answer = await _tool(client, "agntcy_dir_push_record", {"record_json": json.dumps(full)})
        assert "cid" in answer, answer
        names[answer["cid"]] = record["name"].partition("/")[2]
    return names


async def _registers(app: App, client: Any, way: str, embedded: int | None) -> None:
    await _tool(client, "schemas", {"action": "create", "data": _SCHEMA})
    data = {"title": "Agents", "slug": "agents", "schemas": ["agent"]}
    await _tool(client, "registers", {"action": "create", "data": data})
    here = {"register": "agents", "schema": "agent"}
    for record in AGENTS["records"]:
        skills = ", ".join(record["skills"]).replace("_", " ")
        data = {"name": record["name"].partition("/")[2], "description": record["description"], "skills": skills}
        await _tool(client, "objects", {**here, "action": "create", "data": data})
    await _embed(app, embedded)

    async def ask(question: str) -> Answer:
        found = await _tool(client, "objects", {**here, "action": "list", "search": question, "limit": 20})
        rows = found["results"]
        listed = list(dict.fromkeys(row["name"] for row in rows))
        no_match = not rows or found.get("no_good_match", False)
        return Answer(listed, rows[0]["@relevance"] if rows else 0.0, no_match)

    await _ask_all(f"registers, {way}", ask)


async def _avatars(app: App, way: str) -> None:
    service = app.rooms[0].service
    await fill_demo(service)
    for battery in (babbage.BATTERY, nightingale.BATTERY):
        avatar = await service.open(battery.avatar)
        documents = {source.id: source.source_id for source in await avatar.sources()}
        marks = Marks()
        for covered in battery.covered:
            found = await retrieve(avatar, covered.question, 20, service.similarity)
            names = [
                covered.fact
                if documents[one.passage.document] == covered.source
                and covered.fact.lower() in normalized(one.passage.content).lower()
                else ""
                for one in found.passages
            ]
            marks.note([covered.fact], Answer(names, found.probability, found.probability < 0.5))
        for question in battery.elsewhere:
            found = await retrieve(avatar, question, 20, service.similarity)
            marks.note([], Answer([], found.probability, found.probability < 0.5))
        _say(f"avatars, {way}, {battery.avatar}", marks)


async def _embed(app: App, count: int | None) -> None:
    await (app.search.embed_pending() if count is None else app.search.embed_pending(count))


def _class(family: str, name: str) -> str:
    from pentad.rooms.directory.oasf.taxonomy import taxonomy

    found = taxonomy("1.0.0", "skill" if family == "skills" else "domain").by_name(name)
    return name if found is None else found.name


async def _run() -> None:
    half = len(AGENTS["records"]) // 2
    for way, count in (("words", 0), ("half embedded", half), ("words and vectors", None)):
        for room in (_directory, _registers):
            with tempfile.TemporaryDirectory() as data:
                embedder: Choice = "none" if way == "words" else "auto"
                settings = Settings(
                    data=Path(data), rooms=(room.__name__[1:],), auth="none", models=Path(".cache/models"),
                    search=SearchSettings(embedder=embedder),
                )  # fmt: skip
                async with open_app(settings) as app, app.client() as client:
                    await room(app, client, way, count)
    ways: Sequence[tuple[str, Choice]] = (("words", "none"), ("words and vectors", "auto"))
    for way, embedder in ways:
        with tempfile.TemporaryDirectory() as data:
            settings = Settings(
                data=Path(data), rooms=("avatars",), auth="none", models=Path(".cache/models"),
                search=SearchSettings(embedder=embedder),
            )  # fmt: skip
            async with open_app(settings) as app:
                await _avatars(app, way)


def main() -> None:
    print(f"{'':<44}" + "".join(f"{one:>8}" for one in COLUMNS))
    asyncio.run(_run())


if __name__ == "__main__":
    main()
