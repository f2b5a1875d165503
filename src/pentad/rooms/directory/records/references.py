"""How people name a record: `name`, `name:version`, `name@cid`, `name:version@cid`, or a CID alone.

A colon starts a version only in the last part of a path, so `http://example.org:8080/agent` is a name. A text that can
be read in two ways is read as name and version; whoever looks it up may try the other.
"""

from dataclasses import dataclass

from pentad.kernel.cid import is_cid
from pentad.kernel.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Reference:
    """A record as somebody names it; at least the name or the CID is there."""

    name: str | None = None
    version: str | None = None
    cid: str | None = None

    def __str__(self) -> str:
        if self.name is None:
            return self.cid or ""
        version = f":{self.version}" if self.version is not None else ""
        return f"{self.name}{version}" + (f"@{self.cid}" if self.cid is not None else "")


def parse_reference(text: str) -> Reference:
    """Read a reference; InvalidInput for one without a name and a CID."""
    given = text.strip()
    if is_cid(given):
        return Reference(cid=given)
    rest, at, last = given.rpartition("@")
    cid = None
    if at and is_cid(last):
        given, cid = rest, last
    name, colon, version = given.rpartition(":")
    if colon and name and version and "/" not in version:
        return Reference(name, version, cid)
    if given:
        return Reference(given, None, cid)
    if cid is not None:
        return Reference(cid=cid)
    raise InvalidInput("name is required", hint="Write a record as name, name:version, name:version@cid or its CID.")
