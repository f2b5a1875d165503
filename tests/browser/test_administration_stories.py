"""The stories of README.md about users, keys and the audit trail, in a real browser."""

from typing import Any

import pytest

from tests.browser.conftest import EVERYWHERE, NARROW, WIDE, LogIn

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])


@EVERYWHERE
@pytest.mark.requirement("admin:pages")
def test_a_user_is_added_gets_more_rights_and_is_removed(log_in: LogIn, options: dict[str, Any], scripts: bool) -> None:
    root = log_in("root", options, scripts=scripts)
    name = f"newcomer.{options['viewport']['width']}.{options['color_scheme']}"
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
        {"choose": {"Role": "writer"}},
        {"press": "Change rights"},
        {"open": "Log out or remove"},
        {"press": f"Remove {name}"},
    )
    wrong, added, changed, removed = pages[4], pages[6], pages[10], pages[12]
    assert name not in wrong["text"], "nobody was added"
    assert name in added["text"]
    assert "writer" in changed["text"]
    assert name not in removed["text"]


@BOTH
@pytest.mark.requirement("admin:pages")
def test_somebody_makes_a_key_sees_it_once_and_revokes_it(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", NARROW if scripts else WIDE, scripts=scripts)
    label = f"Laptop {'with' if scripts else 'without'}"
    pages = wanda.do(
        {"go": wanda.url("/console/account")},
        {"open": "Create a key"},
        {"fill": {"Label": label}},
        {"press": "Create key"},
        {"go": wanda.url("/console/account")},
        {"click": f"td a:text-is('{label}')"},
        {"wait": "button:text-is('Revoke key')"},
        {"press": "Revoke key"},
    )
    assert "pentad_" in pages[3]["text"]
    assert "pentad_" not in pages[4]["text"], "the key is shown only once"
    assert "revoked" in pages[7]["text"]


@BOTH
@pytest.mark.requirement("admin:pages")
def test_the_audit_trail_is_filtered_and_verified(log_in: LogIn, scripts: bool) -> None:
    root = log_in("root", WIDE if scripts else NARROW, scripts=scripts)
    _, _, filtered, _, _, cleared = root.do(
        {"go": root.url("/console/audit")},
        {"fill": {"What": "login", "Who": "root"}},
        {"press": "Filter"},
        {"click": "main a:text-is('Verify the chain')"},
        {"wait": "p:text-is('The chain is intact.')"},
        {"go": root.url("/console/audit?tool=no+such+tool")},
    )
    assert "login" in filtered["text"]
    assert "GET /console" not in filtered["text"]
    assert "login" not in cleared["text"].partition("Verify the chain")[2]
