"""A search in a corpus explains its hits, says when it has no good match, and ranks fairly while vectors are made."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pentad.kernel.errors import Unavailable
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.calibration.model import Calibration
from pentad.rooms.avatars.search.retrieval import Retrieved, retrieve
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from tests.rooms.avatars.folders import SETS, HashedWords, Library, avatar_folder
from tests.stores import Stores

pytestmark = pytest.mark.anyio

TURNS = b"""# Sharing water

Water is shared by turns. Every farm has its hour at the weir, and the hours are drawn by lot in March.

# The gates

The northern gate was rebuilt in oak after the flood. Oak swells and closes by itself.
"""
LEDGER = b"# The ledger\n\nThe quarrelsome miller of Ember owed the board nineteen sacks of barley."


class BreakableEmbedder(HashedWords):
    broken = False

    async def embed(self, texts: Sequence[str]) -> bytes:
        if self.broken:
            raise Unavailable("The model does not answer.")
        return await super().embed(texts)


@pytest.fixture(params=["words", "vectors"])
async def library(request: pytest.FixtureRequest, stores: Stores, tmp_path: Path) -> Library:
    return await filled(stores, tmp_path, HashedWords() if request.param == "vectors" else None)


async def filled(stores: Stores, folder: Path, embedder: HashedWords | None) -> Library:
    library = Library(await stores.open(SETS), folder, embedder)
    await library.ingest.folder(avatar_folder(folder / "ada", {"turns.md": TURNS}))
    return library


async def ask(library: Library, question: str) -> Retrieved:
    avatar = await library.corpora.get("ada-water")
    snapshot = AvatarSnapshot(avatar, Calibration(), library.database, library.search)
    return await retrieve(snapshot, question, 5, SentenceSimilarity(None))


@pytest.mark.requirement("search:explained")
async def test_a_passage_says_which_words_stand_in_its_heading_and_in_its_text(library: Library):
    found = await ask(library, "how is water shared at the weir")
    best = found.passages[0]
    by_field = {reason.field: reason for reason in found.reasons(best)}
    assert by_field["section"].words == ("water", "shared")
    assert by_field["content"].words == ("water", "shared", "weir")
    assert ("meaning" in by_field) == (found.retrieval == "hybrid")
    for scored in found.passages:
        given = sum(reason.contribution for reason in found.reasons(scored))
        assert given == pytest.approx(scored.raw_score, abs=2e-3)


@pytest.mark.requirement("search:verdict")
async def test_a_search_admits_that_the_corpus_has_nothing_on_the_question(library: Library):
    assert not (await ask(library, "how is water shared at the weir by turns")).no_good_match
    assert (await ask(library, "quantum chromodynamics lecture")).no_good_match


@pytest.mark.requirement("search:rank:pending")
async def test_a_passage_whose_vector_is_not_made_yet_is_ranked_by_its_words(stores: Stores, tmp_path: Path):
    embedder = BreakableEmbedder()
    library = await filled(stores, tmp_path, embedder)
    embedder.broken = True
    await library.ingest.folder(avatar_folder(tmp_path / "ada", {"ledger.md": LEDGER}))
    embedder.broken = False
    found = await ask(library, "what did the quarrelsome miller of Ember owe")
    best = found.passages[0]
    assert (found.retrieval, best.cosine) == ("hybrid", None)
    assert "miller" in best.passage.content
    assert not found.no_good_match
    assert await library.search.embed_pending() == 1
    assert (await ask(library, "what did the quarrelsome miller of Ember owe")).passages[0].cosine is not None
