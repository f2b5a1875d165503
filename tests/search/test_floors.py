"""From which cosine on a text counts as near: asked of each model, so that none needs a figure of its own."""

import numpy as np
import pytest

from pentad.search.floors import floor_of
from pentad.search.index import SearchIndex
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from tests.search.hashing import HashingEmbedder

pytestmark = pytest.mark.anyio


async def test_a_model_whose_vectors_all_look_alike_has_a_higher_floor() -> None:
    class Crowded(HashingEmbedder):
        def vector(self, text: str) -> np.ndarray:
            leaning = super().vector(text)
            leaning[0] += 3.0
            return leaning / (leaning @ leaning) ** 0.5

    assert 0.3 < await floor_of(HashingEmbedder()) < 0.7
    assert await floor_of(Crowded()) > 0.85


async def test_the_real_models_floor_lies_between_what_is_unrelated_and_what_is_not(pulled_model: PulledModel) -> None:
    embedder = MiniLM(pulled_model)
    try:
        assert 0.2 < await floor_of(embedder) < 0.35
    finally:
        embedder.close()


async def test_the_floor_is_asked_for_once(index: SearchIndex, embedder: HashingEmbedder) -> None:
    first = await index.asked("ships at dawn")
    asked = len(embedder.asked)
    second = await index.asked("bees before rain")
    assert first.floor == second.floor > 0
    assert len(embedder.asked) == asked + 1
