"""Valid messages, and the many ways to spoil them: in their structure, their text, their bytes, their headers."""

import json
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

PREFIX: Final = "io.modelcontextprotocol/"
HeaderList = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Duplicated:
    """An object with one key twice, which no dict can hold."""

    members: dict[str, Any]
    key: str
    again: Any


@dataclass(frozen=True)
class Verbatim:
    """A piece of text that stands where a JSON value should."""

    text: str


@dataclass(frozen=True)
class Attack:
    """What is sent."""

    verb: str
    headers: HeaderList
    body: bytes


META: Final[dict[str, Any]] = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientCapabilities": {"elicitation": {}, "sampling": {}},
    PREFIX + "clientInfo": {"name": "fuzz", "version": "1"},
    PREFIX + "logLevel": "debug",
    "progressToken": "p",
}
BY_PROMPT: Final = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
BY_TEMPLATE: Final = {"type": "ref/resource", "uri": "test://template/{id}/data"}
SHARED: Final[list[tuple[str, dict[str, Any]]]] = [
    ("tools/list", {}),
    ("tools/list", {"cursor": "W10="}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("tools/call", {"name": "test_simple_text", "arguments": {}}),
    ("tools/call", {"name": "test_echo", "arguments": {"text": "hello"}}),
    ("tools/call", {"name": "test_add", "arguments": {"a": 1, "b": 2}}),
    ("tools/call", {"name": "test_custom_headers", "arguments": {"region": "r", "retries": 1, "dry": True}}),
    ("tools/call", {"name": "json_schema_2020_12_tool", "arguments": {"name": "n", "address": {"city": "c"}}}),
    ("tools/call", {"name": "test_multiple_content_types"}),
    ("tools/call", {"name": "test_logging_tool"}),
    ("resources/read", {"uri": "test://static-text"}),
    ("resources/read", {"uri": "test://template/1/data"}),
    ("resources/read", {"uri": "test://numbered/1"}),
    ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": ""},
        },
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "test://template/{id}/data"}, "argument": {"name": "id", "value": "1"}},
    ),
    ("notifications/cancelled", {"requestId": 1, "reason": "enough"}),
]
LEGACY_ONLY: Final[list[tuple[str, dict[str, Any]]]] = [
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}),
    ("ping", {}),
    ("logging/setLevel", {"level": "info"}),
    ("resources/subscribe", {"uri": "test://watched-resource"}),
    ("resources/unsubscribe", {"uri": "test://watched-resource"}),
    ("notifications/initialized", {}),
    ("notifications/progress", {"progressToken": 1, "progress": 0.5}),
]
MODERN_ONLY: Final[list[tuple[str, dict[str, Any]]]] = [
    ("server/discover", {}),
    ("tools/call", {"name": "test_input_required_result_elicitation"}),
    (
        "tools/call",
        {
            "name": "test_input_required_result_elicitation",
            "inputResponses": {"user_name": {"action": "accept", "content": {"name": "Ada"}}},
        },
    ),
    ("tools/call", {"name": "test_input_required_result_multi_round", "requestState": "AAAA", "inputResponses": {}}),
    ("prompts/get", {"name": "test_input_required_result_prompt", "inputResponses": None}),
]

numbers = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([2**31, 2**53, 2**53 + 1, 2**63, 2**64, -(2**64), 10**30, 10**400]),
    st.floats(allow_nan=False, allow_infinity=False),
)
spoiled = st.sampled_from(
    [
        Verbatim("NaN"),
        Verbatim("Infinity"),
        Verbatim("-Infinity"),
        Verbatim("1e999"),
        Verbatim("-0"),
        Verbatim("01"),
        Verbatim('"\\ud800"'),
        Verbatim('"\\udc00\\ud800"'),
        Verbatim('"\\u0000"'),
        Verbatim('"\\x41"'),
        Verbatim('"\n"'),
        Verbatim("'single'"),
        Verbatim("undefined"),
        Verbatim("/* why */ 1"),
        Verbatim("[" * 100 + "]" * 100),
        Verbatim("[" * 100_000),
        Verbatim('{"a":' * 70 + "1" + "}" * 70),
        Verbatim("9" * 5000),
        Verbatim("1." + "0" * 5000),
        Verbatim('"' + "x" * 100_000 + '"'),
        Verbatim("[1,]"),
        Verbatim(""),
    ]
)
words = st.one_of(
    st.sampled_from(
        ["", "tools/call", "tools/list", "2.0", "2026-07-28", "2025-11-25", "test_echo", "_meta", "\x00", "\u202e", "é"]
    ),
    st.text(max_size=20),
)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, words, spoiled),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(words, inner, max_size=3),
        st.builds(Duplicated, st.dictionaries(words, inner, max_size=2), words, inner),
    ),
    max_leaves=6,
)


@st.composite
def spoiled_trees(draw: st.DrawFn, tree: Any) -> Any:
    """The tree with one node, somewhere, replaced, removed, added or doubled."""
    if not isinstance(tree, dict) or not tree or draw(st.integers(0, 3)) == 0:
        return draw(values)
    key = draw(st.sampled_from(sorted(tree)))
    how = draw(st.sampled_from(["deeper", "deeper", "deeper", "remove", "add", "double"]))
    if how == "remove":
        return {name: value for name, value in tree.items() if name != key}
    if how == "add":
        return {**tree, draw(words): draw(values)}
    if how == "double":
        return Duplicated(tree, key, draw(values))
    return {**tree, key: draw(spoiled_trees(tree[key]))}


def written(value: Any) -> str:
    """A tree as text, with what no JSON writer would write."""
    if isinstance(value, Verbatim):
        return value.text
    if isinstance(value, Duplicated):
        pairs = [*value.members.items(), (value.key, value.again)]
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in pairs) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item) for item in value) + "]"
    return json.dumps(value)


@st.composite
def bodies(draw: st.DrawFn, message: dict[str, Any]) -> bytes:
    """A message as bytes: usually spoiled once, sometimes twice, sometimes in its bytes, sometimes not at all."""
    tree: Any = message
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        tree = draw(spoiled_trees(tree))
    if draw(st.integers(0, 9)) == 0:
        tree = [tree] * draw(st.integers(0, 3))
    text = written(tree)
    how = draw(st.sampled_from(["plain"] * 6 + ["cut", "mark", "utf-16", "latin", "noise", "twice", "blanks"]))
    raw = text.encode("utf-8", "surrogatepass")
    if how == "cut":
        return raw[: draw(st.integers(0, len(raw)))]
    if how == "mark":
        return b"\xef\xbb\xbf" + raw
    if how == "utf-16":
        return text.encode("utf-16", "surrogatepass")
    if how == "latin":
        return text.encode("latin-1", "replace")
    if how == "noise":
        at = draw(st.integers(0, len(raw)))
        return raw[:at] + draw(st.binary(min_size=1, max_size=4)) + raw[at:]
    if how == "twice":
        return raw + raw
    return b" \r\n\t" + raw + b"\n\n" if how == "blanks" else raw


header_values = st.one_of(
    st.sampled_from(
        [
            b"",
            b" ",
            b"2026-07-28",
            b"2025-11-25",
            b"1999-01-01",
            b"tools/list",
            b"=?base64??=",
            b"=?base64?!?=",
            b"\xff",
        ]
    ),
    st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\r\n\x00")),
)
header_names = st.sampled_from(
    [
        b"mcp-protocol-version",
        b"mcp-method",
        b"mcp-name",
        b"mcp-param-region",
        b"mcp-session-id",
        b"last-event-id",
        b"content-type",
        b"accept",
        b"traceparent",
        b"content-length",
        b"authorization",
        b"x-anything",
    ]
)


@st.composite
def spoiled_headers(draw: st.DrawFn, fitting: HeaderList) -> HeaderList:
    """Fitting headers, half of the time with one or two changed, doubled or left out."""
    headers = list(fitting)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        name = draw(header_names)
        if draw(st.booleans()):
            headers = [pair for pair in headers if pair[0] != name]
        if draw(st.booleans()):
            headers.append((name, draw(header_values)))
    return headers


@st.composite
def modern_attacks(draw: st.DrawFn) -> Attack:
    method, params = draw(st.sampled_from([*SHARED, *MODERN_ONLY]))
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    label = params.get("name", params.get("uri")) if method != "completion/complete" else None
    fitting = [
        *_plain_headers(),
        (b"mcp-protocol-version", b"2026-07-28"),
        (b"mcp-method", method.encode()),
        *([(b"mcp-name", label.encode())] if label else []),
        (b"mcp-param-region", b"r"),
    ]
    return Attack(draw(_verbs()), draw(spoiled_headers(fitting)), draw(bodies(message)))


@st.composite
def legacy_attacks(draw: st.DrawFn, sessions: tuple[str, ...]) -> Attack:
    """`sessions` are live ones; a few attacks use none."""
    method, params = draw(st.sampled_from([*SHARED, *LEGACY_ONLY]))
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": {"progressToken": 1}}}
    session = draw(st.sampled_from([*sessions, ""]))
    named = [(b"mcp-session-id", session.encode())] if session else []
    fitting = [*_plain_headers(), *named, (b"mcp-protocol-version", b"2025-11-25")]
    return Attack(draw(_verbs()), draw(spoiled_headers(fitting)), draw(bodies(message)))


def _plain_headers() -> HeaderList:
    return [
        (b"host", b"localhost"),
        (b"content-type", b"application/json"),
        (b"accept", b"application/json, text/event-stream"),
    ]


def _verbs() -> st.SearchStrategy[str]:
    return st.sampled_from(["POST"] * 30 + ["GET", "PUT", "HEAD", "OPTIONS"])
