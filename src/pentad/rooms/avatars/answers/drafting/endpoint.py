"""Drafts by a model behind an HTTP endpoint that the operator configured: OpenAI-compatible, or Anthropic's.

Requests go through the shared client for outgoing HTTP. If the model does not answer, the avatar answers with quotes.
"""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.ports import Fetched, Fetcher
from pentad.kernel.retry_after import retry_after
from pentad.rooms.avatars.answers.drafting.drafter import Prompt
from pentad.rooms.avatars.settings import AvatarsSettings

Kind = Literal["openai", "anthropic"]
_BUSY: Final = frozenset((429, 500, 502, 503, 504, 529))
_ATTEMPTS: Final = 3
_LONGEST_WAIT: Final = 8.0
_MOST_BYTES: Final = 1 << 20
_ANTHROPIC_VERSION: Final = "2023-06-01"
_NOT_UNDERSTOOD: Final = frozenset((400, 404, 415, 422, 501))
"""How endpoints refuse a request with a member they do not know."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The model's address and name. `url` is the base (`https://host/v1`) or the full address of the method."""

    kind: Kind
    url: str
    model: str
    key: str | None = None
    max_tokens: int = 1_200
    seconds: float = 60.0

    @property
    def address(self) -> str:
        method = "chat/completions" if self.kind == "openai" else "messages"
        base = self.url.rstrip("/")
        return base if base.endswith(method) else f"{base}/{method}"


def endpoint_of(settings: AvatarsSettings) -> Endpoint | None:
    """The endpoint of the room's settings; None if there is no address."""
    url, name = settings.model_url, settings.model_name
    if not url:
        return None
    if not name:
        raise Misconfigured("model_url is set but model_name is not.", hint="Name the model in [rooms.avatars].")
    kind = settings.model_kind or ("anthropic" if "anthropic" in url else "openai")
    return Endpoint(kind, url, name, settings.model_key)


class EndpointDrafter:
    """Asks the endpoint with temperature 0: the same material should give the same draft.

    An OpenAI-compatible endpoint is asked for JSON by the prompt's schema (`response_format`). Endpoints that do not
    support this are kept in `without_schemas`, so that each is asked only once.
    """

    def __init__(
        self, fetcher: Fetcher, endpoint: Endpoint, pause: float = 0.5, without_schemas: set[str] | None = None
    ) -> None:
        self._fetcher = fetcher
        self._endpoint = endpoint
        self._pause = pause
        self._without_schemas = set[str]() if without_schemas is None else without_schemas

    async def say(self, key: str, prompt: Prompt) -> str:
        """The model's reply; Unavailable if there is none."""
        del key  # to an endpoint every request is new
        endpoint = self._endpoint
        asks_for_json = (
            prompt.schema is not None and endpoint.kind == "openai" and endpoint.address not in self._without_schemas
        )
        answer = await self._posted(self._body(prompt, asks_for_json=asks_for_json))
        if asks_for_json and answer.status in _NOT_UNDERSTOOD:
            answer = await self._posted(self._body(prompt, asks_for_json=False))
            if answer.status == 200:
                self._without_schemas.add(endpoint.address)
        if answer.status != 200:
            raise Unavailable(f"The language model answered with status {answer.status}.")
        try:
            text = _text(self._endpoint.kind, json.loads(answer.body))
        except (ValueError, KeyError, IndexError, TypeError):
            text = None
        if not text:
            raise Unavailable("The language model's answer has no text.")
        return text

    async def _posted(self, members: dict[str, Any]) -> Fetched:
        body = json.dumps(members, ensure_ascii=False).encode()
        for attempt in range(_ATTEMPTS):
            answer = await self._fetcher.fetch(
                self._endpoint.address,
                method="POST",
                headers=self._headers(),
                body=body,
                max_bytes=_MOST_BYTES,
                timeout=self._endpoint.seconds,
                trusted=True,
            )
            if answer.status not in _BUSY or attempt == _ATTEMPTS - 1:
                return answer
            await asyncio.sleep(_wait(answer, self._pause * 2**attempt))
        raise Unavailable("The language model did not answer.")

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._endpoint.kind == "anthropic":
            headers["anthropic-version"] = _ANTHROPIC_VERSION
            if self._endpoint.key:
                headers["x-api-key"] = self._endpoint.key
        elif self._endpoint.key:
            headers["authorization"] = f"Bearer {self._endpoint.key}"
        return headers

    def _body(self, prompt: Prompt, *, asks_for_json: bool) -> dict[str, Any]:
        asked = {"role": "user", "content": prompt.question}
        common: dict[str, Any] = {
            "model": self._endpoint.model,
            "max_tokens": self._endpoint.max_tokens,
            "temperature": 0,
        }
        if self._endpoint.kind == "anthropic":
            return {**common, "system": prompt.system, "messages": [asked]}
        if asks_for_json:
            schema = {"name": "reply", "strict": True, "schema": prompt.schema}
            common["response_format"] = {"type": "json_schema", "json_schema": schema}
        return {**common, "messages": [{"role": "system", "content": prompt.system}, asked]}


def _text(kind: Kind, answer: Any) -> str | None:
    """The text of a reply in either form."""
    if kind == "openai":
        content = answer["choices"][0]["message"]["content"]
        return content if isinstance(content, str) else None
    blocks = cast("list[dict[str, Any]]", answer["content"])
    return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")


def _wait(answer: Fetched, otherwise: float) -> float:
    asked = retry_after(answer.headers.get("retry-after"))
    return otherwise if asked is None else min(asked, _LONGEST_WAIT)
