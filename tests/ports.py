"""Ports for servers that have to know theirs before they start."""

import itertools
import os
import socket

_FIRST, _COUNT = 20_000, 10_000
"""Below the range that connections get theirs from, so that none takes a port between the look and the use."""
_turns = itertools.count(os.getpid() * 997)  # processes that test at the same time begin far apart


def free_port() -> int:
    """A port of this machine that is free, and that this process has not given away lately."""
    while True:
        port = _FIRST + next(_turns) % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
