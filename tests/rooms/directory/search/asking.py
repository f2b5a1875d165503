"""Generated records and queries, from few letters, so that they match often."""

from typing import Any

from hypothesis import strategies as st

from pentad.rooms.directory.search.query import Filter, Query
from pentad.rooms.directory.search.query import FilterKind as K
from tests.rooms.directory.search.oracle import SEVERITIES
from tests.rooms.directory.search.seeding import agent

LETTERS = st.sampled_from("abAB1/-_.ÄäßIİ%!^]x")
TEXTS = st.text(LETTERS, max_size=6)
LONG = st.lists(st.sampled_from(["research", "Helper", "über", "-", "/", "-bot", "[x]", "a*b", "%"]), max_size=4).map(
    "".join
)
NAMES = st.one_of(TEXTS, LONG)
VERSIONS = st.sampled_from(
    [
        "v1.0.0",
        "1.0.0",
        "1.0",
        "v9",
        "v10.0.0",
        "2.0.0-rc.1",
        "2.0.0-rc.2",
        "2.0.0",
        "2.0.0+b1",
        "latest",
        "",
        "2026.01.05",
    ]
)
SCHEMAS = st.sampled_from(["0.7.0", "0.8.0", "1.0.0", "1.1.0", "0.10.0"])
MOMENTS = st.sampled_from(
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T02:00:00+02:00",
        "2026-01-01T00:00:00.5Z",
        "2025-12-31T23:59:59Z",
        "2026-02-01",
        "",
    ]
)
PATTERN_PARTS = st.sampled_from(
    [
        "*",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-b]",
        "[",
        "]",
        "[]a]",
        "[z-a]",
        "[!z-a]",
        "a",
        "B",
        "1",
        "ä",
        "/",
        "research",
        "elp",
        "-bot",
        "-res",
    ]
)
PATTERNS = st.one_of(st.lists(PATTERN_PARTS, max_size=5).map("".join), NAMES)
CLASSES = st.lists(
    st.builds(
        lambda name, number: {"name": name, "id": number},
        st.sampled_from(["xx/aa", "xx/Ab", "yy/b"]),
        st.integers(1, 3),
    ),
    max_size=2,
)


@st.composite
def records(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = st.builds(
        agent,
        name=NAMES,
        version=VERSIONS,
        schema_version=SCHEMAS,
        created_at=MOMENTS,
        description=NAMES,
        authors=st.lists(NAMES, max_size=2),
        skills=CLASSES,
        domains=CLASSES,
        modules=CLASSES,
        locators=st.lists(
            st.fixed_dictionaries(
                {
                    "type": st.sampled_from(["docker-image", "Helm"]),
                    "urls": st.lists(NAMES.map("https://".__add__), min_size=1, max_size=2),
                }
            ),
            max_size=2,
        ),
        annotations=st.dictionaries(st.sampled_from(["Team", "tier", "a"]), TEXTS, max_size=2),
        verified=st.integers(0, 1),
        trusted=st.integers(0, 1),
        scan_severity=st.none() | st.integers(1, 6),
        scan_safe=st.none() | st.integers(0, 1),
        pulls=st.integers(0, 2),
        lookups=st.integers(0, 1),
    )
    listed = draw(st.lists(made, max_size=12))
    for number, record in enumerate(listed):
        record["number"] = number  # so that no two have one CID
    return listed


def _compared(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from([">=", "<=", ">", "<", "="])
    return st.one_of(PATTERNS, values, st.builds("".join, st.tuples(operators, values.filter(bool))))


_MOMENT_VALUES = st.sampled_from(
    ["2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2025-06-01", "2026-01-01T00:00:00.25Z"]
)
_LOCATORS = st.one_of(
    st.sampled_from(["docker-image", "helm", "docker*", "*", "*://*", "docker-image:", "docker-image:*", ":https://a"]),
    st.builds("{}:{}".format, st.sampled_from(["docker-image", "h*"]), PATTERNS),
    PATTERNS.map("*".__add__),
    PATTERNS.map("*://".__add__),
)
_ANNOTATIONS = st.one_of(
    st.sampled_from(["team", "t*", "*:a"]), st.builds("{}:{}".format, st.sampled_from(["team", "*"]), PATTERNS)
)
_NUMBERS = st.integers(1, 3).map(str)
_CLASS_NAMES = st.one_of(PATTERNS, st.sampled_from(["xx/aa", "XX/*", "*/a?", "*b", ""]))
_TRUTHS = st.sampled_from(["true", "false"])
VALUES: dict[K, st.SearchStrategy[str]] = {
    K.NAME: PATTERNS,
    K.VERSION: _compared(VERSIONS),
    K.SCHEMA_VERSION: _compared(SCHEMAS),
    K.CREATED_AT: st.one_of(
        PATTERNS, MOMENTS, st.builds("".join, st.tuples(st.sampled_from([">=", "<=", ">", "<", "="]), _MOMENT_VALUES))
    ),
    K.SKILL_ID: _NUMBERS,
    K.DOMAIN_ID: _NUMBERS,
    K.MODULE_ID: _NUMBERS,
    K.SKILL_NAME: _CLASS_NAMES,
    K.DOMAIN_NAME: _CLASS_NAMES,
    K.MODULE_NAME: _CLASS_NAMES,
    K.LOCATOR: _LOCATORS,
    K.ANNOTATION: _ANNOTATIONS,
    K.AUTHOR: PATTERNS,
    K.DESCRIPTION: PATTERNS,
    K.VERIFIED: _TRUTHS,
    K.TRUSTED: _TRUTHS,
    K.SCAN_SAFE: _TRUTHS,
    K.SCAN_SEVERITY: st.sampled_from(SEVERITIES),
}


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    kind = draw(st.sampled_from(sorted(VALUES)))
    return Filter(kind, draw(VALUES[kind]), draw(st.sampled_from([False, False, False, True])))


QUERIES = st.builds(
    Query,
    filters=st.lists(filters(), max_size=4).map(tuple),
    match=st.sampled_from(["all", "any"]),
    sort=st.sampled_from([None, "recency", "popularity", "relevance"]),
    limit=st.integers(0, 4),
    offset=st.integers(0, 3),
)
