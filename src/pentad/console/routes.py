"""The console's pages: `/` and `/console/<room>/...`. They are GETs; `pentad.http.forms` carries out their forms.

Visitors log in at `/login`, or send credentials as for REST, and need a room's read scope for its pages. The rooms
decide which individual items a visitor may see. Errors are pages, too.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from pentad.access.browser_sessions import BrowserSession
from pentad.app import App
from pentad.console.admin_page import AdminPage, menu
from pentad.console.error_pages import error_sheet, first_page, is_lost, lost_sheet, sentence_for_people, ways_on
from pentad.console.forms import has_form, inner_blocks, inner_fields, refilled
from pentad.console.home import home_sheet, reader_program
from pentad.console.layout import Surroundings, document, halves, headers, part_title, renderer_of
from pentad.console.resource_pages import ResourcePages, resource_name
from pentad.console.scripts import ASSETS, Asset
from pentad.console.sheet_json import sheet_json
from pentad.kernel.errors import DeadlineExceeded, Forbidden, NotFound, PentadError, Unauthenticated
from pentad.kernel.incidents import ensure_logged, internal_error
from pentad.kernel.pages import Block, Form, Growing, Hidden, Note, Page, Place, Sheet, Told, Visit
from pentad.kernel.principal import Principal
from pentad.kernel.schema_forms import field_problems
from pentad.mcp.confirmations import ARGUMENT
from pentad.mcp.wire_errors import error_from_result
from pentad.platform import OpenRoom, Operation, described
from pentad.settings.model import Settings

JSON: Final = ".json"
UNCONFIRMED: Final = "call"
"""The detail of an error that asks for a confirmation: the call, for the page that asks the visitor."""
HTML: Final = "html"
"""The query parameter that asks for HTML where the path of a page happens to end with .json."""

Load = Callable[[Visit], Awaitable[Sheet]]

_LONGEST_LABEL: Final = 200


class Console:
    """The pages of an open Pentad."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.pages = {opened.room.name: opened.room.pages() for opened in app.rooms if opened.room.pages is not None}
        self._resources = ResourcePages(self.pages)
        self._patterns = {room: [page.path for page in pages.pages] for room, pages in self.pages.items()}

    def home_routes(self) -> list[BaseRoute]:
        """The home page."""

        @described(Operation("", "server", produces=["text/html"], public=True))
        async def home(request: Request) -> Response:
            """The console: what is in this Pentad, for people."""
            url = mcp_url(self._app.settings, request)
            return await self.answer(
                request, None, lambda visit: home_sheet(self._app, visit, self.pages, url, self._resources.find)
            )

        return [
            Route("/", home),
            Route("/console", home, include_in_schema=False),
            Route("/console.json", home, include_in_schema=False),
        ]

    def file_routes(self) -> list[BaseRoute]:
        """The files every page loads."""
        return [Route(one.path, _file(one), include_in_schema=False) for one in ASSETS]

    def room_routes(self, opened: OpenRoom) -> list[BaseRoute]:
        """The pages of one room."""
        pages = self.pages.get(opened.room.name)
        return [] if pages is None else [route for page in pages.pages for route in self._routes(opened, page)]

    def last_route(self) -> BaseRoute:
        """The page for unknown addresses."""

        return Route("/console/{rest:path}", self.lost, include_in_schema=False)

    async def lost(self, request: Request) -> Response:
        """No page."""

        async def nothing(_visit: Visit) -> Sheet:
            raise NotFound("There is no such page.", hint="Pick a room from the menu above.")

        return await self.answer(request, None, nothing)

    def _routes(self, opened: OpenRoom, page: Page[Any]) -> list[BaseRoute]:
        load = room_page(opened, page.load)

        async def show(request: Request) -> Response:
            """A page of a room."""
            return await self.answer(request, opened.room.name, load, below=bool(page.path))

        return _both(f"/console/{opened.room.name}/{page.path}".rstrip("/"), show)

    def administration_routes(self, pages: Sequence[AdminPage]) -> list[BaseRoute]:
        """The pages of administration, of the audit trail and of the visitor's account."""

        def routes(page: AdminPage) -> list[BaseRoute]:
            async def show(request: Request) -> Response:
                """A page of administration."""
                return await self.answer(request, page.part, page.load, below=bool(page.path))

            return _both(f"/console/{page.part}/{page.path}".rstrip("/"), show)

        for page in pages:
            self._patterns.setdefault(page.part, []).append(page.path)
        return [route for page in pages for route in routes(page)]

    async def answer(
        self,
        request: Request,
        part: str | None,
        load: Load,
        *,
        below: bool = False,
        error: PentadError | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Response:
        """A page for a logged-in visitor. `fields` are those of a submitted form, and the page shows them again.
        `error` is what went wrong with it, shown at its fields or above them."""
        principal: Principal = request.state.principal
        program = reader_program(self._app.settings)
        as_json = request.url.path.endswith(JSON) and HTML not in request.query_params
        status = 200 if error is None else error.http_status
        try:
            check_visitor(principal)
            problems = {} if error is None else field_problems(error)
            sheet = await self._in_time(load, self.visit(request, fields, problems))
            if fields is not None:
                sheet = replace(sheet, blocks=refilled(sheet.blocks, request.scope["path"], fields))
            if error is None and sheet.error is not None:
                if as_json:
                    raise sheet.error
                error, status = sheet.error, sheet.error.http_status
            if error is not None:
                ensure_logged(error, f"The form {request.url.path[:200]}")
                if not sheet.explains:
                    sheet = replace(sheet, blocks=[_told(error, sheet, problems), *sheet.blocks])
        except PentadError as failure:
            if as_json:
                raise
            logged = ensure_logged(error or failure, f"The page {request.url.path[:200]}")
            sheet, status = self._error_sheet(request, part, logged, program), (error or failure).http_status
        if as_json:
            private = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
            body = msgspec.json.encode(sheet_json(sheet, part))
            return Response(body, status, private, media_type="application/json")
        return page_response(
            request,
            sheet,
            status,
            rooms=self._entries(principal),
            room=part,
            below=below,
            posted=fields is not None,
            program=program,
            place_of=self._resources.find,
        )

    def grow(
        self, request: Request, part: str, page: Growing, told: Callable[[PentadError], Sequence[Block]]
    ) -> Response:
        """A page that is sent while it is being made. If there is an error, the page shows what `told` says, because it
        is too late for a status."""
        around = surroundings(
            request,
            page.sheet,
            rooms=self._entries(request.state.principal),
            room=part,
            below=True,
            grows=True,
            program=reader_program(self._app.settings),
            place_of=self._resources.find,
        )
        renderer = renderer_of(around, page.sheet)
        before, after = halves(page.sheet, around, renderer)

        async def parts() -> AsyncIterator[str]:
            yield before
            try:
                async for block in page.blocks:
                    yield renderer.block(block)
            except PentadError as error:
                yield renderer.blocks(told(ensure_logged(error, f"The form {request.url.path[:200]}")))
            except Exception as error:  # noqa: BLE001  the page must be completed; the error is in the log
                yield renderer.blocks(told(internal_error(error, f"The form {request.url.path[:200]}")))
            yield after

        sent = {**headers(page.sheet, around), "x-accel-buffering": "no"}
        return StreamingResponse(parts(), headers=sent, media_type="text/html")

    def _error_sheet(self, request: Request, part: str | None, error: PentadError, program: str) -> Sheet:
        """An error page with the ways on that the visitor has."""
        principal: Principal = request.state.principal
        if principal.kind == "anonymous":
            return error_sheet(error, program)
        if part is not None and is_lost(request, error):
            return lost_sheet(first_page(request, part))
        title = part_title(part or "", self._entries(principal))
        return error_sheet(error, program, ways_on(request, error, part, self._patterns.get(part or "", ()), title))

    def _entries(self, principal: Principal) -> Sequence[tuple[str, str]]:
        return [*self._rooms(principal), *menu(principal)]

    def visit(
        self,
        request: Request,
        fields: Mapping[str, str] | None = None,
        problems: Mapping[str, str] | None = None,
    ) -> Visit:
        """The visitor and the URL; also the fields of a submitted form, and what is wrong with them."""
        browser = request.headers.get("user-agent", "")[:_LONGEST_LABEL] or None
        session: BrowserSession | None = getattr(request.state, "session", None)
        principal: Principal = request.state.principal

        async def call(name: str, arguments: Mapping[str, Any], *, progress: Told | None = None) -> Mapping[str, Any]:
            token = (fields or {}).get(ARGUMENT)
            given = {**arguments, ARGUMENT: token} if token else arguments
            result = await self._app.console_client.call_tool(principal, name, given, progress=progress)
            if result.get("isError"):
                error = error_from_result(result)
                if ARGUMENT in error.details:
                    error.details[UNCONFIRMED] = {"Tool": name, **arguments}
                raise error
            return result.get("structuredContent") or {}

        async def name_of(uri: str) -> str:
            return await resource_name(self._app, principal, uri)

        return Visit(
            principal,
            request.path_params,
            dict(request.query_params),
            browser,
            logged_in=session is not None and session.login is not None,
            fields=fields or {},
            posted="" if fields is None else request.scope["path"],
            problems=problems or {},
            call=call,
            name_of=name_of,
        )

    async def _in_time(self, load: Load, visit: Visit) -> Sheet:
        try:
            async with asyncio.timeout(self._app.settings.limits.tool_seconds or None):
                return await load(visit)
        except TimeoutError:
            raise DeadlineExceeded("This page took too long.", hint="Narrow it down, or try again later.") from None

    def _rooms(self, principal: Principal) -> Sequence[tuple[str, str]]:
        rooms = [opened.room for opened in self._app.rooms if opened.room.name in self.pages]
        return [(room.name, room.title) for room in rooms if principal.may(room.name, "read")]


def _both(path: str, show: Callable[[Request], Awaitable[Response]]) -> list[BaseRoute]:
    """The routes of a page, for JSON and HTML."""

    async def show_json(request: Request) -> Response:
        """A page as JSON."""
        if HTML in request.query_params and (named := dict(request.path_params)):
            *_, last = named
            request.scope["path_params"] = {**named, last: f"{named[last]}{JSON}"}
        return await show(request)

    return [Route(f"{path}{JSON}", show_json, include_in_schema=False), Route(path, show, include_in_schema=False)]


def page_response(
    request: Request,
    sheet: Sheet,
    status: int = 200,
    *,
    rooms: Sequence[tuple[str, str]] = (),
    room: str | None = None,
    below: bool = False,
    leaves_site: bool = False,
    posted: bool = False,
    program: str = "pentad",
    place_of: Callable[[str], Place | None] | None = None,
) -> Response:
    """A page for the browser behind the request. With `leaves_site`, its forms may lead to another site. A `posted`
    page answers a form, so its address cannot be fetched again."""
    around = surroundings(
        request,
        sheet,
        rooms=rooms,
        room=room,
        below=below,
        leaves_site=leaves_site,
        posted=posted,
        program=program,
        place_of=place_of,
    )
    return Response(document(sheet, around), status, headers(sheet, around), media_type="text/html")


def surroundings(
    request: Request,
    sheet: Sheet,
    *,
    rooms: Sequence[tuple[str, str]],
    room: str | None,
    below: bool,
    leaves_site: bool = False,
    posted: bool = False,
    grows: bool = False,
    program: str,
    place_of: Callable[[str], Place | None] | None,
) -> Surroundings:
    """The surroundings of a sheet for the browser behind the request. A growing page may get a form later."""
    session: BrowserSession | None = getattr(request.state, "session", None)
    logged_in = session is not None and session.login is not None
    return Surroundings(
        rooms,
        room,
        below,
        _name(request.state.principal),
        csrf=session.csrf if session is not None and (logged_in or grows or has_form(sheet.blocks)) else "",
        has_account=request.state.principal.user is not None,
        logged_in=logged_in,
        leaves_site=leaves_site,
        posted=posted,
        program=program,
        place_of=place_of,
    )


def room_page(opened: OpenRoom, load: Callable[[Any, Visit], Awaitable[Sheet]]) -> Load:
    """A page of a room, for visitors who may read the room."""

    async def checked(visit: Visit) -> Sheet:
        check_visitor(visit.principal, opened.room.name)
        return await load(opened.service, visit)

    return checked


def check_visitor(principal: Principal, room: str | None = None) -> None:
    """Refuse visitors without a login, and those who may not read the room."""
    if principal.kind == "anonymous":
        raise Unauthenticated("The console needs a login.", hint="Log in at /login, or send credentials.")
    if room is not None and not principal.may(room, "read"):
        raise Forbidden(
            f"{principal.name!r} may not read in the {room} room.", hint=f"Ask an administrator for {room}:read."
        )


def _told(error: PentadError, sheet: Sheet, problems: Mapping[str, str]) -> Note:
    """The note above the form about an error. It does not repeat what the fields already say."""
    forms = [one for one in inner_blocks(sheet.blocks) if isinstance(one, Form)]
    shown = {one.error for form in forms for one in inner_fields(form.fields) if not isinstance(one, Hidden)}
    if not problems or not all(text in shown for text in problems.values()):
        return Note(sentence_for_people(error), "bad")
    return Note("Nothing was done yet. Correct the marked fields.", "bad")


def mcp_url(settings: Settings, request: Request) -> str:
    """The URL for clients, at the address the visitor's browser used. The front has checked its Host."""
    if settings.public_url is not None or "host" not in request.headers:
        return settings.url("/mcp")
    return f"{request.url.scheme}://{request.headers['host']}/mcp"


def _name(principal: Principal) -> str | None:
    return None if principal.kind in ("anonymous", "local") else principal.name


def _file(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    content = asset.content()
    file_headers = {"cache-control": "public, max-age=3600", "x-content-type-options": "nosniff"}

    async def file(_request: Request) -> Response:
        """A file of the console."""
        return Response(content, headers=file_headers, media_type=asset.media_type)

    return file
