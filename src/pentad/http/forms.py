"""The forms of the console's pages. Each is a POST with a CSRF token.

After a change the browser is redirected to a page, so that reloading repeats nothing. After an error it gets the page
with the form again, with the typed values and the error at the field or above the form. A button that only adds or
removes a list item, or refreshes the page, returns the page with the form as it was filled in.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from pentad.console.error_pages import sentence_for_people
from pentad.console.forms import CSRF_FIELD
from pentad.console.html import page_url
from pentad.console.routes import UNCONFIRMED, Console, Load, check_visitor, room_page
from pentad.http.guards.browser import form_fields, form_route
from pentad.http.login import see_other
from pentad.kernel.errors import PentadError
from pentad.kernel.page_values import fact, label
from pentad.kernel.pages import (
    ADD,
    CONFIRM,
    REFRESH,
    REMOVE,
    Action,
    Block,
    Button,
    Facts,
    Form,
    Growing,
    Hidden,
    Name,
    Note,
    Place,
    Sheet,
    Visit,
)
from pentad.mcp.confirmations import ARGUMENT
from pentad.platform import OpenRoom

Fields = Mapping[str, str]
Do = Callable[[Request, Fields], Awaitable[object]]
"""Performs a form's action. If it returns a page, that is shown; if it returns a place, the browser goes there."""


def page_form(console: Console, part: str, path: str, page: Load, do: Do, then: str) -> BaseRoute:
    """The route of a form at `/console/<part>/<path>`. `page` has the form; `then` is where the browser goes, below
    `/console/<part>`, and may use the names in `path`."""

    async def handle(request: Request) -> Response:
        """A form of the console."""
        fields = await form_fields(request)
        if ADD in fields or REMOVE in fields or REFRESH in fields:
            return await console.answer(request, part, page, below=True, fields=fields)
        try:
            done = await do(request, fields)
        except PentadError as error:
            if _token_in(error) is not None:
                question = Sheet("Are you sure?", _told(request, error, fields))
                return await console.answer(request, part, _shown(question), below=True)
            return await console.answer(request, part, page, below=True, error=error, fields=fields)
        if isinstance(done, Place) and (url := page_url(done, part)) is not None:
            return see_other(url)
        if isinstance(done, Growing):
            after = done.after_error
            return console.grow(request, part, done, lambda error: [*_told(request, error, fields), *after])
        if not isinstance(done, Sheet):
            named = {name: quote(str(value), safe="") for name, value in request.path_params.items()}
            return see_other(f"/console/{part}{then.format(**named)}")
        return await console.answer(request, part, _shown(done), below=True)

    return form_route(f"/console/{part}/{path}".rstrip("/"), handle)


def _told(request: Request, error: PentadError, fields: Fields) -> Sequence[Block]:
    """An error page. If a tool needs confirmation: what would happen, and the same form again with the token."""
    if (token := _token_in(error)) is None:
        return [Note(sentence_for_people(error), "bad")]
    given = [Hidden(name, text) for name, text in fields.items() if name not in (token.name, ARGUMENT, CSRF_FIELD)]
    again = Form([*given, token], [Button("Yes, do it", kind="bad")], quote(request.scope["path"]))
    leave = Note("To leave everything as it is, go back.")
    if token.name != ARGUMENT:
        return [Note(error.message), again, leave]
    call = cast("Mapping[str, Any]", error.details.get(UNCONFIRMED) or {})
    facts = [(Name(name, label(name)), fact(value)) for name, value in call.items() if value is not None]
    return [Note("Not done yet. This needs your confirmation:"), Facts(facts), again, leave]


def _token_in(error: PentadError) -> Hidden | None:
    """The token of an error that asks for confirmation: of the operator's rule, or of the tool itself."""
    found = ((name, error.details.get(name)) for name in (ARGUMENT, CONFIRM))
    return next((Hidden(name, token) for name, token in found if isinstance(token, str) and token), None)


def _shown(sheet: Sheet) -> Load:
    async def load(_visit: Visit) -> Sheet:
        return sheet

    return load


def visit_form(
    console: Console, part: str, path: str, page: Load, run: Callable[[Visit], Awaitable[object]]
) -> BaseRoute:
    """The route of a form on a page that belongs to no room; it shows the page that `run` returns."""

    async def do(request: Request, fields: Fields) -> object:
        visit = console.visit(request, fields)
        check_visitor(visit.principal)
        return await run(visit)

    return page_form(console, part, path, page, do, "")


def room_forms(console: Console, opened: OpenRoom) -> list[BaseRoute]:
    """The forms on the pages of one room."""
    pages = console.pages.get(opened.room.name)
    return [] if pages is None else [_room_form(console, opened, action) for action in pages.actions]


def _room_form(console: Console, opened: OpenRoom, action: Action[Any]) -> BaseRoute:
    room = opened.room.name

    async def do(request: Request, fields: Fields) -> object:
        visit = console.visit(request, fields)
        check_visitor(visit.principal, room)
        return await action.run(opened.service, visit)

    then = f"/{action.then}" if action.then else ""
    return page_form(console, room, action.path, room_page(opened, action.page), do, then)
