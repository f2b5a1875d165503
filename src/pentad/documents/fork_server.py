"""The process that forks one reader for each document: `python -m pentad.documents.fork_server`.

Its standard input is a socket. A request is one line, a `Task`, with two open files: the document, and the pipe for
the reader's output. The reply is the reader's exit code, in four bytes.

The server imports each reader once and never touches a document itself. Every document gets a fresh copy of the
process, so neither a document's text nor the state it left in a parser reaches the next document.
"""

import gc
import os
import socket
import struct
import sys
from typing import Final

import msgspec

from pentad.documents import reader_process
from pentad.documents.confinement import confine
from pentad.documents.protocol import Task

EXIT_CODE: Final = struct.Struct("!i")
_LONGEST_TASK: Final = 4096
_DOCUMENT_AND_OUTPUT: Final = 2


def main() -> None:
    with socket.socket(fileno=sys.stdin.fileno()) as control:
        serve(control)


def serve(control: socket.socket) -> None:
    """Read documents until the other side closes the socket."""
    known: set[str] = set()
    while (request := _received(control)) is not None:
        task, document, out = request
        if task.format not in known:
            known.add(task.format)
            reader_process.load(task.format)
            gc.collect()
            gc.freeze()  # forked copies then share the memory of everything imported
        reader = os.fork()
        if reader == 0:
            _read(control, task, document, out)
        os.close(document)
        os.close(out)
        _, status = os.waitpid(reader, 0)
        control.sendall(EXIT_CODE.pack(os.waitstatus_to_exitcode(status)))


def _received(control: socket.socket) -> tuple[Task, int, int] | None:
    """The next request; None if there are no more."""
    line, files, _, _ = socket.recv_fds(control, _LONGEST_TASK, _DOCUMENT_AND_OUTPUT)
    while line and not line.endswith(b"\n"):
        if not (more := control.recv(_LONGEST_TASK)):
            return None
        line += more
    if not line or len(files) != _DOCUMENT_AND_OUTPUT:
        return None
    return msgspec.json.decode(line, type=Task), files[0], files[1]


def _read(control: socket.socket, task: Task, document: int, out: int) -> None:
    """Read the document and end this process, whatever happens."""
    code = 1
    try:
        control.close()
        confine(task)
        with os.fdopen(document, "rb") as source, os.fdopen(out, "wb") as output:
            reader_process.answer(task, source, output)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
