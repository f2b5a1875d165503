"""The secrets removed from a text, and the marks in their place."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Finding(NamedTuple):
    """One removed secret, without the secret itself."""

    where: str
    """Where it was: `password`, `query.api_key`, `path.2`, `argument.3`, `header.Authorization`, or a pointer."""
    kind: str
    """The detector that found it, `key-name`, or `random` for a value that only looks like one."""
    name: str
    """Its name, such as `api_key`; empty if it has none."""
    certain: bool = True
    """False if it might be an identifier instead."""


class Scrubbed(NamedTuple, Generic[T]):
    """The cleaned value, and the findings."""

    clean: T
    findings: tuple[Finding, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether every finding is certain; True if there are none."""
        return all(finding.certain for finding in self.findings)


Mark = Callable[[Finding], str]
"""Makes the mark for a secret; `is_reference` must hold for it."""


def stars(finding: Finding) -> str:
    """Three asterisks, which fit into URLs and command lines."""
    del finding
    return "***"
