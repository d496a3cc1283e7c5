r"""Loops of trigonometric polynomials for any base and any fibre, by lifting a path of endpoints.

    b_i(s) = b_i(0) + sum_n c_in sin(2 pi n s)/n + d_in (1 - cos(2 pi n s))/n,     0 <= s <= 1

is closed whatever the coefficients are, and displaces the fibre by F(c, d). Where brackets of
higher steps are needed (trailers behind a car) F vanishes to higher order at rest, so the search
begins at a loop of finite size and follows F to the wanted displacement: with J = dF/dc and its
pseudo-inverse,

    c' = J^+ (wanted - F)

(the continuation method of Sussmann and Chitour). Steps within the kernel of J then shorten the
effort, the integral of |u|^2 of the inputs. F and J come from Runge-Kutta's method on CasADi's
graph; what the loop really does is integrated afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import RunError
from ...model.parameter_values import parameter_values
from ...model.symbols import Coordinate, Parameter
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array
from .fibration import Fibration

__all__ = ["FourierLoop", "fourier_loop", "fourier_numbers", "fourier_place"]

#: Steps of Runge-Kutta's method round a loop, starts of the search, and steps of one lift.
STEPS, STARTS, LIFTED = 96, 24, 200
#: The size of the coefficients at a start, the longest step, and what the fibre may miss.
SIZE, LONGEST, MISSED = 0.35, 0.3, 1e-11
#: Steps that shorten the effort.
SHORTENED = 40


@dataclass(frozen=True, eq=False)
class FourierLoop:
    """Coefficients of a loop: c (s, N) of the sines and d (s, N) of the cosines.

    `effort` is the integral of |u|^2 over unit time.
    """

    sines: Array
    cosines: Array
    effort: float


def fourier_place(
    found: Fibration, harmonics: int, phase: sympy.Expr
) -> tuple[dict[Coordinate, sympy.Expr], list[tuple[Parameter, Parameter, Parameter]]]:
    """The loop as expressions of a phase in [0, 1] with parameters for place and coefficients.

    The parameters are listed by base symbol and harmonic: the place where it begins, c and d.
    """
    places, names = {}, []
    for q in found.base:
        begin = Parameter(f"loop_from_{q.name}")
        total: sympy.Expr = begin
        for n in range(1, harmonics + 1):
            c, d = (Parameter(f"loop_{word}_{q.name}_{n}") for word in ("sine", "cosine"))
            angle = 2 * sympy.pi * n * phase
            total += (c * sympy.sin(angle) + d * (1 - sympy.cos(angle))) / n
            names.append((begin, c, d))
        places[q] = total
    return places, names


def fourier_numbers(
    names: Sequence[tuple[Parameter, Parameter, Parameter]], loop: FourierLoop, center: Array
) -> dict[str, float]:
    """Values of the parameters of `fourier_place` by name."""
    count = loop.sines.shape[1]
    found = {}
    for place, (begin, c, d) in enumerate(names):
        symbol, harmonic = divmod(place, count)
        found[begin.name] = float(center[symbol])
        found[c.name] = float(loop.sines[symbol, harmonic])
        found[d.name] = float(loop.cosines[symbol, harmonic])
    return found


def fourier_loop(
    found: Fibration,
    wanted: Array,
    center: Array,
    fibre: Array,
    values: Mapping[str, float],
    harmonics: int | None = None,
    seed: int = 0,
) -> FourierLoop:
    """The loop from `center` (s,) that displaces the fibre (k,) by `wanted`.

    Raises
    ------
    RunError
        Where no start of the search leads there.
    """
    count = harmonics or 2 + max(2, len(found.fibre))
    task = _Endpoint(found, center, fibre, values, count)
    random, least = np.random.default_rng(seed), np.inf
    for _ in range(STARTS):
        coefficients, missed = task.lifted(random.normal(size=task.size) * SIZE, wanted)
        least = min(least, missed)
        if coefficients is not None:
            coefficients = task.shortened(coefficients, wanted)
            table = coefficients.reshape(2 * count, len(found.base)).T
            return FourierLoop(table[:, :count], table[:, count:], task(coefficients)[2])
    raise RunError(
        "No loop of trigonometric polynomials was found that moves the fibre so",
        f"the nearest misses it by {least:.2g} with {count} harmonics",
        "ask for a smaller displacement, pass more harmonics, or choose another base",
    )


class _Endpoint:
    """F, its derivative, the effort and its derivative, as functions of the coefficients."""

    def __init__(
        self,
        found: Fibration,
        center: Array,
        fibre: Array,
        values: Mapping[str, float],
        harmonics: int,
    ) -> None:
        s, self.k, self._fibre = len(found.base), len(found.fibre), np.asarray(fibre)
        self.size = 2 * s * harmonics
        c, phase = ca.SX.sym("c", s, 2 * harmonics), ca.SX.sym("s")
        numbers = range(1, harmonics + 1)
        terms = [ca.sin(2 * np.pi * n * phase) / n for n in numbers]
        terms += [(1 - ca.cos(2 * np.pi * n * phase)) / n for n in numbers]
        place = ca.DM(center) + c @ ca.vertcat(*terms)
        speed, state = ca.jacobian(place, phase), ca.SX.sym("z", self.k + 1)
        moved = _rates(found, values)(place, state[: self.k], speed)
        rate = ca.Function("rate", [phase, state, c], [moved])
        h = 1 / STEPS
        first = rate(phase, state, c)
        second = rate(phase + h / 2, state + h / 2 * first, c)
        third = rate(phase + h / 2, state + h / 2 * second, c)
        fourth = rate(phase + h, state + h * third, c)
        after = state + h / 6 * (first + 2 * second + 2 * third + fourth)
        step = ca.Function("step", [state, phase, c], [after])
        given = ca.MX.sym("c", self.size)
        table = ca.repmat(ca.reshape(given, s, 2 * harmonics), 1, STEPS)
        begin, phases = ca.DM([*self._fibre, 0.0]), ca.DM(np.arange(STEPS) * h).T
        end = step.mapaccum("loop", STEPS)(begin, phases, table)[:, -1]
        self._function = ca.Function("end", [given], [end, ca.jacobian(end, given)])

    def __call__(self, coefficients: Array) -> tuple[Array, Array, float, Array]:
        """F (k,), J (k, size), the effort, and its gradient (size,)."""
        end, derivatives = (np.asarray(x, dtype=float) for x in self._function(coefficients))
        moved = end.ravel()[: self.k] - self._fibre
        return moved, derivatives[: self.k], float(end[self.k, 0]), derivatives[self.k]

    def lifted(self, coefficients: Array, wanted: Array) -> tuple[Array | None, float]:
        """The end of the path of coefficients along which F goes straight to `wanted`, or None."""
        moved, derivatives, _, _ = self(coefficients)
        reach, left = 0.1, float(np.linalg.norm(wanted - moved))
        for _ in range(LIFTED):
            if not np.isfinite(left) or reach < 1e-8:
                break
            if np.max(np.abs(wanted - moved)) < MISSED:
                return coefficients, left
            share = min(1.0, reach / left)
            step = _least_step(derivatives, share * (wanted - moved), np.zeros(self.size))
            if step is None:
                break
            step *= min(1.0, LONGEST / max(float(np.linalg.norm(step)), 1e-300))
            there = self(coefficients + step)
            rest = float(np.linalg.norm(wanted - there[0]))
            if not rest < (1 - 1e-4) * left:
                reach /= 2
                continue
            coefficients, (moved, derivatives, _, _), left = coefficients + step, there, rest
            reach = min(10.0, 1.5 * reach)
        return None, left

    def shortened(self, coefficients: Array, wanted: Array) -> Array:
        """A loop of less effort with the same displacement, by steps in the kernel of J."""
        rate, effort = 0.02, self(coefficients)[2]
        for _ in range(SHORTENED):
            _, derivatives, _, gradient = self(coefficients)
            down = _least_step(derivatives, np.zeros(self.k), -rate * gradient)
            if down is None:
                break
            down *= min(1.0, 0.2 / max(float(np.linalg.norm(down)), 1e-300))
            found, _ = self.lifted(coefficients + down, wanted)
            if found is not None and self(found)[2] < effort:
                coefficients, effort, rate = found, self(found)[2], 1.4 * rate
            else:
                rate /= 3
        return coefficients


def _least_step(rows: Array, right: Array, towards: Array) -> Array | None:
    """The step nearest to `towards` with rows @ step = right; None where the rows contradict it."""
    if not np.all(np.isfinite(rows)):
        return None
    try:
        return np.asarray(solve(np.eye(len(towards)), towards, rows, right).z)
    except RunError:
        return None


def _rates(found: Fibration, values: Mapping[str, float]) -> ca.Function:
    """(b, z, b_dot) to z_dot and |u|^2, with numbers for the parameters."""
    algebra, s = GraphAlgebra(), len(found.base)
    base, fibre = algebra.vector(found.base), algebra.vector(found.fibre)
    speeds = ca.SX.sym("b_dot", s)
    A, D = (
        algebra.columns([algebra.vector(list(table[:, j])) for j in range(s)])
        for table in (found.coefficients, found.gain)
    )
    # The inputs of a dynamic extension are accelerations: then the speeds of the base count.
    inputs = speeds if found.speeds else ca.solve(D, speeds)
    both = ca.vertcat(A @ speeds, ca.sumsqr(inputs))
    own = [symbol for symbol in algebra.symbols if isinstance(symbol, Parameter)]
    given = {p.name: values[p.name] for p in own if p.name in values}
    numbers = ca.SX(ca.DM(parameter_values(own, given)))
    both = ca.substitute(both, algebra.vector(own), numbers) if own else both
    return ca.Function("rates", [base, fibre, speeds], [both])
