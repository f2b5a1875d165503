"""A URL the operator wrote is fetched wherever it is; where it leads is judged as ever."""

import pytest
from aiohttp import web

from pentad.kernel.errors import Forbidden
from pentad.net.fetch import HttpFetcher
from tests.net.test_fetch import answering, echo


@pytest.mark.anyio
async def test_a_trusted_url_is_fetched_from_this_machine_over_plain_http():
    fetcher = HttpFetcher()
    try:
        async with answering(echo) as port:
            answer = await fetcher.fetch(f"http://127.0.0.1:{port}/here", trusted=True)
            assert answer.status == 200
            with pytest.raises(Forbidden):
                await fetcher.fetch(f"http://127.0.0.1:{port}/here")
    finally:
        await fetcher.close()


@pytest.mark.anyio
async def test_a_trusted_url_cannot_lead_to_another_private_origin():
    async with answering(echo) as elsewhere:

        async def away(request: web.Request) -> web.Response:
            raise web.HTTPFound(f"http://127.0.0.1:{elsewhere}/secret")

        fetcher = HttpFetcher()
        try:
            async with answering(away) as port:
                with pytest.raises(Forbidden):
                    await fetcher.fetch(f"http://127.0.0.1:{port}/", trusted=True)
        finally:
            await fetcher.close()


@pytest.mark.anyio
async def test_not_even_a_trusted_url_reaches_a_metadata_address():
    fetcher = HttpFetcher()
    try:
        with pytest.raises(Forbidden):
            await fetcher.fetch("http://169.254.169.254/latest", trusted=True)
    finally:
        await fetcher.close()
