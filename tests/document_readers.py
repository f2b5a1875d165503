"""Where documents are read: in the tests' own process, or in one process per document as a server does.

Starting the process that forks the others takes a third of a second, and most tests only want the text. Tests of the
processes use `readers_are_processes`, as does one test of each part of Pentad that reads documents.
"""

import asyncio
import io
import os
import threading
from collections.abc import Iterator
from typing import BinaryIO

import pytest

from pentad.documents.protocol import Task
from pentad.documents.reader_process import answer
from pentad.documents.sandbox import DocumentReaders

_OUTPUT_OF_PROCESS = DocumentReaders._output
_PDFIUM = threading.Lock()
"""The PDF library handles one call at a time."""


@pytest.fixture(scope="session", autouse=True)
def readers_are_threads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DocumentReaders, "_output", _output_of_thread)
        yield


@pytest.fixture
def readers_are_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DocumentReaders, "_output", _OUTPUT_OF_PROCESS)


async def _output_of_thread(_readers: DocumentReaders, source: BinaryIO, task: Task) -> tuple[bytes, int]:
    """The process's output, after checking that it exited cleanly. Has its own handle, as the process would."""
    with os.fdopen(os.dup(source.fileno()), "rb") as file:
        return await asyncio.to_thread(_read, file, task), 0


def _read(file: BinaryIO, task: Task) -> bytes:
    out = io.BytesIO()
    with _PDFIUM:
        answer(task, file, out)
    return out.getvalue()
