"""The routes behind `pentad avatars ingest --url`: hostile and broken uploads are refused, and leave nothing behind."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import InvalidInput
from pentad.net.multipart import write_form
from pentad.rooms.avatars.corpus.upload import checked_path, pack_folder
from pentad.rooms.avatars.interface import rest
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import KEEPER, keeper
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send

pytestmark = pytest.mark.anyio

CONFIG = ("config.json", json.dumps(KEEPER).encode())
NOTE = ("corpus/note.md", b"# Sluices\n\nThe Lower Marsh had 27 sluices in 1931, each opened by hand at low tide.\n")


@pytest.fixture
async def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    settings = Settings(
        data=tmp_path / "d",
        rooms=("avatars",),
        auth="none",
        search=SearchSettings(embedder="none"),
        limits=Limits(upload_bytes=100_000),
    )
    async with open_app(settings) as opened:
        yield opened
    assert list((tmp_path / "temporary").iterdir()) == [], "no upload is left behind"


async def ingest(app: App, *files: tuple[str, bytes], query: str = "") -> tuple[int, dict[str, Any]]:
    body, kind = write_form(files)
    headers = {"content-type": kind, "content-length": str(len(body))}
    return await answered(send(front_of(app), "POST", f"/api/avatars/ingest{query}", headers, body))


async def answered(answer: HttpAnswer) -> tuple[int, dict[str, Any]]:
    body = json.loads(await answer.body())
    return answer.status, body


async def avatars(app: App) -> list[str]:
    return [one.id for one in await app.rooms[0].service.list()]


@pytest.mark.requirement("avatars:upload")
async def test_a_folder_becomes_an_avatar_and_what_is_gone_from_it_is_removed(app: App) -> None:
    more = (
        "corpus/letters/one.md",
        b"# Salt\n\nWhen the outer gate leaks, the wells of the low farms turn brackish.\n",
    )
    status, report = await ingest(app, CONFIG, NOTE, more)
    assert (status, report["added"], report["failed"]) == (200, 2, [])
    assert [one["path"] for one in report["documents"]] == ["letters/one.md", "note.md"]
    status, report = await ingest(app, CONFIG, NOTE, query="?dry_run=true")
    assert (report["removed"], report["dry_run"], report["stored"]) == (1, True, False)
    status, report = await ingest(app, CONFIG, NOTE)
    assert (report["removed"], report["unchanged"], report["stored"]) == (1, 1, True)


@pytest.mark.requirement("avatars:upload")
@pytest.mark.parametrize(
    "name",
    [
        "../outside.md", "corpus/../../outside.md", "/etc/outside.md", "corpus//note.md", "corpus/./note.md", "..", "",
        "corpus\\..\\..\\outside.md", "corpus/a\x00b.md", "corpus/" + "a" * 300 + ".md", "corpus/" + "a/" * 40 + "b.md",
        "corpus/ .. /x.md",
    ],
)  # fmt: skip
async def test_a_path_that_leads_out_of_the_folder_is_refused(app: App, name: str) -> None:
    status, answer = await ingest(app, CONFIG, NOTE, (name, b"# Out\n\nOutside of the folder.\n"))
    assert status == 422, answer
    assert answer["error"]["code"] == "invalid_input"
    assert await avatars(app) == []


@pytest.mark.requirement("avatars:upload")
async def test_no_file_comes_twice(app: App) -> None:
    for again in (NOTE, ("corpus/note.md/inner.md", b"# Inner\n")):
        status, answer = await ingest(app, CONFIG, NOTE, again)
        assert (status, "came twice" in answer["error"]["message"]) == (422, True)


@pytest.mark.requirement("avatars:upload")
async def test_an_upload_that_is_too_large_is_refused_with_the_limit(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    status, answer = await ingest(app, CONFIG, ("corpus/large.md", b"word " * 30_000))
    assert (status, answer["error"]["code"]) == (413, "limit_exceeded")
    assert "100000 bytes" in answer["error"]["message"]
    monkeypatch.setattr(rest, "MOST_FILES", 3)
    status, answer = await ingest(app, CONFIG, NOTE, ("corpus/a.md", b"a"), ("corpus/b.md", b"b"))
    assert (status, answer["error"]["message"]) == (413, "A form has at most 3 parts.")
    assert await avatars(app) == []


@pytest.mark.requirement("avatars:publishing:address")
async def test_the_record_of_an_avatar_has_the_address_of_its_server(app: App) -> None:
    await ingest(app, CONFIG, NOTE)
    _, answer = await answered(send(front_of(app), "GET", "/api/avatars/records", {}, b""))
    (record,) = answer["records"]
    assert record["locators"][0]["urls"] == [app.settings.url("/rooms/avatars/ida-brandt/mcp")]


async def test_a_folder_without_a_configuration_is_refused(app: App) -> None:
    status, answer = await ingest(app, NOTE)
    assert (status, answer["error"]["message"]) == (404, "There is no config.json in the folder.")
    status, answer = await ingest(app, ("config.json", b"{"), NOTE)
    assert (status, "config.json is not JSON" in answer["error"]["message"]) == (422, True)
    status, answer = await ingest(app, CONFIG, query="?avatar=nobody")
    assert (status, answer["error"]["code"]) == (404, "not_found")


async def test_a_body_that_is_no_form_is_refused(app: App) -> None:
    answer = send(front_of(app), "POST", "/api/avatars/ingest", {"content-type": "application/json"}, b"{}")
    status, body = await answered(answer)
    assert (status, body["error"]["message"]) == (422, "The files are missing.")
    answer = send(
        front_of(app), "POST", "/api/avatars/ingest", {"content-type": "multipart/form-data; boundary=x"}, b"--x"
    )
    assert (await answered(answer))[0] == 422


async def test_a_document_that_cannot_be_read_is_reported_like_on_a_store(app: App) -> None:
    status, report = await ingest(app, CONFIG, NOTE, ("corpus/broken.pdf", b"%PDF-1.4 broken"))
    assert (status, report["added"], len(report["failed"])) == (200, 1, 1)


async def test_a_form_from_another_site_is_refused(app: App) -> None:
    body, kind = write_form([CONFIG, NOTE])
    headers = {"content-type": kind, "origin": "https://evil.example"}
    answer = send(front_of(app), "POST", "/api/avatars/ingest", headers, body)
    assert (await answered(answer))[0] == 403
    assert await avatars(app) == []


def test_a_plain_path_is_kept() -> None:
    assert str(checked_path("corpus/Letters, 1921: a & b.md")) == "corpus/Letters, 1921: a & b.md"
    with pytest.raises(InvalidInput, match="not a path inside"):
        checked_path("corpus/a\nb.md")


def test_the_folder_a_command_packs_holds_only_what_is_in_it(tmp_path: Path) -> None:
    folder = keeper(tmp_path)
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n\nnobody may know\n", encoding="utf-8")
    (folder / "corpus" / "linked.md").symlink_to(secret)
    (folder / "corpus" / ".hidden.md").write_text("# Hidden\n", encoding="utf-8")
    packed = pack_folder(folder)
    assert b"nobody may know" not in packed.body
    assert b"# Hidden" not in packed.body
    assert [(one.path, one.status) for one in packed.left_out] == [("linked.md", "skipped")]


@pytest.mark.requirement("avatars:eval:page")
async def test_an_evaluation_with_questions_and_goals_is_kept_for_the_page_and_the_resource(app: App) -> None:
    await ingest(app, CONFIG, NOTE, ("corpus/two.md", b"# Salt\n\nSalt is the true enemy of the low marsh farms.\n"))
    missing = await answered(send(front_of(app), "GET", "/api/avatars/eval"))
    assert (missing[0], "not been evaluated" in json.dumps(missing[1])) == (404, True)
    page = await send(front_of(app), "GET", "/console/avatars/ida-brandt/evaluation", {"accept": "text/html"}).body()
    assert b"Not evaluated yet" in page
    body = json.dumps([{"question": "How many sluices had the Lower Marsh in 1931?", "answer": "27 sluices"}]).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    path = "/api/avatars/eval?goal=questions.any_quote%3D1"
    status, card = await answered(send(front_of(app), "POST", path, headers, body))
    figures = {line["id"]: line for line in card["lines"]}
    assert (status, figures["questions.any_quote"]["value"], figures["questions.any_quote"]["goal"]) == (200, 1, 1)
    status, kept = await answered(send(front_of(app), "GET", "/api/avatars/eval"))
    assert {name: value for name, value in kept.items() if name != "at"} == card
    page = await send(front_of(app), "GET", "/console/avatars/ida-brandt/evaluation", {"accept": "text/html"}).body()
    assert b"answer in any quote" in page
    assert b"The corpus has changed since" not in page
    await ingest(app, CONFIG, NOTE)
    page = await send(front_of(app), "GET", "/console/avatars/ida-brandt/evaluation", {"accept": "text/html"}).body()
    assert b"The corpus has changed since" in page
    wrong = await answered(send(front_of(app), "POST", "/api/avatars/eval", headers, b"x" * len(body)))
    assert wrong[0] == 422
