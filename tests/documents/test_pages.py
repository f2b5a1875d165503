"""Pages as one text: heads and numbers go, lines become paragraphs, offsets stay true."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.documents.chunks import chunks
from pentad.documents.document import Extracted
from pentad.documents.pdf import RawPage, of_pages


def made(*pages: str | None, labels: tuple[str | None, ...] = ()) -> Extracted:
    padded = (*labels, *[None] * len(pages))
    return of_pages([RawPage(n, text, label) for (n, text), label in zip(enumerate(pages, 1), padded, strict=False)])


def page_texts(document: Extracted) -> list[str]:
    starts = [*(page.start for page in document.pages), len(document.text)]
    return [document.text[a:b].strip() for a, b in pairwise(starts)]


def test_running_heads_go_even_where_left_and_right_pages_have_their_own():
    bodies = ["Water is shared.", "Land is owned.", "Fish swim.", "Trees grow.", "Rain falls.", "Wind blows."]
    pages = [f"{'Governing the Commons' if n % 2 else 'Elinor Ostrom'}\n{body}" for n, body in enumerate(bodies)]
    assert page_texts(made(*pages)) == bodies


def test_a_chapter_head_with_the_number_of_its_page_goes():
    bodies = ["Water is shared by all.", "Land is owned by some.", "Fish swim in the sea."]
    pages = [f"{body}\nChapter 2: Water {41 + n}" for n, body in enumerate(bodies)]
    pages += ["Another chapter begins here.\nChapter 3: Land 44", "And goes on.\nChapter 3: Land 45"]
    document = made(*pages, labels=("41", "42", "43", "44", "45"))
    assert "Chapter" not in document.text
    assert page_texts(document)[3] == "Another chapter begins here."


def test_a_line_that_comes_twice_is_no_running_head():
    document = made("The same line.\nOne.", "The same line.\nTwo.", "Another.\nThree.", "Again another.\nFour.")
    assert document.text.count("The same line.") == 2


def test_numbers_printed_on_the_pages_are_their_labels_if_they_agree():
    document = made("Cover", "Text one goes here.\n7", "", "Text three goes here.\n9", "Text four is here.\n- 10 -")
    assert [page.label for page in document.pages] == [None, "7", "8", "9", "10"]
    assert "10" not in document.text


def test_numbers_that_do_not_agree_are_nobodys_labels():
    document = made("In all\n7", "there were\n1990", "of them\n3")
    assert [page.label for page in document.pages] == [None, None, None]


def test_a_short_line_before_a_capital_ends_a_paragraph():
    body = "A long line of running text that fills the whole width of the page"
    document = made(f"Irrigation in Nepal\n{body}\n{body}\nand ends.\nThe next paragraph of the text begins here now")
    assert document.text.split("\n\n")[0] == "Irrigation in Nepal"
    assert document.text.split("\n\n")[2].startswith("The next paragraph")


def test_a_hyphen_of_the_words_own_stays():
    document = made("The self-governing users met. They agreed on self-\ngoverning rules, not on govern-\nment rules.")
    assert "on self-governing rules, not on government rules." in document.text


def test_a_word_parted_by_a_page_break_is_joined():
    document = made("The users of the re-", "source agreed. A resource lasts.")
    assert document.text == "The users of the resource agreed. A resource lasts."
    assert document.text[document.pages[1].start :].startswith("source agreed")


def test_ligatures_become_letters_and_raised_numbers_stay():
    assert made("The \ufb01rst of\ufb01ce has 10\u00b2 \ufb02oors.").text == "The first office has 10\u00b2 floors."


def test_a_page_that_cannot_be_read_still_counts():
    document = made("One.", None, "Three.")
    assert [page.number for page in document.pages] == [1, 2, 3]
    assert document.text[document.pages[2].start :] == "Three."


LINES = st.text("abcAB .-1\ufffe", max_size=30)


@given(st.lists(st.lists(LINES, max_size=6).map("\n".join), max_size=8))
def test_pages_begin_in_order_and_within_the_text(pages: list[str]):
    document = made(*pages)
    starts = [page.start for page in document.pages]
    assert starts == sorted(starts)
    assert all(0 <= start <= len(document.text) for start in starts)
    assert [page.number for page in document.pages] == list(range(1, len(pages) + 1))


def test_dots_that_lead_to_a_page_number_go():
    assert made("Water . . . . . . . . 12\nLand.......... 14 and so on... it goes").text == (
        "Water | 12\n\nLand | 14 and so on... it goes"
    )


@pytest.mark.requirement("avatars:ingest:exact-pages")
@pytest.mark.parametrize(
    "ending",
    [
        "Figure 3: The sluice at Halvesand as it was before the flood of 1926",
        "The Registers of the Lower Marsh, the Museum, and the House beside the Old Sluice",
        "Table 2 shows the height of all the tides that were measured at the outer gate",
    ],
)
def test_a_page_that_ends_with_a_caption_or_title_is_not_glued_to_the_next(ending: str):
    body = "The keeper of the sluice lived beside it, for the tide does not wait for anybody."
    document = made(f"{body}\n{ending}", "Salt is the true enemy of the marsh, and wells turn brackish.")
    salt = next(one for one in chunks(document, 40, 0)[-1].sentences if "Salt" in document.text[one[0] : one[1]])
    assert document.text[salt[0] : salt[1]].startswith("Salt")
    assert page_texts(document)[1].startswith("Salt")


@pytest.mark.requirement("avatars:ingest:exact-pages")
def test_a_sentence_goes_on_over_pages_only_where_it_must():
    first = "The farmers of the marsh paid for the canal by the length of their bank, and Wilhelm Harms of"
    document = made(first, "Halvesand refused to pay.")
    (chunk,) = chunks(document, 200, 0)
    assert len(chunk.sentences) == 1
    assert (chunk.page_start, chunk.page_end) == (1, 2)
    document = made("It was a list without an end", "and it went on here.")
    assert len(chunks(document, 200, 0)[0].sentences) == 1
