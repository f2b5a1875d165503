"""The authorization server over an empty store, once for each dialect."""

import pytest

from pentad.kernel.ports import Database
from tests.access.oauth.opening import Opened


@pytest.fixture
async def server(db: Database) -> Opened:
    opened = Opened(db)
    await opened.add_user()
    return opened
