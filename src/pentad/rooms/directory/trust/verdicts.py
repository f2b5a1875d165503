"""Results of verification. Plain values, so that reading one does not load `cryptography`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.errors import PentadError

NOT_FOUND: Final = "record not found"
NO_SIGNATURES: Final = "no signatures found"
NO_VERIFICATION: Final = "no verification found"
EXPIRED: Final = "verification invalid or expired"
WELL_KNOWN: Final = "wellknown"


@dataclass(frozen=True, slots=True)
class RecordSigner:
    """Who signed: the PEM text of the public key, and `key:<algorithm>`."""

    identity: str
    issuer: str


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """Whether a record has a valid signature. One is enough, because anyone can attach an invalid one; `problems` lists
    those."""

    success: bool
    message: str
    signers: tuple[RecordSigner, ...] = ()
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        signers = [[one.identity, one.issuer] for one in self.signers]
        return {"message": self.message, "signers": signers, "problems": list(self.problems)}


@dataclass(frozen=True, slots=True)
class DomainVerdict:
    """Whether a domain vouches for the key a record was signed with; `verified_at` is RFC 3339."""

    verified: bool
    error_message: str | None = None
    domain: str = ""
    method: str = ""
    key_id: str = ""
    verified_at: str = ""


def trusted(signers: Sequence[RecordSigner], problems: Sequence[str]) -> SignatureVerdict:
    return SignatureVerdict(True, "trusted", tuple(signers), tuple(problems))


def not_trusted(reason: str, problems: Sequence[str] = ()) -> SignatureVerdict:
    return SignatureVerdict(False, f"not trusted: {reason}", (), tuple(problems))


def read_verdict(success: bool, kept: Mapping[str, Any]) -> SignatureVerdict:
    """A verdict as `to_json` wrote it."""
    signers = tuple(RecordSigner(identity, issuer) for identity, issuer in kept["signers"])
    return SignatureVerdict(success, kept["message"], signers, tuple(kept["problems"]))


def reason_of(error: PentadError) -> str:
    """The message of an error as the end of a sentence."""
    text = error.message.rstrip(".")
    return text[:1].lower() + text[1:] if text.startswith("The ") else text
