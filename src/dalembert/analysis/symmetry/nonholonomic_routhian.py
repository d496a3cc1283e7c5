r"""The nonholonomic Routhian: reduced equations from one function of shape and momenta.

On the constraints the kinetic energy of a bundle with symmetry splits by the nonholonomic
connection, so that with the momenta p_a and their inertia I_ab(r)

    l_c = 1/2 g_ab r_dot^a r_dot^b + 1/2 I^{ab} p_a p_b - U,
        R(r, r_dot, p) = 1/2 g r_dot r_dot - 1/2 I^{ab} p_a p_b - U.

Where the curvature of that connection vanishes along the momenta and off the constraints, and the
momentum equation is one of parallel transport, the equations of theorem 5.8.10 are (Bloch and
others, Supplement, 9.4.13 to 9.4.15)

    d/dt dR/dr_dot^al = nabla_al R + F_al,  p_dot_a = D^b_{a al} p_b r_dot^al,
        nabla_al = d/dr^al + D^b_{a al} p_b d/dp_a.

In the terms of `reduced_coefficients` the conditions are that C^c_ab I^{ad} (symmetric part), D_{al
be b}, B^c_{al be} and K_{al be ga} all vanish. `algebra.structure` decides that for all shapes and
parameters, and the equations are compared with those of `reduce` at random states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...algebra.structure import Verdict, conjunction
from ...algebra.tree import TreeAlgebra
from ...errors import FormError, RunError
from ...formulations.equations import Equations
from ...formulations.reduction.bundle_equations import (
    Bundle,
    ReducedFunctions,
    bundle_of,
    equations_on,
)
from ...geometry.actions import Group
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array, Values, Vector
from ..anatomy import read_model
from ..named_blocks import NamedBlocks
from ..tables import Report, Section
from .reduced_coefficients import CoefficientField

__all__ = ["NonholonomicRouthian", "nonholonomic_routhian"]

#: The largest relative difference from `reduce`, and at how many random states it is looked for.
LIMIT, TRIES = 1e-9, 4

ZERO = sympy.Integer(0)
#: What has to vanish, in words.
CONDITIONS = {
    "quadratic": "terms of the momentum equation quadratic in p",
    "shape_drive": "terms of the momentum equation quadratic in the shape velocities",
    "curvature": "curvature of the nonholonomic connection along the momenta",
    "shape_curvature": "curvature of the nonholonomic connection off the constraints",
}


@dataclass(frozen=True, eq=False, repr=False)
class NonholonomicRouthian(Report):
    """R of a bundle, with its equations; s shape coordinates and m momenta.

    Attributes
    ----------
    bundle : Bundle
    shape_metric : matrix (s x s)
        g_ab(r), the kinetic metric on horizontal velocities.
    inertia : matrix (m x m)
        I_ab(r).
    potential : expression
        U(r).
    conditions : Verdict
        Whether the terms that no Routhian gives vanish for all shapes and parameters.
    residual : float
        The worst difference from the equations of `reduce`, relatively.
    """

    bundle: Bundle
    shape_metric: sympy.ImmutableMatrix
    inertia: sympy.ImmutableMatrix
    potential: sympy.Expr
    conditions: Verdict = field(default=Verdict("not established", "the terms were not examined"))
    residual: float = field(default=np.inf)
    _values: Mapping[str, float] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[sympy.Symbol, ...]:
        """r."""
        return tuple(self.bundle.system.coordinates[k] for k in self.bundle.shape)

    @property
    def momenta(self) -> tuple[sympy.Symbol, ...]:
        """The symbols p_1, p_2, ..."""
        return self.bundle.momenta

    @cached_property
    def routhian(self) -> sympy.Expr:
        """R(r, r_dot, p)."""
        v, p = sympy.Matrix([q.dot for q in self.shape]), sympy.Matrix(self.momenta)
        moving = (v.T * self.shape_metric * v)[0] / 2
        carried = (p.T * self.inertia.adjugate() * p)[0] / (2 * self.inertia.det())
        return moving - carried - self.potential

    @property
    def equations(self) -> Equations:
        """The same reduced equations, as `reduce` makes them: for simulation."""
        return equations_on(self.bundle, reconstruct=False)

    # -- numbers -----------------------------------------------------------------------------------

    def transport(self, shape: Values, parameters: Values | None = None) -> Any:
        """D^b_{a al} at a shape, [b, a, al], (m, m, s)."""
        return self._coefficients.at(shape, numbers_by_name(self._values, parameters)).transport

    def rates(self, state: Values, parameters: Values | None = None) -> tuple[Array, Array]:
        """r_ddot (s,) and p_dot (m,) by (9.4.13) and (9.4.14), with applied forces.

        Parameters
        ----------
        state : mapping of the symbols r, r_dot and p to values
            Imposed inputs act; others are zero unless given.
        """
        numbers, given = numbers_by_name(self._values, parameters), numbers_by_name(state)
        idle = dict.fromkeys((u.name for u in self.bundle.system.inputs), 0.0)
        blocks = self._blocks({**idle, **numbers, **given})
        v = np.array([given[q.dot.name] for q in self.shape])
        p = np.array([given[symbol.name] for symbol in self.momenta])
        transport = self.transport({q: given[q.name] for q in self.shape}, numbers)
        carried = np.einsum("bax,b,a->x", transport, p, blocks["by_momenta"][:, 0])
        covariant = blocks["by_shape"][:, 0] + carried
        right = covariant + blocks["on_shape"][:, 0] - blocks["bend"][:, 0]
        accelerations = solve(blocks["metric"], right).z
        return accelerations, np.einsum("bax,b,x->a", transport, p, v) + blocks["on_momenta"][:, 0]

    @cached_property
    def _coefficients(self) -> CoefficientField:
        return CoefficientField(self.bundle)

    @cached_property
    def _blocks(self) -> NamedBlocks:
        reduced = ReducedFunctions(self.bundle, GraphAlgebra())
        algebra, s = reduced.algebra, len(self.shape)
        R = algebra.scalar(self.routhian)
        derivative = algebra.gradient(R, reduced.shape_velocities)
        imposed = {u: value for u, value in self.bundle.system.inputs.items() if value is not None}
        names, laws = algebra.vector(imposed), algebra.vector(imposed.values())
        driven = algebra.substitute(reduced.force, names, laws)
        force = reduced.here(driven if imposed else reduced.force)
        on_body = algebra.part(force, range(s, force.shape[0]), [0])
        tables = {
            "metric": algebra.jacobian(derivative, reduced.shape_velocities),
            "bend": algebra.along(derivative, reduced.shape, reduced.shape_velocities),
            "by_shape": algebra.gradient(R, reduced.shape),
            "by_momenta": algebra.gradient(R, reduced.p),
            "on_shape": algebra.part(force, range(s), [0]) - reduced.connection.T @ on_body,
            "on_momenta": reduced.section.T @ on_body,
        }
        system = self.bundle.system
        known = (*self.shape, *reduced_symbols(self), *system.parameters, *system.inputs)
        return NamedBlocks(algebra, tables, [symbol.name for symbol in known])

    # -- presentation ------------------------------------------------------------------------------

    def _title(self) -> str:
        return f"{self.bundle.system.name}: nonholonomic Routhian"

    def _sections(self) -> list[Section]:
        def entries(symbol: str, matrix: sympy.MatrixBase) -> list[tuple[str, str]]:
            places = combinations_with_replacement(range(matrix.rows), 2)
            pairs = ((f"{symbol}_{i + 1}{j + 1}", matrix[i, j]) for i, j in places)
            return [(name, str(entry)) for name, entry in pairs if entry != 0]

        gap = f"{self.residual:.1e} from those of reduce, at random states"
        return [
            ("Shape metric", entries("g", self.shape_metric)),
            ("Inertia of the momenta", entries("I", self.inertia)),
            ("Potential", [("U", str(self.potential))]),
            ("Other terms", [("vanish", str(self.conditions))]),
            ("Equations", [("residual", gap)]),
        ]


def reduced_symbols(found: NonholonomicRouthian) -> list[sympy.Symbol]:
    """r_dot and p."""
    return [*(q.dot for q in found.shape), *found.momenta]


def nonholonomic_routhian(
    system: System | Scenario,
    group: Group,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
) -> NonholonomicRouthian:
    """Routh's function of a constrained system with symmetry, where the equations follow from one.

    Parameters
    ----------
    system, group, section, identity
        As for `reduce`; the section says which momenta are used.

    Raises
    ------
    FormError
        Where the reduced equations do not follow from a Routhian; names the terms in the way.

    Examples
    --------
    >>> import dalembert as da
    >>> particle = da.gallery.load("constrained-particle")
    >>> x, y, z = particle.system.coordinates
    >>> found = da.symmetry.nonholonomic_routhian(particle, {"u": {x: 1}, "w": {z: 1}})
    >>> print(found.routhian)
    m*y_dot**2/2 - p_1**2/(2*m*(y**2 + 1))
    """
    stated, values, _ = read_model(system, None, None)
    free = [symbol.name for symbol, value in stated.inputs.items() if value is None]
    if free:
        remedy = f"state the system with inputs={{{free[0]}: 0}}, or another expression"
        raise FormError("A Routhian needs inputs that are imposed", f"`{free[0]}` is free", remedy)
    bundle = bundle_of(stated, group, section=section, identity=identity)
    if not bundle.momenta or not bundle.shape:
        what = "A Routhian needs shape coordinates and momenta"
        remedy = "use da.symmetry.reduce, whose equations are complete without one"
        raise FormError(what, f"{len(bundle.shape)} and {len(bundle.momenta)}", remedy)
    numbers = {name: float(value) for name, value in values.items()}
    found = NonholonomicRouthian(bundle, *_parts(bundle), _values=numbers)
    return replace(found, conditions=_conditions(found), residual=_gap(found))


def _parts(bundle: Bundle) -> tuple[sympy.Matrix, sympy.Matrix, sympy.Expr]:
    """g, I and U as expressions."""
    reduced = ReducedFunctions(bundle, TreeAlgebra())
    algebra = reduced.algebra
    on_group, _ = algebra.hessian(reduced.lagrangian, reduced.xi)
    inertia = (reduced.section.T * on_group * reduced.section).applyfunc(simplify)
    still = dict.fromkeys([*reduced.shape_velocities, *reduced.p], ZERO)
    horizontal = reduced.here(reduced.lagrangian).xreplace(dict.fromkeys(reduced.p, ZERO))
    v = list(reduced.shape_velocities)
    rows = [[sympy.diff(horizontal, a, b).xreplace(still) for b in v] for a in v]
    metric = sympy.Matrix(len(v), len(v), [simplify(entry) for row in rows for entry in row])
    at_rest = reduced.lagrangian.xreplace({**still, **dict.fromkeys(reduced.xi, ZERO)})
    return sympy.ImmutableMatrix(metric), sympy.ImmutableMatrix(inertia), -simplify(at_rest)


def _drawn(found: NonholonomicRouthian, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """A random state, and values of parameters."""
    random = np.random.default_rng(seed)
    names = [q.name for q in found.shape] + [x.name for x in reduced_symbols(found)]
    names_of_parameters = [p.name for p in found.bundle.system.parameters]
    given = found._values
    numbers = {name: given.get(name, random.uniform(0.4, 0.9)) for name in names_of_parameters}
    return dict(zip(names, random.uniform(0.2, 0.8, len(names)), strict=True)), numbers


def _conditions(found: NonholonomicRouthian) -> Verdict:
    """Whether every term of theorem 5.8.10 that a Routhian does not give vanishes."""
    coefficients, algebra = found._coefficients.in_graph, found._coefficients.reduced.algebra
    tables = {name: getattr(coefficients, name) for name in CONDITIONS}
    tables["curvature"] = coefficients.curvature[: len(found.momenta)]
    columns = {name: ca.vertcat(*table.ravel()) for name, table in tables.items()}
    verdicts = {name: algebra.vanishing(column) for name, column in columns.items()}
    broken = [name for name, verdict in verdicts.items() if verdict.is_refuted]
    if broken:
        what = "The reduced equations do not follow from a nonholonomic Routhian"
        seen = "; ".join(f"{CONDITIONS[name]}: {verdicts[name].grounds}" for name in broken)
        remedy = "use da.symmetry.reduce; or put parameters at which the terms vanish as numbers"
        raise FormError(what, seen, remedy)
    return conjunction({CONDITIONS[name]: verdict for name, verdict in verdicts.items()})


def _gap(found: NonholonomicRouthian) -> float:
    """The largest difference from the equations of `reduce` at random states, beside their size."""
    function, symbols = found.equations.function(), found.equations.state
    s, worst = len(found.shape), 0.0
    for seed in range(TRIES):
        state, numbers = _drawn(found, 100 + seed)
        expected = np.asarray(function(0.0, [state[x.name] for x in symbols], numbers))[s:]
        rates = np.concatenate(found.rates(state, numbers))
        worst = max(worst, float(np.max(np.abs(rates - expected)) / (1 + np.max(np.abs(expected)))))
    if not worst < LIMIT:
        what = "The Routhian does not give the reduced equations"
        raise RunError(what, seen=f"a difference of {worst:.1e}")
    return worst
