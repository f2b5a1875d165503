"""Here documents are read as a server reads them: each in a process of its own."""

import pytest


@pytest.fixture(autouse=True)
def _as_a_server_reads(readers_are_processes: None) -> None: ...
