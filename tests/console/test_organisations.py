"""Organisations in the console: administrators run them with forms, others see their own."""

from collections.abc import AsyncIterator

import pytest

from pentad.console.scripts import ASSETS
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller
from pentad.rooms.registers.service import Registers
from tests.console.house import House, csrf_of, open_house, press
from tests.http.browsing import Browser

pytestmark = pytest.mark.anyio

ALL = "/console/registers/organisations"
ACME = f"{ALL}/acme"
LOCAL_CALLER = Caller(LOCAL)
FORMS = {
    ALL: {"slug": "evil", "title": "Evil"},
    f"{ACME}/members": {"principal": "rita"},
    f"{ACME}/members/remove": {"principal": "user:auditor"},
    f"{ACME}/delete": {},
}


@pytest.fixture
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("house"), ("registers",)) as opened:
        yield opened


def registers(house: House) -> Registers:
    return house.app.rooms[0].service


async def state(house: House) -> dict[str, list[str]]:
    """The members of every organisation."""
    found = registers(house).organisations
    return {one.slug: await found.members(LOCAL_CALLER, one.slug) for one in await found.list(LOCAL_CALLER)}


async def acme_with_auditor(house: House) -> None:
    found = registers(house).organisations
    await found.create(LOCAL_CALLER, "acme", "Acme Inc.")
    await found.add_member(LOCAL_CALLER, "acme", "user:auditor")


@pytest.mark.requirement("registers:organisations:pages")
async def test_an_administrator_runs_an_organisation_with_forms(house: House) -> None:
    root = await house.browser("root")
    assert f'href="{ALL}"' in (await root.get("/console/admin")).body
    assert (await press(root, ALL, ALL, slug="acme", title="Acme Inc."))[:2] == (303, f"{ALL}?done=created")
    after = await root.get(f"{ALL}?done=created")
    assert "The organisation was created." in after.html.text
    assert f'href="{ACME}"' in after.body
    assert await state(house) == {"acme": []}

    assert (await press(root, ACME, f"{ACME}/members", principal=" Rita "))[:2] == (303, f"{ACME}?done=added")
    assert (await press(root, ACME, f"{ACME}/members", principal="key:aaaaaaaaaaaaaaaa"))[0] == 303
    assert await state(house) == {"acme": ["key:aaaaaaaaaaaaaaaa", "user:rita"]}
    page = (await root.get(f"{ACME}?done=added")).html
    assert "The member was added." in page.text
    assert page.values("option", "value") == ["key:aaaaaaaaaaaaaaaa", "user:rita"]

    removed = await press(root, ACME, f"{ACME}/members/remove", principal="user:rita")
    assert removed[:2] == (303, f"{ACME}?done=removed")
    assert await state(house) == {"acme": ["key:aaaaaaaaaaaaaaaa"]}
    assert (await press(root, ACME, f"{ACME}/delete"))[:2] == (303, f"{ALL}?done=deleted")
    assert await state(house) == {}
    assert "The organisation was deleted." in (await root.get(f"{ALL}?done=deleted")).html.text
    assert (await root.get(ACME)).status == 404


@pytest.mark.requirement("registers:organisations:pages")
async def test_a_member_sees_only_the_own_organisation_from_then_on(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    for slug in ("acme", "beta"):
        await press(root, ALL, ALL, slug=slug, title="")
    before = (await rita.get(ALL)).html
    assert "Everybody is in the default organisation." in before.text
    await press(root, ACME, f"{ACME}/members", principal="rita")
    after = (await rita.get(ALL)).html
    assert "acme" in after.texts
    assert "beta" not in after.texts
    assert "user:rita" not in after.text, "members are for administrators"
    assert after.values("form", "action") == ["/console/search", "/logout"], "no form that changes organisations"


@pytest.mark.requirement("registers:organisations:pages")
async def test_the_trail_tells_who_sent_a_form(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    await press(root, ALL, ALL, slug="acme", title="")
    await rita.post(ALL, {"slug": "evil", "csrf": await csrf_of(rita)})
    await house.app.audit.flush()
    told = [(one.principal, one.outcome, one.room) for one in await house.app.audit.recent(tool=f"POST {ALL}")]
    assert told == [("user:rita", "403", "registers"), ("user:root", "ok", "registers")]


@pytest.mark.requirement("registers:organisations:pages")
async def test_an_error_is_told_on_the_page_with_the_form(house: House) -> None:
    await acme_with_auditor(house)
    root = await house.browser("root")
    for given, status, text in (
        ({"slug": "Not a slug"}, 422, "cannot name an organisation"),
        ({"slug": "acme"}, 409, "exists already"),
        ({"slug": ""}, 422, "cannot name an organisation"),
    ):
        answer = await press(root, ALL, ALL, **given)
        assert (answer[0], text in answer[2], "Create an organisation" in answer[2]) == (status, True, True), given
    answer = await press(root, ACME, f"{ACME}/members", principal="")
    assert (answer[0], "Name the principal" in answer[2]) == (422, True)
    answer = await press(root, ACME, f"{ACME}/members/remove", principal="user:rita")
    assert (answer[0], "is not a member" in answer[2]) == (404, True)
    books = {"slug": "books", "title": "Books", "organisation": "acme"}
    await registers(house).catalogue.registers.create(LOCAL_CALLER, books)
    answer = await press(root, ACME, f"{ACME}/delete")
    assert (answer[0], "still has registers" in answer[2]) == (409, True)
    assert await state(house) == {"acme": ["user:auditor"]}


@pytest.mark.requirement("registers:organisations:pages")
async def test_without_the_token_and_as_another_user_nothing_changes(house: House) -> None:
    await acme_with_auditor(house)
    root, rita, auditor = [await house.browser(name) for name in ("root", "rita", "auditor")]
    token, of_rita = await csrf_of(root), await csrf_of(rita)
    foreign = {"origin": "https://evil.example", "sec_fetch_site": "cross-site"}
    for action, fields in FORMS.items():
        for wrong in ({}, {"csrf": ""}, {"csrf": "x" * 43}, {"csrf": of_rita}):
            assert (await root.post(action, {**fields, **wrong})).status == 403, (action, wrong)
        assert (await root.post(action, {**fields, "csrf": token}, **foreign)).status == 403, action
        for person in (rita, auditor):
            answer = await person.post(action, {**fields, "csrf": await csrf_of(person)})
            assert (answer.status, "registers:admin" in answer.body) == (403, True), action
        assert (await Browser(house.front).post(action, {**fields, "csrf": token})).status == 403, action
    assert (await rita.get(ACME)).status == 403
    assert (await auditor.get(ACME)).status == 403, "members do not administer their organisation"
    assert await state(house) == {"acme": ["user:auditor"]}


@pytest.mark.requirement("registers:organisations:pages")
async def test_hostile_names_stay_text(house: House) -> None:
    root = await house.browser("root")
    await press(root, ALL, ALL, slug="acme", title="<script>alert(1)</script>")
    await press(root, ACME, f"{ACME}/members", principal='user:"><img src=x onerror=alert(1)>')
    for path in (ALL, ACME, f"{ALL}?done=<b>"):
        page = await root.get(path)
        scripts = page.html.values("script", "src")
        assert {one.partition("?")[0] for one in scripts} <= {asset.path for asset in ASSETS}
        assert page.html.count("script") == len(scripts), "no script is inline"
        assert "<img" not in page.body
