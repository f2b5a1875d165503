"""Short descriptions of the kind public registries are full of, with the classes a careful person would accept.

Written for these tests. The classes are short names, of whichever version has them; where a field is empty, no class of
that family is clear enough. `never` names classes that would be absurd, whether first or further down.
"""

from pathlib import Path
from typing import Final, NamedTuple


class Described(NamedTuple):
    text: str
    skills: frozenset[str]
    domains: frozenset[str]
    never: frozenset[str]


def _described(line: str) -> Described:
    text, skills, domains, never = (part.strip() for part in f"{line}|||".split("|")[:4])
    return Described(text, frozenset(skills.split()), frozenset(domains.split()), frozenset(never.split()))


_TABLE: Final = Path(__file__).with_name("descriptions.txt").read_text(encoding="utf-8")

DESCRIPTIONS: Final = tuple(_described(line) for line in _TABLE.splitlines())
