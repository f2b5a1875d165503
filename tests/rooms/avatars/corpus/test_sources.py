"""sources.json: which source a file is, and whether the person wrote it."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.config import parse_config
from pentad.rooms.avatars.corpus.sources import SourceBook, slug
from tests.rooms.avatars.folders import CONFIG

ADA = parse_config(CONFIG)


def book(*sources: dict[str, Any]) -> SourceBook:
    return SourceBook(ADA, {"sources": list(sources)})


def role(**source: Any) -> str:
    return book({"title": "t", "id": "t", **source}).of_file(PurePosixPath("t.pdf")).role


def test_a_file_is_the_source_whose_id_is_its_name():
    source = book(
        {"id": "on-turns-1950", "title": "On Turns", "year": 1950, "type": "textbook", "doi": "10/x"}
    ).of_file(PurePosixPath("open-access/on-turns-1950.pdf"))
    assert (source.id, source.title, source.year, source.type) == ("on-turns-1950", "On Turns", 1950, "textbook")
    assert source.details["doi"] == "10/x"


def test_a_source_may_name_its_file_or_be_found_by_its_title():
    sources = book({"id": "a", "title": "A", "file": "scans/17.pdf"}, {"id": "b", "title": "On Water & Land"})
    assert sources.of_file(PurePosixPath("scans/17.pdf")).id == "a"
    assert sources.of_file(PurePosixPath("On Water & Land.epub")).id == "b"
    assert sources.of_file(PurePosixPath("turns.txt")).title == "Turns"


def test_a_file_nobody_described_is_named_as_it_is():
    source = book().of_file(PurePosixPath("deep/My Notes, 1961.txt"))
    assert (source.id, source.title, source.year, source.role) == ("my-notes-1961", "My Notes, 1961", None, "by")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, "by"), ({"role": "about"}, "about"), ({"role": "by", "authors": ["Bo Sand"]}, "by"),
        ({"authors": ["Water, A."]}, "by"), ({"authors": ["Bo Sand", "ADA WATER"]}, "by"),
        ({"authors": ["Water"]}, "by"),
        ({"authors": ["Vincent Water"]}, "about"), ({"authors": ["Bo Sand"]}, "about"), ({"year": 1979}, "by"),
        ({"year": 2016}, "about"), ({"year": 2016, "authors": ["Ada Water"]}, "by"),
    ],
)  # fmt: skip
def test_who_wrote_it_decides_whether_it_is_by_the_person_or_about_them(source: dict[str, Any], expected: str):
    assert role(**source) == expected


def test_an_entry_that_cannot_be_used_is_left_out_with_a_warning():
    sources = book({"id": "x"}, {"title": "Fine", "type": "tweet"}, {"title": "Role", "role": "maybe"})
    assert sources.warnings == [
        "sources[0] is left out: title: Field required",
        "sources[1].type 'tweet' is none of book, paper, speech, interview, article, letter, textbook, guide, lecture",
        "sources[2] is left out: role: Input should be 'by' or 'about'",
    ]
    assert [source.title for source in sources.missing(set())] == ["Fine"]


def test_a_file_without_a_list_of_sources_is_refused():
    with pytest.raises(InvalidInput, match="no list of sources"):
        SourceBook(ADA, {"sources": {"a": 1}})


@pytest.mark.parametrize(("text", "expected"), [("Über  Wasser!", "uber-wasser"), ("a/b.pdf", "a-b-pdf"), ("漢字", "")])
def test_slugs_are_small_letters_digits_and_hyphens(text: str, expected: str):
    assert slug(text) == expected
