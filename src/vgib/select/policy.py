"""``Selection``: how many nodes are chosen, of which shape, and by what; and what to compare with.

Every name, default and check of a choice stands here, and so does the control that belongs to it.
The command line, the service and the reports read them from here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from vgib.errors import InputError, unknown_name

if TYPE_CHECKING:  # the help of the command line reads the names below, and must not cost an import
    import numpy as np

    from vgib.select.blocktree import Array, Graphs, Mask

Rule = Literal["ring_intact", "connected", "largest_part", "nodes"]
By = Literal["scores", "prediction", "sufficient"]
Nodes: TypeAlias = tuple[int, ...]
"""The nodes of a subgraph, numbered within their graph, ascending."""

RULES: dict[Rule, str] = {
    "ring_intact": "connected atoms of a molecule that cut no ring and no multiple bond",
    "connected": "connected nodes, grown from the best-scored one",
    "largest_part": "of the best-scored nodes the largest connected part, as in the paper",
    "nodes": "the best-scored nodes, connected or not",
}
"""What each rule allows as a subgraph."""

CRITERIA: dict[By, str] = {
    "sufficient": "the smallest from which the model still predicts what it predicts for the whole",
    "scores": "the best mean score",
    "prediction": "the model's prediction from the subgraph alone is nearest to that of the whole",
}
"""What makes one subgraph better than another: of all sizes, then of the same size."""

RULE_HELP = (
    "Which subgraphs are allowed: "
    + "; ".join(f"{name} ({about})" for name, about in RULES.items())
    + ". Default: the model's own, else ring_intact for molecules and connected for other graphs."
)
BY_HELP = (
    "What decides between the allowed subgraphs: "
    + "; ".join(f"{name} ({about})" for name, about in CRITERIA.items())
    + ". Default: sufficient for molecules; at a size that is asked for, the model's own, else "
    "scores."
)

HALF = 0.5
"""The score from which a node counts as kept where no share is asked for, and the share at which
choices are compared with each other then."""

MUCH_SMALLER = 0.7
"""The largest share of the nodes that a sufficient part may have; a larger one explains nothing."""

SLACK = 1
"""By how many nodes a subgraph that the prediction chooses may miss the wanted size."""


@dataclass(frozen=True)
class Selection:
    """Which subgraphs of a graph are chosen.

    >>> Selection(0.5, "nodes").sizes_asked
    (0.5,)
    >>> Selection(rule="conected")
    Traceback (most recent call last):
    vgib.errors.UnknownNameError: no selection rule named 'conected'; did you mean 'connected'? \
Known: connected, largest_part, nodes, ring_intact

    Attributes:
        size: The share of the nodes to keep, or several shares; ``None`` for what the criterion
            finds: by scores as many nodes as the largest connected part that scores one half (the
            paper's size), whole rings counted by their mean where rings stay whole.
        rule: Which sets of nodes are allowed, a name of :data:`RULES`; ``None`` for
            ``"ring_intact"`` of molecules and ``"connected"`` of other graphs.
        by: What decides between them, a name of :data:`CRITERIA`; ``None`` for ``"sufficient"`` of
            molecules where no size and no other rule is asked for, else for ``"scores"``.
        n: How many subgraphs, or how many at each size. The rules ``"largest_part"`` and
            ``"nodes"`` have one.

    Raises:
        InputError: a share is not above 0 and at most 1, ``n`` is below 1, or the criterion does
            not go with the rule.
        UnknownNameError: there is no such rule or criterion.
    """

    size: float | tuple[float, ...] | None = None
    rule: Rule | None = None
    by: By | None = None
    n: int = 1

    def __post_init__(self) -> None:
        if self.rule is not None and self.rule not in RULES:
            raise unknown_name("selection rule", self.rule, RULES)
        if self.by is not None and self.by not in CRITERIA:
            raise unknown_name("selection criterion", self.by, CRITERIA)
        if self.asks_model and self.rule not in (None, "ring_intact"):
            raise InputError(
                f"by={self.by!r} compares ring-intact parts, not those of rule={self.rule!r}; "
                "leave the rule out, or choose by='scores'"
            )
        if self.by == "sufficient" and self.size is not None:
            raise InputError(
                "by='sufficient' finds the size itself; leave keep_ratio out, or choose "
                "by='prediction' or by='scores'"
            )
        if self.n < 1:
            raise InputError(f"n is {self.n}; expected at least one subgraph at each size")
        for share in self.sizes_asked or ():
            check_share(share)
        if self.sizes_asked == ():
            raise InputError("no keep_ratio was given; leave it out for scores of one half")

    @classmethod
    def of(
        cls,
        keep_ratio: Any = None,
        rule: str | None = None,
        by: str | None = None,
        n: int = 1,
    ) -> "Selection":
        """From what a user gives: any kind of number or list for the shares, and names as texts.

        >>> Selection.of([0.3, 0.5], "ring_intact")
        Selection(size=(0.3, 0.5), rule='ring_intact', by=None, n=1)
        """
        size: float | tuple[float, ...] | None = None
        if keep_ratio is not None:
            is_list = isinstance(keep_ratio, Sequence) and not isinstance(keep_ratio, str)
            several = is_list or getattr(keep_ratio, "ndim", 0) > 0
            try:
                size = tuple(map(float, keep_ratio)) if several else float(keep_ratio)
            except (TypeError, ValueError):
                raise InputError(
                    f"keep_ratio is {keep_ratio!r}; expected a share above 0 and at most 1, "
                    "or several"
                ) from None
        return cls(size, rule, by, n)  # type: ignore[arg-type]  # names are checked at once

    @property
    def sizes_asked(self) -> tuple[float, ...] | None:
        """The shares that are asked for, one or several."""
        return (self.size,) if isinstance(self.size, int | float) else self.size

    @property
    def asks_model(self) -> bool:
        """Whether a model has to be asked about each candidate."""
        return self.by in ("prediction", "sufficient")

    def or_else(self, other: "Selection") -> "Selection":
        """This choice; what it leaves open is taken from another, such as a model's own.

        Where nothing is asked for, a molecule's smallest sufficient part is, whatever its size.

        >>> Selection(0.3).or_else(Selection(0.5, by="prediction"))
        Selection(size=0.3, rule=None, by='prediction', n=1)
        >>> Selection().or_else(Selection(0.5, by="prediction"))
        Selection(size=None, rule=None, by=None, n=1)
        """
        if self.by == "sufficient":
            return self
        if self.rule is None and self.by is None:
            open_rule = other.rule in (None, "ring_intact")
            if self.size is None and open_rule:
                return replace(self, rule=other.rule)
            size = other.size if self.size is None else self.size
            return replace(self, size=size, rule=other.rule, by=other.by)
        return replace(self, size=other.size if self.size is None else self.size)

    def for_graphs(self, *, molecules: bool) -> "Selection":
        """This choice with its rule and criterion filled in, for molecules or for other graphs."""
        is_open = self.size is None and self.rule in (None, "ring_intact")
        by: By = self.by or ("sufficient" if molecules and is_open else "scores")
        if by != "scores" and not molecules:
            raise InputError("only molecules can be searched for parts that are predicted alike")
        rule = self.rule or ("ring_intact" if molecules else "connected")
        if rule == "ring_intact" and not molecules:
            raise InputError("only molecules have rings to keep whole; use rule='connected'")
        return replace(self, rule=rule, by=by)

    def compared(self) -> "Selection":
        """This choice at its first share alone, to compare the choices that several scores make."""
        by: By | None = "scores" if self.by == "sufficient" else self.by
        return replace(self, size=(self.sizes_asked or (HALF,))[0], by=by, n=1)

    def sizes(self, scores: Any, graphs: "Graphs", blocks: Any = None) -> "list[Array]":
        """How many nodes to keep of each graph, an array for each share.

        At least one, also of a graph without nodes, which is then taken whole.

        Args:
            blocks: The indivisible blocks, where the rule keeps them whole.
        """
        from vgib.select import masks

        if self.sizes_asked is not None:
            return [masks.sizes_of_ratio(graphs.node_ptr, share) for share in self.sizes_asked]
        if self.rule == "ring_intact" and self.by != "prediction":
            scores = masks.block_means(scores, graphs, blocks)
        kept = masks.threshold(scores, graphs.node_ptr, HALF)
        if self.rule in ("ring_intact", "connected"):
            kept = masks.largest_connected(kept, graphs, scores)
        return [masks.at_least_one(kept, graphs.node_ptr)]

    def by_scores(self, scores: Any, graphs: "Graphs", blocks: Any = None) -> list[list[Nodes]]:
        """For each graph its ranked subgraphs, the sizes in the order asked for.

        Args: as for :meth:`sizes`; the rule must be filled in (:meth:`for_graphs`).
        """
        from vgib.select import masks

        sizes = self.sizes(scores, graphs, blocks)
        if self.rule in ("ring_intact", "connected"):
            own = blocks if self.rule == "ring_intact" else None
            return masks.ranked(scores, graphs, blocks=own, sizes=sizes, n=self.n)
        chosen = [masks.size(scores, graphs.node_ptr, k) for k in sizes]
        if self.rule == "largest_part":
            chosen = [masks.largest_connected(mask, graphs, scores) for mask in chosen]
        return masks.distinct(chosen, graphs.node_ptr)

    def control(
        self, graphs: "Graphs", sizes: Any, rng: "np.random.Generator", blocks: Any = None
    ) -> "Mask":
        """Random subgraphs that the rule allows, of exactly these sizes: what to compare with.

        ``sizes`` holds the number of nodes that were chosen in each graph, ``blocks`` the
        indivisible blocks, where the rule keeps them whole. Gives ``bool [nodes]``.
        """
        from vgib.select import random

        if self.rule == "ring_intact":
            return random.random_ring_intact(graphs, blocks, sizes, rng, slack=0)
        if self.rule == "nodes":
            return random.random_nodes(graphs, sizes, rng)
        return random.random_connected(graphs, sizes, rng)


ANY = Selection()
"""A choice that leaves everything open, to the model's card or to the usual."""


def check_share(share: float) -> None:
    """Refuses what is no share of the nodes."""
    if not 0 < share <= 1:
        raise InputError(f"keep_ratio is {share!r}; expected a share above 0 and at most 1")


assert set(RULES) == set(get_args(Rule)) and set(CRITERIA) == set(get_args(By))
