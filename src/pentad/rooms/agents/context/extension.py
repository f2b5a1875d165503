"""The context as an A2A extension: declared on the card with its limits, carried in a message's metadata.

The context is sent under the extension's URI and again, identically, under `mcp_context`, where AgentVault looks. If
the two differ in more than the spelling of numbers, the message is rejected as ambiguous.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.jcs import canonical
from pentad.kernel.json_pointer import pointer
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.context.kinds import KINDS
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits

BASE: Final = "urn:pentad:a2a:mcp-context"
VERSION: Final = "v1"
URI: Final = f"{BASE}:{VERSION}"
PLAIN_KEY: Final = "mcp_context"
ISSUES_KEY: Final = f"{URI}/issues"
"""The metadata key, on a message and its task, for what a lenient reading lost or changed."""
MASKED_KEY: Final = f"{URI}/masked"
"""The metadata key for masked secrets: their places and detectors."""
FOUND_KEY: Final = f"{URI}/found"
"""The metadata key for secrets that were found and left in place, as the operator wants."""


def declaration(limits: ContextLimits = DEFAULT_LIMITS) -> dict[str, Any]:
    """The entry of `capabilities.extensions` on a card."""
    params = {**limits.params(), "kinds": list(KINDS), "integrity": ["sha256", "jws"], "plainKey": PLAIN_KEY}
    description = "Context for a task: named items with content or a reference, checked, hashed and limited."
    return {"uri": URI, "description": description, "required": False, "params": params}


def params_of(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """The extension's parameters on a card; None if the agent does not support it."""
    capabilities = card.get("capabilities")
    declared = cast("Mapping[str, Any]", capabilities).get("extensions") if isinstance(capabilities, Mapping) else None
    for entry in cast("list[Any]", declared) if isinstance(declared, list) else []:
        if isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("uri") == URI:
            params = cast("Mapping[str, Any]", entry).get("params")
            return dict(cast("Mapping[str, Any]", params)) if isinstance(params, Mapping) else {}
    return None


def metadata_with(
    metadata: Mapping[str, Any] | None, context: Mapping[str, Any], *, extended: bool = True
) -> dict[str, Any]:
    """Metadata with the context: under the plain key, and under the URI for agents that support the extension."""
    own: dict[str, Any] = {URI: dict(context)} if extended else {}
    return {**(metadata or {}), **own, PLAIN_KEY: dict(context)}


def sent_context(metadata: Any) -> tuple[str, Any] | None:
    """The context in a message's metadata, with its key; None if there is none.

    InvalidInput if the two places disagree, or if only an unknown version of the extension is present.
    """
    if not (type(metadata) is dict or isinstance(metadata, Mapping)):
        return None
    given = cast("Mapping[str, Any]", metadata)
    if URI in given:
        if PLAIN_KEY in given and not _same(given[URI], given[PLAIN_KEY]):
            raise _refused(
                PLAIN_KEY,
                "context-disagreement",
                "The context under the extension's URI and the one under mcp_context are not the same.",
                "Send it under one of them, or the same under both.",
            )
        return URI, given[URI]
    if PLAIN_KEY in given:
        return PLAIN_KEY, given[PLAIN_KEY]
    known = (key for key in given if isinstance(key, str) and not key.startswith(f"{URI}/"))  # pyright: ignore[reportUnnecessaryIsInstance]  foreign JSON
    other = next((key for key in known if key.startswith(f"{BASE}:")), None)
    if other is not None:
        raise _refused(other, "unsupported-version", "This version of the extension is not known.", f"Use {URI}.")
    return None


def with_issues(metadata: Mapping[str, Any] | None, message: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The metadata of a task, with the issues in the context of its first message."""
    found = {key: message[key] for key in (ISSUES_KEY, MASKED_KEY, FOUND_KEY) if key in message} if message else {}
    if not found:
        return None if metadata is None else dict(metadata)
    return {**(metadata or {}), **found}


def masked_json(report: Sequence[Masked]) -> list[dict[str, str]]:
    """What was masked, for the sender. Names can be secrets, so they are masked in the report too."""
    return [{"pointer": one.path, "what": one.what} for one in report if one.action != "allow"]


def found_json(report: Sequence[Masked]) -> list[dict[str, str]]:
    """What was found and left in place."""
    return [{"pointer": one.path, "what": one.what} for one in report if one.action == "allow"]


def secrets_metadata(report: Sequence[Masked]) -> dict[str, list[dict[str, str]]]:
    """The metadata about the secrets of a context."""
    if not report:
        return {}
    made = {MASKED_KEY: masked_json(report), FOUND_KEY: found_json(report)}
    return {key: places for key, places in made.items() if places}


def _same(one: Any, other: Any) -> bool:
    try:
        return canonical(one) == canonical(other)
    except PentadError:  # without a canonical form they must be identical
        return one == other


def _refused(key: str, rule: str, message: str, hint: str) -> InvalidInput:
    problem = {"path": pointer(("metadata", key)), "rule": rule, "message": f"{message} {hint}"}
    return InvalidInput(message, hint=hint, details={"reason": "invalid-context", "problems": [problem]})
