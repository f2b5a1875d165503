"""Hashes, signatures and provenance over the canonical form, so that they survive peers that turn 42 into 42.0.

Stored bytes (large contents, files) are hashed as bytes. A signature is a detached JWS over the canonical items (RFC
7515, appendix F), so the context stays readable and any JWS library can verify it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from pentad.kernel import base64url
from pentad.kernel.errors import Conflict, InvalidInput, PentadError
from pentad.kernel.jcs import canonical
from pentad.kernel.json_values import as_list, as_objects

if TYPE_CHECKING:
    from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

    Key = ECKey | OKPKey | RSAKey | OctKey

_encode: Final = msgspec.json.Encoder().encode
SHA256: Final = "x-sha256"
SIZE: Final = "x-size"
PROVENANCE: Final = "x-provenance"
ALGORITHMS: Final = ("Ed25519", "EdDSA", "ES256", "ES384", "ES512", "RS256", "PS256", "HS256")


def exact_json(value: Any) -> bytes:
    """Compact JSON with exact numbers; for sizes and storage, not for comparison."""
    try:
        return _encode(value)
    except UnicodeEncodeError:  # halves of surrogate pairs, which only the lenient level accepts
        import json

        return json.dumps(value, separators=(",", ":")).encode()


def bytes_hash(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def items_hash(items: Mapping[str, Any]) -> str:
    """The hash of a whole context."""
    return bytes_hash(canonical({"items": dict(items)}))


def item_hash(item: Mapping[str, Any]) -> str:
    """The hash of one item."""
    return bytes_hash(canonical(dict(item)))


def content_hash(content: Any) -> str:
    """The hash of inline content: a text's UTF-8, or the canonical form of anything else."""
    return bytes_hash(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else canonical(content))


def content_bytes(content: Any) -> bytes:
    """Content as bytes: a text as UTF-8, anything else as exact JSON without rounding."""
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else exact_json(content)


def seal_items(items: Mapping[str, Any], key: "Key | None" = None, algorithm: str = "Ed25519") -> dict[str, Any]:
    """The member `integrity` of a context: its hash, each item's, and a signature if there is a key."""
    integrity: dict[str, Any] = {
        "sha256": items_hash(items),
        "items": {name: item_hash(item) for name, item in items.items()},
    }
    if key is not None:
        integrity["jws"] = signature(items, key, algorithm)
    return integrity


def check_seal(items: Mapping[str, Any], integrity: Any, keys: "Sequence[Key]" = ()) -> None:
    """Raise Conflict, naming the items, if the context differs from what was sealed, or if none of the keys signed it.

    Without keys a signature is ignored: it proves nothing to a reader who does not know the signer.
    """
    if not isinstance(integrity, Mapping):
        raise InvalidInput("`integrity` is an object.", details=_details("bad-integrity", "/integrity"))
    given = cast("Mapping[str, Any]", integrity)
    each = given.get("items")
    known = cast("Mapping[str, Any]", each) if isinstance(each, Mapping) else None
    if known is not None:
        wrong = [name for name in {**known, **items} if known.get(name) != _hash_or_none(items.get(name))]
        if wrong:
            raise _tampered(f"{', '.join(sorted(wrong)[:5])}", [f"/items/{name}" for name in wrong])
    if given.get("sha256") != items_hash(items):
        raise _tampered("the context as a whole", ["/items"])
    if keys:
        verify_signature(items, given.get("jws"), keys)


def signature(items: Mapping[str, Any], key: "Key", algorithm: str = "Ed25519") -> str:
    """A detached JWS over the canonical items."""
    from joserfc import jws

    header: dict[str, Any] = {"alg": algorithm}
    if key.kid:
        header["kid"] = key.kid
    whole = jws.serialize_compact(header, canonical({"items": dict(items)}), key, algorithms=list(ALGORITHMS))
    head, _, tail = whole.split(".")
    return f"{head}..{tail}"


def verify_signature(items: Mapping[str, Any], detached: Any, keys: "Sequence[Key]") -> None:
    """Raise Conflict unless one of the keys made this signature over these items."""
    import warnings

    from joserfc import jws
    from joserfc.errors import JoseError, SecurityWarning

    parts = detached.split("..") if isinstance(detached, str) else []
    if len(parts) != 2:
        raise _tampered("the signature is missing or not a detached JWS", ["/integrity/jws"])
    payload = base64url.encode(canonical({"items": dict(items)}))
    whole = f"{parts[0]}.{payload}.{parts[1]}"
    for key in keys:
        try:
            with warnings.catch_warnings():
                # EdDSA is an old name for Ed25519 that most libraries still write.
                warnings.simplefilter("ignore", SecurityWarning)
                jws.deserialize_compact(whole, key, algorithms=list(ALGORITHMS))
        except (JoseError, ValueError, TypeError):
            continue
        return
    raise _tampered("the signature is by none of the known keys", ["/integrity/jws"])


def chain_problems(item: Mapping[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    """The problems of an item's provenance: places inside `metadata`, each with a sentence."""
    metadata = cast("Mapping[str, Any]", item.get("metadata") or {})
    if PROVENANCE not in metadata:
        return []
    chain = _chain(metadata[PROVENANCE])
    if not chain:
        return [((PROVENANCE,), "Provenance is a list of entries with who, when, what and sha256.")]
    problems: list[tuple[tuple[str | int, ...], str]] = []
    for at, entry in enumerate(chain):
        if not all(isinstance(entry.get(member), str) for member in ("who", "when", "what", "sha256")):
            problems.append(((PROVENANCE, at), "An entry has who, when, what and sha256."))
        elif at and entry.get("after") != bytes_hash(canonical(chain[at - 1])):
            problems.append(((PROVENANCE, at, "after"), "The entry does not follow the one before it."))
    if not problems and chain[-1]["sha256"] != _bare_hash(item):
        problems.append(((PROVENANCE, len(chain) - 1, "sha256"), "The item was changed after its last entry."))
    return problems


def _chain(value: Any) -> list[dict[str, Any]]:
    chain = as_objects(value)
    return chain if len(chain) == len(as_list(value)) else []


def _bare_hash(item: Mapping[str, Any]) -> str:
    """The hash of an item without its provenance."""
    given = cast("Mapping[str, Any]", item.get("metadata") or {})
    metadata = {key: value for key, value in given.items() if key != PROVENANCE}
    bare = {key: value for key, value in item.items() if key != "metadata"}
    return item_hash({**bare, "metadata": metadata} if metadata else bare)


def _hash_or_none(item: Any) -> str | None:
    return item_hash(cast("Mapping[str, Any]", item)) if isinstance(item, Mapping) else None


def _details(rule: str, *paths: str) -> dict[str, Any]:
    problems = [{"path": path, "rule": rule, "message": "This is not what was sealed."} for path in paths]
    return {"reason": "context-integrity", "problems": problems}


def _tampered(what: str, paths: list[str]) -> PentadError:
    return Conflict(
        f"The context is not what its sender sealed: {what}.",
        hint="Ask the sender for it again; it was changed on the way.",
        details=_details("hash-mismatch", *paths),
    )
