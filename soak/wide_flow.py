"""An independent implementation of the motion of a system: accelerations by `differential_casadi`,
SciPy's DOP853.

Nothing of a formulation, a kernel or an integrator of the library takes part, so that a wrong sign
in any of them shows. A step of DOP853 that contains the instant at which some Max switches can be
wrong by 1e-8 with a tolerance of 1e-11, because its error estimate is one of smooth rates; so a
motion is integrated once to find these instants, and again from one to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
import sympy
from scipy.integrate import solve_ivp

import dalembert as da

from .differential_casadi import DOUBLES, Reference
from .differential_cases import State, statement_of

__all__ = ["Difference", "IndependentFlow", "differences"]

RTOL, ATOL = 1e-11, 1e-13
#: A state whose constraints, of length one, are nearer to another rank than this is left out of
#: comparisons.
NEAR = 2e-2
#: As is one that runs away.
LARGE = 100.0
#: Differences with a step and with a shorter one, by this factor, agree where they change by less
#: than this, relatively; where they do not, a switch may be between the points that are compared,
#: and the step becomes shorter so many times.
SHORTER, AGREE, TIMES = 0.25, 1e-6, 3


class Difference(NamedTuple):
    """A derivative by differences, and how much the last shortening of the step changed it."""

    value: Any
    change: Any

    @property
    def error(self) -> float:
        """About what the derivative may be wrong by."""
        return 2.0 * float(np.abs(self.change).max(initial=0.0))


def differences(end: Callable[[float], Any], h: float = 1e-3) -> Difference:
    """The derivative of a function at zero, by central differences of the fourth order with steps
    of at most h.

    >>> found = differences(lambda h: np.array([np.exp(h), max(h - 5e-4, 0.0)]))
    >>> bool(np.allclose(found.value, [1.0, 0.0], atol=1e-10)), found.error < 1e-9
    (True, True)
    """
    value = _central(end, h)
    for _ in range(TIMES):
        h *= SHORTER
        before, value = value, _central(end, h)
        if np.abs(value - before).max(initial=0.0) <= AGREE * max(
            1.0, np.abs(value).max(initial=0.0)
        ):
            break
    return Difference(value, value - before)


def _central(end: Callable[[float], Any], h: float) -> Any:
    far, near, back, behind = (end(k * h) for k in (2, 1, -1, -2))
    return (-far + 8 * near - 8 * back + behind) / (12 * h)


class IndependentFlow:
    """The motions of a plain system without parameters.

    >>> x = da.coordinates("x")
    >>> flow = IndependentFlow(da.System([x], kinetic=x.dot**2/2, potential=x**2/2))
    >>> bool(np.allclose(flow.end(0.0, 1.0, [1.0, 0.0]), [np.cos(1), -np.sin(1)], atol=1e-10))
    True
    """

    def __init__(self, system: da.System) -> None:
        self.reference, self.n = Reference(statement_of(system)), len(system.coordinates)
        self.switches = self._switches()

    def _switches(self) -> list[Callable[[float, Any], float]]:
        """Functions of (t, y) that pass through zero where some Max switches."""
        said = self.reference.statement
        energy = said.lagrangian if said.hamiltonian is None else said.hamiltonian
        terms = sympy.Tuple(energy, *said.forces, *(row.expression for row in said.rows)).atoms(
            sympy.Max
        )
        gaps = {a - b for term in terms for a, b in combinations(term.args, 2)}
        symbols = (da.t, *said.coordinates, *said.velocities, *said.momenta)

        def switch(gap: Any) -> Callable[[float, Any], float]:
            read, of_momenta = sympy.lambdify(symbols, gap), gap.has(*said.momenta)

            def value(time: float, y: Any) -> float:
                state = State(time, y[: self.n], y[self.n :])
                p = self.reference._momenta(state, DOUBLES) if of_momenta else np.zeros(self.n)
                return float(read(time, *y, *p))

            return value

        return [switch(gap) for gap in sorted(gaps, key=str)]

    def rates(self, time: float, y: Any) -> Any:
        """(v, a) at a state (q, v)."""
        v = y[self.n :]
        return np.concatenate([v, self.reference.word(State(time, y[: self.n], v)).accelerations])

    def end(self, first: float, last: float, y: Any) -> Any:
        """The state (2n,) that another one becomes, nan where it does not get there."""
        y, instants = np.asarray(y, float), [first, last]
        if self.switches:
            found = self._run(first, last, y, events=self.switches)
            instants = sorted({first, last, *(float(t) for event in found.t_events for t in event)})
        for start, stop in pairwise(instants):
            found = self._run(start, stop, y)
            if not found.success:
                return np.full(2 * self.n, np.nan)
            y = found.y[:, -1]
        return y

    def _run(self, first: float, last: float, y: Any, **options: Any) -> Any:
        return solve_ivp(
            self.rates, (first, last), y, method="DOP853", rtol=RTOL, atol=ATOL, **options
        )

    def is_regular(self, first: float, last: float, y: Any) -> bool:
        """Whether a motion stays bounded, and its constraints well apart, at some of its points."""

        def room(_: float, state: Any) -> float:
            return LARGE - float(np.abs(state).max())

        room.terminal = True  # type: ignore[attr-defined]
        times = np.linspace(first, last, 9)
        found = solve_ivp(
            self.rates,
            (first, last),
            np.asarray(y, float),
            method="DOP853",
            rtol=1e-8,
            t_eval=times,
            events=room,
        )
        if found.status != 0 or not np.abs(found.y).max() < LARGE:
            return False
        return all(
            self._is_generic(float(t), state) for t, state in zip(found.t, found.y.T, strict=True)
        )

    def _is_generic(self, time: float, y: Any) -> bool:
        state = State(time, y[: self.n], y[self.n :])
        metric, _, rows, *_ = self.reference.gauss_problem(state, DOUBLES)
        if (
            not np.all(np.isfinite(metric))
            or np.linalg.cond(metric) > 1 / NEAR**3
            or np.linalg.eigvalsh(metric)[0] <= 0
        ):
            return False
        if not len(rows):
            return True
        scaled = np.linalg.solve(np.linalg.cholesky(metric), rows.T).T
        sizes = np.linalg.svd(
            scaled / np.linalg.norm(scaled, axis=1, keepdims=True), compute_uv=False
        )
        return bool(np.all((sizes > NEAR) | (sizes < 1e-12)))

    def growth(
        self, first: float, last: float, y: Any, random: np.random.Generator, size: float = 1e-6
    ) -> float:
        """How much small differences of the start grow, at least 1."""
        plain = self.end(first, last, y)
        moved = np.asarray(y) + size * random.standard_normal(2 * self.n)
        return max(1.0, float(np.abs(self.end(first, last, moved) - plain).max() / size))

    def tangent(self, time: float, q: Any) -> Any:
        """An orthonormal basis (2n, d) of the directions that keep the constraints at rest, for
        constraints without time.
        """
        rest = State(time, q, np.zeros(self.n))
        p = np.zeros(self.n)
        blocks = self.reference._blocks(rest, p, DOUBLES)
        position, rows = blocks[9], blocks[4]
        zero = np.zeros_like(position)
        table = np.block([[position, zero], [np.zeros_like(rows), rows]])
        if not len(table):
            return np.eye(2 * self.n)
        _, sizes, basis = np.linalg.svd(table)
        return basis[int(np.sum(sizes > 1e-9)) :].T

    def on_constraints(self, time: float, y: Any) -> Any:
        """The state next to another one that obeys the constraints."""
        q, v = np.array(y[: self.n]), np.array(y[self.n :])
        for level in (8, 7):
            for _ in range(20):
                blocks = self.reference._blocks(State(time, q, v), np.zeros(self.n), DOUBLES)
                residual, rows = (blocks[8], blocks[9]) if level == 8 else (blocks[7], blocks[4])
                if not len(residual):
                    break
                step = np.linalg.lstsq(rows, residual, rcond=1e-9)[0]
                q, v = (q - step, v) if level == 8 else (q, v - step)
                if np.abs(step).max() < 1e-14:
                    break
        return np.concatenate([q, v])

    def monodromy(self, time: float, span: float, q: Any, size: float = 1e-4) -> Difference:
        """The derivative of the flow over a span on the constraint manifold (d, d) at an
        equilibrium.
        """
        basis, still = self.tangent(time, q), np.concatenate([q, np.zeros(self.n)])

        def ends(h: float) -> Any:
            starts = [self.on_constraints(time, still + h * direction) for direction in basis.T]
            return (
                basis.T
                @ np.reshape(
                    [self.end(time, time + span, y) for y in starts], (len(starts), 2 * self.n)
                ).T
            )

        return differences(ends, size)
