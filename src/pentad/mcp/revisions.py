"""The differences between protocol revisions: each one lists its changes to the one before.

No other module compares version strings.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_COMMON: Final = frozenset(
    {
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    }
)
_LEGACY: Final = _COMMON | {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
_TASKS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
_MODERN: Final = _COMMON | _TASKS | {"server/discover", "subscriptions/listen"}


class Revision(Struct, frozen=True):
    """The features of one revision."""

    name: str
    methods: frozenset[str]
    tool_fields: frozenset[str]
    named_fields: frozenset[str]
    server_fields: frozenset[str]
    modern: bool = False
    batches: bool = False
    audio: bool = False
    links: bool = False
    meta_on_content: bool = False
    structured: bool = False
    progress_message: bool = False
    completions_capability: bool = False
    elicitation: bool = False
    url_elicitation: bool = False
    primed_streams: bool = False
    """A stream begins with an empty event that has an id, so that the client can resume it from the start."""
    tasks_extension: bool = False
    resource_not_found: int = -32002


_2024_11: Final = Revision(
    "2024-11-05",
    _LEGACY,
    tool_fields=frozenset({"name", "description", "inputSchema"}),
    named_fields=frozenset(
        {"name", "description", "uri", "uriTemplate", "mimeType", "size", "arguments", "annotations"}
    ),
    server_fields=frozenset({"name", "version"}),
)
_2025_03: Final = replace(
    _2024_11,
    name="2025-03-26",
    tool_fields=_2024_11.tool_fields | {"annotations"},
    batches=True,
    audio=True,
    progress_message=True,
    completions_capability=True,
)
_2025_06: Final = replace(
    _2025_03,
    name="2025-06-18",
    tool_fields=_2025_03.tool_fields | {"title", "outputSchema", "_meta"},
    named_fields=_2025_03.named_fields | {"title", "_meta"},
    server_fields=_2025_03.server_fields | {"title"},
    batches=False,
    links=True,
    meta_on_content=True,
    structured=True,
    elicitation=True,
)
_2025_11: Final = replace(
    _2025_06,
    name="2025-11-25",
    tool_fields=_2025_06.tool_fields | {"icons"},
    named_fields=_2025_06.named_fields | {"icons"},
    server_fields=_2025_06.server_fields | {"icons", "websiteUrl", "description"},
    url_elicitation=True,
    primed_streams=True,
)
_2026_07: Final = replace(
    _2025_11,
    name="2026-07-28",
    methods=_MODERN,
    modern=True,
    primed_streams=False,
    tasks_extension=True,
    resource_not_found=-32602,
)
REVISIONS: Final = {revision.name: revision for revision in (_2024_11, _2025_03, _2025_06, _2025_11, _2026_07)}

ALL_METHODS: Final = _LEGACY | _MODERN
MODERN: Final = tuple(name for name, revision in REVISIONS.items() if revision.modern)
LEGACY: Final = tuple(name for name, revision in REVISIONS.items() if not revision.modern)
NEWEST_LEGACY: Final = REVISIONS[LEGACY[-1]]
NEWEST_MODERN: Final = REVISIONS[MODERN[-1]]
ASSUMED: Final = REVISIONS["2025-03-26"]
"""The revision of requests without handshake, session or version header."""


def negotiate(requested: str) -> Revision:
    """The legacy revision to answer `initialize` with: the requested one if we know it, else our newest."""
    revision = REVISIONS.get(requested)
    return revision if revision is not None and not revision.modern else NEWEST_LEGACY
