"""Reads agent cards from a dictionary, a file or a URL.

`strict=True` rejects what AgentVault accepts by mistake (`http://localhost.evil.example/`) and names members it drops.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from pentad.agentvault.exceptions import AgentCardError, AgentCardFetchError, AgentCardValidationError
from pentad.agentvault.mcp_utils import reason
from pentad.agentvault.models.agent_card import STRICT, AgentCard
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import PentadError
from pentad.kernel.json import check_bounds

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetched, Fetcher

MAX_CARD_BYTES: Final = 1 * MIB
_DEPTH: Final = 64
_KEYS: Final = 10_000


def parse_agent_card_from_dict(data: dict[str, Any], *, strict: bool = False) -> AgentCard:
    """Read a card from a dictionary; AgentCardValidationError lists every problem."""
    try:
        return AgentCard.model_validate(data, by_alias=True, by_name=False, context=STRICT if strict else None)
    except ValidationError as error:
        raise AgentCardValidationError(f"This is not an agent card: {reason(error)}") from error
    except RecursionError as error:
        raise AgentCardError("The agent card is nested too deeply.") from error


def load_agent_card_from_file(file_path: str | Path, *, strict: bool = False) -> AgentCard:
    """The card in a JSON file."""
    path = Path(file_path)
    if not path.is_file():
        raise AgentCardError(f"{path} is not a file." if path.exists() else f"There is no file {path}.")
    try:
        data = _read(path.read_bytes())
    except OSError as error:
        raise AgentCardError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise AgentCardError(f"{path} is not JSON: {error}") from error
    return parse_agent_card_from_dict(data, strict=strict)


async def fetch_agent_card_from_url(
    url: str, http_client: "Fetcher | None" = None, *, strict: bool = False
) -> AgentCard:
    """The card at a URL. Without an `http_client`, the URL is trusted because the caller chose it."""
    answer = await _fetch(url, http_client)
    if not 200 <= answer.status < 300:
        raise AgentCardFetchError(
            f"The card at {url} was answered with HTTP {answer.status}.",
            status_code=answer.status,
            response_body=answer.body.decode("utf-8", "replace"),
        )
    try:
        data = _read(answer.body)
    except ValueError as error:
        raise AgentCardFetchError(
            f"The card at {url} is not JSON: {error}",
            status_code=answer.status,
            response_body=answer.body.decode("utf-8", "replace"),
        ) from error
    return parse_agent_card_from_dict(data, strict=strict)


async def _fetch(url: str, fetcher: "Fetcher | None") -> "Fetched":
    headers = {"Accept": "application/json"}
    try:
        if fetcher is not None:
            return await fetcher.fetch(url, headers=headers, max_bytes=MAX_CARD_BYTES)
        from pentad.net.fetch import HttpFetcher

        own = HttpFetcher()
        try:
            return await own.fetch(url, headers=headers, max_bytes=MAX_CARD_BYTES, trusted=True)
        finally:
            await own.close()
    except PentadError as error:
        raise AgentCardFetchError(f"The card at {url} could not be fetched: {error.sentence()}") from error


def _read(body: bytes) -> Any:
    """Parse JSON within limits; ValueError for anything else."""
    try:
        check_bounds(body, depth=_DEPTH, keys=_KEYS)
        return json.loads(body)
    except PentadError as error:
        raise ValueError(error.sentence()) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
