"""A room with a page of every sort: one that lists, one with a parameter, a live chart, and some that go wrong."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.page_progress import Tell, growth
from pentad.kernel.pages import (
    Action,
    Block,
    Button,
    Cell,
    Chart,
    Form,
    Growing,
    Page,
    Pages,
    Place,
    Prose,
    SearchBox,
    Series,
    Sheet,
    Step,
    Table,
    TextField,
    Visit,
)
from pentad.platform import Platform, Room
from tests.waiting import until_true

CANARY = "canary-77ab"
SCRIPT = "<script>alert('shown')</script>"


async def first(things: list[str], visit: Visit) -> Sheet:
    asked = visit.asked(most=50)
    rows = [[Cell(one, Place(("things", one)))] for one in things if asked in one]
    return Sheet("Show", [SearchBox("Find", asked), Table(["Thing"], rows)], lead=f"Hello {visit.principal.name}.")


async def thing(things: list[str], visit: Visit) -> Sheet:
    name = visit.path["name"]
    if name not in things:
        raise NotFound(f"There is no thing {name!r}.", hint="The list has all of them.")
    return Sheet(name, [Prose(SCRIPT)], trail=[Cell("Things", Place())])


async def live(_things: list[str], _visit: Visit) -> Sheet:
    return Sheet("Live", [Chart("Load", [Series("one", [(0, 1.0), (60, 2.0)])])], refresh=2.5)


async def numbered(_things: list[str], visit: Visit) -> Sheet:
    return Sheet(str(visit.number("at")), [])


async def slow(_things: list[str], _visit: Visit) -> Sheet:
    await asyncio.Event().wait()
    raise AssertionError("nobody waits for ever")


async def wrong(_things: list[str], _visit: Visit) -> Sheet:
    raise Conflict(f"Two things {SCRIPT} at once.", hint=f"Choose {SCRIPT}.")


async def bad(_things: list[str], _visit: Visit) -> Sheet:
    raise InvalidInput("This cursor leads nowhere.")


async def crash(_things: list[str], _visit: Visit) -> Sheet:
    raise RuntimeError(CANARY)


async def figures(things: list[str], _visit: Visit) -> Sequence[tuple[str, str]]:
    return [("things", str(len(things)))]


async def growing(_things: list[str], _visit: Visit) -> Sheet:
    return Sheet("Grow", [GROW])


async def grow(things: list[str], visit: Visit) -> Growing:
    """Tells of a step, waits until the test removes the lamp, and then returns a form or goes wrong."""

    async def work(tell: Tell) -> Sequence[Block]:
        tell(Step(SCRIPT, 1, 3))
        try:
            await until_true(lambda: "lamp" not in things)
        except asyncio.CancelledError:
            things.append("stopped")
            raise
        if visit.typed("end") == "crash":
            raise RuntimeError(CANARY)
        if visit.typed("end") == "wrong":
            raise Conflict(f"Two things {SCRIPT} at once.")
        return [Prose("Grown."), GROW]

    return Growing(Sheet("Grow", [Prose("At once.")]), growth(work), [GROW])


GROW = Form([TextField("end", "End")], [Button("Grow")], "/console/show/grow")

PAGES: Pages[list[str]] = Pages(
    [
        Page("", first),
        Page("things/{name}", thing),
        Page("live", live),
        Page("numbered", numbered),
        Page("slow", slow),
        Page("wrong", wrong),
        Page("bad", bad),
        Page("crash", crash),
        Page("grow", growing),
    ],
    figures,
    actions=[Action("grow", growing, grow, "grow")],
)


@asynccontextmanager
async def open_show(_platform: Platform) -> AsyncGenerator[list[str]]:
    yield ["lamp", "chair", "a&b <c>"]


ROOM: Room[list[str]] = Room(
    name="show", title="Show <room>", instructions="Shows things. Nothing else.", open=open_show, pages=lambda: PAGES
)
