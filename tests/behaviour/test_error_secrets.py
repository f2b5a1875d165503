"""Errors that quote foreign text: no secret in it reaches a caller, on any wire."""

import json

import pytest

from pentad.kernel.errors import Forbidden, NotFound
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.behaviour.connecting import Connect

SECRET = "s3cr3tCanary"
QUOTED = [
    f"https://ada:{SECRET}@host/a",
    f"https://host/a?api_key={SECRET}&page=2",
    f"401: Authorization: Bearer {SECRET}",
    f'{{"error": "bad", "client_secret": "{SECRET}"}}',
    f"npx x --token {SECRET}",
]


@pytest.mark.anyio
@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.requirement("secrets:errors", "access:secrets:no-leak")
async def test_a_tool_that_fails_with_a_secret_in_its_text_does_not_tell_it(connect: Connect, quoted: str) -> None:
    client = await connect()
    result = (await client.call("refuse", {"key": quoted})).result
    assert result["isError"] is True
    assert SECRET not in json.dumps(result)
    assert "[redacted:" in result["content"][0]["text"]


@pytest.mark.parametrize("quoted", QUOTED)
@pytest.mark.requirement("secrets:errors")
def test_an_http_error_with_a_secret_in_its_text_does_not_tell_it(quoted: str) -> None:
    body = NotFound(f"No answer: {quoted}", hint=quoted, details={"quoted": [quoted]}).as_problem()
    assert SECRET not in json.dumps(body)
    assert body["error"]["message"].startswith("No answer: ")


@pytest.mark.anyio
@pytest.mark.parametrize("url", [f"https://ada:{SECRET}@127.0.0.1/", f"https://127.0.0.1/a?token={SECRET}"])
@pytest.mark.requirement("secrets:errors")
async def test_a_fetch_that_fails_does_not_tell_the_credentials_of_its_address(url: str) -> None:
    fetcher = HttpFetcher(FetchPolicy())
    with pytest.raises(Forbidden) as refused:
        await fetcher.fetch(url)
    await fetcher.close()
    assert SECRET not in json.dumps(refused.value.as_json())
