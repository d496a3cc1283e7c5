"""Character of a first-order flow: relations, integrals and how matrices move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...formulations.forms.flow import FORM
from ...formulations.registry import derive
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.symbols import t
from ...model.values import numbers_by_name, used_parameters
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import Kernel
from ...typing import Array, Values
from ..anatomy import GENERIC, common
from ..sampling import Samples, consistent_states, evaluate
from ..tables import Report, Section

__all__ = ["FlowDescription", "describe_flow"]

#: A rate below this share of the terms that make it up is rounding.
ZERO_RATE = 1e-10


@dataclass(frozen=True, repr=False)
class FlowDescription(Report):
    """The character of a flow at random states on its relations.

    Attributes
    ----------
    name : str
    symbols : tuple of str (n,)
    relations, integrals : mapping of name to float
        The largest rate of change of each, relative to its terms; rounding where it is kept.
    proved : frozenset of str
        Relations and integrals that are proved to be kept; samples can only refute the others.
    rank : int
        Independent relations.
    divergence : float or None
        The divergence of the field where it is proved constant; 0 keeps volume.
    matrices : mapping of name to sentence
    inputs : tuple of str
    agreement : (float, pair of str)
        The largest relative difference between the native rates and those of the actions, left X -
        X right, or of the graph where there are none.
    points : int
    """

    name: str
    symbols: tuple[str, ...]
    relations: Mapping[str, float]
    integrals: Mapping[str, float]
    proved: frozenset[str]
    rank: int
    divergence: float | None
    matrices: Mapping[str, str]
    inputs: tuple[str, ...]
    agreement: tuple[float, tuple[str, str]]
    points: int

    def to_json(self) -> dict[str, Any]:
        """The description as plain data, in the shape of ``dalembert check --json``."""
        return {
            "name": self.name,
            "coordinates": list(self.symbols),
            "constraints": [
                {
                    "name": name,
                    "kind": "relation",
                    "integrable": True,
                    "invariant": self._kept(name, rate),
                }
                for name, rate in self.relations.items()
            ],
            "rank": self.rank,
            "degrees_of_freedom": len(self.symbols) - self.rank,
            "conserved": [
                {"name": name, "conserved": self._kept(name, rate), "rate": rate}
                for name, rate in self.integrals.items()
            ],
            "divergence": self.divergence,
            "matrices": dict(self.matrices),
            "forms": {FORM: {"applies": True}},
            "agreement": {"worst": self.agreement[0], "pair": list(self.agreement[1])},
            "points": self.points,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        n = len(self.symbols)
        shown = ", ".join(self.symbols[:12]) + (", ..." if n > 12 else "")
        freedom = [("symbols", f"{n}: {shown}"), ("freedom", str(n - self.rank))]
        if self.inputs:
            freedom.append(("inputs", ", ".join(self.inputs)))
        if self.divergence is not None:
            kept = f"the same everywhere, {self.divergence:.6g}"
            freedom.append(("divergence", "volume is kept" if self.divergence == 0 else kept))
        worst, pair = self.agreement
        rates = ("agreement", f"{worst:.1e} at worst between {' and '.join(pair)}")
        return [
            ("Freedom", freedom),
            ("Relations", [(name, self._verdict(name, r)) for name, r in self.relations.items()]),
            ("Integrals", [(name, self._verdict(name, r)) for name, r in self.integrals.items()]),
            ("Matrices", list(self.matrices.items())),
            ("Rates", [rates]),
        ]

    def _kept(self, name: str, rate: float) -> bool | None:
        """Whether a quantity is proved to be kept; None where no state refutes it either."""
        return True if name in self.proved else False if rate > ZERO_RATE else None

    def _verdict(self, name: str, rate: float) -> str:
        kept = self._kept(name, rate)
        if kept is None:
            return f"not established: relative rate {rate:.1e} at {self.points} states, no proof"
        if kept:
            return "kept by the flow"
        return f"NOT kept by the flow: it changes at the relative rate {rate:.2g}"


def describe_flow(
    model: Flow | Scenario, parameters: Values | None, start: Values | None
) -> FlowDescription:
    """Try the relations and integrals of a flow at random states on its relations.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> oscillator = da.Flow({x: y, y: -x}, integrals={"radius": x**2 + y**2})
    >>> print(describe_flow(oscillator, None, None).divergence)
    0.0
    """
    flow: Any = model.system if isinstance(model, Scenario) else model
    known = [symbol.name for symbol in flow.parameters]
    values = dict(model.parameters) if isinstance(model, Scenario) else {}
    values |= used_parameters(numbers_by_name(parameters), known)
    beginning = dict(model.start) if isinstance(model, Scenario) else {}
    beginning |= numbers_by_name(start)
    values = {name: value for name, value in values.items() if name in known}
    kernel = Kernel(derive(flow))
    samples = consistent_states(kernel, values, beginning, determined=False)
    graph, algebra = kernel.graph, kernel.algebra
    symbols = algebra.vector(flow.coordinates)
    derivatives = evaluate(kernel, ca.jacobian(graph.position.residual, symbols), samples)
    divergence = ca.trace(ca.jacobian(graph.velocities, symbols))
    everywhere = algebra.vector([*flow.coordinates, t])
    constant = 0.0 if algebra.vanishing(divergence).holds else None
    if constant is None and algebra.independence(divergence, everywhere).holds:
        constant = float(evaluate(kernel, divergence, samples).ravel()[0])
    named = {c.name: c.expression for c in flow.constraints} | dict(flow.integrals)
    return FlowDescription(
        name=flow.name,
        symbols=tuple(q.name for q in flow.coordinates),
        relations={c.name: _rate(kernel, samples, c.expression) for c in flow.constraints},
        integrals={name: _rate(kernel, samples, value) for name, value in flow.integrals.items()},
        proved=frozenset(name for name, value in named.items() if _is_kept(kernel, value)),
        rank=common(rank(rows, GENERIC).rank for rows in derivatives) if flow.constraints else 0,
        divergence=constant,
        matrices=_matrices(flow),
        inputs=tuple(symbol.name for symbol in flow.inputs),
        agreement=_agreement(flow, kernel, samples),
        points=len(samples),
    )


def _agreement(flow: Flow, kernel: Kernel, samples: Samples) -> tuple[float, tuple[str, str]]:
    """The native rates against those by another road."""
    inputs = np.zeros(len(kernel.free_inputs))
    states = zip(samples.times, samples.states, strict=True)
    native = np.array([kernel.rates(t, y, samples.parameters, inputs) for t, y in states])
    if not flow.actions:
        other = evaluate(kernel, kernel.graph.velocities, samples)[..., 0]
        return _difference(native, other), (FORM, f"{FORM} by its graph")
    worst, symbols = 0.0, kernel.algebra.vector(list(flow.coordinates))

    def values(matrix: sympy.MatrixBase) -> Array:
        found = evaluate(kernel, kernel.lower(list(matrix)), samples)
        return found.reshape(len(samples), *matrix.shape)

    for action in flow.actions:
        matrix = flow.matrices[action.matrix]
        here = values(matrix)
        said = np.zeros_like(here)
        if action.left is not None:
            said += values(action.left) @ here
        if action.right is not None:
            said += -(here @ values(action.right))
        by_symbols = ca.jacobian(kernel.lower(list(matrix)), symbols)
        derivatives = evaluate(kernel, by_symbols, samples)
        moved = np.einsum("smk,sk->sm", derivatives, native).reshape(said.shape)
        worst = max(worst, _difference(moved, said))
    return worst, (FORM, "action")


def _difference(found: Array, other: Array) -> float:
    return float(np.max(np.abs(found - other)) / max(float(np.max(np.abs(other))), 1e-300))


def _rate(kernel: Kernel, samples: Samples, expression: sympy.Expr) -> float:
    """max |dI/dt| / (sum |dI/dx_k X_k| + |dI/dt at rest|) over the samples."""
    symbols = kernel.algebra.vector([*kernel.equations.state, t])
    derivative = ca.jacobian(kernel.lower([expression]), symbols)
    terms = evaluate(kernel, derivative.T * ca.vertcat(kernel.graph.velocities, 1), samples)[..., 0]
    sizes = np.abs(terms).sum(axis=1)
    return float(np.max(np.abs(terms.sum(axis=1)) / np.where(sizes > 0, sizes, 1.0)))


def _is_kept(kernel: Kernel, expression: sympy.Expr) -> bool:
    """Whether dI/dt is proved to vanish at all states."""
    algebra = kernel.algebra
    state = algebra.vector([*kernel.equations.state, t])
    value = kernel.lower([expression])
    rate = ca.jacobian(value, state) @ ca.vertcat(kernel.graph.velocities, 1)
    return algebra.vanishing(rate).is_proved


def _matrices(flow: Flow) -> dict[str, str]:
    """How each matrix moves."""
    actions = {action.matrix: action for action in flow.actions}
    found = {}
    for name, matrix in flow.matrices.items():
        size, action = f"{matrix.shape[0]} x {matrix.shape[1]}", actions.get(name)
        if action is None:
            found[name] = size
        elif action.is_conjugation:
            found[name] = f"{size}, moves by conjugation: its spectrum stays"
        elif action.left is None:
            found[name] = f"{size}, moves by a group from the right"
        elif action.right is None:
            found[name] = f"{size}, moves by a group from the left"
        else:
            found[name] = f"{size}, moves by two groups, from the left and from the right"
    return found
