r"""Hamilton's principle for nonholonomic motion in its three forms, as integrands along a motion.

A variation is k functions of time delta q_s, one for each independent coordinate; Chetaev's rule
gives the others, delta q_a = dphi_a/dv_s delta q_s (Rumyantsev 1.5). The forms differ in what the
variation of a dependent velocity means:

    Hoelder   (2.1)   delta L + Q . delta q                    delta v_i = d(delta q_i)/dt for all i
    Voronets  (2.5)  delta L_c + dL/dv_a (delta v_a - delta phi_a) + Q . delta q
        L_c(q, v_I, t) on v_D = phi
    Suslov  (2.7)  delta' L + dL/dv_a A_s^a delta q_s + Q . delta q
        delta' v_a = d(delta q_a)/dt - A_s^a delta q_s
    reduced   (2.8)   delta L_c + dL/dv_a A_s^a delta q_s + Q . delta q

They are equal at every instant of every curve that obeys the constraints. Their integral is the
boundary term [dL/dv . delta q] on every motion of the system, and on no other curve: it vanishes
for variations that vanish at the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, nearest
from ...formulations.forms import hamel
from ...formulations.forms.voronets import transitivity
from ...formulations.independent_velocities import Reduction, Split, speed_symbols
from ...formulations.quasi_velocities import stated_speeds
from ...integrate.motion import Motion
from ...model.symbols import Parameter, as_expression, t
from ...model.system import System
from ...typing import Array, BySymbol, Expression, Symbols
from ..path import MotionPath, check_rows, path_of, reduction_along
from ..tables import Report, Section

__all__ = ["PrincipleIntegrands", "principle_integrands"]

FORMS = ("hoelder", "voronets", "suslov", "reduced")
RULES = tuple(product(("hoelder", "suslov"), ("velocities", "constraints")))


@dataclass(frozen=True, repr=False, eq=False)
class PrincipleIntegrands(Report):
    """The integrands of Hamilton's principle along a motion, for one variation.

    Attributes
    ----------
    t : array (nt,)
        The times at which the motion is stored.
    hoelder, voronets, suslov, reduced : arrays (nt,)
        The integrands of (2.1), (2.5), (2.7) and (2.8), each by its own formula.
    work : array (nt,)
        Q . delta q, the virtual work of the forces without potential, which all of them contain.
    displacements : array (n, nt)
        delta q by coordinate.
    hoelder_velocities, suslov_velocities : arrays (n, nt)
        delta v by coordinate, where delta commutes with d/dt, and where it keeps the constraints.
    hoelder_constraints, suslov_constraints : arrays (r, nt)
        delta (v_a - phi_a) for both: A_s^a delta q_s (1.9), and zero.
    spread : float
        The largest difference of any two integrands, relative to the sizes of their terms.
    integral, boundary : float
        The integral over the whole motion, and the change of dL/dv . delta q from start to end.
    size : float
        The integral of the sizes of the terms: what `defect` is measured against.
    independent, dependent : tuples of str
        The velocities that were free, and those that followed.
    """

    name: str
    t: Array
    hoelder: Array
    voronets: Array
    suslov: Array
    reduced: Array
    work: Array
    displacements: Array
    hoelder_velocities: Array
    suslov_velocities: Array
    hoelder_constraints: Array
    suslov_constraints: Array
    spread: float
    integral: float
    boundary: float
    size: float
    independent: tuple[str, ...]
    dependent: tuple[str, ...]

    @property
    def defect(self) -> float:
        """(integral - boundary) relative to the size of the terms: rounding on a true motion."""
        return abs(self.integral - self.boundary) / self.size if self.size else 0.0

    def to_json(self) -> dict[str, Any]:
        """The integrands as plain data."""
        return {
            "name": self.name,
            "independent": list(self.independent),
            "dependent": list(self.dependent),
            "t": self.t.tolist(),
            "integrands": {form: getattr(self, form).tolist() for form in FORMS},
            "work": self.work.tolist(),
            "spread": self.spread,
            "integral": self.integral,
            "boundary": self.boundary,
            "defect": self.defect,
        }

    def _title(self) -> str:
        return self.name

    def _sections(self) -> list[Section]:
        kept = np.max(np.abs(self.suslov_constraints), initial=0.0)
        left = np.max(np.abs(self.hoelder_constraints), initial=0.0)
        of_constraints = f"at most {left:.3g} by Hoelder's rule, {kept:.3g} by Suslov's"
        agreement = f"Hoelder, Voronets and Suslov agree at every instant to {self.spread:.1e}"
        variation = [("free", ", ".join(self.independent))]
        variation.append(("follow", ", ".join(self.dependent) or "none"))
        integrands = [
            ("forms", agreement),
            ("integral", f"{self.integral:.10g}"),
            ("boundary", f"{self.boundary:.10g}"),
            ("defect", f"{self.defect:.1e} of the size of the terms"),
        ]
        rows = [*variation, ("of the constraints", of_constraints)]
        return [("Variation", rows), ("Integrands", integrands)]


#: A function of time: an expression, or a pair of functions of times, itself and its derivative.
Variation: TypeAlias = "Expression | tuple[Callable[[Array], Array], Callable[[Array], Array]]"


def principle_integrands(
    motion: Motion,
    variation: BySymbol[Variation] | Sequence[Variation],
    *,
    independent: Symbols | None = None,
    quasi_velocities: Mapping[str, Expression] | None = None,
) -> PrincipleIntegrands:
    """Integrands of Hamilton's principle by Hoelder, Voronets and Suslov (Rumyantsev 2.1 - 2.8).

    With quasi-velocities they are those of (3.4), (3.12) and (3.13), the last one for both rules of
    the variation: `suslov` with the transitivity equations (1.19), `reduced` with d(eta_s) =
    d(dpi_s)/dt.

    Parameters
    ----------
    motion : Motion
        Of a system whose constraints are two-sided; in any form.
    variation : mapping of coordinate or name to a function of time, or a sequence of them
        delta q_s for the independent coordinates, zero where missing: an expression of `t` and the
        parameters, or a pair of functions of an array of times, delta q_s and its derivative.
    independent : sequence of coordinates, velocities or names
        Which velocities are independent; by default the best choice at the start of the motion.
    quasi_velocities : mapping of name to expression of q, q_dot and t
        Free quasi-velocities, linear or not, in place of independent velocities; the variation is
        then delta pi_s, by the name of its quasi-velocity.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import sin, pi
    >>> x, y, z = da.coordinates("x y z")
    >>> tilt = da.velocity(z.dot - y*x.dot, name="tilt")
    >>> kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    >>> particle = da.System([x, y, z], kinetic=kinetic, constraints=[tilt])
    >>> motion = da.simulate(particle, {x.dot: 1, y.dot: 0.5}, (0, 2))
    >>> found = principle_integrands(motion, {x: sin(pi*da.t/2), y: da.t*(2 - da.t)})
    >>> found.spread < 1e-13, abs(found.integral) < 1e-9
    (True, True)
    """
    if not isinstance(motion, Motion):
        remedy = "pass what simulate(...) returned"
        raise ModelError("A Motion is needed", type(motion).__name__, remedy)
    nodes = path_of(motion)
    if quasi_velocities is None and independent is None:
        quasi_velocities = motion.system.quasi_velocities
    if not quasi_velocities:
        reduction = reduction_along(nodes, GraphAlgebra(), independent)
        field = _VariationField(reduction, variation)
        table = _expressions(reduction, field)
    else:
        reduction = _quasi_reduction(motion.system, quasi_velocities, independent)
        field = _VariationField(reduction, variation)
        table = _quasi_expressions(reduction, field)
    paths = (nodes, path_of(motion, motion.t), path_of(motion, nodes.edges[[0, -1]]))
    inner, outer, ends = (_along(path, reduction.algebra, table, field) for path in paths)
    momentum = np.sum(ends["momenta"] * ends["displacements"], axis=0)
    spread = max(_spread(inner), _spread(outer))
    system, choice = motion.system, reduction.choice
    free = [s.name for s in speed_symbols(reduction.system, choice).state]
    bound = [system.bilateral[k].name for k in choice.rows]
    if isinstance(choice, Split):
        bound = [system.velocities[k].name for k in choice.dependent]
    fields = ("displacements", *(f"{rule}_{what}" for rule, what in RULES))
    return PrincipleIntegrands(
        name=system.name,
        t=motion.t,
        **{form: outer[form][0] for form in (*FORMS, "work")},
        **{name: outer[name] for name in fields},
        spread=spread,
        integral=float(nodes.integral(inner["hoelder"][0])),
        boundary=float(momentum[1] - momentum[0]),
        size=abs(float(nodes.integral(inner["size"][0]))),
        independent=tuple(free),
        dependent=tuple(bound),
    )


def _quasi_reduction(
    system: System, quasi_velocities: Mapping[str, Expression], independent: Symbols | None
) -> Reduction:
    """The system on stated quasi-velocities, in blocks of (q, v, t)."""
    check_rows(system)
    if independent is not None:
        raise ModelError(
            "Give independent velocities, or quasi-velocities", "both", "leave one out"
        )
    # The motion may have been made in the same quasi-velocities, as outputs.
    stated = stated_speeds(system.replacing(outputs={}, quasi_velocities={}), quasi_velocities)
    choice = replace(stated.near(), is_implicit=True)
    return Reduction(stated.system, GraphAlgebra(), choice)


class _VariationField:
    """delta q_s and its rate: symbols of a graph, and their values at times."""

    def __init__(
        self, reduction: Reduction, given: BySymbol[Variation] | Sequence[Variation]
    ) -> None:
        system, choice = reduction.system, reduction.choice
        self.free: list[sympy.Symbol] = (
            [system.coordinates[k] for k in choice.independent]
            if isinstance(choice, Split)
            else list(choice.speeds)
        )
        self.functions = self._read(given)
        self.value = ca.SX.sym("delta", len(self.free))
        self.rate = ca.SX.sym("delta_dot", len(self.free))

    def _read(self, given: BySymbol[Variation] | Sequence[Variation]) -> list[Any]:
        """One entry for each independent coordinate: an expression, or a pair of functions."""
        if not isinstance(given, Mapping):
            listed = list(given)
            if len(listed) != len(self.free):
                what = "A variation needs one function of time for each independent coordinate"
                seen = f"{len(listed)} for {', '.join(q.name for q in self.free)}"
                raise ModelError(what, seen, "give them in this order, or by name")
            return [_function(q.name, value) for q, value in zip(self.free, listed, strict=True)]
        table = {str(getattr(key, "name", key)): value for key, value in given.items()}
        names = [q.name for q in self.free]
        for name in table:
            if name not in names:
                guess = nearest(name, names)
                remedy = (
                    f"did you mean {guess}" if guess else "vary one of these, or pass independent="
                )
                what = f"`{name}` is not an independent coordinate"
                raise ModelError(what, seen=", ".join(names), remedy=remedy)
        return [_function(name, table.get(name, 0)) for name in names]

    def numbers(self, path: MotionPath) -> Array:
        """delta q_s and its rate along a path, (2 k, nt)."""
        rows: tuple[list[Array], list[Array]] = ([], [])
        for function in self.functions:
            if isinstance(function, tuple):
                pair = [np.asarray(part(path.times), dtype=float) for part in function]
            else:
                algebra = GraphAlgebra()
                block = algebra.vector([function, sympy.diff(function, t)])
                pair = list(path.along(algebra, [block])[0][:, :, 0].T)
            for place, values in enumerate(pair):
                rows[place].append(np.broadcast_to(values, path.times.shape))
        return np.array([*rows[0], *rows[1]]).reshape(-1, len(path.times))


def _function(name: str, value: Variation) -> Any:
    """A variation as it is evaluated: an expression of t and parameters, or a pair of functions."""
    if isinstance(value, Sequence) and len(value) == 2 and all(callable(part) for part in value):
        return tuple(value)
    if callable(value) and not isinstance(value, sympy.Basic):
        remedy = "give a pair of functions of time, or an expression of t"
        raise ModelError(f"The variation of `{name}` needs its derivative", "one function", remedy)
    expression = as_expression(value)
    others = (s for s in expression.free_symbols if s != t)
    strange = sorted(s.name for s in others if not isinstance(s, Parameter))
    if strange:
        what = f"The variation of `{name}` must be a function of time"
        raise ModelError(what, seen=", ".join(strange), remedy="write it in t")
    return expression


def _expressions(reduction: Reduction, field: _VariationField) -> dict[str, ca.SX]:
    """Every quantity as a graph of (t, q, v_I, z) and of the variation."""
    algebra, split, here = reduction.algebra, reduction.split, reduction.here
    frame, delta, delta_rate = reduction.frame, field.value, field.rate
    displacement = frame @ delta
    turning = algebra.columns([reduction.rate(frame[:, s]) for s in range(frame.shape[1])])
    commuting = turning @ delta + frame @ delta_rate
    of_phi = reduction.map.by_places(reduction.solved) @ displacement
    of_phi = of_phi + reduction.map.by_speeds(reduction.solved) @ delta_rate
    free = algebra.part(commuting, split.independent, [0])
    order = [*split.independent, *split.dependent]
    places = [order.index(k) for k in range(len(order))]
    kept = algebra.part(algebra.stack([free, of_phi]), places, [0])

    constrained = here(reduction.lagrangian)
    derivative = here(algebra.gradient(reduction.lagrangian, reduction.q))
    momenta = here(reduction.momenta_at_velocity)
    dependent = algebra.part(momenta, split.dependent, [0])
    by_velocities = reduction.map.speed_gradient(constrained)
    of_constrained = algebra.inner(reduction.map.place_gradient(constrained), displacement)
    of_constrained = of_constrained + algebra.inner(by_velocities, delta_rate)
    coefficients = transitivity(reduction)
    swept = coefficients.T @ delta
    missing = algebra.part(commuting, split.dependent, [0]) - of_phi
    force = here(reduction.applied_force)
    work = algebra.inner(force, displacement)
    of_places = algebra.inner(derivative, displacement)
    moves = abs(frame) @ abs(delta_rate) + abs(turning) @ abs(delta) + abs(kept)
    terms = algebra.inner(abs(derivative) + abs(force), abs(displacement))
    terms = terms + algebra.inner(abs(momenta), moves)
    return {
        "hoelder": of_places + algebra.inner(momenta, commuting) + work,
        "voronets": of_constrained + algebra.inner(dependent, missing) + work,
        "suslov": of_places + algebra.inner(momenta, kept) + algebra.inner(dependent, swept) + work,
        "reduced": of_constrained + algebra.inner(dependent, swept) + work,
        "work": work,
        "displacements": displacement,
        "hoelder_velocities": commuting,
        "suslov_velocities": kept,
        "hoelder_constraints": missing,
        "suslov_constraints": algebra.part(kept, split.dependent, [0]) - of_phi,
        "momenta": momenta,
        "size": terms,
    }


def _quasi_expressions(reduction: Reduction, field: _VariationField) -> dict[str, ca.SX]:
    """The same in quasi-velocities, as a graph of (t, q, v, q_ddot) and of the variation."""
    algebra, frame, k = reduction.algebra, reduction.frame, reduction.freedom
    delta, delta_rate, momenta = field.value, field.rate, reduction.momenta_at_velocity
    accelerations = algebra.vector([q.ddot for q in reduction.system.coordinates])
    rates = (
        algebra.along(reduction.given, reduction.q, reduction.v)
        + algebra.along(reduction.given, reduction.v, accelerations)
        + algebra.jacobian(reduction.given, reduction.time)
    )

    def moving(block: ca.SX) -> Any:
        return algebra.substitute(block, reduction.z, rates)

    W, T = moving(hamel.transitivity(reduction)), moving(hamel.transitivity_of_inverse(reduction))
    turning = algebra.columns([moving(reduction.rate(frame[:, s])) for s in range(k)])
    displacement, commuting = frame @ delta, turning @ delta + frame @ delta_rate
    y = hamel.quasi_momenta(reduction)
    by_rule, bound = delta_rate - W[:k, :] @ delta, W[k:, :] @ delta
    of_places = algebra.gradient(reduction.lagrangian, reduction.q)
    constrained = algebra.inner(reduction.map.place_gradient(reduction.lagrangian), displacement)
    by_speeds = reduction.map.speed_gradient(reduction.lagrangian)
    rows = algebra.jacobian(reduction.definition, reduction.v)
    held = algebra.inner(y[k:], rows[k:, :] @ (T @ delta))
    kept = reduction.map.by_places(reduction.v) @ displacement + frame @ by_rule
    residual = algebra.along(reduction.constraints, reduction.q, displacement)
    work = algebra.inner(reduction.applied_force, displacement)
    sizes = abs(frame) @ abs(delta_rate) + abs(turning) @ abs(delta) + abs(kept)
    terms = algebra.inner(abs(of_places) + abs(reduction.applied_force), abs(displacement))
    return {
        "hoelder": algebra.inner(of_places, displacement)
        + algebra.inner(momenta, commuting)
        + work,
        "voronets": constrained
        + algebra.inner(by_speeds, by_rule)
        - algebra.inner(y[k:], bound)
        + work,
        "suslov": constrained + algebra.inner(by_speeds, by_rule) + held + work,
        "reduced": constrained
        + algebra.inner(by_speeds, delta_rate)
        + algebra.inner(momenta, T @ delta)
        + work,
        "work": work,
        "displacements": displacement,
        "hoelder_velocities": commuting,
        "suslov_velocities": kept,
        "hoelder_constraints": residual + rows[k:, :] @ commuting,
        "suslov_constraints": residual + rows[k:, :] @ kept,
        "momenta": momenta,
        "size": terms + algebra.inner(abs(momenta), sizes),
    }


def _along(
    path: MotionPath, algebra: GraphAlgebra, table: Mapping[str, ca.SX], field: _VariationField
) -> dict[str, Array]:
    """The expressions along a path, (rows, nt) by name."""
    symbols = ca.vertcat(field.value, field.rate)
    blocks = path.along(algebra, list(table.values()), symbols, field.numbers(path))
    return {name: block[:, :, 0].T for name, block in zip(table, blocks, strict=True)}


def _spread(found: Mapping[str, Array]) -> float:
    """The largest difference of two integrands, relative to the size of their terms."""
    values = np.array([found[form][0] for form in FORMS])
    scale = float(np.max(found["size"], initial=0.0))
    return float(np.max(np.ptp(values, axis=0), initial=0.0)) / scale if scale else 0.0
