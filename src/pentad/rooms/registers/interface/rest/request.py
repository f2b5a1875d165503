"""A REST request as its handler sees it: who asks, for what, and with which preconditions."""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar, cast

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, VersionMismatch
from pentad.kernel.json import check_bounds
from pentad.mcp.arguments import argument_error
from pentad.net.multipart import Form, is_form, read_form
from pentad.rooms.registers.access.authorization import Right
from pentad.rooms.registers.access.rules import require_credentials
from pentad.rooms.registers.interface.rest.responses import Tag, etag, parse_tags
from pentad.rooms.registers.models import Caller, Pair, StoredObject, plain_id
from pentad.rooms.registers.presentation import present, visible_schema
from pentad.rooms.registers.query.filters import read_bool
from pentad.rooms.registers.query.models import DEFAULT_LIMIT, LARGEST_LIMIT
from pentad.rooms.registers.query.parser import FURTHEST, read_integer
from pentad.rooms.registers.query.query_fields import QuerySchema
from pentad.rooms.registers.service import Registers

M = TypeVar("M", bound=BaseModel)

_MOST_KEYS: Final = 2_000_000
"""Bulk requests are limited in bytes; this only stops bodies that consist mostly of keys."""
_VERSION: Final = re.compile(r"0|[1-9][0-9]{0,17}")
MOST_VERSIONS: Final = 2**53
_LONGEST_LABEL: Final = 200


def caller_of(request: Request) -> Caller:
    """The caller of a request; `X-Reason` and `X-Request-Id` are recorded in the history."""
    headers = dict[bytes, bytes](request.scope["headers"])

    def label(name: bytes) -> str | None:
        text = headers.get(name)
        return text.decode("latin-1")[:_LONGEST_LABEL] if text else None

    principal = request.scope["state"]["principal"]
    call = label(b"x-request-id")
    return Caller(
        principal, label(b"user-agent"), None, None if call is None else plain_id(call), label(b"x-reason")
    )  # fmt: skip


def body_as(model: type[M], given: dict[str, Any]) -> M:
    """The body as a model; InvalidInput lists every problem at once."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise argument_error(model, error, given) from None


class RestRequest:
    """A request for one route of the room."""

    def __init__(self, registers: Registers, http: Request) -> None:
        self.registers = registers
        self.http = http
        self.caller = caller_of(http)

    def path(self, name: str) -> str:
        return self.http.path_params[name]

    def text(self, name: str) -> str | None:
        """A query parameter; an empty one counts as absent."""
        return self.http.query_params.get(name) or None

    def names(self, name: str) -> tuple[str, ...]:
        """A query parameter with comma-separated names; it may be repeated, also as `name[]`."""
        given = self.http.query_params
        listed = ",".join([*given.getlist(name), *given.getlist(f"{name}[]")]).split(",")
        return tuple(dict.fromkeys(one.strip() for one in listed if one.strip()))

    def flag(self, name: str) -> bool:
        given = self.text(name)
        return given is not None and read_bool(given, name)

    def integer(self, name: str, default: int, most: int) -> int:
        if len(self.http.query_params.getlist(name)) > 1:
            raise InvalidInput(f"{name} is there more than once.", hint="Send it once.")
        return read_integer(self.text(name), name, default, most)

    def window(self) -> tuple[int, int]:
        """The limit and offset of a list, from `_limit`, `_offset` and `_page` (with or without the underscore)."""

        def either(name: str, default: int, most: int) -> int:
            return self.integer(f"_{name}", self.integer(name, default, most), most)

        limit = either("limit", DEFAULT_LIMIT, LARGEST_LIMIT)
        page, offset = either("page", 0, FURTHEST), either("offset", 0, FURTHEST)
        return limit, (page - 1) * limit if page > 0 else offset

    async def json(self) -> Any:
        """The body as JSON."""
        body = await self.http.body()
        check_bounds(body, depth=self.registers.platform.limits.json_depth, keys=_MOST_KEYS)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(f"The body is not JSON: {error}.", hint="Send a JSON object.") from None

    async def object(self, *, optional: bool = False) -> dict[str, Any]:
        """The body as a JSON object."""
        if optional and not await self.http.body():
            return {}
        given = await self.json()
        if not isinstance(given, dict):
            raise InvalidInput("The body must be a JSON object.")
        return cast("dict[str, Any]", given)

    @property
    def is_form(self) -> bool:
        """Whether the body is a form with files."""
        return is_form(self._content_type)

    def form(self) -> AbstractAsyncContextManager[Form]:
        """The form in the body, read as it arrives; its files exist as long as the context."""
        return read_form(self.http.stream(), self._content_type)

    @property
    def _content_type(self) -> str:
        return self.http.headers.get("content-type", "")

    async def if_match(self, current: Callable[[], Awaitable[int | str]]) -> str | None:
        """The version required by `If-Match`; None for any. Of several, the current one if it is listed.

        A weak tag never matches (RFC 9110, 8.8.3.2). The write is refused if `If-None-Match` lists the current version.
        """
        if self._header("if-none-match") is not None and self.has_version(etag(now := await current())):
            raise VersionMismatch(
                "If-None-Match names the current version, so nothing was changed.",
                hint="Leave it out, or send If-Match with the version you have read.",
                details={"current": now},
            )
        tags = self._if_match_tags()
        if tags is None:
            return None
        named = [tag.version for tag in tags if not tag.weak and tag.version is not None]
        if len(named) == 1:
            return named[0]
        now = str(await current())
        if not named:
            raise _unmatched(now, weak=all(tag.weak for tag in tags))
        return now if now in named else named[0]

    async def if_match_object(self, pair: Pair) -> int | None:
        """Like `if_match`, for the object in the path."""

        async def current() -> int:
            return (await self.registers.objects.get(self.caller, pair, self.path("id"))).version

        return await self.if_match_number(current)

    async def if_match_number(self, current: Callable[[], Awaitable[int]]) -> int | None:
        """Like `if_match`, if versions are numbers."""
        version = await self.if_match(current)
        if version is not None and _VERSION.fullmatch(version) is None:
            raise _unmatched(str(await current()), weak=False)
        return None if version is None else int(version)

    def has_version(self, tag: str) -> bool:
        """Whether the caller already has this version (`If-None-Match`, with weak comparison)."""
        given = self._header("if-none-match")
        if given is None:
            return False
        return given == "*" or any(one.text == tag for one in parse_tags(given) or ())

    def _if_match_tags(self) -> list[Tag] | None:
        """The entity tags of `If-Match`; None if it is absent or `*`."""
        given = self._header("if-match")
        if given is None or given == "*":
            return None
        tags = parse_tags(given)
        if tags is None:
            raise InvalidInput(f"If-Match is {given[:80]!r}.", hint='Give ETags as they came, e.g. "3" or "3", "4".')
        return tags

    def _header(self, name: str) -> str | None:
        """A header; repeated headers are joined into one list."""
        return ", ".join(given).strip() if (given := self.http.headers.getlist(name)) else None

    @property
    def idempotency_key(self) -> str | None:
        return self.http.headers.get("idempotency-key") or None

    async def pair(self, right: Right = "read") -> Pair:
        """The register and schema in the path. Without credentials, all non-public ones get the same answer."""
        try:
            return await self.registers.catalogue.pair(self.caller, self.path("register"), self.path("schema"), right)
        except (NotFound, Forbidden):
            require_credentials(self.caller.principal)
            raise

    def visible_schema(self, pair: Pair) -> QuerySchema:
        """The part of a pair's schema the caller may use."""
        return visible_schema(self.registers.access, self.caller, pair)

    def present(
        self, pair: Pair, stored: StoredObject, fields: Sequence[str] | None = None, *, prune: bool = True
    ) -> dict[str, Any]:
        """An object as the caller may see it."""
        return present(self.registers.access, self.caller, pair, stored, fields=fields, prune=prune)


def _unmatched(now: str, *, weak: bool) -> VersionMismatch:
    if weak:
        message = "If-Match has only weak ETags, and compares strongly: none of them matches."
        hint = f"Send the ETag as it came, {etag(now)} and not W/{etag(now)}."
    else:
        message, hint = f"It is at version {now}, which If-Match does not name.", "Read it again and repeat the change."
    return VersionMismatch(message, hint=hint, details={"current": now})
