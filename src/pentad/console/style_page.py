"""The living style page (`/console/style`): every block in its states, for developers."""

from typing import Final

from pentad.console.admin_page import STYLES, AdminPage
from pentad.kernel.pages import (
    Arrow,
    Beside,
    Block,
    Button,
    Card,
    Cards,
    Cell,
    Chart,
    CheckBox,
    Choice,
    Code,
    Column,
    Conversation,
    Difference,
    Event,
    Facet,
    Facets,
    Facts,
    FileField,
    Form,
    Graph,
    GraphNode,
    Group,
    Hint,
    Links,
    Marked,
    Message,
    Note,
    Option,
    Pager,
    Place,
    Prose,
    Quote,
    Repeated,
    SearchBox,
    Section,
    Series,
    Sheet,
    Step,
    Tab,
    Table,
    Tabs,
    TextField,
    Timeline,
    TimeSlider,
    Tree,
    Visit,
)

_TEXT: Final = "Running text is at most 46 rem wide, so that lines stay readable."
_DAY: Final = 1_800_000_000
_HERE: Final = f"/console/{STYLES}"
_CLOSED: Final = Option(Cell("closed", Place(room=STYLES)), "3")


def style_pages() -> list[AdminPage]:
    """The one page."""
    return [AdminPage(STYLES, "", style_page)]


async def style_form(visit: Visit) -> Sheet:
    """Handle the form by doing nothing."""
    sheet = await style_page(visit)
    return Sheet(sheet.title, [Note("Sent. Nothing was changed.", "good"), *sheet.blocks], sheet.lead)


async def style_page(visit: Visit) -> Sheet:
    """Every block."""
    return Sheet(
        "Style", _blocks(visit), lead="Every block of the console, in its states. Pages are made of nothing else."
    )


def _blocks(visit: Visit) -> list[Block]:
    return [
        Section(
            "Text",
            [
                Prose(_TEXT),
                Quote("A passage, cited as it is.", Cell("Its source", Place(room=STYLES))),
                Beside([Prose("What is said.")], [Marked("Where it is from: these words, among others.", [(18, 29)])]),
                Links(["a tag", Cell("a link", Place(room=STYLES)), Cell("elsewhere", "https://example.org/")]),
                Code("pentad call search query=permits", copy=True),
                Hint("A way on, as the reader types it:", "pentad demo"),
                Links(
                    [Cell("What to do first", Place(room=STYLES)), Cell("And then", Place(room=STYLES))], actions=True
                ),
            ],
        ),
        Section("Notes", [Note("A remark."), Note("It worked.", "good"), Note("It did not work, and why.", "bad")]),
        Section(
            "Tables and facts",
            [
                Facets([Facet("State", [Option(Cell("open", Place(room=STYLES)), "12", chosen=True), _CLOSED])]),
                Table(
                    (
                        Column("Name", sort=Place(room=STYLES), sorted="ascending"),
                        Column("Count", numeric=True),
                        Column("Changed", short=True),
                    ),
                    [
                        (Cell("First", Place(room=STYLES)), "1,204", "2026-01-31 12:00"),
                        (
                            "A long name that needs more than one line where there is little room for it",
                            "7",
                            "2026-02-01",
                        ),
                    ],
                ),
                Pager("2 of 40", Place(room=STYLES, query={"page": "2"})),
                Table(("Name",), [], "An empty list says what to do next."),
                Facts(
                    [
                        ("Label", "value"),
                        ("Other", Cell("a link", Place(room=STYLES))),
                        ("Several", ["one", Cell("two", Place(room=STYLES)), "three"]),
                        ("Rows", Table(("Rule", Column("Metres", True)), [("Height", "7.5"), ("Distance", "3")])),
                        ("Resource", Cell("The oak in Lindenallee", uri="openregister://objects/4/9/1")),
                        ("Deep", Tree({"city": "London", "streets": ["Dorset Street"]})),
                    ]
                ),
                Tree({"name": "Ada", "tags": ["one", "two"], "age": 36, "address": {"city": "London", "zip": None}}),
            ],
        ),
        Section(
            "Cards and tabs",
            [
                Cards(
                    [
                        Card(Cell("A room", Place(room=STYLES)), "What is in it, in a sentence.", [("things", "12")]),
                        Card(
                            "Without a link",
                            "A card that leads nowhere.",
                            badges=[Note("plain"), Note("trusted", "good"), Note("broken", "bad")],
                        ),
                    ]
                ),
                Tabs([Tab("one", "One", [Prose("The first.")]), Tab("two", "Two", [Prose("The second.")])]),
            ],
        ),
        Section("Step", [Step("Embedding 30 of 120 passages", 30, 120)]),
        Section("Graph", [_graph()]),
        Section("Chart", [_chart(), Chart("Twelve lines and more", _lines(), "/min")]),
        Section(
            "Timeline",
            [
                Timeline(
                    [
                        Event("Version 2: changed", "2026-01-31 12:00", ["user:ada"], [Difference("Fee", "1.5", "2")]),
                        Event("Version 1: created", "2026-01-30 09:00", ["user:ada", "because it was new"]),
                    ]
                )
            ],
        ),
        Section(
            "Conversation",
            [
                Conversation(
                    [
                        Message("you", "2026-01-31 12:00", [Prose("Is this permit valid?")], own=True),
                        Message("permits", "2026-01-31 12:01", [Prose("Yes, until 2027."), Links(["permit 12"])]),
                    ]
                )
            ],
        ),
        Section("Form", [_form(visit), SearchBox("Search"), Section("Folded", [Prose("Opened.")], folded=True)]),
    ]


def _graph() -> Graph:
    """A branch, an arrow past a box, and a weak arrow."""
    nodes = [
        GraphNode(name, "2026-01-31", Place(room=STYLES), current=name == "v2") for name in ("v1", "v1.1", "v2", "v3")
    ]
    arrows = [Arrow(0, 1, "replaced by"), Arrow(0, 2), Arrow(1, 3), Arrow(2, 3, weak=True), Arrow(0, 3)]
    return Graph("Versions", nodes, arrows)


def _chart() -> Chart:
    """A day whose last hours are in the future, with a gap, a threshold and a limit."""
    points = [(_DAY + 3600.0 * n, None if n == 9 else 20 + (n * 7) % 13) for n in range(20) if n != 10]
    other = [(_DAY + 3600.0 * n, 10.0 + (n * 5) % 9) for n in range(20)]
    gap = (_DAY + 9 * 3600.0, _DAY + 11 * 3600.0, "not_collected")
    series = [Series("all", points), Series("errors", other)]
    marks, notes = [("warn", 30), ("limit", 35)], ["Prometheus warns: some figures may be missing."]
    return Chart("Calls", series, "/min", span=(_DAY, _DAY + 86_400), gaps=[gap], marks=marks, notes=notes)


def _lines() -> list[Series]:
    return [Series(f"line {n + 1}", [(_DAY + 3600.0 * x, n + (x * 7) % 5 / 5) for x in range(24)]) for n in range(14)]


def _form(visit: Visit) -> Form:
    return Form(
        [
            TextField("name", "Text", "Ada", "A hint says what is expected.", placeholder="placeholder"),
            TextField("wrong", "Text with a problem", "x", error="It is too short: at least 2 characters."),
            TextField("pick", "Text with suggestions", options=[("one", "the first"), ("two", "the second")]),
            TextField("long", "Several lines", "a\nb", lines=4, required=False),
            Choice("role", "Choice", [("", "—"), ("reader", "reader")], visit.query.get("role", "")),
            CheckBox("check", "Check box", hint="With a hint.", checked=True),
            CheckBox("locked", "Check box that is locked", locked=True),
            FileField("file", "File"),
            TimeSlider("at", "Moment", 1_760_000_000, 1_780_000_000, 1_770_000_000, marks=[1_765_000_000]),
            Group("Group", [TextField("city", "City", required=False)], "Fields that belong together."),
            Repeated("/tags", "Tags", [TextField("/tags/0", "Tag 1", "one", required=False)]),
        ],
        [Button("Main"), Button("Plain", kind="plain"), Button("Dangerous", kind="bad")],
        _HERE,
        validated=True,
    )
