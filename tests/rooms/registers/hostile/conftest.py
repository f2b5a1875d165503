"""One place for all hostile cases of a store; whatever a case does, the place must be as it was."""

from collections.abc import AsyncIterator

import pytest

from tests.rooms.registers.hostile.surface import Surface, open_surface
from tests.rooms.registers.site import Site


@pytest.fixture(scope="session")
async def opened_surface(site: Site) -> Surface:
    return await open_surface(site)


@pytest.fixture
async def surface(opened_surface: Surface) -> AsyncIterator[Surface]:
    """What every case gets, and what every case leaves in order."""
    yield opened_surface
    await opened_surface.still_works()
