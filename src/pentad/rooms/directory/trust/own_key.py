"""The key a server signs with itself: made on first use, kept in its data folder, shown to nobody."""

import os
from pathlib import Path
from typing import Final

from pentad.kernel.errors import Unavailable
from pentad.kernel.ids import opaque_id

FILE: Final = "directory-signing-key.pem"


def own_key(folder: Path) -> str:
    """The PEM text of the private key. Processes that start together agree on one, whoever is first."""
    path = folder / FILE
    try:
        if not path.exists():
            _make(path)
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        raise Unavailable(
            "The server's signing key cannot be read.", hint=f"Look at {FILE} in the data folder and who may read it."
        ) from None


def _make(path: Path) -> None:
    from pentad.rooms.directory.trust.keys import new_private_key

    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{FILE}.{opaque_id(size=9)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(new_private_key())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # never replaces one that is there
    except FileExistsError:
        pass
    finally:
        draft.unlink()
