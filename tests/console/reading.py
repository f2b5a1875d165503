"""A page as a browser takes it apart: its elements in order, their attributes, and its texts."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "img"}


@dataclass
class Read:
    """What was found. `shape` has an element's depth, name and attributes' names; `texts` what stands between them."""

    shape: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    attributes: list[tuple[str, str, str]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def values(self, element: str, attribute: str) -> list[str]:
        return [value for name, key, value in self.attributes if (name, key) == (element, attribute)]

    def count(self, element: str) -> int:
        return sum(name == element for _, name, _ in self.shape)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Read()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), "an attribute twice"
        self.found.shape.append((len(self.open), tag, tuple(names)))
        self.found.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "elements close in the order they were opened"

    def handle_data(self, data: str) -> None:
        self.found.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data!r}")


def read(markup: str) -> Read:
    """Take markup apart; every element must be closed where it belongs."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    assert reader.open == []
    return reader.found


def is_inert(page: Read) -> None:
    """Nothing runs, nothing is loaded from elsewhere, every link leads to the console or openly away."""
    elements = {name for _, name, _ in page.shape}
    assert elements.isdisjoint({"iframe", "object", "embed", "base", "video", "audio", "style", "template"})
    for element, name, value in page.attributes:
        assert not name.startswith("on"), f"{element} {name}"
        assert name not in ("style", "srcdoc", "formaction"), f"{element} {name}"
        if name == "action":
            assert value.startswith("/"), value
            assert not value.startswith(("//", "/\\")), value
        if name == "src":
            assert value.startswith("data:image/" if element == "img" else "/console/")
        if name == "href":
            own = not value or (value.startswith(("/", "#")) and not value.startswith("//") and "\\" not in value)
            assert own or value.startswith(("http://", "https://")), value
