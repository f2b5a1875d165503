"""The directory's domain types.

A record never changes: its CID is the hash of its canonical text. So the text is stored and passed on, and parsed only
where needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec

from pentad.kernel.errors import PentadError

State = Literal["draft", "proposed", "approved", "deprecated", "withdrawn"]
"""proposed waits for approval; deprecated should no longer be used; withdrawn must not be used."""
STATES: Final[tuple[State, ...]] = get_args(State)

PUBLIC_KEY: Final = "agntcy.dir.sign.v1.PublicKey"
SIGNATURE: Final = "agntcy.dir.sign.v1.Signature"
SCAN_REPORT: Final = "agntcy.dir.security.v1.ScanReport"
"""The types of referrers."""


class NotOffered(PentadError):
    """A method of the API that the server does not implement."""

    code = "not_offered"
    http_status = 501


@dataclass(frozen=True, slots=True)
class Record:
    """A stored record: its canonical JSON, and the CID, which is the hash of that text."""

    cid: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """The record as plain JSON. Parsed on every call, so callers may change it."""
        return msgspec.json.decode(self.text)


@dataclass(frozen=True, slots=True)
class RecordMeta:
    """A short description of a record."""

    cid: str
    name: str
    version: str
    schema_version: str
    created_at: str
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NamedRef:
    """A record by name and version."""

    name: str
    version: str
    cid: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The result of a push. `new` is False if the same record was stored before, None if that is unknown."""

    cid: str
    new: bool | None


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signed a record: a key as PEM text with `key:<algorithm>`, or an OIDC subject with its issuer."""

    identity: str
    issuer: str


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """Whether a record is trusted. `signers` made valid signatures; `trusted_by` names the policy entries among them.
    One is enough, because anyone can attach an invalid signature; `problems` lists those."""

    success: bool
    message: str
    signers: tuple[Signer, ...] = ()
    problems: tuple[str, ...] = ()
    trusted_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NameVerdict:
    """Whether the domain in a record's name vouches for the key it was signed with; `verified_at` is RFC 3339."""

    verified: bool
    error_message: str | None = None
    domain: str = ""
    method: str = ""
    key_id: str = ""
    verified_at: str = ""
