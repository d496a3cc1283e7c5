r"""Geometric and dynamic phase: the group displacement by a shape motion and by the momentum.

The group part g(t) of a motion with the shape path r(t) is a product of the horizontal lift of the
path, which starts with it, and of what is left,

    g = d g_h,  g_h^-1 g_h_dot = -A(r) r_dot  (geometric),  d^-1 d_dot = Ad_{g_h} Gamma(r) p
        (dynamic)

(Bloch, Supplement 5.5, 5.8). g_h depends on the path of the shape and not on its pace; over a loop
it is the holonomy. With constraints *and* momentum there is no split without a choice: A is the
nonholonomic connection, whose horizontal space is orthogonal to S = D n T Orb in the kinetic
metric, and another connection over the same constraints splits the same motion otherwise.
Displacements are those seen from where the motion starts, g(0)^-1 g(t), so that they are the same
for every start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import FormError, ModelError, RunError
from ...formulations.equations import Equations
from ...formulations.reduction.bundle_equations import Bundle
from ...formulations.reduction.gait import Gait
from ...formulations.reduction.phase_factors import (
    dynamic_symbols,
    factor_equations,
    geometric_symbols,
)
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.parameter_values import parameter_values
from ...model.reduced_system import ReducedSystem
from ...model.symbols import t
from ...model.values import numbers_by_name
from ...typing import Values
from ..tables import Report, Section
from .group_elements import Displacement, ElementMatrices

__all__ = ["Phases", "check_loop", "gait_displacement", "phases"]

#: A shape path that misses its beginning by more than this, relatively, is no loop.
CLOSED = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Phases(Report):
    """The displacement of a motion on its group, in two factors: total = dynamic geometric.

    Attributes
    ----------
    geometric, dynamic, total : Displacement
    residual : float
        The largest entry of dynamic geometric - total, as matrices of separate equations.
    motion : Motion
        All along time: x, x_geometric and x_dynamic for a group coordinate x, from the identity.
    group : str
        The group, where it has a name.
    connection : str
        Which connection split the motion.
    """

    geometric: Displacement
    dynamic: Displacement
    total: Displacement
    residual: float
    motion: Motion
    group: str
    connection: str

    def _title(self) -> str:
        return f"Phases of {self.motion.system.name.removesuffix(', reduced')}"

    def _sections(self) -> list[Section]:
        begin, end = float(self.motion.t[0]), float(self.motion.t[-1])
        parts = {"geometric": self.geometric, "dynamic": self.dynamic, "total": self.total}
        heading = f"Displacement on {self.group}, from t = {begin:g} to {end:g}"
        return [
            (heading, [(name, str(part)) for name, part in parts.items()]),
            ("Check", [("dynamic geometric - total", f"{self.residual:.1e}")]),
            ("Connection", [("split by", self.connection)]),
        ]


def phases(motion: Motion) -> Phases:
    """The displacement of a motion on its group, split into geometric and dynamic phase.

    Parameters
    ----------
    motion : Motion
        Of equations made with `reduce`, or of a gait made with `follow_shape`.

    Raises
    ------
    ModelError
        For other motions, and where the group coordinates are not of the second kind.

    Examples
    --------
    >>> import dalembert as da
    >>> board = da.gallery.load("snakeboard")
    >>> x, y, theta, psi, phi = board.system.coordinates
    >>> plane = da.lie.LieGroup.SE(2).chart((x, y, theta))
    >>> start = {psi.dot: 0.7, phi: 0.5, phi.dot: 0.2, "p_1": 1.2}
    >>> equations, values = da.symmetry.reduce(board.system, plane), board.parameters
    >>> found = phases(da.simulate(equations, start, (0, 1), parameters=values))
    >>> found.group, found.total.matrix.shape, found.residual < 1e-9
    ('SE(2)', (3, 3), True)
    """
    model: Any = motion.system
    stated = model.bundle if isinstance(model, ReducedSystem) else None
    if not isinstance(stated, Bundle | Gait):
        what = "Phases are those of a reduced motion or of a gait"
        seen = f'a motion in the form "{motion.equations.form}"'
        remedy = "simulate da.symmetry.reduce(...) or da.symmetry.follow_shape(...)"
        raise ModelError(what, seen, remedy)
    bundle = stated.bundle if isinstance(stated, Gait) else stated
    matrices = ElementMatrices(bundle, motion.parameters)
    copies = (bundle.group_symbols, geometric_symbols(bundle), dynamic_symbols(bundle))
    start = {symbol.name: float(motion[symbol.name][0]) for symbol in motion.equations.state}
    for symbols in copies:
        start |= dict(zip((q.name for q in symbols), matrices.identity.values(), strict=True))
    span, rtol = (float(motion.t[0]), float(motion.t[-1])), motion.statistics.get("rtol", 1e-10)
    options: dict[str, Any] = {"parameters": motion.parameters, "rtol": float(rtol)}
    carried = simulate(factor_equations(stated), start, span, at=np.asarray(motion.t), **options)
    _check_end(carried)
    ends = [[carried[q.name][-1] for q in symbols] for symbols in copies]
    total, geometric, dynamic = (
        matrices.element(dict(zip(matrices.names, end, strict=True))) for end in ends
    )
    residual = float(np.max(np.abs(dynamic.matrix @ geometric.matrix - total.matrix)))
    group = matrices.group.name if matrices.group else "a group with a centre inside its brackets"
    return Phases(geometric, dynamic, total, residual, carried, group, _connection(bundle))


def _check_end(motion: Motion) -> None:
    if not motion.outcome.is_success:
        remedy = "ask for a shorter motion"
        raise RunError("The group could not be followed to the end", str(motion.outcome), remedy)


def _connection(bundle: Bundle) -> str:
    if not bundle.rows:
        return "the mechanical connection, of the kinetic energy alone"
    if not bundle.momenta:
        return "the constraints, which leave no momentum"
    return (
        "the nonholonomic connection: the constraints, and the kinetic energy where they leave"
        " momentum. Another connection over the same constraints would split the same displacement"
        " otherwise"
    )


def gait_displacement(
    gait: Equations,
    period: float,
    *,
    cycle: int = 1,
    start: Values | None = None,
    parameters: Values | None = None,
    rtol: float | None = None,
) -> Phases:
    """The displacement of a gait over one period of its shape, in both parts.

    Parameters
    ----------
    gait : Equations
        Of `follow_shape`, with a shape that repeats itself.
    period : float
    cycle : int
        Which one: the momentum may grow, and the displacement with it; the geometric part is equal.
    start : mapping of momentum to value
        The momenta at t = 0, zero by default.
    parameters : mapping of parameter to value
    rtol : float
        As for `simulate`.

    Raises
    ------
    FormError
        Where the equations are not those of a gait, or the shape does not come back.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> system = da.gallery.load("snakeboard").system
    >>> x, y, theta, psi, phi = system.coordinates
    >>> light = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
    >>> plane = da.lie.LieGroup.SE(2).chart((x, y, theta))
    >>> stroke = da.symmetry.follow_shape(system, plane, {psi: 0.7*sin(da.t), phi: 0.3*cos(da.t)})
    >>> found = gait_displacement(stroke, 6.283185307179586, parameters=light)
    >>> round(found.geometric.coordinates["x"], 6)
    0.008406
    """
    stated = getattr(gait.system, "bundle", None) if isinstance(gait, Equations) else None
    if not isinstance(stated, Gait):
        is_equations = isinstance(gait, Equations)
        what = "A displacement per cycle is asked of a gait"
        seen = f'equations in the form "{gait.form}"' if is_equations else type(gait).__name__
        remedy = "make it with da.symmetry.follow_shape(system, group, shape)"
        raise FormError(what, seen, remedy)
    if not period > 0 or isinstance(cycle, bool) or not isinstance(cycle, int) or cycle < 1:
        what = "A gait has a positive period and cycles that are counted from one"
        seen, remedy = f"period {period}, cycle {cycle}", "pass period=2*pi and the like, cycle=1"
        raise FormError(what, seen, remedy)
    values = numbers_by_name(parameters)
    check_loop(stated, float(period), values)
    options: dict[str, Any] = {"parameters": values} | ({} if rtol is None else {"rtol": rtol})
    first = numbers_by_name(start)
    begin = (cycle - 1) * period
    if begin:
        before = simulate(gait, first, (0.0, begin), at=[begin], **options)
        _check_end(before)
        first = {p.name: float(before[p.name][-1]) for p in stated.carried}
    ends = (begin, begin + period)
    return phases(simulate(gait, first, ends, at=list(ends), **options))


def check_loop(gait: Gait, period: float, values: Mapping[str, Any]) -> None:
    """The shape and its velocity must come back after a period."""
    symbols = (*gait.bundle.system.parameters, *gait.parameters)
    table = dict(zip(symbols, map(float, parameter_values(symbols, values)), strict=True))
    for q, path in gait.path.items():
        places = [path.subs(table).subs(t, moment) for moment in (0.0, 0.37 * period)]
        later = [path.subs(table).subs(t, moment) for moment in (period, 1.37 * period)]
        gap = max(abs(float(a) - float(b)) for a, b in zip(places, later, strict=True))
        if gap > CLOSED * (1 + max(abs(float(place)) for place in places)):
            what = f"The shape `{q.name}` does not repeat itself after this period"
            remedy = "pass the period of all shape coordinates together"
            raise FormError(what, f"a gap of {gap:.1e} after {period:g}", remedy)
