"""The graph of a circuit: its loops and cutsets, found by walking along its branches.

A loop is a closed walk, a cutset what separates the nodes into two sides. Both are tables of branch
name to +1 or -1: whether the walk follows the branch or goes against it, whether the branch leaves
the first side or enters it.

>>> triangle = Graph({"a": ("1", "2"), "b": ("2", "3"), "c": ("1", "3")})
>>> triangle.fundamental_loops(["a", "b", "c"])
[{'a': -1, 'b': -1, 'c': 1}]
>>> triangle.fundamental_cutsets(["a", "c"])
[{'a': 1, 'c': 1}]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ...errors import ModelError

__all__ = ["Graph", "Signed"]

#: Branch name -> +1 or -1.
Signed = dict[str, int]
#: The most independent loops of which all combinations are tried.
MOST_LOOPS = 12


@dataclass(frozen=True)
class Graph:
    """Branches between nodes.

    Attributes
    ----------
    ends : mapping of branch name to (node it leaves, node it enters)
    """

    ends: Mapping[str, tuple[str, str]]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node, in the order of the branches."""
        return tuple(dict.fromkeys(node for pair in self.ends.values() for node in pair))

    def incidence(self, node: str) -> Signed:
        """The row of a node: +1 for branches that leave it, -1 for those that enter it."""
        leaving = {name: 1 for name, (tail, _) in self.ends.items() if tail == node}
        return {name: leaving.get(name, -1) for name, pair in self.ends.items() if node in pair}

    def forest(self, among: Sequence[str], joined: Sequence[str] = ()) -> list[str]:
        """Branches of `among`, in order, that close no loop with each other or with `joined`."""
        root = {node: node for node in self.nodes}

        def find(node: str) -> str:
            while root[node] != node:
                node = root[node]
            return node

        kept = []
        for name in (*joined, *among):
            tail, head = (find(node) for node in self.ends[name])
            if tail != head:
                root[head] = tail
                kept.append(name)
        return [name for name in kept if name in among]

    def side(self, start: str, along: Sequence[str]) -> set[str]:
        """The nodes that can be reached from `start` along these branches."""
        reached, pending = {start}, [start]
        while pending:
            node = pending.pop()
            for name in along:
                if node in self.ends[name]:
                    for other in self.ends[name]:
                        if other not in reached:
                            reached.add(other)
                            pending.append(other)
        return reached

    def fundamental_loops(self, among: Sequence[str]) -> list[Signed]:
        """Independent loops of `among`: each branch outside a spanning forest, closed by it."""
        forest = self.forest(among)
        return [self._closed(chord, forest) for chord in among if chord not in forest]

    def fundamental_cutsets(self, among: Sequence[str]) -> list[Signed]:
        """Independent cutsets of the branches `among`: branches of a forest between parts."""
        others = [name for name in self.ends if name not in among]
        forest = self.forest(among, joined=others)
        found = []
        for name in forest:
            inside = self.side(
                self.ends[name][0], [*others, *(other for other in forest if other != name)]
            )
            crossing = {
                b: (self.ends[b][0] in inside) - (self.ends[b][1] in inside)
                for b in self.ends
                if b in among
            }
            found.append({b: sign for b, sign in crossing.items() if sign})
        return found

    def every_loop(self) -> list[Signed]:
        """Every loop that meets no node twice; they may depend on each other."""
        basis = self.fundamental_loops(list(self.ends))
        if len(basis) > MOST_LOOPS:
            raise ModelError(
                "The circuit has too many loops to list them all",
                seen=f"{len(basis)} independent ones",
                remedy='pass loops="fundamental" or a list of loops',
            )
        found = []
        for size in range(1, len(basis) + 1):
            for chosen in combinations(basis, size):
                branches: set[str] = set()
                for loop in chosen:
                    branches ^= set(loop)
                walk = self._single_loop([name for name in self.ends if name in branches])
                if walk is not None:
                    found.append(walk)
        return found

    def opening(self, loop: Mapping[str, int]) -> str | None:
        """A node at which a loop does not close; None where it does."""
        for node in self.nodes:
            row = self.incidence(node)
            if sum(row.get(name, 0) * sign for name, sign in loop.items()):
                return node
        return None

    def _closed(self, chord: str, forest: Sequence[str]) -> Signed:
        """The loop of a branch and the way back through a forest."""
        target, start = self.ends[chord]
        before: dict[str, tuple[str, str]] = {}
        pending = [start]
        while pending:
            node = pending.pop()
            for name in forest:
                if node in self.ends[name]:
                    other = next((end for end in self.ends[name] if end != node), node)
                    if other != start and other not in before:
                        before[other] = (name, node)
                        pending.append(other)
        loop: Signed = {chord: 1}
        while target != start:
            name, node = before[target]
            loop[name] = 1 if self.ends[name] == (node, target) else -1
            target = node
        return {name: loop[name] for name in self.ends if name in loop}

    def _single_loop(self, branches: Sequence[str]) -> Signed | None:
        """The loop that these branches form; None if not one loop that meets each node once."""
        degrees: dict[str, int] = {}
        for name in branches:
            for node in self.ends[name]:
                degrees[node] = degrees.get(node, 0) + 1
        if any(degree != 2 for degree in degrees.values()):
            return None
        if self.side(self.ends[branches[0]][0], branches) != set(degrees):
            return None
        return self._closed(branches[0], branches[1:])
