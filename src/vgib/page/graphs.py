"""A plain graph as an SVG picture, in the colors of the molecules."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from vgib.chem.draw import DIMMED, OUTLINE, color_of
from vgib.chem.shapes import as_hex

if TYPE_CHECKING:  # imported where it is used: it takes a while, and most graphs are never drawn
    import networkx as nx

MARGIN = 22
RADIUS = 9.0
ROOMY = 40
"""So many nodes are drawn in full size; more of them in proportion."""

MOST_NODES = 200
"""Of a larger graph only a part is drawn: the layout would take long and show nothing."""


def draw_graph(
    edges: Iterable[tuple[int, int]],
    scores: Sequence[float],
    selected: Iterable[int] = (),
    *,
    size: tuple[int, int] = (300, 240),
    title: str = "",
    seed: int = 0,
) -> str:
    """Nodes filled by score, the chosen ones with a thick outline, their edges drawn strongly.

    Of a graph with more than ``MOST_NODES`` nodes, the chosen ones, their neighbors and then the
    best-scored others are drawn, up to that number.
    """
    import networkx as nx

    chosen = set(selected)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(scores)))
    graph.add_edges_from(edges)
    name = title or f"graph with nodes {sorted(chosen)} chosen"
    if len(graph) > MOST_NODES:
        name += f"; {MOST_NODES} of {len(graph)} nodes shown"
        graph = graph.subgraph(_most_telling(graph, scores, chosen))
    places = _places(graph, size, seed)
    radius = RADIUS * min(1.0, (ROOMY / max(len(graph), 1)) ** 0.5)
    pen = radius / RADIUS
    shapes = []
    for a, b in graph.edges:
        inside = a in chosen and b in chosen
        (x1, y1), (x2, y2) = places[a], places[b]
        shapes.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{as_hex(OUTLINE if inside else DIMMED)}" '
            f'stroke-width="{pen * (3 if inside else 1.2):.2g}"/>'
        )
    for node, (x, y) in places.items():
        is_chosen = node in chosen
        shapes.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius if is_chosen else radius * 0.78:.2g}" '
            f'fill="{as_hex(color_of(scores[node]))}" '
            f'stroke="{as_hex(OUTLINE if is_chosen else DIMMED)}" '
            f'stroke-width="{pen * (3 if is_chosen else 1):.2g}"/>'
        )
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{escape(name)}</title>{"".join(shapes)}</svg>'
    )


def _most_telling(graph: "nx.Graph", scores: Sequence[float], chosen: set[int]) -> list[int]:
    """The nodes to be drawn of a large graph."""
    near = {neighbor for node in chosen for neighbor in graph[node]}
    best = sorted(graph, key=lambda node: (node not in chosen, node not in near, -scores[node]))
    return best[:MOST_NODES]


def _places(graph: "nx.Graph", size: tuple[int, int], seed: int) -> dict[int, tuple[float, float]]:
    """A spring layout that fills the picture."""
    import networkx as nx

    if not len(graph):
        return {}
    raw = nx.spring_layout(graph, seed=seed, iterations=300, k=1.4 / max(len(graph), 1) ** 0.5)
    points = np.array([raw[node] for node in graph.nodes])
    spread = np.maximum(np.ptp(points, axis=0), 1e-9)
    room = np.array(size) - 2 * MARGIN
    fitted = MARGIN + (points - points.min(axis=0)) / spread * room
    return {node: (x, y) for node, (x, y) in zip(graph.nodes, fitted.tolist(), strict=True)}
