"""The differences between protocol revisions, as a table: a new revision is a new row.

No other module compares version strings.
"""

from dataclasses import dataclass
from typing import Final

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

_TOOL_2024: Final = frozenset({"name", "description", "inputSchema"})
_TOOL_2025_03: Final = _TOOL_2024 | {"annotations"}
_TOOL_2025_06: Final = _TOOL_2025_03 | {"title", "outputSchema", "_meta"}
_TOOL_2025_11: Final = _TOOL_2025_06 | {"icons"}

_NAMED_2024: Final = frozenset(
    {"name", "description", "uri", "uriTemplate", "mimeType", "size", "arguments", "annotations"}
)
_NAMED_2025_06: Final = _NAMED_2024 | {"title", "_meta"}
_NAMED_2025_11: Final = _NAMED_2025_06 | {"icons"}

_SERVER_2024: Final = frozenset({"name", "version"})
_SERVER_2025_06: Final = _SERVER_2024 | {"title"}
_SERVER_2025_11: Final = _SERVER_2025_06 | {"icons", "websiteUrl", "description"}


@dataclass(frozen=True, slots=True)
class Revision:
    """What one revision has, and its names for it."""

    name: str
    methods: frozenset[str]
    tool_fields: frozenset[str]
    named_fields: frozenset[str]
    server_fields: frozenset[str]
    modern: bool = False
    batches: bool = False
    audio: bool = True
    links: bool = False
    meta_on_content: bool = False
    structured: bool = False
    progress_message: bool = True
    completions_capability: bool = True
    elicitation: bool = False
    url_elicitation: bool = False
    primed_streams: bool = False
    tasks_extension: bool = False
    resource_not_found: int = -32002


REVISIONS: Final[dict[str, Revision]] = {
    revision.name: revision
    for revision in (
        Revision(
            "2024-11-05",
            _LEGACY,
            _TOOL_2024,
            _NAMED_2024,
            _SERVER_2024,
            audio=False,
            progress_message=False,
            completions_capability=False,
        ),
        Revision("2025-03-26", _LEGACY, _TOOL_2025_03, _NAMED_2024, _SERVER_2024, batches=True),
        Revision(
            "2025-06-18",
            _LEGACY,
            _TOOL_2025_06,
            _NAMED_2025_06,
            _SERVER_2025_06,
            links=True,
            meta_on_content=True,
            structured=True,
            elicitation=True,
        ),
        Revision(
            "2025-11-25",
            _LEGACY,
            _TOOL_2025_11,
            _NAMED_2025_11,
            _SERVER_2025_11,
            links=True,
            meta_on_content=True,
            structured=True,
            elicitation=True,
            url_elicitation=True,
            primed_streams=True,
        ),
        Revision(
            "2026-07-28",
            _MODERN,
            _TOOL_2025_11,
            _NAMED_2025_11,
            _SERVER_2025_11,
            modern=True,
            links=True,
            meta_on_content=True,
            structured=True,
            elicitation=True,
            url_elicitation=True,
            tasks_extension=True,
            resource_not_found=-32602,
        ),
    )
}

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
