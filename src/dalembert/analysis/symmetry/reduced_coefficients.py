r"""Coefficients of the reduced equations of a constrained system with symmetry.

A basis e_1(r) .. e_k(r) of the body velocities has first the section of g^D, e_1 .. e_m, then what
is orthogonal to it in the kinetic metric of the group, e_{m+1} .. e_k. In it, with [e_a, e_b] =
C^c_ab e_c and de_b/dr^al = gamma^c_{b al} e_c,

    xi = -A r_dot + Gamma p,  Gamma = e_b I^{bc},  I_bc = <<e_b, e_c>>,
        lambda_{a' al} = l_{a' al} - l_{a' b'} A^{b'}_al
    p_dot_b = C^c_ab I^{ad} p_c p_d + D^c_{b al} r_dot^al p_c + D_{al be b} r_dot^al r_dot^be
        (Bloch 5.8.8, 5.9.55)
    D^c_{b al} = -C^c_{a'b} A^{a'}_al + gamma^c_{b al} + lambda_{a' al} C^{a'}_ab I^{ac}
        (5.8.9, 5.9.56)
    D_{al be b} = lambda_{a' al} (gamma^{a'}_{b be} - C^{a'}_{b'b} A^{b'}_be),  b' = 1 .. k
        (theorem 5.8.10, 5.9.57)

    d/dt dl_c/dr_dot^al - dl_c/dr^al = -dI^{cd}/dr^al p_c p_d - D^c_{b al} I^{bd} p_c p_d
        - B^c_{al be} p_c r_dot^be
        - D_{be al b} I^{bc} p_c r_dot^be - K_{al be ga} r_dot^be r_dot^ga          (theorem 5.8.10)
    = -dl/dxi^b (B^b_{al be} r_dot^be + F^{bi}_al p_i)                                      (5.9.52)

with l_c(r, r_dot, p) the Lagrangian on the constraints, K_{al be ga} = lambda_{a' ga} B^{a'}_{al
be}, and

    B^b_{al be} = d_be A^b_al - d_al A^b_be - C^b_ac A^a_be A^c_al,
        F^{bi}_al = d_al Gamma^{bi} - C^b_ad A^a_al Gamma^{di}.

B and F are the components, in the moving basis, of what these formulas give in the fixed one
(5.9.53, 5.9.54). The print of (5.8.10) sums b' over 1 .. m alone. Every result is checked against
the equations of `reduce`, and against the brackets on Q of the horizontal lifts X_al and of the
vertical fields, [X_al, X_be] = B_{al be}, [X_al, Gamma^i] = F^i_al, [X_al, e_b] = (gamma^c_{b al} -
C^c_{a'b} A^{a'}_al) e_c.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError, RunError, nearest
from ...formulations.reduction.bundle_equations import Bundle, ReducedFunctions, bundle_of
from ...geometry.actions import Group
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Values, Vector
from .moving_frame import (
    check_hypotheses,
    constrained_lagrangian,
    generic_completion,
    moving_tensors,
    smallest,
)
from .reduced_formulas import CoefficientSymbols
from .reduced_tensors import ReducedCoefficients, assembled

__all__ = ["CoefficientField", "ReducedCoefficients", "reduced_coefficients"]

#: The largest difference from the equations of `reduce`, beside the size of their terms.
LIMIT = 1e-9
#: Directions nearer than this to the span of the others do not complete the frame.
LEAST_ANGLE = 1e-6
#: A column of the section that is shorter than this part of its length elsewhere has vanished.
VANISHING = 1e-9
#: Random velocities, momenta and accelerations at which the coefficients are checked.
TRIES = 3


# -- numbers ---------------------------------------------------------------------------------------


class CoefficientField:
    """The coefficients of a bundle as functions of the shape.

    Raises
    ------
    FormError
        Where the theory does not apply: an affine constraint that prescribes velocities, a
        Lagrangian that is not kinetic less potential energy, or that depends on time.
    """

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.reduced = ReducedFunctions(bundle, GraphAlgebra())
        self.sizes = (len(bundle.group), len(bundle.momenta), len(bundle.shape))
        self._functions: dict[tuple[int, ...], ca.Function] = {}
        check_hypotheses(self.reduced)

    def at(self, shape: Values, parameters: Values | None = None) -> ReducedCoefficients:
        """The coefficients at one shape, checked.

        Raises
        ------
        RunError
            Where the section or its inertia degenerates here, or the coefficients fail the check.
        """
        values = self._values(shape, parameters or {})
        tables = self._evaluated(self._function(self._completion(values)), values)
        found = self._checked(assembled(tables, *self.sizes), values)
        return replace(found, symbols=self._symbols())

    def _symbols(self, lagrangian: sympy.Expr | None = None) -> CoefficientSymbols:
        bundle = self.bundle
        return CoefficientSymbols(bundle.speeds, bundle.shape_symbols, bundle.momenta, lagrangian)

    def symbolic(self) -> ReducedCoefficients:
        """The coefficients as expressions, for small systems, checked at a generic shape."""
        names = self._generic_names()
        numbers_drawn = np.random.default_rng(3).uniform(0.4, 0.9, len(names))
        values = dict(zip(names, numbers_drawn, strict=True))
        numbers, completion = self.at(values), self._completion(values)
        reduced = ReducedFunctions(self.bundle, TreeAlgebra())
        matrices: list[sympy.Matrix] = moving_tensors(reduced, completion)
        tables, known = [], dict[sympy.Expr, sympy.Expr]()
        for matrix in matrices:
            rows = [[smallest(x, known) for x in row] for row in matrix.tolist()]
            tables.append(np.array(rows, dtype=object).reshape(matrix.shape))
        found = assembled(tables, *self.sizes)
        checked = ("structure", "lam", "curvature", "lift_derivative", "gamma")
        gap = max(_gap(found, numbers, name, values) for name in checked)
        if not gap < LIMIT:
            what = "The coefficients do not match their symbolic expressions"
            raise RunError(what, seen=f"{gap:.1e}")
        symbols = self._symbols(constrained_lagrangian(reduced, found))
        return replace(found, residual=max(gap, numbers.residual), symbols=symbols)

    @cached_property
    def in_graph(self) -> ReducedCoefficients:
        """The coefficients as nodes of the graph of `reduced`, for questions about all shapes."""
        matrices = moving_tensors(self.reduced, generic_completion(self.reduced))
        dense = (ca.densify(matrix) for matrix in matrices)
        tables = [np.fromiter(x.elements(), object).reshape(x.shape, order="F") for x in dense]
        return assembled(tables, *self.sizes)

    # -- evaluation --------------------------------------------------------------------------------

    @property
    def _shape_names(self) -> list[str]:
        return [self.bundle.system.coordinates[j].name for j in self.bundle.shape]

    def _generic_names(self) -> list[str]:
        return [*self._shape_names, *(p.name for p in self.bundle.system.parameters)]

    def _compiled(self, blocks: Sequence[ca.SX]) -> ca.Function:
        symbols = list(self.reduced.algebra.symbols.values())
        return ca.Function("blocks", symbols, [ca.densify(block) for block in blocks])

    def _evaluated(self, function: ca.Function, values: Mapping[str, float]) -> list[Array]:
        """Blocks at some values; a missing symbol is one that the block does not depend on."""
        symbols = list(self.reduced.algebra.symbols)[: function.n_in()]
        found = function.call([values.get(symbol.name, 0.0) for symbol in symbols])
        return [np.asarray(table, dtype=float).reshape(table.shape) for table in found]

    def _values(self, shape: Values, parameters: Values) -> dict[str, float]:
        given = numbers_by_name(shape, parameters)
        known = self._generic_names()
        for name in given:
            if name not in known and name not in {s.name for s in self.bundle.system.inputs}:
                near = nearest(name, known)
                remedy = f"did you mean {near}" if near else "use one of these names"
                raise ModelError(f"The coefficients contain no `{name}`", ", ".join(known), remedy)
        missing = [name for name in known if name not in given]
        if missing:
            remedy = "give every shape coordinate and every parameter"
            raise ModelError(f"`{missing[0]}` has no value", remedy=remedy)
        return given

    def _completion(self, values: Mapping[str, float]) -> tuple[int, ...]:
        """The first fixed directions that complete the section to a basis at a shape."""
        k, m, _ = self.sizes
        if not m:
            return tuple(range(k))
        e, metric = self._evaluated(self._section, values)
        chosen: list[int] = []
        for place in range(k):
            rows = np.vstack([e.T, np.eye(k)[[*chosen, place]]])
            if len(chosen) < k - m and rank(rows, LEAST_ANGLE).rank == len(rows):
                chosen.append(place)
        vanishes = np.any(np.linalg.norm(e, axis=0) < VANISHING * self._generic_sizes(values))
        if len(chosen) < k - m or vanishes or rank(e.T @ metric @ e, LEAST_ANGLE).rank < m:
            raise RunError(
                "The section of g^D or its inertia degenerates at this shape",
                seen=", ".join(f"{name} = {values[name]:g}" for name in self._shape_names),
                remedy="look at another shape, or pass a section that stays independent there",
            )
        return tuple(chosen)

    def _generic_sizes(self, values: Mapping[str, float]) -> Any:
        """Usual column lengths (m,) of the section, to tell rounding where it vanishes."""
        random, s = np.random.default_rng(23), self.sizes[2]
        drawn = [random.uniform(0.3, 1.1, s) for _ in range(2)]
        shapes = [dict(zip(self._shape_names, shape, strict=True)) for shape in drawn]
        tables = [self._evaluated(self._section, {**values, **shape})[0] for shape in shapes]
        return np.max([np.linalg.norm(table, axis=0) for table in tables], axis=0)

    @cached_property
    def _section(self) -> ca.Function:
        """The section and the kinetic metric of the group."""
        reduced, algebra = self.reduced, self.reduced.algebra
        derivative = algebra.gradient(reduced.lagrangian, reduced.xi)
        return self._compiled([reduced.section, algebra.jacobian(derivative, reduced.xi)])

    def _function(self, completion: tuple[int, ...]) -> ca.Function:
        if completion not in self._functions:
            self._functions[completion] = self._compiled(moving_tensors(self.reduced, completion))
        return self._functions[completion]

    # -- the check ---------------------------------------------------------------------------------

    @cached_property
    def _equations(self) -> ca.Function:
        """p_dot, shape residual, d/dt dl_c/dr_dot - dl_c/dr without forces; dl/dxi and xi."""
        reduced, algebra = self.reduced, self.reduced.algebra
        s = len(self.bundle.shape)
        on_constraints = reduced.here(reduced.lagrangian)
        left = reduced.rate(algebra.gradient(on_constraints, reduced.shape_velocities))
        left = left - algebra.gradient(on_constraints, reduced.shape)
        force = reduced.here(reduced.force)
        on_body = algebra.part(force, range(s, force.shape[0]), [0])
        pushed = algebra.part(force, range(s), [0]) - reduced.connection.T @ on_body
        derivative = reduced.here(algebra.gradient(reduced.lagrangian, reduced.xi))
        rate = reduced.momentum_rate - reduced.section.T @ on_body
        free = [rate, reduced.shape_residual + pushed]
        return self._compiled([*free, left, derivative, reduced.body_velocity])

    @cached_property
    def _fields(self) -> ca.Function:
        """X_al, Gamma^i, e_b and the group basis on Q, (s + k) x (s + 2m + k), and derivatives."""
        reduced, algebra = self.reduced, self.reduced.algebra
        k, m, s = self.sizes
        unit = algebra.jacobian(reduced.xi, reduced.xi)
        inside = [-reduced.connection, reduced.momentum_lift, reduced.section, unit]
        vertical = reduced.fields @ algebra.columns(inside)
        shapes = algebra.jacobian(reduced.shape, reduced.shape)
        base = algebra.columns([shapes, algebra.zeros(s, 2 * m + k)])
        fields = algebra.stack([base, vertical])
        place = algebra.stack([reduced.shape, reduced.group])
        return self._compiled([fields, algebra.jacobian(ca.vec(fields), place)])

    def _checked(
        self, found: ReducedCoefficients, values: Mapping[str, float]
    ) -> ReducedCoefficients:
        """The coefficients with their residual, where it is small."""
        worst = max(self._gap_of_equations(found, values), self._gap_of_brackets(found, values))
        if not worst < LIMIT:
            raise RunError(
                "The coefficients do not give the reduced equations",
                seen=f"a difference of {worst:.1e}, where {LIMIT:.0e} is allowed",
                remedy="look at another shape, where the section is further from degenerating",
            )
        return replace(found, residual=worst)

    def _gap_of_equations(self, found: ReducedCoefficients, values: Mapping[str, float]) -> float:
        """Momentum and shape equations and (5.8.2) at random velocities, momenta, accelerations."""
        bundle, random, m = self.bundle, np.random.default_rng(17), found.count
        shape = [bundle.system.coordinates[j] for j in bundle.shape]
        worst = max(
            _relative(found.lam[:m], found.lam),
            _relative(found.inertia @ found.inverse - np.eye(m), 0.0),
        )
        for _ in range(TRIES):
            v, a, along = (random.uniform(-1, 1, size) for size in (len(shape), len(shape), m))
            p = found.inertia @ along
            symbols = dict(zip((q.dot.name for q in shape), v, strict=True))
            symbols |= dict(zip((q.ddot.name for q in shape), a, strict=True))
            symbols |= dict(zip((q.name for q in bundle.momenta), p, strict=True))
            tables = self._evaluated(self._equations, {**symbols, **values})
            momentum, residual, left, derivative, xi = (table.ravel() for table in tables)
            formulas = (found.momentum_rate, found.shape_force, found.compact_shape_force)
            rate, force, compact = (formula(v, p) for formula in formulas)
            shape_terms = np.concatenate([left, force])
            worst = max(
                worst,
                _relative(momentum - rate, momentum),
                _relative(left - force - residual, shape_terms),
                _relative(force - compact, shape_terms),
                _relative(found.frame.T @ derivative - found.body_momenta(v, p), derivative),
                _relative(found.frame @ (found.lift @ p - found.connection @ v) - xi, xi),
            )
        return worst

    def _gap_of_brackets(self, found: ReducedCoefficients, values: Mapping[str, float]) -> float:
        """C, B, F and gamma - C A against brackets of fields on Q, at a random group element."""
        k, m, s = self.sizes
        names = [self.bundle.system.coordinates[j].name for j in self.bundle.group]
        element = dict(zip(names, np.random.default_rng(19).uniform(0.3, 1.1, k), strict=True))
        fields, derivatives = self._evaluated(self._fields, {**element, **values})
        # By field, component and direction.
        derivatives = derivatives.reshape(fields.shape[1], k + s, k + s)
        turned = np.einsum("bij,ja->abi", derivatives, fields)
        brackets = (turned - np.swapaxes(turned, 0, 1))[:, :, s:]
        lifts, gammas = slice(0, s), slice(s, s + m)
        vertical, basis = slice(s + m, s + 2 * m), slice(s + 2 * m, None)
        moving = fields[s:, basis] @ found.frame
        inside = np.linalg.solve(moving, brackets.reshape(-1, k).T).reshape(k, *brackets.shape[:2])
        bent = found.gamma - np.einsum("cab,ax->cbx", found.structure[:, :, :m], found.connection)
        frame = found.frame
        structure = np.einsum("cij,ia,jb->cab", inside[:, basis, basis], frame, frame)
        pairs = (
            (structure, found.structure),
            (inside[:, lifts, lifts], found.curvature),
            (np.swapaxes(inside[:, lifts, gammas], 1, 2), found.lift_derivative),
            (np.swapaxes(inside[:, lifts, vertical], 1, 2), bent),
        )
        return max(_relative(there - here, here) for there, here in pairs)


def reduced_coefficients(
    system: System | Scenario,
    group: Group,
    shape: Values | None = None,
    parameters: Values | None = None,
    *,
    section: Sequence[Vector] | None = None,
    identity: Values | None = None,
) -> ReducedCoefficients:
    """All coefficients of the reduced equations, checked against the equations of `reduce`.

    Parameters
    ----------
    system, group, section, identity
        As for `reduce`.
    shape : mapping of coordinate to value
        Where they are taken; without it they are expressions.
    parameters : mapping of parameter to value
        Those of a scenario by default.

    Examples
    --------
    >>> import dalembert as da
    >>> particle = da.gallery.load("constrained-particle")
    >>> x, y, z = particle.system.coordinates
    >>> found = reduced_coefficients(particle, {"u": {x: 1}, "w": {z: 1}}, {y: 2.0})
    >>> found.inertia.tolist(), found.residual < 1e-14
    ([[5.0]], True)
    >>> reduced_coefficients(particle, {"u": {x: 1}, "w": {z: 1}}).transport
    array([[[y/(y**2 + 1)]]], dtype=object)
    """
    stated = system.system if isinstance(system, Scenario) else system
    field = CoefficientField(bundle_of(stated, group, section=section, identity=identity))
    if shape is None:
        return field.symbolic()
    known = {symbol.name for symbol in stated.parameters}
    own = {}
    if isinstance(system, Scenario):
        own = {name: value for name, value in system.parameters.items() if name in known}
    return field.at(shape, own | numbers_by_name(parameters))


# -- details ---------------------------------------------------------------------------------------


def _relative(gap: Array | float, terms: Array | float) -> float:
    """The size of a difference beside that of its terms; infinite where it is not a number."""
    size = float(np.max(np.abs(gap), initial=0.0)) / (1 + float(np.max(np.abs(terms), initial=0.0)))
    return size if np.isfinite(size) else np.inf


def _gap(
    found: ReducedCoefficients, numbers: ReducedCoefficients, name: str, values: Mapping[str, float]
) -> float:
    """How far the expressions of a tensor are from its numbers."""
    known = {name: sympy.Float(value) for name, value in values.items()}
    here = []
    for entry in getattr(found, name).flat:
        numbers_here = {symbol: known[symbol.name] for symbol in entry.free_symbols}
        here.append(float(entry.xreplace(numbers_here)))
    expected = getattr(numbers, name).ravel()
    return _relative(np.array(here) - expected, expected)
