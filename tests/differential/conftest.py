"""Pentad and its twin, side by side."""

import socket
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.server import serving
from tests.conformance.wire import Wire
from tests.interop.environments import sdk_python
from tests.ports import free_port
from tests.waiting import wait_until


@pytest.fixture(scope="session")
def ours() -> Generator[Wire]:
    with serving() as server:
        yield Wire(server.port)


@pytest.fixture(scope="session")
def twin() -> Generator[Wire]:
    port = free_port()
    process = subprocess.Popen([sdk_python(), Path(__file__).with_name("twin.py"), str(port)])
    try:
        _wait_until_open(port, process)
        yield Wire(port)
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_open(port: int, process: "subprocess.Popen[bytes]") -> None:
    def is_open() -> bool:
        assert process.poll() is None, "The twin ended while starting."
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    wait_until(is_open, "The twin did not start.")
