"""Graphs: every box is drawn once and inside the picture, arrows lead from left to right and pass no box."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.console.graphs import MOST_NODES, graph
from pentad.kernel.pages import Arrow, Graph, GraphNode, Place
from tests.console.reading import Read, is_inert, read

BREAKOUT = '"><script>alert(1)</script>'
WIDTH, HEIGHT = 190, 54


def drawn(spec: Graph) -> Read:
    found = read(graph(spec, lambda place: f"/console/{place.parts[0]}"))
    is_inert(found)
    return found


def boxes(found: Read) -> list[tuple[int, int]]:
    """Left and top of each box, in the order of the nodes."""
    lefts, tops = found.values("svg", "x"), found.values("svg", "y")
    return [(int(x), int(y)) for x, y in zip(lefts, tops, strict=True)]


@pytest.mark.requirement("console:graphs")
@settings(max_examples=100, deadline=None)
@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=25))
def test_boxes_do_not_overlap_and_are_inside_whatever_the_arrows(count: int, pairs: list[tuple[int, int]]) -> None:
    spec = Graph("g", [GraphNode(f"n{n}") for n in range(count)], [Arrow(*pair) for pair in pairs])
    found = drawn(spec)
    placed = boxes(found)
    assert len(set(placed)) == len(placed) == count
    width, height = (int(found.values("svg", name)[0]) for name in ("width", "height"))
    for number, (x, y) in enumerate(placed):
        assert 0 <= x <= width - WIDTH
        assert 0 <= y <= height - HEIGHT
        for other_x, other_y in placed[:number]:
            assert x != other_x or abs(y - other_y) >= HEIGHT


@pytest.mark.requirement("console:graphs")
def test_an_arrow_leads_to_the_right_and_passes_no_box() -> None:
    spec = Graph(
        "g", [GraphNode("old"), GraphNode("middle"), GraphNode("new")], [Arrow(0, 1), Arrow(1, 2), Arrow(0, 2)]
    )
    found = drawn(spec)
    placed = boxes(found)
    assert [x for x, _ in placed] == sorted({x for x, _ in placed}), "one column each"
    long = found.values("path", "d")[4]
    (passing,) = re.findall(r"(\d+)H", long)
    _, top = placed[1]
    assert not top <= int(passing) <= top + HEIGHT


@pytest.mark.requirement("console:graphs")
def test_texts_stay_texts_and_boxes_are_links() -> None:
    nodes = [GraphNode(BREAKOUT, BREAKOUT, Place(("there",))), GraphNode("here", current=True)]
    found = drawn(Graph(BREAKOUT, nodes, [Arrow(0, 1, BREAKOUT, weak=True), Arrow(0, 7)]))
    assert found.values("a", "href") == ["/console/there"]
    assert f"{BREAKOUT} {BREAKOUT}" in found.texts, "the whole text is said, also where the picture cuts it"
    assert found.values("svg", "class") == ["current"]
    assert found.values("path", "class") == ["weak", "head"], "an arrow to nowhere is left out"


@pytest.mark.requirement("console:graphs")
def test_a_picture_has_an_end() -> None:
    found = drawn(Graph("g", [GraphNode(str(n)) for n in range(1_000)], [Arrow(0, 999)]))
    assert len(boxes(found)) == MOST_NODES
