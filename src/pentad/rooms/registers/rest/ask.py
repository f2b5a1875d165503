"""One REST request as its route sees it: who asks, for what, with which preconditions. Reading only; no rules here."""

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, cast

import msgspec
from starlette.requests import Request

from pentad.kernel.errors import Forbidden, InvalidInput, NotFound, Unauthenticated, VersionMismatch
from pentad.kernel.json import check_bounds
from pentad.net.multipart import Form, is_form, read_form
from pentad.rooms.registers.access import ROOM
from pentad.rooms.registers.authorization import Right
from pentad.rooms.registers.callers import caller_of_request
from pentad.rooms.registers.models import Pair
from pentad.rooms.registers.query.models import DEFAULT_LIMIT, LARGEST_LIMIT
from pentad.rooms.registers.rest.pages import Tag, etag, tags_in
from pentad.rooms.registers.service import Registers

_MOST_KEYS: Final = 2_000_000
"""A bulk request is bounded by its bytes; this only stops bodies that are nothing but keys."""
_VERSION: Final = re.compile(r"0|[1-9][0-9]{0,17}")
_LARGEST_OFFSET: Final = 2**53


def is_yes(text: str) -> bool:
    return text.lower() in ("1", "true", "yes")


class Ask:
    """A request for one route of the room."""

    def __init__(self, registers: Registers, request: Request) -> None:
        self.registers = registers
        self.request = request
        self.caller = caller_of_request(request)
        self.files = registers.files

    def path(self, name: str) -> str:
        return self.request.path_params[name]

    def text(self, name: str) -> str | None:
        """A query parameter; empty is like absent."""
        return self.request.query_params.get(name) or None

    def flag(self, name: str) -> bool:
        return is_yes(self.request.query_params.get(name) or "")

    def integer(self, name: str, default: int, most: int = LARGEST_LIMIT) -> int:
        given = self.text(name)
        if given is None:
            return default
        if not given.isdecimal() or len(given) > 18:
            raise InvalidInput(f"{name} is {given[:40]!r}.", hint="Give a whole number.")
        return min(int(given), most)

    def window(self) -> tuple[int, int]:
        """The limit and offset of a list, from `_limit`, `_offset` and `_page` (with or without the underscore)."""
        limit = self.integer("_limit", self.integer("limit", DEFAULT_LIMIT))
        page = self.integer("_page", self.integer("page", 0, _LARGEST_OFFSET), _LARGEST_OFFSET)
        offset = self.integer("_offset", self.integer("offset", 0, _LARGEST_OFFSET), _LARGEST_OFFSET)
        return limit, (page - 1) * limit if page > 0 else offset

    async def json(self) -> Any:
        """The body as JSON."""
        body = await self.request.body()
        check_bounds(body, depth=self.registers.platform.limits.json_depth, keys=_MOST_KEYS)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidInput(f"The body is not JSON: {error}.", hint="Send a JSON object.") from None

    async def object(self, *, optional: bool = False) -> dict[str, Any]:
        """The body as a JSON object."""
        if optional and not await self.request.body():
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
        """The form in the body, read as it comes in; its files last as long as the context."""
        return read_form(self.request.stream(), self._content_type)

    @property
    def _content_type(self) -> str:
        return self.request.headers.get("content-type", "")

    async def matched(self, current: Callable[[], Awaitable[int | str]]) -> str | None:
        """The version `If-Match` demands; None when any will do. Of several it is the current one, if that is named.

        A weak tag is never the same as a version (RFC 9110, 8.8.3.2), and what `If-None-Match` names is not changed.
        """
        if self._said("if-none-match") is not None and self.is_known(etag(now := await current())):
            raise VersionMismatch(
                "If-None-Match names what is there already.",
                hint="Leave it out, or change what you have read with If-Match.",
                details={"current": now},
            )
        tags = self._tags("if-match")
        if tags is None:
            return None
        named = [tag.version for tag in tags if not tag.weak and tag.version is not None]
        if len(named) == 1:
            return named[0]
        now = str(await current())
        if not named:
            raise _unmatched(now, weak=all(tag.weak for tag in tags))
        return now if now in named else named[0]

    async def matched_version(self, pair: Pair) -> int | None:
        """The same for the object of the path; the versions of objects are numbers."""

        async def current() -> int:
            return (await self.registers.objects.get(self.caller, pair, self.path("id"))).version

        version = await self.matched(current)
        if version is not None and _VERSION.fullmatch(version) is None:
            raise _unmatched(str(await current()), weak=False)
        return None if version is None else int(version)

    def is_known(self, tag: str) -> bool:
        """Whether the caller has this version already (`If-None-Match`, where weak tags are as good as others)."""
        given = self._said("if-none-match")
        if given is None:
            return False
        return given == "*" or any(one.text == tag for one in tags_in(given) or ())

    def _tags(self, name: str) -> list[Tag] | None:
        """The entity tags a header names; None where it is not there, or names any."""
        given = self._said(name)
        if given is None or given == "*":
            return None
        tags = tags_in(given)
        if tags is None:
            raise InvalidInput(f"If-Match is {given[:80]!r}.", hint='Give ETags as they came, e.g. "3" or "3", "4".')
        return tags

    def _said(self, name: str) -> str | None:
        """A header; one that stands there several times is one list."""
        return ", ".join(said).strip() if (said := self.request.headers.getlist(name)) else None

    @property
    def idempotency_key(self) -> str | None:
        return self.request.headers.get("idempotency-key") or None

    async def pair(self, right: Right = "read") -> Pair:
        """The register and schema of the path; to somebody without credentials, all but public ones look alike."""
        try:
            return await self.registers.catalogue.pair(self.caller, self.path("register"), self.path("schema"), right)
        except (NotFound, Forbidden):
            self.require_credentials()
            raise

    def require_credentials(self) -> None:
        """Refuse callers without credentials for this room, before anything is looked up for them."""
        principal = self.caller.principal
        if principal.kind == "anonymous":
            raise Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
        if not principal.may(ROOM, "read"):
            raise Forbidden(
                f"{principal.name!r} may not read in the {ROOM} room.", hint=f"It needs the scope {ROOM}:read."
            )


def _unmatched(now: str, *, weak: bool) -> VersionMismatch:
    if weak:
        said = "If-Match has only weak ETags, and compares strongly: none of them matches."
        hint = f"Send the ETag as it came, {etag(now)} and not W/{etag(now)}."
    else:
        said, hint = f"It is at version {now}, which If-Match does not name.", "Read it again and repeat the change."
    return VersionMismatch(said, hint=hint, details={"current": now})
