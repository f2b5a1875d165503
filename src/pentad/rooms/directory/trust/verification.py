"""Verifies all signatures of a record with the attached keys, or with one given key.

Signatures do not reliably name their key, so each is tried with every matching key, the hinted one first. The number of
attempts is bounded, so that a thousand signatures and a thousand keys do not cause a million attempts.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pentad.kernel.errors import PentadError
from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SIGNATURE
from pentad.rooms.directory.trust.keys import PublicKey, read_public_key
from pentad.rooms.directory.trust.signing import (
    KEY_HINT,
    Signature,
    fits,
    holds,
    read_signature,
    scheme_of,
    signature_bytes,
)
from pentad.rooms.directory.trust.store import Statement
from pentad.rooms.directory.trust.verdicts import (
    NO_SIGNATURES,
    RecordSigner,
    SignatureVerdict,
    not_trusted,
    reason_of,
    trusted,
)

MOST_ATTEMPTS: Final = 500
_MOST_PROBLEMS: Final = 10
_NO_KEY: Final = "no public key found to check the signature with"
_FAILED: Final = "failed to verify signature: none of the keys made it for this record"
_GIVEN_UP: Final = f"failed to verify signature: {MOST_ATTEMPTS} pairs of signature and key were tried"
_TOO_LARGE: Final = "a signature or key is too large to be one"


class _Attempts:
    """The remaining attempts."""

    def __init__(self) -> None:
        self.left = MOST_ATTEMPTS

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def check_signatures(cid: str, statements: Sequence[Statement], only: PublicKey | None = None) -> SignatureVerdict:
    """The verdict on the signatures of a record; with `only`, on that key's."""
    signatures = [one for one in statements if one.type == SIGNATURE]
    if not signatures:
        return not_trusted(NO_SIGNATURES)
    problems: list[str] = []
    keys = [only] if only is not None else list(_keys(statements, problems))
    attempts = _Attempts()
    signed: dict[str, PublicKey] = {}
    for signature in signatures:
        try:
            key = _signed_by(cid, signature.data, keys, attempts)
        except PentadError as error:
            problems.append(reason_of(error))
        else:
            if isinstance(key, PublicKey):
                signed.setdefault(key.fingerprint, key)
            else:
                problems.append(key)
    told = list(dict.fromkeys(problems))[:_MOST_PROBLEMS]
    if signed:
        return trusted([RecordSigner(key.pem, f"key:{key.algorithm}") for key in signed.values()], told)
    return not_trusted(told[0], told)


def signature_by(cid: str, statements: Sequence[Statement], key: PublicKey) -> Signature | None:
    """This key's earlier signature of the record, if the key is attached too."""
    if key not in _keys(statements, []):
        return None
    attempts = _Attempts()
    for statement in statements:
        if statement.type != SIGNATURE or statement.data is None:
            continue
        try:
            if isinstance(_signed_by(cid, statement.data, [key], attempts), PublicKey):
                return read_signature(statement.data)
        except PentadError:
            continue
    return None


def _keys(statements: Iterable[Statement], problems: list[str]) -> Iterator[PublicKey]:
    """The keys attached to the record, without duplicates."""
    seen: set[str] = set()
    for statement in statements:
        if statement.type != PUBLIC_KEY:
            continue
        text: Any = statement.data.get("key") if statement.data is not None else None
        try:
            key = read_public_key(text if isinstance(text, str) else "")
        except PentadError as error:
            problems.append(_TOO_LARGE if statement.data is None else reason_of(error))
            continue
        if key.fingerprint not in seen:
            seen.add(key.fingerprint)
            yield key


def _signed_by(
    cid: str, data: dict[str, Any] | None, keys: Sequence[PublicKey], attempts: _Attempts
) -> PublicKey | str:  # fmt: skip
    """The key that made the signature, or why none did."""
    if data is None:
        return _TOO_LARGE
    signature = read_signature(data)
    scheme, made = scheme_of(signature.algorithm), signature_bytes(signature)
    if not keys:
        return _NO_KEY
    hint = signature.annotations.get(KEY_HINT)
    for key in sorted(keys, key=lambda key: key.fingerprint != hint):
        if not fits(scheme, key):
            continue
        if not attempts.spend():
            return _GIVEN_UP
        if holds(key, scheme, made, cid):
            return key
    return _FAILED
