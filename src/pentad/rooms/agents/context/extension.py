"""The context as an A2A extension: declared on the card with its limits, carried in a message's metadata.

The context goes under the extension's URI and once more, the same, under `mcp_context`, where AgentVault peers look.
There is one canonical source: if the two differ in more than the spelling of numbers the message is refused, as nobody
could say which of the two was meant.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.jcs import canonical
from pentad.kernel.schema import pointer
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.context.kinds import KINDS
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits

BASE: Final = "urn:pentad:a2a:mcp-context"
VERSION: Final = "v1"
URI: Final = f"{BASE}:{VERSION}"
PLAIN_KEY: Final = "mcp_context"
ISSUES_KEY: Final = f"{URI}/issues"
"""Where the metadata of a message, and of the task it begins, says what a lenient reading lost or changed."""
MASKED_KEY: Final = f"{URI}/masked"
"""Where it says which secrets were masked: their places and the detectors that found them."""
FOUND_KEY: Final = f"{URI}/found"
"""The same for secrets that were found and left in place, as the operator wants."""


def declaration(limits: ContextLimits = DEFAULT_LIMITS, *, required: bool = False) -> dict[str, Any]:
    """The entry of `capabilities.extensions` on a card."""
    params = {**limits.params(), "kinds": list(KINDS), "integrity": ["sha256", "jws"], "plainKey": PLAIN_KEY}
    description = "Context for a task: named items with content or a reference, checked, hashed and limited."
    return {"uri": URI, "description": description, "required": required, "params": params}


def params_of(card: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a card says about the extension; None for an agent that does not know it."""
    capabilities = card.get("capabilities")
    declared = cast("Mapping[str, Any]", capabilities).get("extensions") if isinstance(capabilities, Mapping) else None
    for entry in cast("list[Any]", declared) if isinstance(declared, list) else []:
        if isinstance(entry, Mapping) and cast("Mapping[str, Any]", entry).get("uri") == URI:
            params = cast("Mapping[str, Any]", entry).get("params")
            return dict(cast("Mapping[str, Any]", params)) if isinstance(params, Mapping) else {}
    return None


def carried(metadata: Mapping[str, Any] | None, context: Mapping[str, Any], *, extended: bool = True) -> dict[str, Any]:
    """Metadata that carries the context: for every peer under the plain key, for those who know it under the URI."""
    own: dict[str, Any] = {URI: dict(context)} if extended else {}
    return {**(metadata or {}), **own, PLAIN_KEY: dict(context)}


def sent_context(metadata: Any) -> tuple[str, Any] | None:
    """The context in a message's metadata, and the key it is under; None when there is none.

    InvalidInput when the two places disagree, or when only a version of the extension is there that we do not know.
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
    known = (key for key in given if isinstance(key, str) and not key.startswith(f"{URI}/"))  # pyright: ignore[reportUnnecessaryIsInstance]  metadata is anybody's
    other = next((key for key in known if key.startswith(f"{BASE}:")), None)
    if other is not None:
        raise _refused(other, "unsupported-version", "This version of the extension is not known.", f"Use {URI}.")
    return None


def with_issues(metadata: Mapping[str, Any] | None, message: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The metadata of a task, with what was said about the context of the message that begins it."""
    told = {key: message[key] for key in (ISSUES_KEY, MASKED_KEY, FOUND_KEY) if key in message} if message else {}
    if not told:
        return None if metadata is None else dict(metadata)
    return {**(metadata or {}), **told}


def masked_json(report: Sequence[Masked]) -> list[dict[str, str]]:
    """What was masked, for who sent it; a name can be a secret, and is masked in the report as well."""
    return [{"pointer": one.path, "what": one.what} for one in report if one.action != "allow"]


def found_json(report: Sequence[Masked]) -> list[dict[str, str]]:
    """What was found and left in place."""
    return [{"pointer": one.path, "what": one.what} for one in report if one.action == "allow"]


def told_of_secrets(report: Sequence[Masked]) -> dict[str, list[dict[str, str]]]:
    """What the metadata says about the secrets of a context."""
    said = {MASKED_KEY: masked_json(report), FOUND_KEY: found_json(report)}
    return {key: places for key, places in said.items() if places}


def _same(one: Any, other: Any) -> bool:
    try:
        return canonical(one) == canonical(other)
    except PentadError:  # no canonical form: then only the very same will do
        return one == other


def _refused(key: str, rule: str, message: str, hint: str) -> InvalidInput:
    problem = {"path": pointer(("metadata", key)), "rule": rule, "message": f"{message} {hint}"}
    return InvalidInput(message, hint=hint, details={"reason": "invalid-context", "problems": [problem]})
