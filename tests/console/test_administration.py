"""The pages of administration in a browser: who sees them, what their forms do, and what never works."""

import re
from urllib.parse import quote

import pytest

from pentad.console.account import AccountPages
from pentad.console.administration import AdministrationPages
from pentad.console.audit_trail import TrailPages
from pentad.kernel.principal import Principal
from tests.console.house import House, csrf_of, press
from tests.console.reading import is_inert
from tests.http.browsing import PASSWORD, Browser

ROBOT = Principal("user:robot", "robot", frozenset(), "user", "", "user:robot")
pytestmark = pytest.mark.anyio


def every_page(house: House) -> list[str]:
    admin = house.app.administration
    pages = AdministrationPages(admin, lambda: None), AccountPages(admin), TrailPages(admin)  # pyright: ignore[reportArgumentType]
    return [f"/console/{page.part}/{page.path}".rstrip("/") for part in pages for page in part.pages()]


@pytest.mark.requirement("admin:pages")
async def test_only_administrators_find_and_open_the_pages(house: House) -> None:
    root, rita, auditor = await house.browser("root"), await house.browser("rita"), await house.browser("auditor")
    assert 'href="/console/admin"' in (await root.get("/")).body
    assert 'href="/console/audit"' in (await root.get("/")).body
    for href in ("/console/admin", "/console/audit"):
        assert href not in (await rita.get("/")).body
    assert "/console/admin" not in (await auditor.get("/")).body
    for path in every_page(house):
        if "{" in path or path == "/console/admin/client":
            continue
        is_own = path.startswith("/console/account")
        assert (await root.get(path)).status == 200, path
        assert (await rita.get(path)).status == (200 if is_own else 403), path
        assert (await auditor.get(path)).status == (200 if is_own or "audit" in path else 403), path
        assert (await Browser(house.front).get(path)).status == 303, path
    for path in ("users/rita", "keys/x", "grants/x", "sessions/x", "jobs/1"):
        assert (await rita.get(f"/console/admin/{path}")).status == 403
    assert (await rita.get("/console/audit/export")).status == 403


@pytest.mark.requirement("admin:pages")
async def test_a_user_is_added_changed_and_removed_with_forms(house: House) -> None:
    root = await house.browser("root")
    given = {"name": "zoe", "password": PASSWORD, "role": "writer", "scopes": "audit:admin, pages:read"}
    assert (await press(root, "/console/admin/users", "/console/admin/users", **given))[:2] == (
        303,
        "/console/admin/users?done=added",
    )
    zoe = await house.app.users.find("zoe")
    assert zoe is not None
    assert (zoe.role, zoe.scopes) == ("writer", {"audit:admin", "pages:read"})
    page = "/console/admin/users/zoe"
    assert (await press(root, page, f"{page}/rights", role="reader", scopes=""))[0] == 303
    assert (await press(root, page, f"{page}/password", password="another long password"))[0] == 303
    assert (await press(root, page, f"{page}/logout"))[0] == 303
    assert "The user was added." in (await root.get("/console/admin/users?done=added")).body
    assert (await press(root, page, f"{page}/remove"))[:2] == (303, "/console/admin/users?done=removed")
    assert await house.app.users.find("zoe") is None


async def test_an_error_is_told_on_the_page_of_the_form_and_repeats_no_password(house: House) -> None:
    root = await house.browser("root")
    given = {"name": "zoe", "password": "canary", "role": "reader", "scopes": ""}
    status, _, body = await press(root, "/console/admin/users", "/console/admin/users", **given)
    assert (status, "A password has" in body, "canary" in body) == (422, True, False)
    status, _, body = await press(root, "/console/admin/users/root", "/console/admin/users/root/remove")
    assert (status, "last administrator" in body) == (409, True)


@pytest.mark.requirement("admin:pages")
async def test_a_token_is_shown_once(house: House) -> None:
    root = await house.browser("root")
    given = {"label": "laptop", "owner": "rita", "scopes": "*:read", "days": "1"}
    status, _, body = await press(root, "/console/admin/keys", "/console/admin/keys", **given)
    found = re.search(r"pentad_[a-z2-7]{16}_[a-z2-7]{52}", body)
    assert (status, found is not None) == (200, True)
    assert found is not None
    (key,) = await house.app.api_keys.all()
    assert (key.owner, key.label) == ("rita", "laptop")
    assert found[0] not in (await root.get("/console/admin/keys")).body
    page = f"/console/admin/keys/{key.id}"
    assert (await press(root, page, f"{page}/revoke"))[0] == 303
    assert "Revoke" not in (await root.get(page)).body
    for days in ("soon", "-1", "nan", "inf"):
        given["days"] = days
        assert (await press(root, "/console/admin/keys", "/console/admin/keys", **given))[0] == 422


@pytest.mark.requirement("admin:account")
async def test_everybody_runs_their_own_account(house: House) -> None:
    rita, other = await house.browser("rita"), await house.browser("rita")
    status, _, body = await press(
        rita, "/console/account", "/console/account/keys", label="mine", scopes="*:read", days="0"
    )
    assert (status, "pentad_" in body) == (200, True)
    (key,) = await house.app.api_keys.all(owner="rita")
    page = f"/console/account/keys/{key.id}"
    assert (await press(rita, page, f"{page}/revoke"))[0] == 303
    sessions = await house.app.browser_sessions.of_user("rita")
    assert len(sessions) == 2
    assert (await rita.get(f"/console/account/sessions/{sessions[0].id}")).status == 200
    wrong = {"current": "wrong password", "password": "another long password"}
    status, _, body = await press(rita, "/console/account", "/console/account/password", **wrong)
    assert (status, "The current password is wrong." in body) == (403, True)
    right = {"current": PASSWORD, "password": "another long password"}
    assert (await press(rita, "/console/account", "/console/account/password", **right))[0] == 303
    assert (await rita.get("/console/account")).status == 303, "a new password ends all sessions"
    assert (await other.get("/console/account")).status == 303


@pytest.mark.requirement("admin:rights")
async def test_a_form_without_the_token_or_from_another_site_changes_nothing(house: House) -> None:
    root = await house.browser("root")
    token = (await root.get("/console/admin/users")).hidden("csrf")
    for headers in ({"origin": "https://evil.example", "sec_fetch_site": "cross-site"}, {}):
        fields = {"csrf": token if headers else "wrong"}
        for action in ("users/rita/remove", "users/rita/password", "users"):
            given = {**fields, "name": "evil", "password": PASSWORD, "role": "admin"}
            assert (await root.post(f"/console/admin/{action}", given, **headers)).status in (403, 421)
    assert [user.name for user in await house.app.users.all()] == ["auditor", "rita", "root"]


@pytest.mark.requirement("admin:rights")
async def test_the_forms_of_administration_refuse_other_users(house: House) -> None:
    rita = await house.browser("rita")
    token = (await rita.get("/console/account")).hidden("csrf")
    for action in ("users", "users/root/remove", "users/root/password", "users/rita/rights", "keys", "clients/remove"):
        given = {
            "csrf": token,
            "name": "x",
            "password": PASSWORD,
            "role": "admin",
            "label": "x",
            "days": "1",
            "id": "x",
        }
        assert (await rita.post(f"/console/admin/{action}", given)).status == 403, action
    assert (await house.app.users.count()) == 3


@pytest.mark.requirement("access:audit:read", "access:audit:readers-told")
async def test_the_trail_is_filtered_linked_paged_and_exported(house: House) -> None:
    auditor = await house.browser("auditor")
    await auditor.get("/console/admin")
    for number in range(120):
        house.app.audit.event(ROBOT, "key created", target=f"key:{number}")
    page = await auditor.get(f"/console/audit?tool={quote('key created')}")
    assert page.status == 200
    assert "key:119" in page.body
    assert "key:10<" not in page.body
    following = re.search(r'href="(/console/audit\?[^"]*cursor=[^"]*)"', page.body)
    assert following is not None
    assert "key:10<" in (await auditor.get(following[1].replace("&amp;", "&"))).body
    assert "user=user%3Arobot" in page.body, "who leads to all entries of that principal"
    exported = await auditor.get(f"/console/audit/export?tool={quote('key created')}")
    assert exported.body.count("\n") == 120
    refused = await auditor.get("/console/audit?room=console&outcome=403")
    assert "GET /console/admin" in refused.body
    assert (await auditor.get("/console/audit?since=whenever")).status == 422
    assert "The chain is intact." in (await auditor.get("/console/audit/verification")).body
    await house.app.audit.flush()
    events = {(one.principal, one.tool) for one in await house.app.audit.recent(1000)}
    assert {("user:auditor", what) for what in ("audit read", "audit exported", "audit verified")} <= events


@pytest.mark.requirement("console:home:latest")
async def test_the_home_page_shows_administrators_who_logged_in_and_others_nothing_of_it(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    assert (await Browser(house.front).log_in("auditor", "wrong")).status == 401
    await house.app.audit.flush()
    latest = (await root.get("/")).html.text.partition("What happened lately")[2].partition("Calls")[0]
    assert "Loginrootroot" in latest
    assert "Loginritarita" in latest
    assert "Login failed: wrong name or passwordauditoranonymous" in latest
    assert "GET /" not in latest
    assert "Nothing yet. Changes in all rooms appear here." in (await rita.get("/")).html.text


async def test_hostile_texts_stay_texts(house: House) -> None:
    root = await house.browser("root")
    house.app.audit.event(ROBOT, "<script>alert(1)</script>", target='"><img src=x onerror=alert(1)>')
    await house.app.api_keys.create("<b>bold</b>")
    for path in (
        "/console/audit",
        "/console/admin/keys",
        "/console/audit?user=%22%3E%3Cscript%3E",
        "/console/admin/keys?done=<b>",
    ):
        page = await root.get(path)
        assert page.html is not None
        assert "<script>alert" not in page.body
        assert "<b>bold" not in page.body


async def test_dead_letters_are_retried_with_a_form(house: House) -> None:
    jobs = house.app.jobs
    await house.app.database.write(lambda tx: jobs.enqueue(tx, "t.a", key="1"))
    (run,) = await house.app.database.write(lambda tx: jobs.claim(tx, "t.a", 1))
    await house.app.database.write(lambda tx: jobs.bury(tx, run, "broken"))
    root = await house.browser("root")
    assert "broken" in (await root.get("/console/admin/jobs?state=dead")).body
    page = f"/console/admin/jobs/{run.id}"
    assert (await press(root, page, f"{page}/retry"))[0] == 303
    assert [job.state for job in await jobs.stored(name="t.a")] == ["queued"]


@pytest.mark.requirement("console:forms:post")
async def test_a_form_of_administration_keeps_what_was_typed_except_the_password(house: House) -> None:
    root = await house.browser("root")
    typed = {
        "name": 'ada"><script>alert(1)</script>',
        "password": "5551239876",
        "role": "writer",
        "scopes": "metrics:read",
    }
    shown = await root.post("/console/admin/users", {**typed, "csrf": await csrf_of(root)})
    assert shown.status == 422
    is_inert(shown.html)
    assert {typed["name"], "metrics:read"} <= set(shown.html.values("input", "value"))
    assert "5551239876" not in shown.body
    assert '<option value="writer" selected="selected">' in shown.body
    key = {"label": "Laptop", "owner": "rita", "scopes": "nothing:at all", "days": "30", "own_only": "yes"}
    shown = await root.post("/console/admin/keys", {**key, "csrf": await csrf_of(root)})
    assert shown.status == 422
    assert {"Laptop", "30"} <= set(shown.html.values("input", "value"))
    assert shown.html.values("input", "checked") == ["checked"]
    assert '<option value="rita" selected="selected">' in shown.body
