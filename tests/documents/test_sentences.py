"""Sentences: exact ranges, and no cut inside of abbreviations, initials and numbers."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.documents.sentences import LONGEST, sentences
from pentad.documents.tokens import tokens

PIECES = st.sampled_from(
    ["Dr. ", "e.g. ", "The end. ", "3.14 ", "U.S. ", "why? ", "\n\n", "\n", " ", "word ", '"Go!" ', "J. R. ", "x" * 300,
     "No. 5 ", "。", "漢字", "...", "… ", "\u00a0", "[3] ", "²", "(see Fig. 2) "]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=60).map("".join))


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@given(TEXTS)
def test_every_character_but_white_space_is_in_exactly_one_sentence(text: str):
    at = 0
    for start, end in sentences(text):
        assert at <= start < end
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        at = end
    assert not text[at:].strip()


@given(TEXTS)
def test_no_sentence_is_longer_than_a_model_reads(text: str):
    assert all(tokens(text[start:end]) <= LONGEST for start, end in sentences(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Ostrom met Prof. Smith. They spoke.", ["Dr. Ostrom met Prof. Smith.", "They spoke."]),
        ("Rules, e.g. Those of Nepal, last. So it is.", ["Rules, e.g. Those of Nepal, last.", "So it is."]),
        ("J. R. R. Tolkien wrote. E. Ostrom too.", ["J. R. R. Tolkien wrote.", "E. Ostrom too."]),
        ("It rose by 3.14 percent. Then it fell.", ["It rose by 3.14 percent.", "Then it fell."]),
        ("See No. 5 of vol. XII. He said no. Then he left.",
         ["See No. 5 of vol. XII.", "He said no.", "Then he left."]),
        ("He is in the U.S. The U.S. Senate met.", ["He is in the U.S.", "The U.S. Senate met."]),
        ('"Why?" he asked. "Go!" She left.', ['"Why?" he asked.', '"Go!"', "She left."]),
        ("Shared (cf. Smith et al. 1990). New.", ["Shared (cf. Smith et al. 1990).", "New."]),
        ("Of the commons.12 Another one.[3] A third.² Last.",
         ["Of the commons.12", "Another one.[3]", "A third.²", "Last."]),
        ("1. The first rule. 2. The second.", ["1. The first rule.", "2. The second."]),
        ("A heading\n\nA text. More", ["A heading", "A text.", "More"]),
        ("Wait... and see. Fine.", ["Wait... and see.", "Fine."]),
        ("他来了。她走了\uff01好", ["他来了。", "她走了\uff01", "好"]),
        ("one line\nof one sentence", ["one line\nof one sentence"]),
    ],
)  # fmt: skip
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]):
    assert cut(text) == expected


@pytest.mark.parametrize("piece", [".", ". ", "a", '"', "A. ", "word ", "漢", "\n \n", ".1 ", "。", "' . "])
def test_no_text_takes_more_than_its_length_in_time(piece: str):
    began = time.process_time()
    sentences(piece * 8_000)
    once = time.process_time() - began
    began = time.process_time()
    sentences(piece * 64_000)
    assert time.process_time() - began < max(32 * once, 2.0)
