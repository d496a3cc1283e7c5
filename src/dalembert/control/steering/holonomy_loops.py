r"""Loops of the base that displace the fibre as wanted: rectangles, circles, Fourier, extremals.

For the knife edge (Bloch and others, Supplement, section 6.6) the fibre moves by -a b round a
rectangle with sides a and b. So z_3 is brought to 0 by a* = sqrt|z_3| sign z_3, b* = sqrt|z_3|, and
where z_3 = 0 there is no loop. Circles are the smallest loops (Dido's problem) where B is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import sympy

from ...analysis.symmetry.connections import Connection
from ...analysis.tables import Report, Section
from ...errors import FormError, ModelError, RunError
from ...integrate.events.events import find_root
from ...model.flow_system import Flow
from ...model.symbols import Parameter, t
from ...model.values import numbers_by_name
from ...typing import Array, ArrayLike, Symbols, Values
from ..optimal.extremal import ControlExtremal
from ..optimal.optimal import OptimalOptions, optimal
from .fibration import Fibration, fibration
from .fourier_loops import fourier_loop, fourier_numbers, fourier_place
from .holonomy import BasePath, Leg, closed_path, fibre_start, holonomy

__all__ = ["Loop", "holonomy_loop"]

#: What the accurate integration of a loop may miss.
FOLLOWED = 1e-5


@dataclass(frozen=True, eq=False, repr=False)
class Loop(Report):
    """A closed base path that displaces the fibre as wanted.

    Attributes
    ----------
    shape : "rectangle", "circle", "fourier", "optimal" or "none"
    path : BasePath or None
        None where nothing is to be done, and for optimal loops, which are motions.
    corners : array (4, 2) or None
    length : float
        Of the path in the base.
    displacement : array (k,)
        What it does.
    extremal : ControlExtremal or None
        The motion of an optimal loop, and whether it is optimal.
    """

    shape: str
    path: BasePath | None
    corners: Array | None
    length: float
    displacement: Array
    extremal: ControlExtremal | None = None

    def _title(self) -> str:
        return f"Loop: {self.shape}"

    def _sections(self) -> list[Section]:
        moved = ", ".join(f"{x:.9g}" for x in self.displacement)
        rows = [("length", f"{self.length:.9g}"), ("displacement", moved)]
        if self.corners is not None:
            rows.append(("corners", ", ".join(f"({a:.6g}, {b:.6g})" for a, b in self.corners)))
        return [("Path", rows)]


def holonomy_loop(
    model: Flow | Connection | Fibration,
    displacement: ArrayLike,
    shape: str = "rectangle",
    *,
    base: Symbols = (),
    around: Sequence[float] | None = None,
    start: Values | None = None,
    parameters: Values | None = None,
    **search: Unpack[OptimalOptions],
) -> Loop:
    """Find a loop of the base, from and to a place, that displaces the fibre as wanted.

    Parameters
    ----------
    model : Flow or Connection
        See `fibration`; `base` as there.
    displacement : float, or sequence (k,)
        One number for rectangles and circles, which are for one fibre symbol.
    shape : "rectangle", "circle", "fourier" or "optimal"
        Rectangles have equal sides; in closed form where the curvature is constant, by their
        holonomy where it is not. Circles need a constant curvature. The optimal loop is the
        extremal of least effort (`optimal`), for any fibre. "fourier" is a loop of sines and
        cosines for any number of base symbols and any fibre, also where brackets of higher steps
        are needed, as for trailers.
    around : (s,)
        The place where it begins and ends; the origin by default.
    start : mapping of fibre symbol to value
    parameters : mapping of parameter to value
    **search
        For `da.control.optimal`: nodes, segments, seed, guess.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> u, w = da.inputs("u w")
    >>> knife = da.Flow({x: u, y: w, z: -x*w}, inputs=[u, w])
    >>> holonomy_loop(knife, -2.0).corners.round(6).tolist()
    [[0.0, 0.0], [1.414214, 0.0], [1.414214, 1.414214], [0.0, 1.414214]]
    """
    found = fibration(model, base)
    wanted = np.atleast_1d(np.asarray(displacement, dtype=float))
    if wanted.shape != (len(found.fibre),):
        what = "The displacement needs a number for each fibre symbol"
        raise ModelError(what, wanted.shape, str(found.fibre))
    center = np.zeros(len(found.base)) if around is None else np.asarray(around, dtype=float)
    if center.shape != (len(found.base),) or not np.all(np.isfinite(center)):
        remedy = f"give numbers for {', '.join(q.name for q in found.base)}"
        raise ModelError("A loop begins at a place of the base", str(around)[:60], remedy)
    if not np.any(wanted):
        return Loop("none", None, None, 0.0, wanted)
    task = _WantedLoop(found, wanted, center, start, parameters)
    if shape == "optimal":
        return task.optimal(search)
    if shape == "fourier":
        return task.fourier()
    if shape not in ("rectangle", "circle") or len(found.fibre) != 1 or len(found.base) != 2:
        raise FormError(
            "Rectangles and circles move one fibre symbol over two base symbols",
            f'"{shape}" with {len(found.fibre)} fibre and {len(found.base)} base symbols',
            'use shape="fourier"',
        )
    return task.circle() if shape == "circle" else task.rectangle()


@dataclass(frozen=True)
class _WantedLoop:
    """The displacement (k,) that a loop from `center` (s,) is wanted for."""

    found: Fibration
    wanted: Array
    center: Array
    start: Values | None
    parameters: Values | None

    @property
    def place(self) -> dict[str, float]:
        """The values of base and fibre at the start."""
        base = dict(zip((q.name for q in self.found.base), self.center, strict=True))
        return {**base, **fibre_start(self.found, self.start)}

    def curvature(self) -> tuple[float, bool]:
        """The curvature at the start, and whether it is constant."""
        bend = self.found.curvature[0, 1][0]
        here = {**numbers_by_name(self.parameters), **self.place}
        known = {s: sympy.Float(here[s.name]) for s in bend.free_symbols if s.name in here}
        height = float(bend.xreplace(known))
        terms = [abs(float(term.xreplace(known))) for term in sympy.Add.make_args(bend)]
        if abs(height) <= 1e-14 * sum(terms):
            what = "The curvature vanishes where the loop begins"
            raise FormError(what, str(bend), "begin elsewhere: around=(...)")
        return height, not bend.free_symbols - bend.atoms(Parameter)

    def corners(self, side: float, sign: float) -> Array:
        """(0, 0), (a, 0), (a, b), (0, b) from the center, with a = sign side, b = side."""
        a, b = sign * side, side
        corners: Array = self.center + np.array([[0, 0], [a, 0], [a, b], [0, b]])
        return corners

    def displacement(self, corners: Array) -> Array:
        """What a polygon does to the fibre (k,)."""
        made = holonomy(self.found, corners, start=self.start, parameters=self.parameters)
        return made.displacement

    def rectangle(self) -> Loop:
        height, steady = self.curvature()
        side, sign = np.sqrt(abs(self.wanted[0] / height)), float(np.sign(self.wanted[0] / height))
        if not steady:
            side = self._side(float(self.wanted[0]), sign, side)
        corners = self.corners(side, sign)
        moved = self.wanted if steady else self.displacement(corners)
        return Loop("rectangle", closed_path(self.found, corners), corners, float(4 * side), moved)

    def _side(self, wanted: float, sign: float, guess: float) -> float:
        """The side of the rectangle whose holonomy is the wanted one."""

        def miss(side: float) -> float:
            moved = self.displacement(self.corners(side, sign))[0]
            return float(moved - wanted) * float(np.sign(wanted))

        low, high = 0.0, guess
        for _ in range(12):
            there = miss(high)
            if there >= 0:
                return find_root(miss, low, high, -abs(wanted), there) if there else high
            low, high = high, 1.3 * high
        raise RunError(
            "No rectangle from here moves the fibre that far",
            f"sides up to {high:.3g} miss it by {abs(there):.3g}",
            'begin elsewhere, go round several times, or use shape="optimal"',
        )

    def circle(self) -> Loop:
        height, steady = self.curvature()
        if not steady:
            bend = str(self.found.curvature[0, 1][0])
            raise FormError("Circles are for constant curvature", bend, 'use shape="optimal"')
        radius = float(np.sqrt(abs(self.wanted[0] / height) / np.pi))
        sense = sympy.Integer(int(np.sign(self.wanted[0] / height)))
        first, second = self.found.base
        path = {
            first: sympy.Float(self.center[0]) + radius * (1 - sympy.cos(t)),
            second: sympy.Float(self.center[1]) - sense * radius * sympy.sin(t),
        }
        whole = BasePath((Leg(path, (0.0, float(2 * np.pi)), {}),))
        return Loop("circle", whole, None, float(2 * np.pi * radius), self.wanted)

    def fourier(self) -> Loop:
        values, found = numbers_by_name(self.parameters), self.found
        fibre = np.array(list(fibre_start(found, self.start).values()))
        loop = fourier_loop(found, self.wanted, self.center, fibre, values)
        places, names = fourier_place(found, loop.sines.shape[1], t)
        numbers = fourier_numbers(names, loop, self.center)
        path = BasePath((Leg(places, (0.0, 1.0), numbers),))
        made = holonomy(found, path, start=self.start, parameters=self.parameters)
        if np.max(np.abs(made.displacement - self.wanted)) > FOLLOWED * (1 + np.abs(fibre).max()):
            what = "The loop that was found does not move the fibre as wanted"
            seen = f"it misses it by {np.max(np.abs(made.displacement - self.wanted)):.1e}"
            raise RunError(what, seen, "ask for a smaller displacement")
        moments = np.linspace(0.0, 1.0, 2001)
        phases = np.arange(1, loop.sines.shape[1] + 1)[:, None] * 2 * np.pi * moments
        speeds = 2 * np.pi * (loop.sines @ np.cos(phases) + loop.cosines @ np.sin(phases))
        length = float(np.trapezoid(np.linalg.norm(speeds, axis=0), moments))
        return Loop("fourier", path, None, length, made.displacement)

    def optimal(self, search: OptimalOptions) -> Loop:
        flow, fibre = self.found.kinematic, [q.name for q in self.found.fibre]
        begin, values = self.place, numbers_by_name(self.parameters)
        end = begin | {name: begin[name] + x for name, x in zip(fibre, self.wanted, strict=True)}
        effort = sum((u**2 for u in flow.inputs), sympy.Integer(0)) / 2
        extremal = optimal(flow, effort, begin, end, (0.0, 1.0), parameters=values, **search)
        motion = extremal.motion
        moved = np.array([float(motion[name][-1] - motion[name][0]) for name in fibre])
        # H = |w|^2 / 2 is constant: the length in unit time is the speed, the cost half its square.
        return Loop("optimal", None, None, float(np.sqrt(2 * extremal.cost)), moved, extremal)
