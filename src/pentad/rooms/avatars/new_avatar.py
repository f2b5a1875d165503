"""Writes the configuration of a new avatar: the minimum that Avatar SDK's schema requires."""

import json
from pathlib import Path
from typing import Any

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.config import CONFIG_FILE, parse_config
from pentad.rooms.avatars.corpus.sources import slug


def write_config(folder: Path, name: str, description: str, voice: str, avatar_id: str | None = None) -> str:
    """Write `config.json` into a folder, created if necessary; returns the avatar's id."""
    path = folder / CONFIG_FILE
    if path.exists():
        raise InvalidInput(f"There is a {CONFIG_FILE} in the folder already.", hint="Edit it, then ingest the folder.")
    made = new_config(name, description, voice, avatar_id)
    parse_config(made)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return str(made["id"])


def new_config(name: str, description: str, voice: str, avatar_id: str | None = None) -> dict[str, Any]:
    """A configuration with the fields that are required."""
    first = voice == "first_person"
    return {
        "id": avatar_id or slug(name) or "avatar",
        "name": name,
        "description": description,
        "corpus": {"description": description, "sources": []},
        "systemPrompt": {
            "identity": f"{'Speaks as' if first else 'A student of'} {name}",
            "tone": "plain and exact",
            "constraints": ["Say only what the corpus says."],
            "citationStyle": "first person" if first else "third person",
        },
        "persona": {"voice": voice},
    }
