"""Discrete Bayesian networks: every column given its parents, on any directed acyclic graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import TYPE_CHECKING, ClassVar, final

from discreet.families.exact_fields import Rational
from discreet.models.count_model import CountModel

if TYPE_CHECKING:
    import networkx as nx


Edges = tuple[tuple[str, str], ...]
MOST_CONFIGURATIONS = 4096  # of the parents of one node: beyond, hardly a row of its table would see a record


@final
@dataclass(frozen=True, repr=False)
class BayesianNetwork(CountModel):
    """p(x) = ∏_v θ_{v, x_pa(v), x_v}; every row θ_{v,u} Dirichlet with `prior` in each entry.

    `graph` is a networkx.DiGraph, its edges (parent, child), or {child: [parents]}; columns without any edge
    are named in `nodes`, or are a child without parents.
    One table of counts (parents…, node) for each node: the sufficient statistic.
    """

    name: ClassVar[str] = "bayesian_network"

    graph: Edges  # as given, then as (parent, child) pairs
    nodes: tuple[str, ...] = ()  # as given, then all of them, parents before children
    prior: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        edges, named = read_graph(self.graph)
        given = (self.nodes,) if isinstance(self.nodes, str) else tuple(self.nodes)
        object.__setattr__(self, "graph", edges)
        object.__setattr__(self, "nodes", ordered(edges, (*given, *named)))
        super().__post_init__()
        if self.sizes:
            self._refuse_crowds()

    def _refuse_crowds(self) -> None:
        for node, parents in self.parents.items():
            configurations = prod(self.size_of[parent] for parent in parents)
            if configurations > MOST_CONFIGURATIONS:
                raise ValueError(
                    f"the parents of {node!r} ({', '.join(parents)}) have {configurations} joint values, "
                    f"more than {MOST_CONFIGURATIONS}: nearly every row of its table would be empty; give it "
                    "fewer parents, or coarser ones"
                )

    @cached_property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """Node → its parents, in the order of the edges."""
        return {node: tuple(a for a, b in self.graph if b == node) for node in self.nodes}

    @property
    def layout(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((node, (*parents, node)) for node, parents in self.parents.items())

    def to_networkx(self) -> nx.DiGraph:
        """Return the graph as a networkx.DiGraph, for drawing and for graph algorithms."""
        try:
            import networkx as nx  # noqa: PLC0415 - an extra
        except ImportError:
            raise ImportError(
                "graphs as networkx objects need the extra: pip install 'discreet[models]'"
            ) from None
        graph = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.graph)
        return graph


def read_graph(graph: Edges | Mapping[str, Sequence[str]] | nx.DiGraph) -> tuple[Edges, tuple[str, ...]]:
    """(edges, nodes) of a networkx.DiGraph, of (parent, child) pairs or of {child: [parents]}."""
    if isinstance(graph, Mapping):
        return _by_child(graph)
    directed = getattr(graph, "is_directed", lambda: True)()
    if not directed or getattr(graph, "is_multigraph", lambda: False)():
        raise ValueError("a Bayesian network needs a networkx.DiGraph: each edge once, from parent to child")
    given = tuple(getattr(graph, "edges", graph))
    wrong = next(
        (edge for edge in given if isinstance(edge, str) or [type(x) for x in edge] != [str, str]), None
    )
    if wrong is not None:
        raise ValueError(f"an edge is a pair of column names (parent, child), got {wrong!r}")
    edges = tuple((parent, child) for parent, child in given)
    if len(set(edges)) != len(edges):
        raise ValueError("an edge of the graph is given twice")
    ends = (end for edge in edges for end in edge)
    return edges, tuple(getattr(graph, "nodes", ends))


def _by_child(graph: Mapping[str, Sequence[str]]) -> tuple[Edges, tuple[str, ...]]:
    for child, parents in graph.items():
        if isinstance(parents, str) or not all(isinstance(parent, str) for parent in parents):
            raise ValueError(
                f"the graph as a mapping is {{child: [parents]}}, a list of column names for each; got "
                f"{parents!r} for {child!r}"
            )
    edges, _ = read_graph([(parent, child) for child, parents in graph.items() for parent in parents])
    return edges, tuple(dict.fromkeys([*(end for edge in edges for end in edge), *graph]))


def ordered(edges: Edges, named: Iterable[str]) -> tuple[str, ...]:
    """All nodes, parents before children, in the given order if it is one; a cycle is refused and named."""
    above: dict[str, list[str]] = {node: [] for node in named}
    if not above or {type(node) for node in above} != {str}:
        raise ValueError(f"the nodes of the network are column names, at least one; got {list(above)}")
    for parent, child in edges:
        above.setdefault(parent, [])
        above.setdefault(child, []).append(parent)
    rank = {node: i for i, node in enumerate(above)}
    if all(rank[parent] < rank[child] for parent, child in edges):
        return tuple(above)
    try:
        return tuple(TopologicalSorter(above).static_order())
    except CycleError as error:
        cycle = " → ".join(error.args[1])
        raise ValueError(
            f"the graph has the cycle {cycle}; a Bayesian network needs a directed graph without cycles"
        ) from None
