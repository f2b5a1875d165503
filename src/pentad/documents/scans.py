"""Collects the pages of a document whose text had to be recognized, and notes about them for the report."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pentad.documents.document import CLEAR_SCAN, Extracted, Scan
from pentad.documents.text_recognition import TextRecognizer

if TYPE_CHECKING:
    from PIL.Image import Image


class ScannedPages:
    """The scanned pages of one document."""

    def __init__(self, recognizer: TextRecognizer) -> None:
        self._recognizer = recognizer
        self.scans: list[Scan] = []
        self._left_out = 0

    def text(self, number: int, picture: "Callable[[], Image]") -> str:
        """The text of a page; empty if there is none, or no time for it."""
        if not self._recognizer.has_time:
            self._left_out += 1
            return ""
        found = self._recognizer.recognize(picture())
        if found is None:
            return ""
        self.scans.append(Scan(number, found.confidence, found.picture))
        return found.text

    def added_to(self, document: Extracted, count: int) -> Extracted:
        """The document with its scans and notes about them."""
        return replace(document, scans=self.scans, notes=[*document.notes, *self._notes(count)])

    def _notes(self, count: int) -> list[str]:
        notes: list[str] = []
        if self.scans:
            worst = min(self.scans, key=lambda one: one.confidence)
            pages = "1 page" if len(self.scans) == 1 else f"{len(self.scans):,} pages"
            poor = f", page {worst.page} may have wrong letters" if worst.confidence < CLEAR_SCAN else ""
            notes.append(f"the text of {pages} was recognized (confidence {worst.confidence:.2f} or more{poor})")
        if self._left_out:
            notes.append(f"{self._left_out:,} of {count:,} pages were not recognized: that would have taken too long")
        return notes
