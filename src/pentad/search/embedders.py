"""Chooses the embedder: in this process, remote, or none, in which case search uses words alone."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pentad.kernel.errors import Misconfigured
from pentad.search.models.catalogue import find_model

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetcher
    from pentad.search.minilm import MiniLM
    from pentad.search.remote_embedder import RemoteEmbedder, RemoteModel

Choice = Literal["auto", "minilm", "remote", "none"]

_log = logging.getLogger(__name__)


def open_embedder(
    choice: Choice, folders: Sequence[Path], remote: "RemoteModel | None", fetcher: "Fetcher"
) -> "MiniLM | RemoteEmbedder | None":
    """`auto` means the endpoint if one is set, else the pulled model, else none, which is logged once."""
    if choice == "none":
        return None
    if remote is not None and choice in ("auto", "remote"):
        from pentad.search.remote_embedder import RemoteEmbedder

        return RemoteEmbedder(remote, fetcher)
    if choice == "remote":
        raise Misconfigured("search.embedder is remote, but no endpoint is set.", hint="Set search.remote_url.")
    if (pulled := find_model(folders)) is not None:
        from pentad.search.minilm import MiniLM

        return MiniLM(pulled)
    if choice == "minilm":
        raise Misconfigured("search.embedder is minilm, but the model is not here.", hint="Run `pentad models pull`.")
    _log.warning("There is no embedding model on this machine: search is lexical. `pentad models pull` fetches one.")
    return None
