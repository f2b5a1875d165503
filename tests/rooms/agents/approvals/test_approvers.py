"""Names of approvers, and the principals they fit."""

import pytest

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import InvalidInput, Misconfigured
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.agents.approvals.approvers import Approvers

ADA = Principal("user:ada", "ada", role_scopes("writer"), user="user:ada")
KEY_OF_ADA = Principal("key:1", "robot", frozenset({"agents:write"}), kind="key", user="user:ada")
ROOT = Principal("user:root", "root", role_scopes("admin"), user="user:root")
CLERK = Principal("user:clerk", "clerk", frozenset({"agents:write", "registers:admin"}), user="user:clerk")
ADMIN_BY_NAME = Principal("user:admin", "admin", role_scopes("writer"), user="user:admin")
GROUPS = Approvers({"finance": ["user:ada", "registers:admin"], "chair": "user:root"})


@pytest.mark.parametrize(
    ("name", "fitting"),
    [
        ("admin", {"root"}),
        ("writer", {"ada", "robot", "root", "clerk", "admin"}),
        ("registers:admin", {"root", "clerk"}),
        ("user:ada", {"ada", "robot"}),
        ("user:ADA", {"ada", "robot"}),
        ("user:admin", {"admin"}),
        ("finance", {"ada", "robot", "root", "clerk"}),
        ("chair", {"root"}),
    ],
)
@pytest.mark.requirement("agents:approvals:approvers")
def test_a_name_fits_roles_scopes_people_and_groups(name: str, fitting: set[str]) -> None:
    everybody = (ADA, KEY_OF_ADA, ROOT, CLERK, ADMIN_BY_NAME)
    assert {one.name for one in everybody if GROUPS.include(one, GROUPS.checked([name]))} == fitting


@pytest.mark.requirement("agents:approvals:approvers")
def test_the_owner_of_this_machine_may_act_for_everybody() -> None:
    assert GROUPS.include(LOCAL, ["user:ada"])


@pytest.mark.parametrize("name", ["", "fnance", "reader", "*:admin", "ada", "user:", "user:a b", "x" * 400])
def test_a_name_that_means_nothing_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        GROUPS.checked([name])


def test_a_misspelt_group_is_recognised() -> None:
    with pytest.raises(InvalidInput) as error:
        GROUPS.checked(["finanse"])
    assert "finance" in (error.value.hint or "")


@pytest.mark.parametrize("names", [[], ["admin"] * 21])
def test_an_approval_names_one_to_twenty_approvers(names: list[str]) -> None:
    with pytest.raises(InvalidInput):
        GROUPS.checked(names)


@pytest.mark.parametrize(
    "groups", [{"admin": ["user:ada"]}, {"user:x": ["user:ada"]}, {"a b": []}, {"ok": 7}, {"ok": ["nobody"]}]
)
def test_a_group_that_cannot_work_stops_the_start(groups: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match="approvers"):
        Approvers(groups)
