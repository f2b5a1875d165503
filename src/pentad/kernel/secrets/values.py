"""Decides by its form alone whether a value is a secret, and admits when it does not know.

`yes` is a form that only secrets have. `maybe` is a value that looks random: a key without a known prefix looks like
that, and so do some identifiers. Digests, UUIDs, content identifiers, versions, paths and words are `no`.
"""

import re
from itertools import pairwise
from typing import Final, Literal

from pentad.kernel.secrets.references import is_reference, is_sample
from pentad.kernel.secrets.text import found_in, is_path

Verdict = Literal["no", "maybe", "yes"]

_RANDOM_LENGTH: Final = 20
"""Shorter runs are identifiers and abbreviations far more often than keys."""
_CHANGES: Final = 0.25
"""How often neighbours differ in class (upper, lower, digit). Words stay below, base62 is at 0.6, hex at 0.45."""
_CHANGES_OF_LETTERS: Final = 0.35
"""The same for letters without any digit: camelCase stays below."""
_SHORTEST: Final = 6
_LONGEST: Final = 10_000
_PUBLIC: Final = re.compile(
    r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"  # UUID
    r"|(?i:(?:sha(?:1|256|384|512)|md5)[:=-][0-9a-z+/=]+|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
    r"|[\w./:+-]{1,300}@(?:sha256:)?(?:[0-9a-f]{40}|[0-9a-f]{64})"  # a commit or an image, pinned
    r"|ba[a-z2-7]{50,}|Qm[1-9A-HJ-NP-Za-km-z]{44}|did:[a-z0-9]+:\S+|z6Mk[1-9A-HJ-NP-Za-km-z]{40,}"  # CID, DID
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]+)?|[0-9A-HJKMNP-TV-Z]{26}"  # time, ULID
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|@?[a-z0-9._-]+/[a-z0-9._/-]+(?:@[\w.^~*-]+)?"  # mail, package
    r"|(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z]{2,24}(?::[0-9]{1,5})?"  # host
    r"|[A-Za-z][A-Za-z0-9_-]*[@:][v^~]?[0-9]+(?:\.[0-9]+)*"  # name and version
    r"|(?:application|audio|font|image|message|model|multipart|text|video)/[\w.+-]+(?:;.*)?"
)
_RUNS: Final = re.compile(r"[A-Za-z0-9+/=]{16,}")
_PASSWORD: Final = re.compile(r"(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[0-9])(?=\S*[!#$%^&*?@])[^\s/:]{8,64}")
_HEX: Final = re.compile(r"[0-9a-f]{32}|[0-9A-F]{32}")


def judge_value(value: str) -> Verdict:
    """Whether a value is a secret, whatever it is called."""
    bare = value.strip()
    if len(bare) < _SHORTEST or is_reference(bare) or is_sample(bare):
        return "no"
    if found_in(bare):
        return "yes"
    if any(character.isspace() for character in bare):
        return "maybe" if any(looks_random(word) for word in bare[:_LONGEST].split()) else "no"
    return "maybe" if looks_random(bare) or _looks_like_a_password(bare) else "no"


def looks_random(value: str) -> bool:
    """Whether a value has a run of characters that nobody wrote or would read."""
    if not _RANDOM_LENGTH <= len(value) <= _LONGEST:
        return False
    if _PUBLIC.fullmatch(value) or is_path(value):
        return "/" in value and any(looks_random(part) for part in value.split("/"))
    return any(_is_random(run) for run in _RUNS.findall(value)) or _is_random(value.replace("_", "").replace("-", ""))


def _looks_like_a_password(value: str) -> bool:
    return _PASSWORD.fullmatch(value) is not None and _PUBLIC.fullmatch(value) is None


def _is_random(run: str) -> bool:
    if _HEX.fullmatch(run):
        return True
    if len(run) < _RANDOM_LENGTH or _PUBLIC.fullmatch(run) or not run.isascii():
        return False
    classes = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in run if one.isalnum()]
    if len(classes) < _RANDOM_LENGTH or len(set(run)) < len(run) // 4:
        return False
    changes = sum(one != other for one, other in pairwise(classes)) / (len(classes) - 1)
    digits = classes.count("d")
    if digits == len(classes):
        return False
    return changes >= (_CHANGES if digits >= 2 else _CHANGES_OF_LETTERS)
