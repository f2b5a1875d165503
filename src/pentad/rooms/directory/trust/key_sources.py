"""Loads a key that is given as PEM text, a file, an environment variable or a URL.

Only the owner of this machine (command line, settings) may name files and variables; for anyone else that would be a
way to read them. URLs are fetched through the guarded fetcher.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from pentad.kernel.errors import InvalidInput, NotFound, PentadError, Unavailable
from pentad.kernel.ports import Fetcher

_MOST_BYTES: Final = 16_384
_SECONDS: Final = 10.0
_OK: Final = 200
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_WRITE_IT: Final = "Give the key as PEM text."


class KeySource:
    """Turns a key reference into PEM text."""

    def __init__(self, fetcher: Fetcher, environment: Mapping[str, str] | None = None) -> None:
        self._fetcher = fetcher
        self._environment = os.environ if environment is None else environment

    async def text(self, given: str, what: Literal["private key", "public key"], *, local: bool = False) -> str:
        """The PEM text of a key; `local` if the owner of this machine gave the reference."""
        if "-----BEGIN " in given:
            return given
        reference = given.strip()
        if not reference or "\n" in reference or "\0" in reference:
            raise InvalidInput(f"The {what} is not PEM text.", hint="PEM text begins with -----BEGIN.")
        scheme = found[1].lower() if (found := _SCHEME.match(reference)) else ""
        if scheme == "https" or (scheme == "http" and what == "public key"):
            return await self._fetched(reference, what, local=local)
        if scheme == "http":
            raise InvalidInput("A private key is not fetched over plain http.", hint="Use https.")
        if scheme not in ("", "env"):
            raise InvalidInput(
                f"A key at {scheme[:40]}:// cannot be reached.", hint=f"{_WRITE_IT} There is no KMS here."
            )
        if not local:
            raise InvalidInput(f"The {what} is not PEM text.", hint=f"{_WRITE_IT} Files are for the command line.")
        if scheme == "env":
            return self._variable(reference[len("env://") :])
        return await asyncio.to_thread(_file, reference, what)

    async def _fetched(self, url: str, what: str, *, local: bool) -> str:
        try:
            answer = await self._fetcher.fetch(url, max_bytes=_MOST_BYTES, timeout=_SECONDS, trusted=local)
        except PentadError as error:
            raise Unavailable(f"The {what} cannot be fetched: {error.message}", hint=error.hint) from None
        if answer.status != _OK:
            raise Unavailable(f"The {what} cannot be fetched: HTTP status {answer.status}.", hint=_WRITE_IT)
        return answer.body.decode("utf-8", "replace")

    def _variable(self, name: str) -> str:
        if name not in self._environment:
            raise NotFound(
                f"The environment has no variable {name[:100]!r}.", hint="Set it to the PEM text of the key."
            )
        return self._environment[name]


def _file(path: str, what: str) -> str:
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not a path"
        raise NotFound(f"The file of the {what} cannot be read: {reason}.", hint=_WRITE_IT) from None
    if len(content) > _MOST_BYTES:
        raise InvalidInput(f"The file of the {what} is too large to be a key.", hint="Name the key's own file.")
    return content.decode("utf-8", "replace")
