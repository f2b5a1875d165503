"""The stories of README.md about users, keys and the audit trail, in a real browser."""

from pathlib import Path

import pytest

from tests.browser.conftest import HOSTILE, USERS, Case, LogIn, cases

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]


@cases("admin")
@pytest.mark.requirement("admin:pages", "console:accessible", "console:stories")
def test_a_user_is_added_gets_more_rights_and_is_removed(log_in: LogIn, axe: Path, case: Case) -> None:
    root = log_in(USERS[case.role], case.options, scripts=case.scripts)
    name = f"newcomer.{case.options['viewport']['width']}.{case.options['color_scheme']}"
    check = case.check(axe)
    pages = root.do(
        {"go": root.url("/console/admin")},
        {"click": "main a:text-is('Users')"},
        {"wait": "h1:text-is('Users')"},
        {"fill": {"Name": name, "Password": "short"}},
        {"press": "Add user"},
        {"fill": {"Password": "a long enough password"}},
        {"press": "Add user"},
        {"click": f"td a:text-is('{name}')"},
        {"wait": f"h1:text-is('{name}')"},
        check,
        {"choose": {"Role": "writer"}},
        {"press": "Change rights"},
        {"open": "Log out or remove"},
        {"press": f"Remove {name}"},
    )
    wrong, added, changed, removed = pages[4], pages[6], pages[11], pages[13]
    assert name not in wrong["text"], "nobody was added"
    assert name in added["text"]
    assert "writer" in changed["text"]
    assert name not in removed["text"]


@cases("reader", "writer")
@pytest.mark.requirement("admin:pages", "console:rights", "console:stories")
def test_only_administrators_see_users_and_the_audit_trail(log_in: LogIn, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    admin = "/console/admin"
    *_, menu = person.do({"go": person.url("/")}, {"run": "() => document.querySelector('header nav').innerText"})
    assert "Administration" not in menu["found"]
    assert "Audit trail" not in menu["found"]
    person.is_kept_out(
        admin, f"{admin}/users", f"{admin}/users/root", f"{admin}/keys", f"{admin}/jobs", "/console/audit",
        "/console/audit/verification",
    )  # fmt: skip
    person.is_refused(
        (f"{admin}/users", {"name": "intruder", "password": "a long enough password", "role": "admin"}),
        (f"{admin}/users/{person.name}/rights", {"role": "admin"}),
        (f"{admin}/users/root/password", {"password": "a long enough password"}),
        (f"{admin}/users/root/remove", {}),
        (f"{admin}/keys", {"label": HOSTILE, "owner": "root"}),
    )


@cases()
@pytest.mark.requirement("admin:pages", "console:accessible", "console:stories")
def test_somebody_makes_a_key_sees_it_once_and_revokes_it(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    label, check = f"Laptop <b>{case}</b>", case.check(axe)
    pages = person.do(
        {"go": person.url("/console/account")},
        {"open": "Create a key"},
        {"fill": {"Label": label}},
        {"press": "Create key"},
        {"go": person.url("/console/account")},
        check,
        {"click": f"td a:text-is('{label}')"},
        {"wait": "button:text-is('Revoke key')"},
        {"press": "Revoke key"},
    )
    made, listed, revoked = pages[3], pages[4], pages[8]
    assert "pentad_" in made["text"]
    assert label in listed["text"]
    assert "pentad_" not in listed["text"], "the key is shown only once"
    assert "revoked" in revoked["text"]


@cases("admin")
@pytest.mark.requirement("admin:pages", "console:accessible", "console:stories")
def test_the_audit_trail_is_filtered_and_verified(log_in: LogIn, axe: Path, case: Case) -> None:
    root = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    _, _, filtered, _, _, _, cleared = root.do(
        {"go": root.url("/console/audit")},
        {"fill": {"What": "login", "Who": "root"}},
        {"press": "Filter"},
        check,
        {"click": "main a:text-is('Verify the chain')"},
        {"wait": "p:text-is('The chain is intact.')"},
        {"go": root.url("/console/audit?tool=no+such+tool")},
    )
    assert "login" in filtered["text"]
    assert "GET /console" not in filtered["text"]
    assert "login" not in cleared["text"].partition("Verify the chain")[2]
