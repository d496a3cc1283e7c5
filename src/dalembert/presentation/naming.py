"""Names for parts of equations that recur or are long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import sympy

from ..algebra.simplify.simplifying_algebra import NamedInverse
from ..algebra.simplify.written_terms import primitive_sum, size, sums_in

if TYPE_CHECKING:
    from ..formulations.equations import Equations

__all__ = ["Naming"]

#: What a name must save, in units of `size`: anywhere, and in lines that are longer than the third
#: number.
SAVED, SAVED_IN_LONG, LONG_LINE = 20, 12, 200
#: A part that is longer than this is broken up by naming sums inside it that are longer than the
#: second number.
LONG, LONG_SUM = 90, 22
#: The largest number of names.
MOST_NAMES = 60

#: Symbols for names of constants, of functions of the configuration, of functions of the state, of
#: denominators, of matrices.
SYMBOLS = {
    "constant": "k b c h e n d a",
    "configuration": "S N E F G P Q U",
    "motion": "W V Y Z U T",
    "denominator": "D Delta N",
    "inverse": "K Y Z W",
    "matrix": "M G B E",
    "Jacobian": "A B E H",
}


class Naming:
    """Parts of lines with names for sums in them.

    Parameters
    ----------
    equations : Equations
        Whose symbols no name may look like.
    lines : sequence of sequences of expressions
        The coefficients of each line.
    inverses : sequence of NamedInverse
        Inverses and solutions that the derivation gave names.
    meanings : mapping
        Further names that it gave.
    places : mapping of name to (kind, place), optional
        For definitions in layers: those among the names that are entries of matrices, such as
        ("matrix", "_12"). Nothing else is named then, and each definition uses earlier ones only.
    """

    def __init__(
        self,
        equations: Equations,
        lines: Sequence[Sequence[sympy.Expr]],
        inverses: Sequence[NamedInverse] = (),
        meanings: Mapping[sympy.Symbol, sympy.Expr] | None = None,
        places: Mapping[sympy.Symbol, tuple[str, str]] | None = None,
    ) -> None:
        self._equations, self._parts = equations, [part for line in lines for part in line]
        self._lengths = [len(line) for line in lines]
        self._meanings: dict[sympy.Symbol, sympy.Expr] = dict(meanings or {})
        self._matrices: list[tuple[sympy.Expr, sympy.Expr]] = []
        self._entries: set[sympy.Symbol] = set()
        self._renamed: dict[sympy.Expr, sympy.Expr] = {}
        self._taken = {_base(symbol.name) for symbol in self._symbols(inverses)}
        if places is not None:
            self._final_names(self._used_first(), places)
            return
        self._name_inverses(list(inverses))
        self._name_repeated(self._everything, SAVED)
        long = self._long_lines()
        self._name_repeated(lambda: (self._parts[k] for k in long), SAVED_IN_LONG)
        self._name_long()
        self._drop_second_names()
        self._final_names(self._as_they_come_up(), {})

    def lines(self) -> list[list[sympy.Expr]]:
        """The coefficients of each line with names in them."""
        pending = iter(self._parts)
        return [[next(pending) for _ in range(count)] for count in self._lengths]

    def names(self) -> tuple[tuple[sympy.Expr, sympy.Expr], ...]:
        """What the names mean."""
        return (*self._matrices, *self._meanings.items())

    def _symbols(self, inverses: Sequence[NamedInverse]) -> set[sympy.Symbol]:
        system = self._equations.system
        named = {
            s
            for home in inverses
            for s in (
                *home.symbols.free_symbols,
                *(w for column, _ in home.solutions for w in column),
            )
        }
        named |= set(self._meanings)
        present = {s for part in self._everything() for s in part.free_symbols} - named
        return present | {
            *self._equations.state,
            *self._equations.unknowns,
            *system.parameters,
            *system.inputs,
        }

    def _free_base(self, kind: str) -> str:
        choices = SYMBOLS[kind].split()
        found = next((symbol for symbol in choices if symbol not in self._taken), None)
        if found is None:
            found = next(
                f"{choices[0]}{k}" for k in range(1, 1000) if f"{choices[0]}{k}" not in self._taken
            )
        self._taken.add(found)
        return found

    # -- inverses ----------------------------------------------------------------------------------

    def _name_inverses(self, inverses: list[NamedInverse]) -> None:
        """K = M^-1 with its entries by name, for the inverses that occur; solutions that are no
        velocities are spelt out.
        """
        values = {
            w: value
            for home in inverses
            for column, right in home.solutions
            for w, value in zip(column, home.symbols @ right, strict=True)
        }
        pending = [home for home in inverses if home.is_named]
        while True:
            present = {
                symbol for expression in self._everything() for symbol in expression.free_symbols
            }
            if any(w in present for w in values):
                self._exchange(values)
            elif home := next(
                (home for home in pending if home.symbols.free_symbols & present), None
            ):
                pending.remove(home)
                self._name_matrix(home)
            else:
                return

    def _name_matrix(self, home: NamedInverse) -> None:
        inverse, matrix, n = self._free_base("inverse"), self._free_base("matrix"), home.matrix.rows
        between = "" if n < 10 else "_"
        symbols, entries = {}, {}
        for i in range(n):
            for j in range(i, n):
                place = f"_{i + 1}{between}{j + 1}"
                symbols[home.symbols[i, j]] = sympy.Symbol(inverse + place, real=True)
                if home.matrix[i, j] != 0:
                    entries[sympy.Symbol(matrix + place, real=True)] = home.matrix[i, j]
        self._exchange(symbols)
        self._renamed |= symbols
        self._entries |= set(symbols.values())
        self._matrices.append(
            (sympy.MatrixSymbol(inverse, n, n), sympy.MatrixSymbol(matrix, n, n) ** -1)
        )
        self._meanings |= {
            symbol: entry.xreplace(self._renamed) for symbol, entry in entries.items()
        }

    # -- sums --------------------------------------------------------------------------------------

    def _everything(self) -> Iterator[sympy.Expr]:
        yield from self._parts
        yield from self._meanings.values()

    def _name(self, total: sympy.Expr) -> None:
        """A provisional name for a sum, wherever it or a multiple of it stands."""
        name = sympy.Dummy("name", real=True)
        if any(
            node.base == -total
            for e in self._everything()
            for node in e.atoms(sympy.Pow)
            if not node.exp.is_Integer
        ):
            total = -total  # the root of a name is easier to read than that of its negative
        exchange = {}
        for expression in self._everything():
            for same in expression.atoms(sympy.Add):
                scale, primitive = primitive_sum(same)
                if primitive in (total, -total):
                    exchange[same] = scale * name if primitive == total else -scale * name
        self._exchange(exchange)
        self._meanings[name] = total

    def _exchange(self, exchange: Mapping[sympy.Expr, sympy.Expr]) -> None:
        self._parts = [part.xreplace(exchange) for part in self._parts]
        self._meanings = {
            symbol: meaning.xreplace(exchange) for symbol, meaning in self._meanings.items()
        }

    def _long_lines(self) -> list[int]:
        """The places of the parts of long lines."""
        found, place = list[int](), 0
        for count in self._lengths:
            if sum(map(size, self._parts[place : place + count])) > LONG_LINE:
                found += range(place, place + count)
            place += count
        return found

    def _name_repeated(self, expressions: Callable[[], Iterator[sympy.Expr]], saving: int) -> None:
        while len(self._meanings) < MOST_NAMES:
            counts: dict[sympy.Expr, int] = {}
            for expression in expressions():
                for total in sums_in(expression, top=True):
                    counts[total] = counts.get(total, 0) + 1
            rated = [
                ((count - 1) * size(total), -k, total)
                for k, (total, count) in enumerate(counts.items())
                if count > 1
            ]
            saved, _, best = max(rated, key=lambda item: item[:2], default=(0, 0, None))
            if saved < saving:
                return
            self._name(best)

    def _name_long(self) -> None:
        while len(self._meanings) < MOST_NAMES:
            long = [expression for expression in self._everything() if size(expression) > LONG]
            candidates = [
                total
                for expression in long
                for total in sums_in(expression, top=False)
                if size(total) > LONG_SUM
            ]
            candidates = [total for total in candidates if size(total) <= LONG] or candidates
            if not candidates:
                return
            self._name(max(candidates, key=size))

    def _drop_second_names(self) -> None:
        """A name that means no more than another symbol goes."""
        while second := next(
            (
                (s, m)
                for s, m in self._meanings.items()
                if isinstance(s, sympy.Dummy) and m.is_Symbol
            ),
            None,
        ):
            symbol, meaning = second
            del self._meanings[symbol]
            self._exchange({symbol: meaning})

    def _as_they_come_up(self) -> list[sympy.Symbol]:
        """The provisional names in the order in which they come up."""
        order: list[sympy.Symbol] = []
        pending = list(self._parts) + [
            m for s, m in self._meanings.items() if not isinstance(s, sympy.Dummy)
        ]
        while pending:
            for symbol in _in_order(pending.pop(0)):
                if (
                    isinstance(symbol, sympy.Dummy)
                    and symbol in self._meanings
                    and symbol not in order
                ):
                    order.append(symbol)
                    pending.append(self._meanings[symbol])
        return order

    def _used_first(self) -> list[sympy.Symbol]:
        """The provisional names, each after those that its meaning contains."""
        order: dict[sympy.Symbol, None] = {}
        pending = [(symbol, False) for part in self._parts[::-1] for symbol in _reversed(part)]
        while pending:
            symbol, is_ready = pending.pop()
            if symbol in order or symbol not in self._meanings:
                continue
            if is_ready:
                order[symbol] = None
            else:
                pending.append((symbol, True))
                pending += [(inner, False) for inner in _reversed(self._meanings[symbol])]
        return list(order)

    def _final_names(
        self, order: list[sympy.Symbol], places: Mapping[sympy.Symbol, tuple[str, str]]
    ) -> None:
        """Final names by kind, numbered in an order, or by their places in a matrix."""
        kinds = self._kinds(order)
        final: dict[sympy.Symbol, sympy.Symbol] = {}
        for kind in SYMBOLS:
            entries = [s for s in order if places.get(s, ("", ""))[0] == kind]
            base = self._free_base(kind) if entries else ""
            final |= {s: sympy.Symbol(base + places[s][1], real=True) for s in entries}
            same = [symbol for symbol in order if symbol not in places and kinds[symbol] == kind]
            base = self._free_base(kind) if same else ""
            for k, symbol in enumerate(same):
                final[symbol] = sympy.Symbol(
                    base if len(same) == 1 else f"{base}_{k + 1}", real=True
                )
        listed = [s for s in self._meanings if not isinstance(s, sympy.Dummy)] + order
        self._meanings = {final.get(s, s): self._meanings[s].xreplace(final) for s in listed}
        self._parts = [part.xreplace(final) for part in self._parts]

    def _kinds(self, names: Iterable[sympy.Symbol]) -> dict[sympy.Symbol, str]:
        denominators = {
            node.base
            for part in self._everything()
            for node in part.atoms(sympy.Pow)
            if node.exp.is_negative
        }
        known: dict[sympy.Symbol, set[sympy.Symbol]] = {}
        system = self._equations.system
        still = {*system.parameters, *system.coordinates, *self._entries}
        found = {}
        for name in names:
            symbols = self._meaning_symbols(name, known)
            if name in denominators:
                found[name] = "denominator"
            elif symbols <= set(system.parameters):
                found[name] = "constant"
            else:
                found[name] = "configuration" if symbols <= still else "motion"
        return found

    def _meaning_symbols(
        self, symbol: sympy.Symbol, known: dict[sympy.Symbol, set[sympy.Symbol]]
    ) -> set[sympy.Symbol]:
        """The symbols of the model that a name stands for; those of names are kept in `known`."""
        if symbol not in known:
            known[symbol] = set()
            for inner in self._meanings[symbol].free_symbols:
                named = inner in self._meanings
                known[symbol] |= self._meaning_symbols(inner, known) if named else {inner}
        return known[symbol]


def _reversed(expression: sympy.Expr) -> list[sympy.Symbol]:
    return list(_in_order(expression))[::-1]


def _in_order(expression: sympy.Expr) -> Iterable[sympy.Symbol]:
    return (node for node in sympy.preorder_traversal(expression) if node.is_Symbol)


def _base(name: str) -> str:
    return name.split("_")[0].rstrip("0123456789")
