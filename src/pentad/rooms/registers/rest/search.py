"""Lists, searches and figures over objects."""

from typing import Any, Final

from starlette.responses import Response

from pentad.platform import Parameter
from pentad.rooms.registers.models import Pair, StoredObject
from pentad.rooms.registers.query.models import Query, QueryResult
from pentad.rooms.registers.query.parser import parse_search
from pentad.rooms.registers.rest.answers import answer
from pentad.rooms.registers.rest.ask import Ask
from pentad.rooms.registers.rest.bodies import body_as
from pentad.rooms.registers.rest.models import AggregateData, ObjectsAnswer, SearchData
from pentad.rooms.registers.rest.objects import PAIR
from pentad.rooms.registers.rest.pages import envelope
from pentad.rooms.registers.rest.shaping import EXTEND, UNSET, Shaping, shaped, shaping_of
from pentad.rooms.registers.rest.table import PAGING, RestRoute
from pentad.rooms.registers.showing import shown, shown_json
from pentad.rooms.registers.visible import aggregate_of, parameters_of, query_of

_WORDS: Final = ("_search", "q", "query", "search")
"""The names under which words to look for are sent."""
_AS_THEY_ARE: Final = Shaping()
_QUERY: Final = (
    *PAGING,
    Parameter("_cursor", "Where the last page ended; instead of _offset."),
    Parameter("_search", "Words to look for in all texts; a hybrid schema is searched by meaning too."),
    Parameter("_order[field]", "asc or desc, for each property to sort by."),
    Parameter("_fields", "Only these properties, separated by commas."),
    EXTEND,
    UNSET,
    Parameter("_facets", "Count the values of these properties."),
    Parameter("_asOf", "A time, or change:<id>: the objects as they were."),
    Parameter("field", "Filter: field=value, field[gte]=, field[in]=a,b, field.subfield=, @self[created][gt]=."),
)


async def page_of(
    ask: Ask, pair: Pair, query: Query, found: QueryResult, shaping: Shaping = _AS_THEY_ARE
) -> dict[str, Any]:
    """The envelope of a list of objects."""
    prune, access = not ask.flag("_empty"), ask.registers.access
    objects = [StoredObject(*row) for row in found.rows]
    if prune and query.fields is None and not found.relevance and not shaping:
        rows = shown_json(access, ask.caller, pair, objects)
    else:
        rows = [shown(access, ask.caller, pair, stored, fields=query.fields, prune=prune) for stored in objects]
    _explain(rows, found)
    if shaping:
        rows = await shaped(ask, pair, shaping, rows, query.as_of)
    total = len(rows) if found.total is None else found.total
    body = {**envelope(rows, total, query.limit, query.offset), "facets": found.facets}
    if found.cursor:
        body["cursor"] = found.cursor
    if found.ignored:
        body["@self"] = {"ignored": list(found.ignored)}
    return {**body, **found.retrieval_info()}


def _explain(rows: list[Any], found: QueryResult) -> None:
    """Say of each hit how relevant it is, and why where that is known."""
    for number, (row, relevance) in enumerate(zip(rows, found.relevance, strict=False)):
        if isinstance(metadata := row.get("@self"), dict):
            metadata["relevance"] = round(relevance, 4)
            if found.why:
                metadata["why"] = found.why[number].wire()


async def list_objects(ask: Ask) -> Response:
    """List objects: filter, search, sort, choose fields, count values."""
    pair = await ask.pair()
    query = parameters_of(ask.registers.access, ask.caller, pair, ask.request.query_params.multi_items())
    shaping = await shaping_of(ask, pair)
    found = await ask.registers.objects.find(ask.caller, pair, query)
    return answer(await page_of(ask, pair, query, found, shaping))


async def search_by_words(ask: Ask) -> Response:
    """Look for words in every pair you may read, or in the register and schema given."""
    pairs = await pairs_of(ask, ask.text("register"), ask.text("schema"))
    limit, offset = ask.window()
    words = next((said for name in _WORDS if (said := ask.text(name)) is not None), "")
    found, rows = await matches(ask, pairs, words, limit, offset)
    return answer({"results": rows, **found.retrieval_info()})


async def search_by_query(ask: Ask) -> Response:
    """Query objects with one JSON body: filter, search, sort, fields, facets, cursor, as_of."""
    given = body_as(SearchData, await ask.object())
    pair = await ask.registers.catalogue.pair(ask.caller, given.register_, given.schema_)
    raw = given.model_dump(exclude={"register_", "schema_"}, exclude_none=True)
    query = query_of(ask.registers.access, ask.caller, pair, raw)
    return answer(await page_of(ask, pair, query, await ask.registers.objects.find(ask.caller, pair, query)))


async def aggregate(ask: Ask) -> Response:
    """Compute figures over groups of objects: count, sum, avg, min, max, distinct; by value or by time."""
    given = body_as(AggregateData, await ask.object())
    pair = await ask.registers.catalogue.pair(ask.caller, given.register_, given.schema_)
    raw = given.model_dump(exclude={"register_", "schema_", "aggregate"}, exclude_none=True)
    wanted = aggregate_of(ask.registers.access, ask.caller, pair, {**raw, **given.aggregate})
    found = await ask.registers.objects.aggregate(ask.caller, pair, wanted)
    said = {} if found.retrieval is None else {"retrieval": found.retrieval}
    return answer({"results": found.groups, "more": found.more, **said})


async def pairs_of(ask: Ask, register: int | str | None, schema: int | str | None) -> list[Pair]:
    """The pairs to look into: those named, or all the caller may read."""
    catalogue = ask.registers.catalogue
    if register is not None and schema is not None:
        return [await catalogue.pair(ask.caller, register, schema)]
    wanted_register = None if register is None else (await catalogue.get_register(ask.caller, register)).id
    wanted_schema = None if schema is None else (await catalogue.get_schema(ask.caller, schema)).id
    return [
        pair
        for pair in await catalogue.visible_pairs(ask.caller)
        if wanted_register in (None, pair.register.id) and wanted_schema in (None, pair.schema.id)
    ]


async def matches(
    ask: Ask, pairs: list[Pair], search: str, limit: int, offset: int = 0, *, words: bool = False
) -> tuple[QueryResult, list[dict[str, Any]]]:
    """The objects of some pairs that a search finds, best first, as found and as shown; by `words` alone if so."""
    access = ask.registers.access
    query = Query(search=parse_search(search), limit=limit, offset=offset, count=False)
    found = await ask.registers.objects.find_in(ask.caller, pairs, query, words=words)
    known = {(pair.register.id, pair.schema.id): pair for pair in pairs}
    objects = [StoredObject(*row) for row in found.rows]
    rows = [shown(access, ask.caller, known[stored.register, stored.schema], stored) for stored in objects]
    if found.why:
        _explain(rows, found)
    return found, rows


ROUTES: Final = (
    RestRoute("GET", PAIR, "objects", list_objects, _QUERY, answer=ObjectsAnswer, public=True),
    RestRoute(
        "GET",
        "/search",
        "search",
        search_by_words,
        (
            Parameter("_search", "The words to look for."),
            *(Parameter(name, "The same as _search.") for name in _WORDS[1:]),
            Parameter("register", "Only in this register."),
            Parameter("schema", "Only of this schema."),
            *PAGING,
        ),
        exact=True,
    ),
    RestRoute("POST", "/search", "search", search_by_query, body=SearchData, answer=ObjectsAnswer),
    RestRoute("POST", "/search/aggregate", "search", aggregate, body=AggregateData),
)
