"""Every page of the three rooms, over HTTP and on both stores, with hostile data."""

import re
from collections import deque
from urllib.parse import quote

import pytest

from pentad.kernel.principal import LOCAL
from tests.behaviour.console.conftest import BREAKOUT, ORDER, SCRIPT, SECRET, World
from tests.console.reading import Read
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.trust.key_files import private_pem

pytestmark = pytest.mark.anyio

MOST_PAGES = 400


def own_links(page: Read) -> list[str]:
    return [href for href in page.values("a", "href") if href == "/" or href.startswith("/console/")]


@pytest.mark.requirement("console:pages")
async def test_every_link_of_the_console_leads_to_a_page_that_is_there(world: World) -> None:
    """Starts at the home page; each page is also checked to run nothing and to load nothing from other hosts."""
    seen, waiting = {"/"}, deque(["/"])
    patterns: set[str] = set()
    while waiting:
        path = waiting.popleft()
        shown = await world.admin.get(path)
        assert shown.status == 200, path
        assert shown.page.count("h1") == 1
        assert shown.page.count("script") >= 1
        assert all(source.startswith("/console/") for source in shown.page.values("script", "src"))
        patterns.add(re.sub(r"[0-9a-f-]{36}|\bbae\w+|\d+", "*", path.partition("?")[0]))
        for link in own_links(shown.page):
            if link.startswith(("/console/audit?", "/console/audit/export")) or ("?" in path and "?" in link):
                continue  # every combination of filters and orders, and a download
            if link not in seen and len(seen) < MOST_PAGES:
                seen.add(link)
                waiting.append(link)
    assert {
        "/", "/console/directory", "/console/directory/records/*", "/console/registers", "/console/registers/*",
        "/console/registers/*/*", "/console/registers/*/*/*", "/console/registers/schemas",
        "/console/registers/schemas/*", "/console/registers/objects/*", "/console/avatars",
        "/console/avatars/ida-brandt", "/console/avatars/tomas-orlik",
    } <= patterns  # fmt: skip


@pytest.mark.requirement("console:prompt-injection")
async def test_prompt_injection_in_descriptions_is_escaped_in_pages(world: World) -> None:
    shown = await world.admin.get(f"/console/directory/records/{world.record}")
    whole = shown.page.text
    for text in (ORDER, SCRIPT, BREAKOUT, "⟨U+202E⟩gnp.exe⟨U+2069⟩", "w" * 3_000, f"evil.example/{SCRIPT}"):
        assert text in whole, "shown as the text it is"
    assert shown.page.count("img") == 0
    assert shown.page.count("script") == 1, "the console's own"
    away = [href for href in shown.page.values("a", "href") if not href.startswith(("/", "#"))]
    honest = ["https://good.example/a?b&c", "https://reader.example.org/mcp"]
    assert away == honest, "the one honest locator, and the server that the module names"
    assert "javascript:alert(1)" in whole, "the other is told, not linked"
    listed = await world.admin.get("/console/directory")
    assert f"evil.example/{SCRIPT}" in listed.page.texts
    assert any(text.startswith(ORDER) for text in listed.page.texts)


@pytest.mark.requirement("console:prompt-injection")
async def test_hostile_objects_and_avatars_are_shown_as_text(world: World) -> None:
    shown = await world.admin.get(f"{world.objects}/{world.person}")
    for text in (SCRIPT, BREAKOUT, ORDER):
        assert text in shown.page.text
    assert "https://good.example/" in shown.page.values("a", "href")
    assert "javascript:alert(1)" not in shown.page.values("a", "href")
    avatar = await world.admin.get(f"/console/avatars/ida-brandt?q={quote(SCRIPT + BREAKOUT)}")
    assert f"Ida {SCRIPT}" in avatar.page.texts
    assert avatar.page.values("input", "value").count(SCRIPT + BREAKOUT) == 2, "to be asked again, and with a rating"


@pytest.mark.requirement("console:cut")
async def test_a_record_of_megabytes_is_cut_with_a_note(world: World) -> None:
    shown = await world.admin.get(f"/console/directory/records/{world.heavy}")
    assert len(shown.page.text) < 200_000
    assert re.search(r"Cut here: these are the first 20,000 of 3,500,000 characters\.", shown.page.text)
    assert "Cut here: these are the first 100,000 of" in shown.page.text, "of its JSON likewise"
    listed = await world.admin.get("/console/directory?q=heavy")
    assert "heavy.example/agent" in listed.page.texts
    assert len(listed.page.text) < 50_000


@pytest.mark.requirement("console:directory")
async def test_a_record_is_shown_with_its_skills_lineage_and_text(world: World) -> None:
    found = await world.admin.get("/console/directory?q=research+papers")
    [link] = [href for href in own_links(found.page) if "/records/" in href][:1]
    shown = await world.admin.get(link)
    assert "example.org/paper-reader" in shown.page.texts
    for heading in ("Skills", "Locators", "Lineage", "The record as JSON"):
        assert heading in shown.page.texts
    skills = [href for href in own_links(shown.page) if "?skill=" in href]
    alike = await world.admin.get(skills[0])
    assert "example.org/paper-reader" in alike.page.texts


@pytest.mark.requirement("console:directory")
async def test_looking_through_a_list_counts_as_no_pull(world: World) -> None:
    sql = "SELECT sum(pulls) FROM directory_records"
    await world.admin.get("/console/directory")
    await world.directory.popularity.flush()
    before = await world.directory.platform.database.read(lambda rows: rows.value(sql))
    await world.admin.get("/console/directory")
    await world.admin.get("/console/directory?q=agent")
    await world.directory.popularity.flush()
    assert await world.directory.platform.database.read(lambda rows: rows.value(sql)) == before


@pytest.mark.requirement("console:directory")
async def test_a_signature_is_shown_with_its_verdict(world: World) -> None:
    signed = await world.directory.records.push(LOCAL, {**sample("1.0.0"), "name": "signed.example/agent"})
    await world.directory.trust.sign(LOCAL, signed.cid, private_pem("Ed25519"))
    shown = await world.admin.get(f"/console/directory/records/{signed.cid}")
    assert "Signatures: trusted." in shown.page.texts
    assert {"signature", "public key"} <= set(shown.page.texts)


@pytest.mark.requirement("console:paging")
@pytest.mark.parametrize("path", ["/console/directory?q=agent", "/console/directory", "objects", "objects?q=Person"])
async def test_a_list_is_walked_page_by_page_to_its_end(world: World, path: str) -> None:
    following: str | None = path.replace("objects", world.objects)
    things: list[str] = []
    pages = 0
    while following is not None:
        shown = await world.admin.get(following)
        assert shown.status == 200
        things += [href for href in own_links(shown.page) if re.search(r"/records/|/[0-9a-f-]{36}$", href)]
        following = next((href for href in own_links(shown.page) if "cursor=" in href), None)
        pages += 1
    assert pages > 1
    assert len(things) == len(set(things)) > 25


@pytest.mark.requirement("console:registers")
async def test_an_object_is_shown_with_its_history_and_what_each_change_did(world: World) -> None:
    shown = await world.admin.get(f"{world.objects}/{world.person}")
    texts = shown.page.texts
    assert texts.count("Version 1: created") == 1
    changed = texts[texts.index("Version 2: changed") : texts.index("Version 1: created")]
    assert {"Age", "7", "8"} <= set(changed)
    [friend] = [href for href in own_links(shown.page) if "/objects/" in href]
    assert "Ada" in (await world.admin.get(friend)).page.texts


@pytest.mark.requirement("console:rights")
async def test_a_property_hidden_from_a_reader_is_on_none_of_its_pages(world: World) -> None:
    reader = await world.visitor("reader", "*:read")
    for path in (world.objects, f"{world.objects}/{world.person}", f"/console/registers/objects/{world.person}"):
        assert "salary" in (await world.admin.get(path)).page.text
        shown = await reader.get(path)
        assert shown.status == 200
        assert "salary" not in shown.page.text
        assert SECRET not in shown.page.text


@pytest.mark.requirement("console:rights")
async def test_a_reader_of_one_room_is_refused_in_the_others(world: World) -> None:
    reader = await world.visitor("narrow", "directory:read")
    assert (await reader.get("/console/directory")).status == 200
    for path in ("/console/registers", world.objects, "/console/avatars", "/console/avatars/ida-brandt?q=tide"):
        shown = await reader.get(path)
        assert shown.status == 403
        assert ":read" in shown.page.text
    home = await reader.get("/")
    assert own_links(home.page).count("/console/registers") == 0


@pytest.mark.requirement("console:avatars")
async def test_an_avatar_answers_with_quotes_that_lead_to_their_passages(world: World) -> None:
    shown = await world.admin.get("/console/avatars/ida-brandt?q=How+many+sluices+had+the+Lower+Marsh+in+1931%3F")
    assert "Confidence" in shown.page.texts
    [said] = [text for text in shown.page.texts if re.search(r"27 sluices in 1931[^”]*” \[\d+\]", text)]
    quotes = re.findall(r"“([^”]+)” \[(\d+)\]", said)
    assert "27 sluices in 1931" in quotes[0][0], "the sentence with the answer comes first"
    labels = [text for text in shown.page.texts if re.match(r"\[\d+\] Notes on the Lower Marsh", text)]
    passages = [href for href in own_links(shown.page) if "/passages/" in href]
    assert sorted(number for _, number in quotes) == sorted(re.findall(r"\[(\d+)\]", " ".join(labels)))
    linked = list(zip(labels, passages, strict=True))
    for words, number in quotes:
        stands = await world.admin.get(next(href for label, href in linked if f"[{number}]" in label))
        assert "Notes on the Lower Marsh" in stands.page.texts
        assert stands.page.count("mark") == 1
        assert words in [" ".join(text.split()) for text in stands.page.texts], "exactly the quote is marked"
    silent = await world.admin.get("/console/avatars/ida-brandt?q=Who+won+the+football+match+yesterday%3F")
    assert "No answer" in silent.page.texts


@pytest.mark.requirement("console:refusals")
@pytest.mark.parametrize(
    "path",
    [
        "/console/directory/records/nothing", "/console/directory/records/..%2f..%2fetc", "/console/registers/999",
        "/console/registers/schemas/999", "/console/registers/999/1", "objects/no-such-object",
        "/console/registers/objects/00000000-0000-7000-8000-000000000000", "/console/registers/%00", "objects/%00",
        "/console/registers/" + "9" * 5_000, "/console/registers/objects/%00", "/console/directory/records/%00",
        "/console/avatars/nobody", "/console/avatars/ida-brandt/passages/999999",
        "/console/avatars/ida-brandt/passages/" + "9" * 5_000, "/console/avatars/ida-brandt/passages/x",
        "/console/avatars/ida-brandt/passages/1?from=9&to=3", "/console/avatars/nobody/evaluation",
    ],
)  # fmt: skip
async def test_what_is_not_there_is_a_page_in_words(world: World, path: str) -> None:
    shown = await world.admin.get(path.replace("objects/", world.objects + "/") if path.startswith("objects") else path)
    assert shown.status == 404
    assert "Not found" in shown.page.texts


@pytest.mark.requirement("console:refusals")
@pytest.mark.parametrize(
    "path", ["/console/directory?cursor=nonsense", "objects?cursor=nonsense", "/console/avatars/%00"]
)
async def test_what_cannot_be_understood_is_refused_in_words(world: World, path: str) -> None:
    shown = await world.admin.get(path.replace("objects", world.objects))
    assert shown.status == 422
    assert "This cannot be shown" in shown.page.texts
