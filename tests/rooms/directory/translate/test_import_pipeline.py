"""From a source to a stored record in one call, one at a time and in bulk."""

import json
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.oasf.schema_source import UnknownVersion
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.translate.import_pipeline import Importer, ImportOptions, Outcome
from pentad.rooms.directory.translate.sources import Source, detect_format, discover_sources
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.translate.conftest import Here
from tests.rooms.directory.translate.sources import CARD, CONFIG, SERVER, SKILL, zipped

SOURCES: list[tuple[str, Any]] = [
    ("mcp", SERVER),
    ("mcp", json.dumps({"server": SERVER})),
    ("a2a", CARD),
    ("agentskills", SKILL),
    ("agentskills", SKILL.encode()),
    ("ghcopilot", CONFIG),
    ("bundle", zipped({"pdf-forms/SKILL.md": SKILL, "pdf-forms/scripts/fill.py": "print()"})),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("form", "source"), SOURCES)
async def test_a_source_becomes_a_stored_valid_record_in_one_call(
    importer: Importer, here: Here, form: str, source: Any
):
    options = ImportOptions(skills=("summarization",)) if form == "ghcopilot" else ImportOptions()
    imported = await importer.import_one(LOCAL, source, options=options)
    assert (imported.format, imported.status, imported.errors) == (form, "imported", [])
    stored = await here.pull(imported.cid)
    assert stored.data == imported.record
    assert stored.data["schema_version"] == "1.0.0"
    assert validate(stored.data).valid
    assert stored.data["skills"]


@pytest.mark.anyio
@pytest.mark.parametrize(("form", "source"), [SOURCES[0], SOURCES[3], SOURCES[6]])
async def test_the_same_source_is_told_and_not_stored_again(importer: Importer, here: Here, form: str, source: Any):
    first = await importer.import_one(LOCAL, source)
    again = await importer.import_one(LOCAL, source)
    assert (again.status, again.cid, again.record) == ("already there", first.cid, first.record)
    assert await here.parts.records.count() == 1
    other = await importer.import_one(LOCAL, source, options=ImportOptions(schema_version="1.1.0"))
    assert other.status == "imported"
    assert other.record["schema_version"] == "1.1.0"


@pytest.mark.anyio
async def test_a_source_with_its_keys_in_another_order_is_the_same_source(importer: Importer):
    first = await importer.import_one(LOCAL, CARD)
    turned = dict(reversed(CARD.items()))
    assert (await importer.import_one(LOCAL, turned)).cid == first.cid


@pytest.mark.anyio
async def test_a_dry_run_stores_nothing_and_tells_the_same_cid(importer: Importer, here: Here):
    dry = await importer.import_one(LOCAL, CARD, options=ImportOptions(dry_run=True))
    assert dry.status == "would be imported"
    assert await here.parts.records.count() == 0
    assert (await importer.import_one(LOCAL, CARD)).cid == dry.cid
    assert dry.as_json()["suggested_skills"]


@pytest.mark.anyio
async def test_a_record_is_imported_as_it_is(importer: Importer):
    record = sample("1.1.0")
    imported = await importer.import_one(LOCAL, json.dumps(record))
    assert (imported.format, imported.cid) == ("oasf", cid_of(canonical_json(record)))
    assert (await importer.import_one(LOCAL, record)).status == "already there"
    older = await importer.import_one(LOCAL, record, options=ImportOptions(schema_version="0.8.0"))
    assert older.record["schema_version"] == "0.8.0"


@pytest.mark.anyio
async def test_a_valid_record_keeps_its_cid_though_words_would_suggest_more(importer: Importer):
    record = {**sample("1.0.0"), "domains": [], "description": "Reviews the source code of software."}
    imported = await importer.import_one(LOCAL, json.dumps(record))
    assert (imported.cid, imported.suggested) == (cid_of(canonical_json(record)), [])
    assert (await importer.import_one(LOCAL, {**record, "version": "v2.4.1", "skills": []})).record["skills"] != []


@pytest.mark.anyio
async def test_the_caller_may_name_version_authors_skills_and_domains(importer: Importer):
    options = ImportOptions(
        record_version="v9.0.0", authors=("Ada",), skills=("10202", "602"), domains=("technology/data_science",)
    )
    record = (await importer.import_one(LOCAL, SERVER, options=options)).record
    assert (record["version"], record["authors"]) == ("v9.0.0", ["Ada"])
    assert [skill["id"] for skill in record["skills"]] == [10202, 602]
    assert record["domains"] == [{"name": "technology/data_science", "id": 104}]


@pytest.mark.anyio
@pytest.mark.parametrize("skill", ["summarisation", "natural_language_processing", "999999"])
async def test_an_unknown_skill_is_refused_by_name(importer: Importer, skill: str):
    with pytest.raises(InvalidInput, match=skill):
        await importer.import_one(LOCAL, SERVER, options=ImportOptions(skills=(skill,)))


@pytest.mark.anyio
async def test_a_source_that_says_nothing_of_itself_is_not_classified_by_what_others_wrote(importer: Importer):
    imported = await importer.import_one(LOCAL, {"server": {"remotes": [{"url": "https://example.org"}]}})
    assert (imported.status, imported.suggested) == ("invalid", [])
    assert any('"skills" is empty' in error for error in imported.errors)


@pytest.mark.anyio
async def test_the_namespace_of_a_name_does_not_classify_a_record(importer: Importer):
    dry = ImportOptions(dry_run=True)
    first = await importer.import_one(LOCAL, SERVER | {"name": "io.github.vendor/files"}, options=dry)
    other = await importer.import_one(LOCAL, SERVER | {"name": "org.poetry.chemistry/files"}, options=dry)
    assert [one.name for one in first.suggested] == [one.name for one in other.suggested]


@pytest.mark.anyio
async def test_a_record_that_cannot_be_valid_is_told_and_not_stored(importer: Importer, here: Here):
    imported = await importer.import_one(LOCAL, SERVER, options=ImportOptions(schema_version="0.3.1"))
    assert imported.status == "invalid"
    assert any("signature" in error for error in imported.errors)
    assert await here.parts.records.count() == 0
    with pytest.raises(UnknownVersion):
        await importer.import_one(LOCAL, SERVER, options=ImportOptions(schema_version="3.0.0"))


@pytest.mark.anyio
async def test_one_bad_source_does_not_stop_the_rest(importer: Importer, here: Here):
    told: list[tuple[int, str]] = []

    async def progress(done: int, outcome: Outcome) -> None:
        told.append((done, outcome.status))

    deep = "[" * 5000
    sources = [
        Source("a", SKILL), Source("b", "{not json"), Source("c", b"\xff\xfe"), Source("d", f'{{"x": {deep}'),
        Source("e", {}), Source("f", {"name": "x", "packages": []}), Source("g", CARD), Source("h", SKILL),
    ]  # fmt: skip
    outcomes = await importer.import_many(LOCAL, sources, progress=progress)
    assert [outcome.status for outcome in outcomes] == [
        "imported", "failed", "failed", "failed", "failed", "failed", "imported", "already there",
    ]  # fmt: skip
    assert told == [(number, outcome.status) for number, outcome in enumerate(outcomes, start=1)]
    assert [outcome.source for outcome in outcomes if not outcome.ok] == ["b", "c", "d", "e", "f"]
    assert all(outcome.line() and json.dumps(outcome.as_json()) for outcome in outcomes)
    assert await here.parts.records.count() == 2


@pytest.mark.anyio
async def test_folders_are_searched_for_everything_that_can_be_imported(importer: Importer, tmp_path: Path):
    written = {
        "skills/pdf/SKILL.md": SKILL,
        "skills/pdf/scripts/fill.py": "print()",
        "skills/pdf/card.json": json.dumps(CARD),
        "files/server.json": json.dumps(SERVER),
        "cards/planner.json": json.dumps(CARD),
        ".vscode/mcp.json": json.dumps(CONFIG),
        "package.json": json.dumps({"name": "x", "version": "1"}),
        "records/one.json": json.dumps(sample("0.7.0")),
        "broken/server.json": "{",
        "node_modules/x/server.json": json.dumps(SERVER),
    }
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "packed.zip").write_bytes(zipped({"SKILL.md": SKILL.replace("pdf-forms", "packed-forms")}))
    (tmp_path / "loop").symlink_to(tmp_path)
    options = ImportOptions(skills=("summarization",))
    outcomes = await importer.import_many(LOCAL, discover_sources([tmp_path]), options)
    told = {outcome.source.removeprefix(f"{tmp_path.name}/"): outcome.status for outcome in outcomes}
    assert told == {
        ".vscode/mcp.json#search": "imported",
        ".vscode/mcp.json#tickets": "imported",
        "broken/server.json": "failed",
        "cards/planner.json": "imported",
        "files/server.json": "imported",
        "packed.zip": "imported",
        "records/one.json": "imported",
        "skills/pdf/SKILL.md": "imported",
    }
    skill = next(outcome.imported for outcome in outcomes if outcome.source.endswith("SKILL.md"))
    assert skill is not None
    paths = [artifact["path"] for artifact in skill.record["modules"][0]["data"]["artifacts"]]
    assert paths == ["card.json", "scripts/fill.py"]


@pytest.mark.anyio
async def test_a_file_that_is_named_must_be_something(importer: Importer, tmp_path: Path):
    (tmp_path / "package.json").write_text("{}")
    outcomes = await importer.import_many(
        LOCAL, discover_sources([tmp_path / "package.json", tmp_path / "missing.json"])
    )
    assert [outcome.status for outcome in outcomes] == ["failed", "failed"]
    assert str(tmp_path) not in "".join(outcome.line() for outcome in outcomes)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ({"schema_version": "1.0.0"}, "oasf"),
        ({"skillMarkdown": ""}, "agentskills"),
        ({"a2aCard": {}}, "a2a"),
        ({"mcpServers": {}}, "claude"),
        ({"servers": {}}, "ghcopilot"),
        ({"server": {}}, "mcp"),
        (SERVER, "mcp"),
        (CARD, "a2a"),
    ],
)
def test_formats_are_told_by_their_looks(source: dict[str, Any], kind: str):
    assert detect_format(source) == kind
