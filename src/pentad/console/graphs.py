"""Graphs as inline SVG: boxes in columns, with arrows from left to right. The picture has a fixed size and scrolls
where it does not fit; its boxes are links that can be reached by keyboard."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from pentad.console.html import Html, element
from pentad.kernel.pages import Arrow, Graph, GraphNode, Place

MOST_NODES: Final = 40
_WIDTH: Final = 190
_HEIGHT: Final = 54
_BESIDE: Final = 56
"""The space between two columns; labels need more."""
_BESIDE_LABELS: Final = 150
_BELOW: Final = 18
_BEND: Final = 14
"""The height reserved for an arrow in a column that it crosses."""
_EDGE: Final = 2
_LONGEST_TITLE: Final = 20
_LONGEST_TEXT: Final = 25

UrlOf = Callable[[Place], str | None]


def graph(spec: Graph, url_of: UrlOf) -> Html:
    """The picture. Arrows from or to unknown boxes are left out."""
    nodes = spec.nodes[:MOST_NODES]
    arrows = [one for one in spec.arrows if max(one.source, one.target) < len(nodes) and one.source != one.target]
    gap = _BESIDE_LABELS if any(one.label for one in arrows) else _BESIDE
    placed = _Layout(len(nodes), arrows)
    height = max(map(placed.height, placed.columns), default=0)
    places = dict(placed.places(gap, height))
    width = len(placed.columns) * (_WIDTH + gap) - gap
    lines = [part for number, one in enumerate(arrows) for part in _arrow(one, placed.ways[number], places)]
    boxes = [_box(one, *places[number], url_of) for number, one in enumerate(nodes)]
    picture = element(
        "svg",
        *lines,
        *boxes,
        viewBox=f"{-_EDGE} {-_EDGE} {width + 2 * _EDGE} {height + 2 * _EDGE}",
        width=str(width + 2 * _EDGE),
        height=str(height + 2 * _EDGE),
        role="group",
        aria_label=spec.title,
    )
    return element("div", picture, class_="scroll graph", tabindex="0", role="region", aria_label=spec.title)


def _box(node: GraphNode, x: int, y: int, url_of: UrlOf) -> Html:
    """A box with its own coordinates, which clips text that is too long."""
    box = element(
        "g",
        element("title", " ".join(filter(None, (node.title, node.text)))),
        element("rect", x="1", y="1", width=str(_WIDTH - 2), height=str(_HEIGHT - 2), rx="7"),
        element("text", _cut(node.title, _LONGEST_TITLE), x="12", y="23"),
        element("text", _cut(node.text, _LONGEST_TEXT), x="12", y="41", class_="about"),
    )
    if node.place is not None and (href := url_of(node.place)) is not None:
        box = element("a", box, href=href)
    class_ = "current" if node.current else None
    return element("svg", box, x=str(x), y=str(y), width=str(_WIDTH), height=str(_HEIGHT), class_=class_)


def _arrow(arrow: Arrow, way: Sequence[int], places: dict[int, tuple[int, int]]) -> Iterator[Html]:
    """The line from box to box through the places reserved for it, with its head and label."""
    x, y = places[arrow.source]
    x, y = x + _WIDTH, y + _HEIGHT // 2
    path = f"M{x} {y}"
    label_x, label_y = x, y
    for number in (*way, arrow.target):
        left, top = places[number]
        middle = top + (_HEIGHT if number == arrow.target else _BEND) // 2
        bend = (x + left) // 2
        path += f"C{bend} {y} {bend} {middle} {left} {middle}"
        label_x, label_y = bend, (y + middle) // 2
        x, y = left, middle
        if number != arrow.target:
            x += _WIDTH
            path += f"H{x}"
    yield element("path", d=path, class_="weak" if arrow.weak else None)
    yield element("path", d=f"M{x} {y}l-8 -4v8z", class_="head")
    if arrow.label:
        yield element("text", _cut(arrow.label, _LONGEST_TEXT), x=str(label_x), y=str(label_y - 5), class_="label")


@dataclass(slots=True)
class _Layout:
    """Boxes in columns. An arrow that crosses columns has a place in each of them, numbered after the boxes; `ways` are
    these places for each arrow. Cycles are broken where they are found."""

    count: int
    arrows: Sequence[Arrow]
    columns: list[list[int]] = field(default_factory=list[list[int]])
    ways: list[list[int]] = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        column = self._columns_of_boxes()
        before: dict[int, list[int]] = {}
        places = self.count
        for one in self.arrows:
            passed = range(column[one.source] + 1, column[one.target])
            way = list(range(places, places + len(passed)))
            column |= dict(zip(way, passed, strict=True))
            steps = [one.source, *way, one.target]
            for source, target in pairwise(steps):
                before.setdefault(target, []).append(source)
            self.ways.append(way)
            places += len(way)
        self.columns = [[] for _ in range(max(column.values(), default=-1) + 1)]
        for number, at in column.items():
            self.columns[at].append(number)
        self._sort(before)

    def _columns_of_boxes(self) -> dict[int, int]:
        sources: dict[int, list[int]] = {}
        for one in self.arrows:
            sources.setdefault(one.target, []).append(one.source)
        found: dict[int, int] = {}
        path: set[int] = set()

        def column(number: int) -> int:
            if number not in found:
                path.add(number)
                earlier = [column(one) for one in sources.get(number, ()) if one not in path]
                path.discard(number)
                found[number] = 1 + max(earlier, default=-1)
            return found[number]

        return {number: column(number) for number in range(self.count)}

    def _sort(self, before: dict[int, list[int]]) -> None:
        """Sort each column by where its arrows come from, so that few arrows cross."""
        rank: dict[int, float] = {}
        for column in self.columns:
            known = {number: [rank[one] for one in before.get(number, ()) if one in rank] for number in column}
            column.sort(key=lambda number: sum(known[number]) / len(known[number]) if known[number] else 0)
            rank |= {number: (at + 0.5) / len(column) for at, number in enumerate(column)}

    def height(self, column: Sequence[int]) -> int:
        return sum(self._height(number) for number in column) + _BELOW * (len(column) - 1)

    def _height(self, number: int) -> int:
        return _HEIGHT if number < self.count else _BEND

    def places(self, gap: int, height: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Left and top of every box and bend; columns are centred vertically."""
        for at, column in enumerate(self.columns):
            top = (height - self.height(column)) // 2
            for number in column:
                yield number, (at * (_WIDTH + gap), top)
                top += self._height(number) + _BELOW


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
