"""Contents that are lent: at an address nobody can guess or find in the store, for a day, one by one."""

import re

import pytest

from pentad.access.owners import Owners
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.context import temporary_links as module
from pentad.rooms.agents.context.context_store import ContentStore, StoredContent, forget_old_content
from pentad.rooms.agents.context.integrity import bytes_hash
from pentad.rooms.agents.context.limits import REF_SCHEMES
from pentad.rooms.agents.context.outbound import prepare_context
from pentad.rooms.agents.context.temporary_links import LINK_SECONDS, TemporaryLinks, forget_expired_links
from tests.rooms.agents.context.conftest import Turned

pytestmark = pytest.mark.anyio

SITE = "https://pentad.example.org"
BODY = b"a large content"
KEPT = StoredContent(bytes_hash(BODY), BODY, "text/plain")
TOO_LARGE = {"items": {"doc": {"content": "x" * 70_000}, "note": {"content": "small"}}}


@pytest.fixture
def lending(database: Database, clock: Turned) -> TemporaryLinks:
    return TemporaryLinks(database, clock, SITE + "/")


async def lent(lending: TemporaryLinks, who: Principal = LOCAL, kept: StoredContent = KEPT) -> str:
    """The token of a content that is lent."""
    loan = lending.for_message(who)
    address = loan.address(kept)
    await loan.keep()
    return address.removeprefix(f"{SITE}{module.PATH}/")


async def test_who_has_the_address_reads_the_content_and_nobody_finds_the_address_in_the_store(
    lending: TemporaryLinks, database: Database
) -> None:
    one, other = await lent(lending), await lent(lending)

    assert one != other
    assert re.fullmatch(r"[a-z2-7]{52}", one)
    assert await lending.read(one) == KEPT
    rows = await database.read(lambda rows: rows.all("SELECT * FROM agent_lent_contents"))
    assert len(rows) == 2
    assert one not in repr(rows)
    for wrong in (one[:-1], one.upper(), other[::-1], "", "../x", f"{one}/", rows[0][0]):
        with pytest.raises(NotFound):
            await lending.read(wrong)


async def test_an_address_that_was_not_written_down_leads_nowhere(lending: TemporaryLinks) -> None:
    address = lending.for_message(LOCAL).address(KEPT)
    with pytest.raises(NotFound):
        await lending.read(address.rpartition("/")[2])


async def test_a_content_is_lent_for_a_day_and_its_bytes_go_unless_somebody_keeps_them(
    lending: TemporaryLinks, contents: ContentStore, database: Database, clock: Turned
) -> None:
    kept = StoredContent(bytes_hash(b"mine too"), b"mine too", None)
    await contents.keep(LOCAL, {kept.sha256: (kept.body, None)})
    tokens = [await lent(lending), await lent(lending, kept=kept)]
    clock.at += LINK_SECONDS - 1
    assert await database.write(lambda tx: forget_expired_links(tx, clock.now(), 10)) == 0
    assert [await lending.read(one) for one in tokens] == [KEPT, kept]

    clock.at += 1
    for one in tokens:
        with pytest.raises(NotFound):
            await lending.read(one)
    assert await database.write(lambda tx: forget_expired_links(tx, clock.now(), 10)) == 2
    left = await database.read(lambda rows: rows.all("SELECT body FROM agent_contents"))
    assert [bytes(body) for (body,) in left] == [b"mine too"]
    assert (await contents.read(LOCAL, kept.uri)).body == b"mine too"


async def test_bytes_that_are_lent_stay_when_their_owner_gives_them_up(
    lending: TemporaryLinks, contents: ContentStore, database: Database, clock: Turned
) -> None:
    await contents.keep(LOCAL, {KEPT.sha256: (BODY, None)})
    token = await lent(lending)

    assert await database.write(lambda tx: forget_old_content(tx, clock.at + 1, 10)) == 1

    assert (await lending.read(token)).body == BODY


async def test_one_owner_lends_so_much_at_a_time_and_others_are_not_counted(
    lending: TemporaryLinks, clock: Turned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_LINKED_BYTES", 2 * len(BODY))
    await lent(lending)
    await lent(lending)
    with pytest.raises(LimitExceeded):
        await lent(lending)
    await lent(lending, Principal("user:eve", "eve", frozenset({"*:*"})))

    clock.at += LINK_SECONDS
    await lent(lending)


async def test_only_what_is_too_large_is_lent_with_its_hash_and_size(lending: TemporaryLinks) -> None:
    loan = lending.for_message(LOCAL)
    sent = prepare_context(TOO_LARGE, {"maxItemBytes": 65_536}, links=loan).context
    await loan.keep()

    assert sent is not None
    assert sent["items"]["note"] == {"content": "small"}
    doc = sent["items"]["doc"]
    body = b"x" * 70_000
    assert doc["metadata"] == {"x-sha256": bytes_hash(body), "x-size": len(body)}
    assert "content" not in doc
    assert (await lending.read(doc["ref"].rpartition("/")[2])).body == body


async def test_an_item_keeps_the_reference_it_had_beside_its_content(lending: TemporaryLinks) -> None:
    given = {"items": {"doc": {"content": "x" * 70_000, "ref": "https://files.example.org/x"}}}
    sent = prepare_context(given, links=lending.for_message(LOCAL)).context

    assert sent is not None
    assert sent["items"]["doc"]["metadata"]["x-ref"] == "https://files.example.org/x"
    assert sent["items"]["doc"]["ref"].startswith(SITE)


async def test_without_an_address_the_refusal_says_what_to_set(database: Database, clock: Turned) -> None:
    nowhere = TemporaryLinks(database, clock, None).for_message(LOCAL)
    with pytest.raises(InvalidInput) as refused:
        prepare_context(TOO_LARGE, links=nowhere)
    assert "public_url" in str(refused.value.hint)
    assert [one["path"] for one in refused.value.details["problems"]] == ["/items/doc"]


async def test_nothing_is_lent_to_an_agent_that_follows_no_such_references(lending: TemporaryLinks) -> None:
    schemes = [one for one in REF_SCHEMES if one != "https"]
    with pytest.raises(InvalidInput) as refused:
        prepare_context(TOO_LARGE, {"refSchemes": schemes}, links=lending.for_message(LOCAL))
    assert "https" in str(refused.value.hint)


@pytest.mark.parametrize(
    "context",
    [
        {"items": {f"n{number}": {"content": "x" * 5_000} for number in range(65)}},
        {"items": {"doc": {"ref": "https://files.example.org/x", "metadata": {"note": "x" * 70_000}}}},
        {"items": {"doc": {"content": "x" * 70_000}, "none": {}}},
    ],
    ids=["too many", "nothing to lend", "invalid besides"],
)
async def test_what_lending_does_not_help_is_refused_as_ever(
    lending: TemporaryLinks, context: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput):
        prepare_context(context, links=lending.for_message(LOCAL))


@pytest.mark.requirement("agents:lending:owners-now")
async def test_a_content_is_lent_no_longer_than_its_owner_is_there(database: Database, clock: Turned) -> None:
    lending = TemporaryLinks(database, clock, SITE, owner_now=Owners(clock).current)
    columns = "name_key, name, password_hash, role, scopes, created_at"
    added = f"INSERT INTO users ({columns}) VALUES ('ada', 'ada', '', 'reader', '', 0)"
    await database.write(lambda tx: tx.run(added))
    token = await lent(lending, Principal("user:ada", "ada", frozenset({"*:*"})))
    assert await lending.read(token) == KEPT
    await database.write(lambda tx: tx.run("DELETE FROM users"))
    with pytest.raises(NotFound):
        await lending.read(token)
