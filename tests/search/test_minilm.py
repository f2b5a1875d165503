"""The model in this process: known tokens and vectors, what is cut, what is refused, and what it costs to have it."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from pentad.kernel.errors import InvalidInput, Misconfigured, Unavailable
from pentad.kernel.ports import Embedder
from pentad.net.fetch import HttpFetcher
from pentad.search.embedders import Choice, open_embedder
from pentad.search.minilm import MiniLM
from pentad.search.models.catalogue import PulledModel
from pentad.search.models.convert import COMPONENTS, COSINES, INTEGER_TOLERANCE, SENTENCES, TOKENS
from pentad.search.models.tokens import Tokenizer, open_tokenizer, token_ids
from pentad.search.remote_embedder import RemoteEmbedder, RemoteModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def minilm(pulled_model: PulledModel) -> Iterator[MiniLM]:
    embedder = MiniLM(pulled_model)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def tokenizer(pulled_model: PulledModel) -> Tokenizer:
    return open_tokenizer((pulled_model.folder / "tokenizer.json").read_bytes())


async def vectors(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.frombuffer(await embedder.embed(texts), "<f4").reshape(len(texts), embedder.dimensions)


@pytest.mark.requirement("search:model:check-values")
async def test_known_sentences_have_the_known_vectors_alone_and_in_company(minilm: MiniLM):
    together = await vectors(minilm, SENTENCES)
    alone = np.vstack([await vectors(minilm, [sentence]) for sentence in SENTENCES])
    for found in (together, alone):
        assert np.abs(found[1:] @ found[0] - COSINES).max() < INTEGER_TOLERANCE
        assert np.abs(found[:, :6] - COMPONENTS).max() < INTEGER_TOLERANCE
    assert np.abs(together - alone).max() < 1e-6
    assert np.abs(np.linalg.norm(together, axis=1) - 1).max() < 1e-5


async def test_vectors_come_in_the_order_of_their_texts_however_many_and_however_long(minilm: MiniLM):
    texts = [f"{'word ' * (number * 7 % 40)}number {number}" for number in range(150)]
    found = await vectors(minilm, texts)
    for place in (0, 1, 63, 64, 149):
        assert np.abs(found[place] - (await vectors(minilm, [texts[place]]))[0]).max() < 1e-6
    assert await minilm.embed([]) == b""


def test_the_tokens_are_those_the_model_was_trained_on(tokenizer: Tokenizer):
    assert tuple(map(tuple, token_ids(tokenizer, SENTENCES))) == TOKENS


@pytest.mark.requirement("search:model:truncation")
async def test_a_text_is_cut_after_254_word_pieces_and_not_at_128(minilm: MiniLM, tokenizer: Tokenizer):
    words = ["river"] * 253
    long = " ".join([*words, "stone", "cloud"])
    assert [len(ids) for ids in token_ids(tokenizer, [long, "river"])] == [256, 3]
    cut, same, other = await vectors(minilm, [long, " ".join([*words, "stone"]), " ".join([*words, "bridge"])])
    assert np.abs(cut - same).max() < 1e-6
    assert np.abs(cut - other).max() > 1e-4, "the 254th piece still counts"


async def test_ligatures_and_wide_letters_are_read_as_what_they_stand_for(minilm: MiniLM, tokenizer: Tokenizer):
    assert token_ids(tokenizer, ["\ufb01nal \uff52eport"]) == token_ids(tokenizer, ["final report"])


@pytest.mark.parametrize("empty", ["", "  \n", "\u3000"])
async def test_an_empty_text_is_refused(minilm: MiniLM, empty: str):
    with pytest.raises(InvalidInput, match="empty"):
        await minilm.embed(["something", empty])


async def test_the_event_loop_goes_on_while_texts_are_embedded(minilm: MiniLM):
    work = asyncio.ensure_future(minilm.embed(["a text of some length " * 30] * 12))
    turns = 0
    while not work.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns > 100


async def test_a_damaged_model_says_what_to_do_and_nothing_of_the_machine(pulled_model: PulledModel, tmp_path: Path):
    shutil.copytree(pulled_model.folder, tmp_path / "model")
    (tmp_path / "model" / "model.onnx").write_bytes(b"\0" * 100)
    embedder = MiniLM(PulledModel(tmp_path / "model", pulled_model.manifest))
    try:
        with pytest.raises(Unavailable, match="cannot be loaded") as refused:
            await embedder.embed(["text"])
    finally:
        embedder.close()
    assert str(tmp_path) not in refused.value.sentence()


async def test_the_settings_choose_the_embedder(
    pulled_model: PulledModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    here, nowhere = [tmp_path, pulled_model.folder.parent], [tmp_path]
    remote = RemoteModel("https://example.com/v1", "m", 3)
    fetcher = HttpFetcher()
    assert open_embedder("none", here, remote, fetcher) is None
    assert isinstance(open_embedder("auto", here, remote, fetcher), RemoteEmbedder)
    assert isinstance(open_embedder("remote", here, remote, fetcher), RemoteEmbedder)
    here_too: list[tuple[Choice, RemoteModel | None]] = [("auto", None), ("minilm", remote)]
    for choice, also in here_too:
        found = open_embedder(choice, here, also, fetcher)
        assert isinstance(found, MiniLM)
        assert (found.model, found.dimensions) == (pulled_model.manifest["id"], 384)
        found.close()
    missing: list[Choice] = ["remote", "minilm"]
    for choice in missing:
        with pytest.raises(Misconfigured):
            open_embedder(choice, nowhere, None, fetcher)
    assert open_embedder("auto", nowhere, None, fetcher) is None
    assert "lexical" in caplog.text


@pytest.mark.requirement("search:model:lazy")
def test_nothing_heavy_is_loaded_before_the_first_text(pulled_model: PulledModel):
    program = (
        "import sys; from pathlib import Path; from pentad.search.embedders import open_embedder\n"
        "from pentad.search.models.pull import pull; import pentad.search.remote_embedder, pentad.app\n"
        f"assert open_embedder('auto', [Path({str(pulled_model.folder.parent)!r})], None, None) is not None\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    assert "pentad" in loaded
    assert loaded.isdisjoint({"numpy", "onnxruntime", "tokenizers", "huggingface_hub"})


def test_a_manifest_of_another_size_is_not_taken_for_the_model(pulled_model: PulledModel, tmp_path: Path):
    changed = replace(pulled_model, folder=tmp_path)
    assert not changed.is_intact()
