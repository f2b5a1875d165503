"""What `pentad doctor` finds out about search: whether it goes by meaning as well as by words."""

from typing import TYPE_CHECKING

from pentad.cli.findings import Finding

if TYPE_CHECKING:
    from pentad.settings.model import Settings


def about_search(settings: "Settings") -> Finding:
    """Which embedder a server with these settings would have."""
    from pentad.search.models.catalogue import find_model

    search = settings.search
    if search.embedder == "none":
        return Finding("search", "ok", "Search is lexical, as the settings say.")
    if search.embedder == "remote" or (search.embedder == "auto" and search.remote_url is not None):
        if search.remote_url is None:
            return Finding(
                "search", "fail", "The embedder is remote, but no endpoint is set.", "Set search.remote_url."
            )
        return Finding("search", "ok", f"Vectors come from {search.remote_model} at {search.remote_url}.")
    found = find_model(settings.model_folders())
    if found is None:
        state = "fail" if search.embedder == "minilm" else "warn"
        return Finding("search", state, "There is no embedding model; search is lexical.", "Run `pentad models pull`.")
    if not found.is_whole():
        return Finding("search", "fail", f"The model in {found.folder} is damaged.", "Run `pentad models pull`.")
    return Finding("search", "ok", f"The model {found.manifest['id']} is in {found.folder}.")
