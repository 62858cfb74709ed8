"""Small random graphs, and what is easy to say of them by walking."""

import numpy as np
from hypothesis import strategies as st


class Packed:
    """Graphs as flat arrays, from edge lists."""

    def __init__(self, sizes, edges):
        self.node_ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = [[] for _ in range(self.node_ptr[-1])]
        for graph, begin, end in edges:
            rows[self.node_ptr[graph] + begin].append(end)
            rows[self.node_ptr[graph] + end].append(begin)
        self.indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        self.col = np.array([end for row in rows for end in sorted(row)], dtype=np.int32)

    def bounds(self):
        return list(zip(self.node_ptr[:-1].tolist(), self.node_ptr[1:].tolist(), strict=True))

    def neighbors(self, node):
        graph = np.searchsorted(self.node_ptr, node, side="right") - 1
        own = self.col[self.indptr[node] : self.indptr[node + 1]]
        return [int(other + self.node_ptr[graph]) for other in own]


@st.composite
def packed(draw, tree=False):
    """Up to four random graphs of up to nine nodes, with scores that are often equal."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    edges = set()
    for graph, nodes in enumerate(sizes):
        for node in range(1, nodes):
            if tree or draw(st.booleans()):
                edges.add((graph, draw(st.integers(0, node - 1)), node))
        if not tree:
            for _ in range(draw(st.integers(0, 3))):
                ends = draw(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1)))
                if ends[0] != ends[1]:
                    edges.add((graph, min(ends), max(ends)))
    graphs = Packed(sizes, sorted(edges))
    total = sum(sizes)
    scores = draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.9]), min_size=total, max_size=total))
    return graphs, np.array(scores)


def parts_of(graphs, nodes):
    """The connected parts of some nodes, by walking."""
    left, parts = set(nodes), []
    while left:
        stack = [min(left)]
        part = {stack[0]}
        while stack:
            for other in graphs.neighbors(stack.pop()):
                if other in left and other not in part:
                    part.add(other)
                    stack.append(other)
        parts.append(part)
        left -= part
    return parts


def blocks_of(graphs, width):
    """Blocks: a node and its parent share one where the number allows.

    Any partition into connected parts of a tree is a tree again.
    """
    blocks = np.arange(graphs.node_ptr[-1])
    for low, high in graphs.bounds():
        for node in range(low + 1, high):
            parent = min(graphs.neighbors(node))
            if parent < node and (node * 7 + parent) % (width + 1) == 0:
                blocks[node] = blocks[parent]
        blocks[low:high] -= low
    return blocks
