"""The demo's avatars, filled as `pentad demo` does it: once with the embedding model, once without."""

from collections.abc import AsyncIterator

import pytest

from pentad.app import open_app
from pentad.rooms.avatars.interface.demo import fill_demo
from pentad.rooms.avatars.service import Avatars
from pentad.search.models.catalogue import PulledModel
from pentad.settings.model import SearchSettings, Settings


@pytest.fixture(scope="session")
async def by_meaning(pulled_model: PulledModel, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Avatars]:
    """Hybrid search with the int8 model."""
    settings = Settings(data=tmp_path_factory.mktemp("hybrid"), rooms=("avatars",), models=pulled_model.folder.parent)
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        await fill_demo(avatars)
        yield avatars


@pytest.fixture(scope="session")
async def by_words(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Avatars]:
    """Lexical search."""
    settings = Settings(
        data=tmp_path_factory.mktemp("lexical"), rooms=("avatars",), search=SearchSettings(embedder="none")
    )
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        await fill_demo(avatars)
        yield avatars
