"""Plain graphs as pictures."""

import xml.etree.ElementTree as ET

import pytest

from vgib.chem.draw import OUTLINE
from vgib.page.graphs import MOST_NODES, draw_graph

SVG = "{http://www.w3.org/2000/svg}"
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
SCORES = [0.0, 0.2, 0.9, 1.0]


def shapes(svg: str, kind: str) -> list[dict[str, str]]:
    return [element.attrib for element in ET.fromstring(svg).iter(SVG + kind)]


def test_every_node_and_every_edge_is_drawn_once() -> None:
    both_ways = SQUARE + [(b, a) for a, b in SQUARE]
    svg = draw_graph(both_ways, SCORES)
    assert len(shapes(svg, "circle")) == 4 and len(shapes(svg, "line")) == 4


def test_chosen_nodes_and_the_edges_between_them_stand_out() -> None:
    svg = draw_graph(SQUARE, SCORES, [2, 3])
    outline = "#" + "".join(f"{round(255 * part):02x}" for part in OUTLINE)
    assert [circle["stroke"] == outline for circle in shapes(svg, "circle")] == [
        False,
        False,
        True,
        True,
    ]
    assert sum(line["stroke"] == outline for line in shapes(svg, "line")) == 1


def test_the_color_follows_the_score() -> None:
    fills = [circle["fill"] for circle in shapes(draw_graph(SQUARE, SCORES), "circle")]
    assert len(set(fills)) == 4

    def darkness(color: str) -> int:
        return -sum(int(color[at : at + 2], 16) for at in (1, 3, 5))

    assert sorted(fills, key=darkness) == fills


@pytest.mark.parametrize("nodes", [0, 1, 2, 60])
def test_graphs_of_any_size_stay_inside_the_picture(nodes: int) -> None:
    svg = draw_graph([], [0.5] * nodes, size=(200, 100))
    circles = shapes(svg, "circle")
    assert len(circles) == nodes
    assert all(0 < float(c["cx"]) < 200 and 0 < float(c["cy"]) < 100 for c in circles)


def test_the_same_seed_gives_the_same_picture() -> None:
    assert draw_graph(SQUARE, SCORES, seed=1) == draw_graph(SQUARE, SCORES, seed=1)
    assert draw_graph(SQUARE, SCORES, seed=1) != draw_graph(SQUARE, SCORES, seed=2)


def test_a_title_is_text_and_says_what_is_chosen() -> None:
    title = ET.fromstring(draw_graph([], [1.0], title='<b>"&"')).find(SVG + "title")
    assert title is not None and title.text == '<b>"&"'
    default = ET.fromstring(draw_graph(SQUARE, SCORES, {3, 2})).find(SVG + "title")
    assert default is not None and default.text == "graph with nodes [2, 3] chosen"


def test_of_a_large_graph_the_telling_part_is_drawn() -> None:
    nodes = MOST_NODES + 60
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    scores = [node / nodes for node in range(nodes)]
    svg = draw_graph(ring, scores, [3, 4])
    assert len(shapes(svg, "circle")) == MOST_NODES
    assert f"{MOST_NODES} of {nodes} nodes shown" in svg
    # The chosen edge, one to a neighbor on either side, and those among the best-scored others.
    assert len(shapes(svg, "line")) == 3 + MOST_NODES - 5
    sizes = {circle["r"] for circle in shapes(svg, "circle")}
    assert max(map(float, sizes)) < 9
