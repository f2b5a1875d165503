"""Revoking access with the forms of the console: it ends at once, and nobody else can end it."""

from dataclasses import dataclass, field

import pytest

from tests.console.house import House, csrf_of, listed, press
from tests.http.browsing import Browser
from tests.http.grant_maker import make_grant

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Revocation:
    """A form that ends access of rita's: who presses it, where it is, where it leads, and what that page says."""

    who: str
    page: str
    action: str
    then: str
    says: str
    event: str
    fields: dict[str, str] = field(default_factory=dict[str, str])
    others: int = 403
    """The answer to users who may not."""

    def about(self, **ids: str) -> "Revocation":
        """The same form, with the ids of real things."""
        page, action = self.page.format(**ids), self.action.format(**ids)
        fields = {name: value.format(**ids) for name, value in self.fields.items()}
        return Revocation(self.who, page, action, self.then.format(**ids), self.says, self.event, fields, self.others)


PROGRAMS = {
    "own grant": Revocation(
        "rita",
        "/console/account/grants/{grant}",
        "/console/account/grants/{grant}/revoke",
        "/console/account?done=grant-revoked",
        "The grant was revoked.",
        "grant revoked",
        others=404,
    ),
    "grant": Revocation(
        "root",
        "/console/admin/grants/{grant}",
        "/console/admin/grants/{grant}/revoke",
        "/console/admin/grants?done=grant-revoked",
        "The grant was revoked.",
        "grant revoked",
    ),
    "client": Revocation(
        "root",
        "/console/admin/client?id={client}",
        "/console/admin/clients/remove",
        "/console/admin/clients?done=client-removed",
        "The client was removed",
        "client removed",
        {"id": "{client}"},
    ),
    "own key": Revocation(
        "rita",
        "/console/account/keys/{key}",
        "/console/account/keys/{key}/revoke",
        "/console/account?done=key-revoked",
        "The key was revoked.",
        "key revoked",
        others=404,
    ),
    "key": Revocation(
        "root",
        "/console/admin/keys/{key}",
        "/console/admin/keys/{key}/revoke",
        "/console/admin/keys/{key}?done=key-revoked",
        "The key was revoked.",
        "key revoked",
    ),
}
BROWSERS = {
    "own session": Revocation(
        "rita",
        "/console/account/sessions/{session}",
        "/console/account/sessions/{session}/end",
        "/console/account?done=ended",
        "The browser was logged out.",
        "session ended",
        others=404,
    ),
    "session": Revocation(
        "root",
        "/console/admin/sessions/{session}",
        "/console/admin/sessions/{session}/end",
        "/console/admin/sessions?done=ended",
        "The browser was logged out.",
        "session ended",
    ),
}


async def program_of_rita(house: House, name: str) -> tuple[str, Revocation]:
    """The key or token of a program that acts for rita, and the form that ends it."""
    if "key" in name:
        made = await house.app.api_keys.create("laptop", owner="rita")
        return made.token, PROGRAMS[name].about(key=made.key.id)
    granted = await make_grant(house.app, "rita")
    return granted.token, PROGRAMS[name].about(grant=granted.grant, client=granted.client)


async def browser_of_rita(house: House, name: str) -> tuple[Browser, Revocation]:
    """A browser in which rita is logged in, and the form that ends its session."""
    browser = await house.browser("rita")
    (session,) = [one["id"] for one in await listed(browser, "sessions") if one["current"]]
    return browser, BROWSERS[name].about(session=session)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.requirement("admin:pages:revoke")
async def test_a_program_is_locked_out_at_once(house: House, name: str) -> None:
    token, form = await program_of_rita(house, name)
    assert await house.status(token) == 200
    person = await house.browser(form.who)
    assert (await press(person, form.page, form.action, **form.fields))[:2] == (303, form.then)
    assert await house.status(token) == 401
    assert form.says in (await person.get(form.then)).html.text
    ((who, _, outcome),) = await house.events(form.event)
    assert (who, outcome) == (f"user:{form.who}", "ok")
    after = await person.get(form.page)
    assert after.status == (404 if name == "client" else 200)
    assert f'action="{form.action}"' not in after.body, "there is nothing left to revoke"


@pytest.mark.parametrize("name", BROWSERS)
@pytest.mark.requirement("admin:pages:revoke")
async def test_a_browser_is_logged_out_at_once_and_no_other(house: House, name: str) -> None:
    lost, form = await browser_of_rita(house, name)
    person, bystander = await house.browser(form.who), await house.browser("rita")
    assert (await lost.get("/console/account")).status == 200
    assert (await press(person, form.page, form.action))[:2] == (303, form.then)
    after = await lost.get("/console/account")
    assert (after.status, (after.location or "").partition("?")[0]) == (303, "/login")
    assert form.says in (await person.get(form.then)).html.text
    assert (await bystander.get("/console/account")).status == 200
    assert [one[0] for one in await house.events(form.event)] == [f"user:{form.who}"]


@pytest.mark.requirement("admin:pages:revoke")
async def test_a_browser_can_log_itself_out(house: House) -> None:
    rita, form = await browser_of_rita(house, "own session")
    assert (await press(rita, form.page, form.action))[0] == 303
    assert (await rita.get(form.then)).status == 303


async def refused_attempts(house: House, form: Revocation) -> None:
    """Send the form as everybody who must not be able to, in every way; each attempt is refused."""
    person = await house.browser(form.who)
    strangers = [await house.browser(name) for name in ("auditor", "root" if form.who == "rita" else "rita")]
    token = await csrf_of(person)
    of_stranger = await csrf_of(strangers[0])
    for wrong in ({}, {"csrf": ""}, {"csrf": "x" * 43}, {"csrf": of_stranger}):
        assert (await person.post(form.action, {**form.fields, **wrong})).status == 403, wrong
    foreign = {"origin": "https://evil.example", "sec_fetch_site": "cross-site"}
    assert (await person.post(form.action, {**form.fields, "csrf": token}, **foreign)).status == 403
    assert (await person.get(form.action)).status in (404, 405)
    for stranger in strangers:
        assert (await stranger.get(form.page)).status == form.others
        given = {**form.fields, "csrf": await csrf_of(stranger)}
        assert (await stranger.post(form.action, given)).status == form.others
    assert (await Browser(house.front).post(form.action, {**form.fields, "csrf": token})).status == 403
    assert await house.events(form.event) == []


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.requirement("admin:pages:revoke", "admin:rights")
async def test_nobody_else_and_no_foreign_page_locks_a_program_out(house: House, name: str) -> None:
    token, form = await program_of_rita(house, name)
    await refused_attempts(house, form)
    assert await house.status(token) == 200
    rita = await house.browser("rita")
    found = await listed(rita, "keys" if "key" in name else "grants")
    assert [one["state"] for one in found] == ["active"]


@pytest.mark.parametrize("name", BROWSERS)
@pytest.mark.requirement("admin:pages:revoke", "admin:rights")
async def test_nobody_else_and_no_foreign_page_logs_a_browser_out(house: House, name: str) -> None:
    browser, form = await browser_of_rita(house, name)
    await refused_attempts(house, form)
    assert (await browser.get("/console/account")).status == 200


@pytest.mark.requirement("admin:last-used")
async def test_the_pages_tell_when_a_credential_was_last_used(house: House) -> None:
    rita, root = await house.browser("rita"), await house.browser("root")
    key = await house.app.api_keys.create("laptop", owner="rita")
    granted = await make_grant(house.app, "rita")
    places = {"keys": key.key.id, "grants": granted.grant}
    for what, one in places.items():
        for page in (f"/console/account/{what}/{one}", f"/console/admin/{what}/{one}"):
            visitor = rita if "account" in page else root
            assert "Last usednever" in (await visitor.get(page)).html.text
    for token in (key.token, granted.token):
        assert await house.status(token) == 200
    for what, one in places.items():
        ((found),) = await listed(rita, what)
        used = found["last_used"][:16].replace("T", " ")
        for page in (f"/console/account/{what}/{one}", f"/console/admin/{what}/{one}"):
            visitor = rita if "account" in page else root
            assert f"Last used{used}" in (await visitor.get(page)).html.text
        for page in ("/console/account", f"/console/admin/{what}", "/console/admin/users/rita"):
            visitor = rita if "account" in page else root
            assert used[:10] in (await visitor.get(page)).html.texts
    (session,) = await listed(rita, "sessions")
    used = session["last_used"][:16].replace("T", " ")
    assert f"Last used{used}" in (await rita.get(f"/console/account/sessions/{session['id']}")).html.text
