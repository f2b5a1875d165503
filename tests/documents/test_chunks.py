"""Passages: whole sentences, none lost, none twice but where passages overlap, never over a heading."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.documents.chunks import WINDOW, Chunk, chunks, windows
from pentad.documents.document import Block, Extracted, Page, of_blocks
from pentad.documents.sentences import sentences
from pentad.documents.tokens import tokens

WORDS = st.sampled_from(["commons", "water", "rule", "Nepal", "of", "a", "shared", "institution", "1990"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=40).map(lambda words: "The " + " ".join(words) + ".")
BLOCKS = st.lists(
    st.one_of(
        st.builds(Block, st.lists(SENTENCES, min_size=1, max_size=12).map(" ".join)),
        st.builds(Block, st.text("abcdefgh ", min_size=1, max_size=20), st.integers(1, 4)),
    ),
    max_size=14,
)
SIZES = st.tuples(st.integers(1, 300), st.integers(0, 200))


def covered(found: list[Chunk]) -> list[tuple[int, int]]:
    return [span for chunk in found for span in chunk.sentences]


@given(BLOCKS, SIZES)
def test_passages_cover_every_sentence_and_repeat_only_the_end_of_the_one_before(
    blocks: list[Block], sizes: tuple[int, int]
):
    document = of_blocks(blocks)
    found = chunks(document, *sizes)
    spans = covered(found)
    assert sorted(set(spans)) == list(dict.fromkeys(sorted(spans)))
    for one, other in pairwise(found):
        assert one.start < other.start
        assert one.end < other.end
        shared = [span for span in other.sentences if span in one.sentences]
        assert list(one.sentences)[len(one.sentences) - len(shared) :] == shared
    headings = {(heading.start, heading.end) for heading in document.headings}
    text = document.text
    bodies = [
        span for span in sentences(text) if not any(start <= span[0] and span[1] <= end for start, end in headings)
    ]
    assert set(bodies) <= set(spans)


@given(BLOCKS, SIZES)
def test_no_passage_is_contained_in_another_or_goes_over_a_heading(blocks: list[Block], sizes: tuple[int, int]):
    document = of_blocks(blocks)
    found = chunks(document, *sizes)
    for one in found:
        assert not any(o is not one and o.start <= one.start and one.end <= o.end for o in found)
        assert not any(one.start < heading.start < one.end for heading in document.headings)


@given(BLOCKS, SIZES)
def test_a_passage_is_larger_than_asked_for_only_if_it_is_one_sentence(blocks: list[Block], sizes: tuple[int, int]):
    for chunk in chunks(of_blocks(blocks), *sizes):
        assert chunk.tokens <= sizes[0] or len(chunk.sentences) == 1


@given(BLOCKS, SIZES)
def test_windows_together_hold_every_sentence_and_each_fits_the_model(blocks: list[Block], sizes: tuple[int, int]):
    document = of_blocks(blocks)
    for chunk in chunks(document, sizes[0] * 8, sizes[1]):
        content = document.text[chunk.start : chunk.end]
        spans = [(start - chunk.start, end - chunk.start) for start, end in chunk.sentences]
        made = windows(content, spans)
        assert all(window in content and tokens(window) <= WINDOW for window in made)
        assert all(any(content[start:end] in window for window in made) for start, end in spans)


def test_there_is_no_extra_passage_made_of_the_overlap_alone():
    text = " ".join(f"Sentence number {n} tells of the water." for n in range(30))
    found = chunks(Extracted(text), 100, 30)
    assert len(found) > 2
    assert found[-1].sentences[-1] not in found[-2].sentences
    assert sum(text.count(f"number {n} ") for n in range(30)) == 30


def test_passages_overlap_by_at_least_what_was_asked_for():
    text = " ".join(f"Sentence number {n} tells of the water." for n in range(30))
    for one, other in pairwise(chunks(Extracted(text), 100, 20)):
        shared = [span for span in other.sentences if span in one.sentences]
        assert sum(tokens(text[start:end]) for start, end in shared) >= 20


def test_a_passage_over_a_page_break_has_both_pages():
    text = "It begins here and goes on over the page. It ends there."
    document = Extracted(text, pages=[Page(0, 1, "i"), Page(20, 2, "ii"), Page(20, 3, "1"), Page(len(text), 4, "2")])
    (chunk,) = chunks(document, 512, 50)
    assert (chunk.page_start, chunk.page_end) == (1, 3)
    assert (chunk.printed_start, chunk.printed_end) == ("i", "1")


def test_a_sentence_on_a_later_page_is_cited_with_that_page():
    text = "First page. " + "Second page has this."
    document = Extracted(text, pages=[Page(0, 1), Page(12, 2)])
    first, second = chunks(document, 4, 0)
    assert (first.page_start, first.page_end) == (1, 1)
    assert (second.page_start, second.page_end) == (2, 2)


def test_a_passage_has_the_path_of_its_headings():
    document = of_blocks([Block("Preface text."), Block("Water", 1), Block("Nepal", 2), Block("In Nepal."),
                          Block("Spain", 2), Block("In Spain."), Block("Land", 1), Block("On land.")])  # fmt: skip
    found = [(chunk.section, document.text[chunk.start : chunk.end]) for chunk in chunks(document, 512, 50)]
    assert found == [
        (None, "Preface text."),
        ("Water > Nepal", "In Nepal."),
        ("Water > Spain", "In Spain."),
        ("Land", "On land."),
    ]


def test_a_heading_over_nothing_is_text_itself():
    document = of_blocks([Block("Rules", 1), Block("Clear boundaries", 2), Block("Monitoring", 2)])
    assert [document.text[c.start : c.end] for c in chunks(document, 512, 50)] == ["Clear boundaries", "Monitoring"]


@pytest.mark.parametrize("size", [1, 16, 4096])
def test_one_endless_sentence_is_cut_so_that_a_model_reads_all_of_it(size: int):
    text = "water " * 1500
    found = chunks(Extracted(text), size, 0)
    assert "".join(text[c.start : c.end].replace(" ", "") for c in found) == "water" * 1500
    for chunk in found:
        content = text[chunk.start : chunk.end]
        spans = [(start - chunk.start, end - chunk.start) for start, end in chunk.sentences]
        assert all(tokens(window) <= WINDOW for window in windows(content, spans))
