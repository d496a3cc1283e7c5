r"""The Hamiltonian H(x, u) of a control system x_dot = f(x, u), y = h(x, u), if it has one.

A Hamiltonian control system has f = Pi dH/dx and y = dH/du (Bloch and others, Supplement, 4.7.2).
With alpha = Pi^-1 f the form alpha dx + h du must be closed on the space of (x, u):

    d alpha_i/dx_j = d alpha_j/dx_i,      d alpha_i/du_k = dh_k/dx_i,      dh_k/du_l = dh_l/du_k

(Crouch and van der Schaft 1987), and H is a primitive of it, unique up to a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict, conjunction
from ...analysis.hamilton_jacobi.primitives import potential
from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...geometry.poisson import PoissonStructure
from ...geometry.vanishing import vanish
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression
from ...typing import Expression

__all__ = ["RecoveredHamiltonian", "recover_hamiltonian"]


@dataclass(frozen=True, repr=False, eq=False)
class RecoveredHamiltonian(Report):
    """Whether a control system is Hamiltonian, and H.

    Attributes
    ----------
    conditions : dict of name to Verdict
        "state": f is Hamiltonian for every u; "reciprocity": d alpha/du = dh/dx; "inputs": dh/du is
        symmetric.
    verdict : Verdict
        Whether there is an H(x, u): all conditions together.
    hamiltonian : expression or None
        H, where it was found in closed form; None where the verdict is refuted.
    note : str
    """

    conditions: dict[str, Verdict]
    verdict: Verdict
    hamiltonian: sympy.Expr | None
    note: str

    def _title(self) -> str:
        return "Hamiltonian control system"

    def _sections(self) -> list[Section]:
        lines = [(name, str(verdict)) for name, verdict in self.conditions.items()]
        found = [("Hamiltonian", str(self.verdict)), ("note", self.note)]
        if self.hamiltonian is not None:
            found.append(("H", str(self.hamiltonian)))
        return [("Conditions", lines), ("Answer", found)]


def recover_hamiltonian(
    flow: Flow,
    structure: PoissonStructure | Sequence[tuple[Coordinate, Coordinate]],
    outputs: Mapping[Input, Expression] | None = None,
) -> RecoveredHamiltonian:
    """H(x, u) of a control system with inputs and outputs.

    Parameters
    ----------
    flow : Flow
        x_dot = f(x, u).
    structure : PoissonStructure, or sequence of (position, momentum)
        A symplectic structure on the symbols of the flow, or canonical pairs.
    outputs : mapping of input to expression
        y = h(x, u); the outputs ``y_<input>`` of the flow by default.

    Raises
    ------
    ModelError
        For a degenerate structure, other symbols, or missing outputs.

    Examples
    --------
    >>> import dalembert as da
    >>> q, p = da.coordinates("q p")
    >>> u = da.inputs("u")
    >>> system = da.Flow({q: p, p: -sympy.sin(q) + u*q}, inputs=[u])
    >>> recover_hamiltonian(system, [(q, p)], {u: -q**2/2}).hamiltonian
    p**2/2 - q**2*u/2 - cos(q)
    >>> recover_hamiltonian(system, [(q, p)], {u: p}).verdict.status
    'refuted'
    """
    pi = _structure(flow, structure)
    x, inputs = list(pi.symbols), list(flow.inputs)
    given = _outputs(flow, outputs)
    f = sympy.Matrix([flow.rates[symbol] for symbol in x])
    table = sympy.Matrix(pi.matrix)
    alpha = list((table.adjugate() * f / table.det(method="berkowitz")).applyfunc(simplify))
    h = [given[u] for u in inputs]
    conditions = {
        "state": vanish([
            sympy.diff(alpha[i], x[j]) - sympy.diff(alpha[j], x[i])
            for i, j in combinations(range(len(x)), 2)
        ]),
        "reciprocity": vanish([
            sympy.diff(a, u) - sympy.diff(y, s)
            for a, s in zip(alpha, x, strict=True)
            for y, u in zip(h, inputs, strict=True)
        ]),
        "inputs": vanish([
            sympy.diff(h[k], inputs[m]) - sympy.diff(h[m], inputs[k])
            for k, m in combinations(range(len(h)), 2)
        ]),
    }  # fmt: skip
    verdict = conjunction(conditions)
    if not verdict.holds:
        failing = [name for name, own in conditions.items() if own.is_refuted]
        note = f"the condition on {', '.join(failing)} fails" if failing else "not decided"
        return RecoveredHamiltonian(conditions, verdict, None, note)
    H = potential([*alpha, *h], [*x, *inputs])
    if H is None:
        note = "H exists, but was not found in closed form"
        return RecoveredHamiltonian(conditions, verdict, None, note)
    H = simplify(H)
    wanted = [sympy.diff(H, s) - own for s, own in zip((*x, *inputs), (*alpha, *h), strict=True)]
    checked = vanish(wanted)
    if not checked.holds:
        return RecoveredHamiltonian(conditions, verdict, None, f"what was found: {checked}")
    note = "unique up to a constant; its derivatives were compared"
    return RecoveredHamiltonian(conditions, verdict, H, note)


def _structure(
    flow: Flow, structure: PoissonStructure | Sequence[tuple[Coordinate, Coordinate]]
) -> PoissonStructure:
    if not isinstance(structure, PoissonStructure):
        pairs = list(structure)
        positions, momenta = [q for q, _ in pairs], [p for _, p in pairs]
        structure = PoissonStructure.canonical(positions, momenta)
    if {*structure.symbols} != {*flow.coordinates}:
        what = "The structure must be one on the symbols of the flow"
        seen = ", ".join(map(str, structure.symbols))
        raise ModelError(what, seen, f"use {', '.join(map(str, flow.coordinates))}")
    if structure.generic_rank < len(structure.symbols):
        what = "H is recovered for symplectic structures"
        raise ModelError(what, f"rank {structure.generic_rank}", "restrict it to a symplectic leaf")
    return structure


def _outputs(flow: Flow, outputs: Mapping[Input, Expression] | None) -> dict[Input, sympy.Expr]:
    table = flow.outputs if outputs is None else outputs
    named = {str(getattr(key, "name", key)): as_expression(value) for key, value in table.items()}
    found = {}
    for u in flow.inputs:
        key = f"y_{u.name}" if outputs is None else u.name
        if key not in named:
            remedy = "pass outputs={u: ...} with one output for each input"
            raise ModelError(f"The input `{u}` has no output", ", ".join(named) or "none", remedy)
        found[u] = named[key]
    return found
