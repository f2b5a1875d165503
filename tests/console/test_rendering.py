"""Whatever texts a room hands over, a page has the elements its blocks ask for, and shows the texts as they are."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.console.html import visible
from pentad.console.layout import Surroundings, document
from pentad.console.rendering import LONGEST_CODE, LONGEST_FACT, LONGEST_PROSE, MOST_LINKS, MOST_ROWS, Renderer
from pentad.console.resource_pages import ResourcePages
from pentad.kernel.pages import (
    Arrow,
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
    Facet,
    Facets,
    Facts,
    FileField,
    Form,
    Graph,
    GraphNode,
    Group,
    Hidden,
    Hint,
    Image,
    Links,
    Message,
    Name,
    Note,
    Option,
    Pager,
    Pages,
    Place,
    Prose,
    Quote,
    Repeated,
    SearchBox,
    Section,
    Series,
    Sheet,
    Tab,
    Table,
    Tabs,
    TextField,
    Tree,
    Watch,
)
from tests.console.reading import Read, is_inert, read

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></pre></textarea></svg><script>alert(1)</script>",
    "<!--", "-->", "]]>", "<![CDATA[", "<?php", "&lt;script&gt;", "&#60;b&#62;", "&amp", "\x00", "\ud800",
    "javascript:alert(1)",
    "\u202eevil\u2066", "\u200b", "\U000e0041", "\r\n", "\u2028", "e\u0301", "a" * 400, "`${x}`", "{{7*7}}",
]  # fmt: skip
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40), st.lists(st.sampled_from(HOSTILE)).map("".join))
filled = texts.filter(lambda text: bool(text.strip()))


@dataclass
class Maker:
    """Gives out texts, and remembers them."""

    draw: Callable[[], str]
    given: list[str] = field(default_factory=list)

    def __call__(self) -> str:
        self.given.append(self.draw())
        return self.given[-1]


def every_block(text: Callable[[], str], link: Callable[[], str]) -> list[Block]:
    """One of each kind, with a text wherever there can be one."""
    return [
        Table([text(), Column(text(), numeric=True)], [[text(), Cell(text(), Place((text(),), {"q": text()}))]]),
        Table([text()], [], text()),
        Table([Column(Name(text(), text()))], [[Cell(text(), uri=text())]]),
        Facts([(Name(text(), text()), [Cell(text(), uri=text()), text()])]),
        Facets([Facet(Name(text(), text()), [Option(Cell(text(), link()), text())])]),
        Facts([(text(), text()), (text(), Cell(text(), link())), (text(), [text(), Cell(text(), link())])]),
        Facts([(text(), Tree({"a": text()})), (text(), Table([text()], [[text()]]))]),
        Prose(text()),
        Code(text()),
        Links([text(), Cell(text(), link())]),
        Quote(text(), Cell(text(), link())),
        Note(text()),
        Hint(text(), text()),
        Table([text()], [], Hint(text(), text())),
        Code(text(), copy=True),
        Tabs([Tab("a", text(), [Prose(text())]), Tab("b", text(), [Code(text(), copy=True)])]),
        Watch(text(), link()),
        SearchBox(text(), text(), text(), text()),
        Pager(text(), Place((), {"cursor": text()}), Place((), {text(): text()})),
        Pager(text(), Place((), {"cursor": text()}), Place(), (text(), text())),
        Chart(text(), [Series(text(), [(0, 1.0), (1, 2.0)])], text()),
        Graph(text(), [GraphNode(text(), text(), Place((text(),))), GraphNode(text())], [Arrow(0, 1, text())]),
        Cards([Card(Cell(text(), Place((text(),))), text(), [(text(), text())])]),
        Conversation([Message(text(), text(), [Prose(text())], own=True), Message(text(), text(), [])]),
        Tree({"a": text(), "b": [text(), {"c": text(), "d": None, "e": {}}]}),
        Image(text(), text(), text()),
        Section(text(), [Section(text(), [Prose(text())], folded=True)]),
        Form(
            [
                TextField(text(), text(), text(), text()),
                TextField(text(), text(), text(), kind="password"),
                TextField(text(), text(), text(), error=text(), lines=3, placeholder=text()),
                TextField(text(), text(), options=[(text(), text())], suggest=link()),
                FileField(text(), text(), text(), error=text()),
                Group(text(), [Group(text(), [TextField(text(), text())], folded=True)], text(), text()),
                Repeated(text(), text(), [TextField(text(), text(), text())], text(), text()),
                CheckBox(text(), text(), text(), text(), checked=True),
                Choice(text(), text(), [(text(), text())], hint=text()),
                Hidden(text(), text()),
            ],
            [Button(text(), text(), text())],
            link(),
        ),
        Form([TextField(text(), text(), text(), text())], [Button(text())], link(), method="get"),
    ]


def page_of(text: Callable[[], str], link: Callable[[], str]) -> str:
    sheet = Sheet(text(), every_block(text, link), text(), [Cell(text(), Place())], refresh=5)
    return document(sheet, Surroundings([("lab", text())], "lab", True, text()))


def without_links(page: Read) -> list[tuple[str, tuple[str, ...]]]:
    """The elements in order; a place that cannot be named, such as `..`, is no link."""
    return [(name, names) for _, name, names in page.shape if name != "a"]


@settings(max_examples=30, deadline=None)
@given(st.data())
@pytest.mark.requirement("console:escaping")
def test_no_text_from_data_changes_the_elements_of_a_page(data: st.DataObject) -> None:
    make = Maker(lambda: data.draw(filled))
    page = read(page_of(make, lambda: "javascript:alert(1)"))
    plain = read(page_of(lambda: "text", lambda: "javascript:alert(1)"))
    assert without_links(page) == without_links(plain)
    is_inert(page)


@settings(max_examples=80, deadline=None)
@given(texts.map(lambda text: text[:LONGEST_FACT]))  # longer ones are cut
@pytest.mark.requirement("console:escaping")
def test_a_text_is_shown_as_what_it_is(text: str) -> None:
    for block in (Prose(text), Code(text), Note(text), Watch(text, "/x")):
        found = read(Renderer("lab").block(block))
        assert found.text == visible(text)
        assert len(found.shape) == 1
    box = read(Renderer().block(SearchBox("Search", text)))
    assert box.values("input", "value") == [visible(text)]


@pytest.mark.requirement("login:csrf")
def test_a_form_that_only_asks_has_no_token_that_a_url_could_leak() -> None:
    fields = [TextField("user", "Who", "ada")]
    asking = read(Renderer(csrf="secret-token").block(Form(fields, [Button("Filter")], "/console/audit", method="get")))
    assert "secret-token" not in asking.values("input", "value")
    posting = read(Renderer(csrf="secret-token").block(Form(fields, [Button("Send")], "/console/audit")))
    assert "secret-token" in posting.values("input", "value")


@pytest.mark.requirement("console:foreign-links")
@pytest.mark.parametrize(
    ("link", "live"),
    [
        ("https://example.org/a?b=c&d=\"e'", True),
        ("http://[::1]:8080/x", True),
        ("HTTPS://EXAMPLE.ORG", True),
        ("javascript:alert(1)", False),
        ("JaVaScRiPt:alert(1)", False),
        (" javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("vbscript:x", False),
        ("file:///etc/passwd", False),
        ("//evil.example", False),
        ("/console/directory", False),
        ("https:evil.example", False),
        ("https://", False),
        ("https://user:secret@evil.example/", False),
        ("https://good.example\\@evil.example/", False),
        ("https://example.org/\u202egnp.exe", False),
        ("https://[bad", False),
        ("https://example.org/" + "a" * 5_000, False),
        ("", False),
    ],
)
def test_a_foreign_address_is_a_link_only_if_it_is_plainly_http(link: str, live: bool) -> None:
    found = read(Renderer("lab").block(Links([Cell("there", link)])))
    assert found.text == "there"
    assert found.values("a", "href") == ([link] if live else [])
    assert found.values("a", "rel") == (["noreferrer noopener nofollow"] if live else [])


@pytest.mark.requirement("console:resource-links")
def test_a_text_that_is_the_uri_of_a_resource_leads_to_its_page() -> None:
    resources = {"lab://things/{thing}": "things/{thing}", "lab://things/{thing}/parts/{n}": "parts/{thing}/{n}"}
    renderer = Renderer(place_of=ResourcePages({"lab": Pages([], resources=resources)}).find)
    hrefs = {
        "lab://things/7": "/console/lab/things/7",
        "lab://things/7#1.3": "/console/lab/things/7",
        "lab://things/a%20b": "/console/lab/things/a%20b",
        "lab://things/7/parts/2": "/console/lab/parts/7/2",
        "lab://elsewhere?x=1": "/console/tools/resource?uri=lab%3A%2F%2Felsewhere%3Fx%3D1",
    }
    for uri, href in hrefs.items():
        blocks = (Facts([("from", uri)]), Table(["from"], [[uri]]), Tree({"from": [uri]}), Facts([("all", [uri, "x"])]))
        for block in blocks:
            assert read(renderer.block(block)).values("a", "href") == [href], block
    for text in ("see lab://things/7", "other://things/7", "lab://things/a b", 'lab://things/"><b>', "lab:things/7"):
        assert read(renderer.block(Facts([("from", text)]))).count("a") == 0, text
    for nowhere in ("lab://things/..", "lab://things/%2e%2e", "lab://things/a%2Fb"):
        assert read(renderer.block(Facts([("from", nowhere)]))).count("a") == 0, nowhere


@pytest.mark.requirement("console:foreign-links")
def test_a_text_that_is_nothing_but_a_web_address_is_a_link() -> None:
    url = "https://example.org/a?b=c"
    for block in (
        Facts([("from", url)]),
        Table(["from"], [[url]]),
        Tree({"from": [url]}),
        Facts([("all", [url, "x"])]),
    ):
        found = read(Renderer().block(block))
        assert found.values("a", "href") == [url], block
        assert found.values("a", "rel") == ["noreferrer noopener nofollow"], block
    for text in ("see https://example.org", "https://example.org and", "https://ada:pw@example.org", "javascript:a()"):
        assert read(Renderer().block(Facts([("from", text)]))).count("a") == 0, text


@pytest.mark.requirement("console:values")
def test_a_tree_names_its_members_and_opens_only_a_few() -> None:
    few = read(Renderer().block(Tree({"results": [{"id": 1, "name": "Oak"}, {"id": 2, "title": "Elm"}]})))
    assert {"Oak", "Elm"} <= set(few.texts)
    assert few.values("details", "open") == ["open"] * 3
    many = read(Renderer().block(Tree({"results": [{"id": 1, "name": "Oak"}] * 20})))
    assert many.values("details", "open") == ["open"]


@pytest.mark.requirement("console:hidden-characters")
def test_characters_that_turn_or_hide_text_are_shown_by_number() -> None:
    found = read(Renderer().block(Prose("user\u202e\u2066txt.exe\u200b\x07 \U000e0041 ok\ttab\nline \u200d")))
    assert found.text == "user⟨U+202E⟩⟨U+2066⟩txt.exe⟨U+200B⟩⟨U+0007⟩ ⟨U+E0041⟩ ok\ttab\nline \u200d"


@pytest.mark.requirement("console:cut")
def test_what_is_too_long_is_cut_with_a_note() -> None:
    for block, most in ((Prose("x" * 4_194_304), LONGEST_PROSE), (Code("y" * 4_194_304), LONGEST_CODE)):
        markup = Renderer().block(block)
        assert len(markup) < most + 200
        assert f"Cut here: these are the first {most:,} of 4,194,304 characters." in read(markup).text
    table = read(Renderer().block(Table(["n" * 5_000], [["c" * 5_000]] * (MOST_ROWS + 7))))
    assert table.count("tr") == MOST_ROWS + 1
    assert table.text.endswith("And 7 more.")
    assert max(len(text) for text in table.texts) <= 301
    links = read(Renderer().block(Links(["tag"] * (MOST_LINKS + 1))))
    assert links.text.endswith("And 1 more.")


def test_a_place_is_quoted_part_by_part() -> None:
    renderer = Renderer("lab")
    hrefs = [
        (Place(("a b", 'c"d')), "/console/lab/a%20b/c%22d"),
        (Place(("ü",), room="other"), "/console/other/%C3%BC"),
        (Place((7,)), "/console/lab/7"),
        (Place(), "/console/lab"),
    ]
    for place, href in hrefs:
        assert read(renderer.text(Cell("x", place))).values("a", "href") == [href]
    query = Place((), {"q": "a&b=c", "empty": "", "cursor": "x/y"})
    assert read(renderer.text(Cell("x", query))).values("a", "href") == ["/console/lab?q=a%26b%3Dc&cursor=x%2Fy"]
    for nowhere in (("..",), (".",), ("",), ("a/b",)):
        assert read(renderer.text(Cell("x", Place(nowhere)))).count("a") == 0


def test_what_says_nothing_is_left_out() -> None:
    nothing = Facts([("a", ""), ("b", Cell("")), ("c", []), ("d", Tree({})), ("e", Table(["x"], []))])
    assert Renderer().blocks([nothing, Links([])]) == ""
    assert read(Renderer().block(Table(["a"], [], "None yet."))).text == "None yet."


@pytest.mark.requirement("apps:views")
def test_a_view_keeps_names_and_drops_links_and_sections_it_cannot_offer() -> None:
    page = [Cell("there", Place(("there",)))]
    view = Renderer(call_of=lambda call: call)
    assert view.blocks([Links(page), Section("More", [Links(page, actions=True)])]) == ""
    named = read(view.block(Section("Sources", [Links(page, names=True)])))
    assert named.text == "Sourcesthere"
    assert named.count("a") == 0
    assert read(Renderer("lab").block(Links(page, names=True))).values("a", "href") == ["/console/lab/there"]


@pytest.mark.requirement("console:cut")
def test_a_conversation_that_is_too_long_says_how_much_is_missing() -> None:
    said = [Message("ada", "", [Prose(f"message {number}")]) for number in range(MOST_LINKS + 5)]
    page = read(Renderer().block(Conversation(said)))
    assert "5 earlier messages are not shown here." in page.texts
    assert "message 4" not in page.texts
    assert "message 5" in page.texts
    assert "earlier messages" not in read(Renderer().block(Conversation(said[5:]))).text


@pytest.mark.requirement("console:resource-links")
def test_the_name_of_a_resource_leads_to_its_page_and_its_uri_stands_beside_it() -> None:
    uri = "lab://things/1"
    found = Renderer(place_of=lambda text: Place(("things", "1"), room="lab") if text == uri else None)
    page = read(found.block(Links([Cell("The oak", uri=uri), Cell("An elm", uri="other:2")])))
    assert page.values("a", "href") == ["/console/lab/things/1"]
    assert {"The oak", uri, "other:2"} <= set(page.texts)
    assert "An elm other:2" in page.text
