"""The page about networks names settings that exist, with the defaults they have."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.default_limits import KIB
from pentad.settings.catalogue import catalogue
from pentad.settings.model import PUBLIC_PAGES, Settings, checked

PAGE = (Path(__file__).parents[2] / "docs" / "network.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ((?:`[a-z_.]+`(?:, )?)+) \|(?: ([^|]+) \|)? [^|]+ \|$", re.MULTILINE)


@pytest.mark.requirement("access:public-pages:setting")
def test_the_page_lists_real_settings_with_their_real_defaults() -> None:
    rows = [(re.findall(r"`([a-z_.]+)`", names), default) for names, default in ROW.findall(PAGE)]
    settings = [name for names, _ in rows for name in names if name in catalogue()]
    pages = [name for names, _ in rows for name in names if name not in catalogue()]
    assert sorted(pages) == sorted(PUBLIC_PAGES)
    assert {"public_url", "forwarded_allow_ips", "limits.anonymous_per_second", "limits.logins_burst"} <= set(settings)
    for names, default in rows:
        if default:
            assert [int(catalogue()[name].default) for name in names] == [_number(part) for part in default.split(",")]


def test_the_snippets_are_settings_that_load() -> None:
    for snippet in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL):
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in tomllib.loads(snippet).items()
        }
        assert checked(Settings(**given))


def _number(text: str) -> int:
    number, _, unit = text.strip().partition(" ")
    return int(number) * (KIB if unit == "KiB" else 1)
