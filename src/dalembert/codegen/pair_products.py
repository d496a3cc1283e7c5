r"""Native loops for a matrix whose entries are inner products of columns of numbers.

Straight-line code prepares `width` numbers for each of n indices, X (n x width) by columns. Each
entry (i, k) of the result's blocks is then a sum of products X[i, a] X[k, b]. Entries of one column
that lie next to each other are computed as one vector, so that the code does not grow with n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["PairProducts", "PairRule", "tiles"]

#: Numbers of entries that are computed at once; those of the processor's registers are best.
WIDTHS = (8, 4, 2, 1)


@dataclass(frozen=True)
class PairRule:
    """How some entries of a matrix follow: block by block, pairs (a, b) of columns of X.

    Entry (i, k) of block m is the sum of X[i, a] X[k, b] over the pairs of ``blocks[m]``; `runs`
    has ``(k, first, stop)`` for the rows ``first <= i < stop`` of column k.
    """

    blocks: tuple[tuple[tuple[int, int], ...], ...]
    runs: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class PairProducts:
    """A matrix (n x m n) of inner products, with single entries to add.

    Parameters
    ----------
    size : int
        n, the number of indices.
    width : int
        The columns of X.
    rules : sequence of PairRule
        No entry is computed by two of them.
    added : sequence of int
        Where the further results of the straight-line code are added, in the matrix by columns.
    """

    size: int
    width: int
    rules: tuple[PairRule, ...]
    added: tuple[int, ...] = ()

    @property
    def outputs(self) -> int:
        """The number of results."""
        return self.size**2 * len(self.rules[0].blocks)

    @property
    def is_full(self) -> bool:
        """Whether the rules write every entry."""
        entries = sum(stop - first for rule in self.rules for _, first, stop in rule.runs)
        return entries == self.size**2

    @property
    def operations(self) -> int:
        """The multiplications and additions of the same products without loops."""
        return sum(
            2 * sum(len(block) for block in rule.blocks) * (stop - first)
            for rule in self.rules
            for _, first, stop in rule.runs
        )

    def text(self, name: str) -> str:
        """LLVM assembly of ``name(work, out)``; `work` has X, then the further results."""
        lines: list[str] = []
        calls: list[str] = []
        for number, rule in enumerate(self.rules):
            for width in WIDTHS:
                found = [each for each in tiles(rule.runs) if each[0] == width]
                if found:
                    own = f"{name}.{number}.{width}"
                    lines += _table(own, [place for each in found for place in each[1:]])
                    lines += self._loop(own, rule, width, len(found))
                    calls.append(f"call void @{own}(ptr %work, ptr %out)")
        if self.added:
            lines += _table(f"{name}.added", self.added)
            lines += _adding(f"{name}.added", self.size * self.width, len(self.added))
            calls.append(f"call void @{name}.added(ptr %work, ptr %out)")
        lines.append(f"define internal void @{name}({_SIGNATURE}) noinline #1 {{")
        if not self.is_full:
            amount = 8 * self.outputs
            lines.append(f"call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 {amount}, i1 false)")
        return "\n".join([*lines, *calls, "ret void", "}", ""])

    def _loop(self, name: str, rule: PairRule, width: int, count: int) -> list[str]:
        """The function that computes all tiles of one width."""
        kind = "double" if width == 1 else f"<{width} x double>"
        lines = [
            *_head(name),
            *_entry(name, "column", "%k", 2, 0),
            *_entry(name, "row", "%k", 2, 1),
            f"%down = mul i64 %column, {self.size}",
            "%place = add i64 %down, %row",
        ]
        rows = sorted({a for block in rule.blocks for a, _ in block})
        columns = sorted({b for block in rule.blocks for _, b in block})
        for a in rows:
            lines += self._element(f"%r{a}", a, "%row", kind)
        for b in columns:
            lines += self._element(f"%s{b}", b, "%column", "double")
            if width > 1:
                lines += [
                    f"%t{b} = insertelement {kind} poison, double %s{b}, i64 0",
                    f"%c{b} = shufflevector {kind} %t{b}, {kind} poison,"
                    f" <{width} x i32> zeroinitializer",
                ]
        scalar = "%s" if width == 1 else "%c"
        for number, block in enumerate(rule.blocks):
            total = ""
            for term, (a, b) in enumerate(block):
                at = f"{number}.{term}"
                lines.append(f"%m{at} = fmul contract {kind} %r{a}, {scalar}{b}")
                if total:
                    lines.append(f"%n{at} = fadd contract {kind} {total}, %m{at}")
                total = f"%n{at}" if total else f"%m{at}"
            lines += [
                f"%o{number} = getelementptr double, ptr %out, i64 {number * self.size**2}",
                f"%q{number} = getelementptr double, ptr %o{number}, i64 %place",
                f"store {kind} {total}, ptr %q{number}, align 8",
            ]
        return [*lines, *_tail(count)]

    def _element(self, name: str, part: int, index: str, kind: str) -> list[str]:
        """X[index, part], or several from there on."""
        return [
            f"{name}b = getelementptr double, ptr %work, i64 {part * self.size}",
            f"{name}p = getelementptr double, ptr {name}b, i64 {index}",
            f"{name} = load {kind}, ptr {name}p, align 8",
        ]


def tiles(runs: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Cover runs ``(column, first, stop)`` by vectors ``(width, column, first row)``.

    The last vector of a run may overlap the one before it.

    >>> tiles([(0, 2, 13), (1, 0, 3)])
    [(8, 0, 2), (8, 0, 5), (2, 1, 0), (2, 1, 1)]
    """
    found = []
    for column, first, stop in runs:
        width = next(each for each in WIDTHS if each <= stop - first)
        for row in range(first, stop, width):
            found.append((width, column, min(row, stop - width)))
    return found


_SIGNATURE = "ptr noalias nocapture readonly %work, ptr noalias nocapture %out"


def _table(name: str, values: Sequence[int]) -> list[str]:
    entries = ", ".join(f"i32 {value}" for value in values)
    return [f"@{name}.table = internal constant [{len(values)} x i32] [{entries}]"]


def _head(name: str) -> list[str]:
    return [
        f"define internal void @{name}({_SIGNATURE}) noinline #1 {{",
        "entry:",
        "br label %loop",
        "loop:",
        "%k = phi i64 [ 0, %entry ], [ %next, %loop ]",
    ]


def _tail(count: int) -> list[str]:
    return [
        "%next = add nuw nsw i64 %k, 1",
        f"%more = icmp ult i64 %next, {count}",
        "br i1 %more, label %loop, label %done",
        "done:",
        "ret void",
        "}",
    ]


def _entry(table: str, name: str, index: str, stride: int, offset: int) -> list[str]:
    """The number ``table[stride * index + offset]`` as an index of 64 bits."""
    return [
        f"%{name}m = mul nuw nsw i64 {index}, {stride}",
        f"%{name}a = add nuw nsw i64 %{name}m, {offset}",
        f"%{name}p = getelementptr i32, ptr @{table}.table, i64 %{name}a",
        f"%{name}n = load i32, ptr %{name}p",
        f"%{name} = zext i32 %{name}n to i64",
    ]


def _adding(name: str, first: int, count: int) -> list[str]:
    """The function that adds single entries."""
    return [
        *_head(name),
        *_entry(name, "place", "%k", 1, 0),
        f"%values = getelementptr double, ptr %work, i64 {first}",
        "%from = getelementptr double, ptr %values, i64 %k",
        "%to = getelementptr double, ptr %out, i64 %place",
        "%value = load double, ptr %from",
        "%known = load double, ptr %to",
        "%sum = fadd double %known, %value",
        "store double %sum, ptr %to",
        *_tail(count),
    ]
