"""Lists, searches, aggregates and questions over objects.

A question in plain words is answered with matching objects, without a language model, so the answer contains only
stored data. Filler words are ignored. Objects with all remaining words come first (for hybrid schemas, also those close
in meaning), then those with some. Each comes with the words and properties that matched.
"""

import re
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from pentad.kernel.counts import counted
from pentad.platform import Parameter
from pentad.rooms.registers.interface.rest.models import Name, ObjectAnswer, ObjectPageAnswer, Whole
from pentad.rooms.registers.interface.rest.objects import PAIR
from pentad.rooms.registers.interface.rest.projection import EXTEND, UNSET, Shaping, shape, shaping_of
from pentad.rooms.registers.interface.rest.request import RestRequest, body_as
from pentad.rooms.registers.interface.rest.responses import json_response, page_body
from pentad.rooms.registers.interface.rest.route_group import PAGING, RouteGroup
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.presentation import present_raw
from pentad.rooms.registers.query.models import Query, QueryResult
from pentad.rooms.registers.query.parser import parse_search

_SEARCH_NAMES: Final = ("_search", "q", "query", "search")
"""The parameter names for search words."""
_PLAIN: Final = Shaping()
_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 8
_FILLER_WORDS: Final = (
    "a about all an and any are as at be by can could did do does find for from get give had has have how i in is it"
    " list many me my of on or our please show tell that the their them there these they this to was were what when"
    " where which who whom why will with you your"
)
_QUERY: Final = (
    *PAGING,
    Parameter("_cursor", "The cursor of the last page; instead of _offset."),
    Parameter("_search", "Words to look for in all texts; a hybrid schema is searched by meaning too."),
    Parameter("_order[field]", "asc or desc, for each property to sort by.", "object", choices=("asc", "desc")),
    Parameter("_fields", "Only these properties, separated by commas."),
    EXTEND,
    UNSET,
    Parameter("_facets", "Count the values of these properties."),
    Parameter("_asOf", "A time, or change:<id>: the objects as they were."),
    Parameter("_deleted", "include: deleted objects too; only: nothing but deleted objects."),
    Parameter(
        "field",
        "Filter: field=value, field[gte]=, field[in]=a,b, field.subfield=, @self[created][gt]=.",
        "object",
    ),
)
LIST_ROUTES: Final = RouteGroup("objects")
SEARCH_ROUTES: Final = RouteGroup("search")
CHAT_ROUTES: Final = RouteGroup("chat")


class QueryMetadata(BaseModel):
    """About the query."""

    ignored: list[str] = Field(description="Parameters that are not known here and were ignored.")


class RetrievalAnswer(BaseModel):
    """How a hybrid schema was searched."""

    retrieval: Literal["hybrid", "lexical"] | None = Field(
        None,
        description="How a hybrid schema was searched; @self.why of each hit explains its rank.",
    )
    lexical_because: str | None = Field(None, description="Why the search compared only words, if it did.")
    no_good_match: bool | None = Field(
        None, description="True if no result of a hybrid search is likely to be relevant."
    )


class ObjectsAnswer(ObjectPageAnswer, RetrievalAnswer):
    """A part of a list of objects, with facets if requested."""

    facets: dict[str, Any] = Field(default_factory=dict[str, Any])
    cursor: str | None = Field(None, description="Send it as _cursor to get the next page.")
    self_: QueryMetadata | None = Field(None, alias="@self")


class FoundAnswer(RetrievalAnswer):
    """Objects that a search found, best first."""

    results: list[ObjectAnswer]


class FiguresAnswer(BaseModel):
    """Figures over groups of objects: the keys and metrics of each group by name."""

    results: list[dict[str, Any]]
    total: dict[str, Any] | None = None
    more: bool = Field(description="Whether the limit cut off groups.")
    retrieval: Literal["hybrid", "lexical"] | None = None


class ReasonedObject(BaseModel):
    """An object, and why it was found."""

    object: ObjectAnswer
    because: list[dict[str, Any]]


class QuestionAnswer(BaseModel):
    """The objects that answer a question."""

    question: str
    words: list[str]
    answer: str
    results: list[ReasonedObject]


class SearchData(BaseModel):
    """A query in one body."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    filter: dict[str, Any] | None = None
    search: str | None = None
    sort: Any = None
    fields: list[str] | None = None
    facets: Any = None
    limit: Whole | None = Field(None, ge=0)
    offset: Whole | None = Field(None, ge=0)
    cursor: str | None = None
    as_of: str | float | None = None


class AggregateData(BaseModel):
    """Figures over groups of objects."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    register_: Name = Field(alias="register")
    schema_: Name = Field(alias="schema")
    aggregate: dict[str, Any]
    filter: dict[str, Any] | None = None
    search: str | None = None
    sort: Any = None
    limit: Whole | None = Field(None, ge=0)
    offset: Whole | None = Field(None, ge=0)
    as_of: str | float | None = None


class QuestionData(BaseModel):
    """A question in plain words."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    question: str = Field(min_length=1, max_length=2000)
    register_: Name | None = Field(None, alias="register")
    schema_: Name | None = Field(None, alias="schema")
    limit: Whole = Field(5, ge=1, le=50)


async def page_of(
    request: RestRequest, pair: Pair, query: Query, found: QueryResult, shaping: Shaping = _PLAIN
) -> dict[str, Any]:
    """The envelope of a list of objects."""
    prune, access = not request.flag("_empty"), request.registers.access
    objects = [StoredObject(*row) for row in found.rows]
    if prune and query.fields is None and not found.relevance and not shaping:
        rows = present_raw(access, request.caller, pair, objects)
    else:
        rows = [request.present(pair, stored, fields=query.fields, prune=prune) for stored in objects]
    _explain(rows, found)
    if shaping:
        rows = await shape(request, pair, shaping, rows, query.as_of)
    if query.related:
        await request.registers.objects.add_related(request.caller, query, objects, rows)
    total = len(rows) if found.total is None else found.total
    body = {**page_body(rows, total, query.limit, query.offset), "facets": found.facets}
    if found.cursor:
        body["cursor"] = found.cursor
    if found.ignored:
        body["@self"] = {"ignored": list(found.ignored)}
    return {**body, **found.retrieval_info()}


def _explain(rows: list[Any], found: QueryResult) -> None:
    """Add its relevance to each hit, and the reasons if known."""
    for number, (row, relevance) in enumerate(zip(rows, found.relevance, strict=False)):
        if isinstance(metadata := row.get("@self"), dict):
            metadata["relevance"] = round(relevance, 4)
            if found.why:
                metadata["why"] = found.why[number].wire()


@LIST_ROUTES.add("GET", PAIR, _QUERY, answer=ObjectsAnswer, public=True)
async def list_objects(request: RestRequest) -> Response:
    """List objects: filter, search, sort, choose fields, count values."""
    pair = await request.pair()
    query = await request.registers.objects.parameters_of(request.caller, pair, request.http.query_params.multi_items())
    shaping = await shaping_of(request, pair)
    found = await request.registers.objects.find(request.caller, pair, query)
    return json_response(await page_of(request, pair, query, found, shaping))


@SEARCH_ROUTES.add(
    "GET",
    "/search",
    (
        Parameter("_search", "The words to look for."),
        *(Parameter(name, "The same as _search.") for name in _SEARCH_NAMES[1:]),
        Parameter("register", "Only in this register."),
        Parameter("schema", "Only objects of this schema."),
        *PAGING,
    ),
    answer=FoundAnswer,
    exact=True,
)
async def search_by_words(request: RestRequest) -> Response:
    """Look for words in every pair you may read, or in the register and schema given."""
    pairs = await pairs_of(request, request.text("register"), request.text("schema"))
    limit, offset = request.window()
    words = next((text for name in _SEARCH_NAMES if (text := request.text(name)) is not None), "")
    found, rows = await matches(request, pairs, words, limit, offset)
    return json_response({"results": rows, **found.retrieval_info()})


@SEARCH_ROUTES.add("POST", "/search", body=SearchData, answer=ObjectsAnswer, reads=True)
async def search_by_query(request: RestRequest) -> Response:
    """Query objects with one JSON body: filter, search, sort, fields, facets, cursor, as_of."""
    given = body_as(SearchData, await request.object())
    pair = await request.registers.catalogue.pair(request.caller, given.register_, given.schema_)
    raw = given.model_dump(exclude={"register_", "schema_"}, exclude_none=True)
    query = await request.registers.objects.query_of(request.caller, pair, raw, related=True)
    return json_response(
        await page_of(request, pair, query, await request.registers.objects.find(request.caller, pair, query))
    )


@SEARCH_ROUTES.add("POST", "/search/aggregate", body=AggregateData, answer=FiguresAnswer, own=True, reads=True)
async def aggregate(request: RestRequest) -> Response:
    """Compute figures over groups of objects: count, sum, avg, min, max, distinct; by value or by time."""
    given = body_as(AggregateData, await request.object())
    pair = await request.registers.catalogue.pair(request.caller, given.register_, given.schema_)
    raw = given.model_dump(exclude={"register_", "schema_", "aggregate"}, exclude_none=True)
    query = await request.registers.objects.aggregate_of(request.caller, pair, {**raw, **given.aggregate})
    found = await request.registers.objects.aggregate(request.caller, pair, query, total=True)
    retrieval = {} if found.retrieval is None else {"retrieval": found.retrieval}
    total = {} if found.total is None else {"total": found.total}
    return json_response({"results": found.groups, **total, "more": found.more, **retrieval})


async def pairs_of(request: RestRequest, register: int | str | None, schema: int | str | None) -> list[Pair]:
    """The pairs to search: the named ones, or all pairs the caller may read."""
    catalogue = request.registers.catalogue
    if register is not None and schema is not None:
        return [await catalogue.pair(request.caller, register, schema)]
    wanted_register = None if register is None else (await catalogue.registers.get(request.caller, register)).id
    wanted_schema = None if schema is None else (await catalogue.schemas.get(request.caller, schema)).id
    return [
        pair
        for pair in await catalogue.visible_pairs(request.caller)
        if wanted_register in (None, pair.register.id) and wanted_schema in (None, pair.schema.id)
    ]


async def matches(
    request: RestRequest, pairs: list[Pair], search: str, limit: int, offset: int = 0, *, words: bool = False
) -> tuple[QueryResult, list[dict[str, Any]]]:
    """The objects a search finds in some pairs, best first, raw and presented; `words` turns vector search off."""
    query = Query(search=parse_search(search), limit=limit, offset=offset, count=False)
    found = await request.registers.objects.find_in(request.caller, pairs, query, words=words)
    known = {(pair.register.id, pair.schema.id): pair for pair in pairs}
    objects = [StoredObject(*row) for row in found.rows]
    rows = [request.present(known[stored.register, stored.schema], stored) for stored in objects]
    if found.why:
        _explain(rows, found)
    return found, rows


@CHAT_ROUTES.add("POST", "/chat", body=QuestionData, answer=QuestionAnswer, reads=True)
async def ask_question(request: RestRequest) -> Response:
    """Answer a question with the objects that match its words, and say why each does."""
    given = body_as(QuestionData, await request.object())
    pairs = await pairs_of(request, given.register_, given.schema_)
    words = significant_words(given.question)
    found = (await matches(request, pairs, " ".join(words), given.limit))[1] if words else []
    seen = {row["@self"]["id"] for row in found}
    for word in words if len(words) > 1 else ():
        if len(found) >= given.limit:
            break
        _, rows = await matches(request, pairs, word, given.limit, words=True)
        more = [row for row in rows if row["@self"]["id"] not in seen]
        found += more[: given.limit - len(found)]
        seen |= {row["@self"]["id"] for row in more}
    results = [{"object": row, "because": reasons(row, words)} for row in found]
    return json_response(
        {"question": given.question, "words": words, "answer": _sentence(len(found), words), "results": results}
    )


def significant_words(question: str) -> list[str]:
    """The words of a question that can distinguish objects."""
    filler = frozenset(_FILLER_WORDS.split())
    words = [word for word in _WORD.findall(question.lower()) if word not in filler]
    return list(dict.fromkeys(words))[:_MOST_WORDS]


def reasons(row: dict[str, Any], words: list[str]) -> list[dict[str, Any]]:
    """Which word was found in which property, and how close in meaning the object is, if that counted."""
    texts = {name: str(value).lower() for name, value in row.items() if name not in ("@self", "id")}
    cosine = row["@self"].get("why", {}).get("cosine")
    near: list[dict[str, Any]] = [] if cosine is None else [{"cosine": cosine}]
    return near + [
        {"word": word, "property": name}
        for word in words
        for name, text in texts.items()
        if any(part.startswith(word) for part in _WORD.findall(text))
    ]


def _sentence(count: int, words: list[str]) -> str:
    if not words:
        return "The question has no word to look for. Name a thing, a place, a person or a state."
    looked = ", ".join(words)
    return f"{counted(count, 'object')} found for: {looked}." if count else f"Nothing found for: {looked}."
