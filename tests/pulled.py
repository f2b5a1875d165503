"""The embedding model as `make test` pulled it, once for all tests that embed."""

import os
from pathlib import Path

import pytest

from pentad.search.models.catalogue import PulledModel, find_model
from pentad.settings.model import user_data_folder

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def pulled_model() -> PulledModel:
    """Skips if no model could be fetched, or fails if MODEL_REQUIRED is set."""
    named = os.environ.get("PENTAD_MODELS")
    folders = [Path(named)] if named else [REPOSITORY / ".cache" / "models", user_data_folder() / "models"]
    found = find_model(folders)
    if found is None:
        message = "no embedding model: `make .venv/.models` fetches it"
        pytest.fail(message) if os.environ.get("MODEL_REQUIRED") else pytest.skip(message)
    return found
