"""Here stores write as on a server: a commit is on the disk before it is acknowledged."""

import pytest


@pytest.fixture(autouse=True)
def _as_a_server_writes(sqlite_is_synced: None) -> None: ...
