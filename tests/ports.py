"""Ports for servers that must know theirs before they start."""

import itertools
import os
import socket

_FIRST, _COUNT = 20_000, 10_000
"""Below the range for outgoing connections, so that none takes a port between check and use."""
_turns = itertools.count(os.getpid() * 997)  # test processes that run at the same time start far apart


def free_port() -> int:
    """A free port of this machine that this process has not used lately."""
    while True:
        port = _FIRST + next(_turns) % _COUNT
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
