"""Views over REST: saved, listed, run and exported."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictBool
from starlette.responses import Response

from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.models import WindowAnswer
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import etag, json_response, no_content, whole_list
from pentad.rooms.registers.interface.rest.route_group import IF_MATCH, RouteGroup
from pentad.rooms.registers.interface.rest.transfer import FILE_TYPES, FORMAT, file_response, json_parameter
from pentad.rooms.registers.interface.view_tool import ViewData, save_view
from pentad.rooms.registers.query.models import LARGEST_LIMIT
from pentad.rooms.registers.transfer.formats import format_named
from pentad.rooms.registers.views.definition import View

_FILTER: Final = Parameter("_filter", "One more filter, as JSON.")
ROUTES: Final = RouteGroup("views")


class ViewChanges(BaseModel):
    """What can be changed in a view; what is left out stays."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(default_factory=str, min_length=1, max_length=200)
    slug: str = ""
    description: str = Field("", max_length=2000)
    query: dict[str, Any] = Field(default_factory=dict[str, Any])
    shared: StrictBool = False


class ViewAnswer(BaseModel):
    """A view as it is stored."""

    id: str
    slug: str
    title: str
    description: str
    register_: int = Field(alias="register")
    schema_: int = Field(alias="schema")
    query: dict[str, Any]
    uri: str
    owner: str
    shared: bool
    created: str
    updated: str
    version: int
    problems: list[dict[str, Any]] | None = Field(
        None, description="The parts that do not fit the schema, or that you may not read."
    )


class ViewsAnswer(WindowAnswer):
    """Your views and those shared with you."""

    results: list[ViewAnswer]


class ViewResultsAnswer(BaseModel):
    """What a view finds now."""

    id: str
    title: str
    uri: str
    results: list[dict[str, Any]]
    total: int | None = None
    columns: list[str] | None = None
    cursor: str | None = Field(None, description="Send it as _cursor to get the next page.")
    facets: dict[str, Any] | None = None
    problems: list[dict[str, Any]] | None = Field(None, description="The columns that are left out, and why.")


@ROUTES.add("GET", "/views", answer=ViewsAnswer)
async def list_views(request: RestRequest) -> Response:
    """List your views and those shared with you."""
    views, caller = request.registers.views, request.caller
    return json_response(whole_list([await views.described(caller, one) for one in await views.visible(caller)]))


@ROUTES.add("POST", "/views", body=ViewData, answer=ViewAnswer, status=201, etag=True)
async def create_view(request: RestRequest) -> Response:
    """Save a view: filter, search, sort, columns, limit, facets; or figures over groups."""
    given = body_as(ViewData, await request.object())
    view = await save_view(request.registers, request.caller, given)
    return await _view(request, view, 201)


@ROUTES.add("GET", "/views/{id}", answer=ViewAnswer, etag=True)
async def get_view(request: RestRequest) -> Response:
    """Get a view by its id or slug."""
    return await _view(request, await request.registers.views.get(request.caller, request.path("id")))


@ROUTES.add("PUT", "/views/{id}", [IF_MATCH], body=ViewChanges, answer=ViewAnswer, etag=True)
async def put_view(request: RestRequest) -> Response:
    """Change a view. What you leave out stays; the query is replaced as a whole."""
    return await _changed(request, merge=False)


@ROUTES.add("PATCH", "/views/{id}", [IF_MATCH], body=ViewChanges, answer=ViewAnswer, etag=True, own=True)
async def patch_view(request: RestRequest) -> Response:
    """Change a view and single members of its query; null removes a member."""
    return await _changed(request, merge=True)


@ROUTES.add("DELETE", "/views/{id}", [IF_MATCH], status=204)
async def delete_view(request: RestRequest) -> Response:
    """Delete a view."""
    await request.registers.views.delete(request.caller, request.path("id"), if_version=await _if_match(request))
    return no_content()


@ROUTES.add(
    "GET",
    "/views/{id}/results",
    (
        Parameter(
            "_limit",
            "How many rows at most; by default the limit of the view.",
            "integer",
            minimum=0,
            maximum=LARGEST_LIMIT,
        ),
        Parameter("_cursor", "The cursor of the last page."),
        _FILTER,
    ),
    answer=ViewResultsAnswer,
    own=True,
)
async def read_view(request: RestRequest) -> Response:
    """Run a view."""
    limit = request.integer("_limit", -1, LARGEST_LIMIT)
    found = await request.registers.views.run(
        request.caller,
        request.path("id"),
        filter=_filter(request),
        limit=None if limit < 0 else limit,
        cursor=request.text("_cursor"),
    )
    return json_response(found.wire())


@ROUTES.add("GET", "/views/{id}/export", (FORMAT, _FILTER), answer=list[dict[str, Any]], produces=FILE_TYPES, own=True)
async def export_view(request: RestRequest) -> Response:
    """Export everything a view finds as a file with exactly its columns."""
    kind = format_named(request.text("format") or "csv")
    view = await request.registers.views.get(request.caller, request.path("id"))
    chunks = request.registers.views.export(request.caller, view.id, kind, more=_filter(request))
    return await file_response(chunks, f"{view.slug}.{kind}", kind)


async def _changed(request: RestRequest, *, merge: bool) -> Response:
    given = body_as(ViewChanges, await request.object())
    changes = given.model_dump(exclude_unset=True)
    version = await _if_match(request)
    views = request.registers.views
    return await _view(
        request, await views.update(request.caller, request.path("id"), changes, merge=merge, if_version=version)
    )


async def _if_match(request: RestRequest) -> int | None:
    async def current() -> int:
        return (await request.registers.views.get(request.caller, request.path("id"))).version

    return await request.if_match_number(current)


async def _view(request: RestRequest, view: View, status: int = 200) -> Response:
    body = await request.registers.views.described(request.caller, view)
    return json_response(body, status, {"etag": etag(view.version)})


def _filter(request: RestRequest) -> Mapping[str, Any] | None:
    return json_parameter(request, "_filter")
