"""What the cases of the main tasks cover."""

from itertools import combinations, product

import pytest

from tests.browser.conftest import USERS, Case, cases


@pytest.mark.parametrize("roles", [one for size in (1, 2, 3) for one in combinations(USERS, size)], ids=" ".join)
@pytest.mark.requirement("console:stories")
def test_each_role_meets_each_size_and_theme_and_each_of_them_both_ways_of_scripts(roles: tuple[str, ...]) -> None:
    found: list[Case] = cases(*roles).args[1]
    widths, themes = (380, 1440), ("light", "dark")
    seen = [(one.role, one.options["viewport"]["width"], one.options["color_scheme"], one.scripts) for one in found]
    assert sorted(one[:3] for one in seen) == sorted(product(roles, widths, themes))
    for place, values in enumerate((roles, widths, themes)):
        assert {(one[place], one[3]) for one in seen} == set(product(values, (True, False)))


@pytest.mark.requirement("console:stories")
def test_the_cases_of_all_roles_cover_each_role() -> None:
    found: list[Case] = cases().args[1]
    assert {one.role for one in found} == set(USERS)
