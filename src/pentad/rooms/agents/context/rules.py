"""The rules for one item beyond its shape: name, type, content, reference, metadata."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast
from urllib.parse import urlsplit

from pentad.kernel.problems import Place, as_rfc3339, nearest_names, replacement
from pentad.mcp.references import REFUSED_SCHEMES
from pentad.rooms.agents.context.findings import Issues, below
from pentad.rooms.agents.context.integrity import (
    PROVENANCE,
    SHA256,
    SIZE,
    chain_problems,
    content_bytes,
    content_hash,
)
from pentad.rooms.agents.context.kinds import (
    KINDS,
    TEXT_TYPES,
    USUAL_TYPES,
    check_kind,
    inferred_kind,
    is_base64,
    is_binary,
    is_json_type,
    media_of,
    stated_kind,
)
from pentad.rooms.agents.context.limits import LONGEST_NAME, LONGEST_REF, NAME_PATTERN, ContextLimits
from pentad.rooms.agents.context.redaction import SENSITIVITIES
from pentad.rooms.agents.context.shape import MEMBERS, kind_word

PRIORITY: Final = "x-priority"
EXPIRES: Final = "x-expires"
SENSITIVITY: Final = "x-sensitivity"
AUDIENCE: Final = "x-audience"
TRUNCATED: Final = "x-truncated"

_EXTRAS: Final = frozenset({PRIORITY, EXPIRES, SENSITIVITY, AUDIENCE, SHA256, SIZE, PROVENANCE})
"""The members of `metadata` that are checked, besides the kind."""

_NAME: Final = re.compile(NAME_PATTERN)
_MEDIA_TYPE: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
    r"(?:\s*;\s*[A-Za-z0-9!#$&^_.+-]{1,100}=(?:[^\s;\"]{1,200}|\"[^\"]{0,200}\"))*"
)
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,63}):(?!\\)")
_NO_ADDRESS: Final = re.compile(r"[\s\x00-\x1f\x7f<>\"`{}|\\^]")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


def check_name(name: str, place: Place, issues: Issues) -> None:
    """Check the name of an item."""
    if _NAME.fullmatch(name):
        return
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        issues.add("bad-name", place, f"A name has 1 to {LONGEST_NAME} printable characters.")
    else:
        issues.add("unusual-name", place, "Some readers know only letters, digits and _ . : - in names.")


def check_members(item: Mapping[str, Any], place: Place, issues: Issues) -> None:
    """Check that there is content or a reference, and nothing empty."""
    has_content, content, ref = "content" in item, item.get("content"), item.get("ref")
    if content is not None and ref is None and None not in item.values():
        return
    for member in MEMBERS:
        if member != "content" and member in item and item[member] is None:
            issues.add("null-member", (place, member), f"`{member}` is null.", "Leave it out.")
    is_null = has_content and content is None and not is_json_type(media_of(item))
    if (not has_content or is_null) and ref is None:
        issues.add("empty-item", place, "The item has neither `content` nor `ref`.", "Give it one of them.")
    elif content is not None and ref is not None and not _metadata(item).get(TRUNCATED):
        hint = "Keep one, or say in `metadata` that the content is x-truncated."
        issues.add(
            "content-and-ref", place, "The item has both `content` and `ref`; readers differ in what wins.", hint
        )


def check_type(item: Mapping[str, Any], place: Place, issues: Issues) -> None:
    """Check that media type and kind exist, and that the content matches both."""
    stated, written, content = stated_kind(item), item.get("mediaType"), item.get("content")
    if stated is None and type(content) is str and written in TEXT_TYPES:
        return  # text whose type says so
    media = media_of(item)
    if written is None:
        if content is not None:
            issues.add("no-media-type", place, "The item does not say what type its content is.", "Add `mediaType`.")
    elif written not in USUAL_TYPES and not (isinstance(written, str) and _MEDIA_TYPE.fullmatch(written)):
        hint = "Write it like text/plain or application/json."
        issues.add("bad-media-type", (place, "mediaType"), "This is not a media type.", hint)
    elif content is not None:
        _check_content(content, media, (place, "content"), stated, issues)
    if isinstance(stated, str) and stated in KINDS:
        check_kind(item, stated, place, issues)
        return
    if stated is not None:
        where = ((place, "metadata"), "kind") if "kind" in _metadata(item) else (place, "kind")
        kinds = f"Kinds are {', '.join(KINDS)}."
        issues.add_value("unknown-kind", where, "There is no such kind of item.", stated, KINDS, kinds)
    check_kind(item, inferred_kind(item, media), place, issues)


def _check_content(content: Any, media: str, place: Place, kind: Any, issues: Issues) -> None:
    if is_json_type(media):
        if isinstance(content, str) and content[:200].lstrip()[:1] in ("{", "["):
            try:
                json.loads(content)
                message = "The content is JSON written as a text."
            except (ValueError, RecursionError):
                message = "The content looks like JSON in a text, and is broken."
            issues.add("json-as-text", place, message, "Send the value itself.")
    elif kind in (None, "text", "file", "image", "audio", "resource", "instruction"):
        if not isinstance(content, str) and not (kind == "resource" and isinstance(content, dict)):
            hint = "Send a text, or say mediaType application/json."
            issues.add("content-mismatch", place, f"Content of type {media} is a text, not {kind_word(content)}.", hint)
        elif isinstance(content, str) and is_binary(media) and not is_base64(content):
            issues.add("not-base64", place, f"Content of type {media} travels as base64, and this is not.")


def check_ref(item: Mapping[str, Any], place: Place, issues: Issues, limits: ContextLimits) -> None:
    """Check that the reference is usable and its scheme known."""
    ref, where = item.get("ref"), (place, "ref")
    if not isinstance(ref, str):
        return
    if not ref or len(ref) > LONGEST_REF or _NO_ADDRESS.search(ref):
        message = f"A reference has 1 to {LONGEST_REF} characters, without spaces and brackets."
        issues.add("bad-ref", where, message, "Escape them with %.")
        return
    scheme = _SCHEME.match(ref)
    if scheme is None:
        hint = "Write a URI: " + ", ".join(f"{known}:" for known in limits.ref_schemes[:6]) + " ..."
        issues.add("ref-no-scheme", where, "The reference has no scheme, so few can follow it.", hint)
        return
    name = scheme[1].lower()
    if (why := REFUSED_SCHEMES.get(name)) is not None:
        issues.add("ref-refused", where, f"A reference must not begin with {name}:. {why}")
        return
    if name not in limits.ref_schemes and not name.startswith("mcp+"):
        message = f"This server cannot follow {name}: itself; the agent has to."
        near, _ = nearest_names(name, limits.ref_schemes)
        hint = f"Did you mean `{near[0]}`?" if near else f"It follows {', '.join(limits.ref_schemes)}."
        issues.add("ref-scheme", where, message, hint, suggestions=tuple(near))
    _check_address(ref, name, where, issues)


def _check_address(ref: str, scheme: str, where: Place, issues: Issues) -> None:
    try:
        parts = urlsplit(ref)
        has_login = "@" in parts.netloc
        has_host = bool(parts.hostname)
    except ValueError:
        issues.add("bad-ref", where, "The address is not well formed.")
        return
    if scheme in ("http", "https") and not has_host:
        issues.add("bad-ref", where, "The address names no host.")
    if has_login:
        hint = "Leave the login out; readers use their own."
        issues.add("ref-credentials", where, "The reference carries a login.", hint)


def check_extras(item: Mapping[str, Any], place: Place, issues: Issues, now: float | None) -> None:
    """Check Pentad's metadata: priority, sensitivity, audience, hashes, expiry, provenance."""
    extras, where = _metadata(item), (place, "metadata")
    if extras.keys().isdisjoint(_EXTRAS):
        return
    priority = extras.get(PRIORITY, 0)
    if isinstance(priority, bool) or not isinstance(priority, int | float) or not 0 <= priority <= 1:
        issues.add_scalar("bad-extra", (where, PRIORITY), "A priority is a number from 0 to 1.", priority, "number")
    if (sensitivity := extras.get(SENSITIVITY, "public")) not in SENSITIVITIES:
        message = f"A sensitivity is one of {', '.join(SENSITIVITIES)}."
        issues.add_value("bad-extra", (where, SENSITIVITY), message, sensitivity, SENSITIVITIES)
    audience = extras.get(AUDIENCE, [])
    if not isinstance(audience, list) or not all(isinstance(one, str) for one in cast("list[Any]", audience)):
        issues.add("bad-extra", (where, AUDIENCE), "An audience is a list of agents' names; * stands for any.")
    _check_expiry(extras, where, issues, now)
    _check_hashes(item, extras, where, issues)
    for steps, message in chain_problems(item):
        issues.add("hash-mismatch", below(where, steps), message, "Ask the sender for the item again.")


def _check_expiry(extras: Mapping[str, Any], where: Place, issues: Issues, now: float | None) -> None:
    if EXPIRES not in extras:
        return
    until = expiry(extras[EXPIRES])
    if until is None:
        message = "An expiry is a time like 2026-05-17T12:00:00Z."
        written = as_rfc3339(extras[EXPIRES]) if isinstance(extras[EXPIRES], str) else None
        patch = () if expiry(written) is None else tuple(replacement((where, EXPIRES), written))
        issues.add("bad-extra", (where, EXPIRES), message, patch=patch, certain=bool(patch))
    elif now is not None and until <= now:
        issues.add("expired", (where, EXPIRES), "The item has expired.", "Send it anew, or leave it out.")


def _check_hashes(item: Mapping[str, Any], extras: Mapping[str, Any], where: Place, issues: Issues) -> None:
    digest, size = extras.get(SHA256), extras.get(SIZE)
    if digest is not None and not (isinstance(digest, str) and _HASH.fullmatch(digest)):
        issues.add("bad-extra", (where, SHA256), "A hash is 64 lower-case hexadecimal digits.")
        digest = None
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        issues.add_scalar("bad-extra", (where, SIZE), "A size is a whole number of bytes.", size, "integer")
        size = None
    if item.get("content") is None or item.get("ref") is not None:
        return  # they describe the reference's target
    if digest is not None and digest != content_hash(item["content"]):
        issues.add("hash-mismatch", (where, SHA256), "The content is not what this is the hash of.")
    if size is not None and isinstance(item["content"], str) and size != len(content_bytes(item["content"])):
        issues.add("size-mismatch", (where, SIZE), "The content has another size.")


def expiry(value: Any) -> float | None:
    """A time as seconds since the epoch; None if it is invalid."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def _metadata(item: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = item.get("metadata")
    return cast("Mapping[str, Any]", metadata) if type(metadata) is dict or isinstance(metadata, Mapping) else {}
