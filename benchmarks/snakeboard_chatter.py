"""Motions of the snakeboard's gait of W8 that jump between corners, beside the relaxed optimum.

``python benchmarks/snakeboard_chatter.py`` solves the relaxed problem, divides the cycle into equal
slices, and in each lets the inputs (a, b) take the four corners of their square for the shares of
time that average to the relaxed inputs and to their product w, forth and back. A least change of
these times by Newton's method meets the ends of the problem. The costs that are printed belong to
motions that the problem as stated allows; SciPy follows the last one.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from w8_problems import snakeboard

CORNERS = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
MASS, HALF, ROTOR = 6.0, 0.2, 0.016
#: Bound on the steering angle, and steps of Runge and Kutta in each piece.
STEER, STEPS = 1.2, 2


def rates(x, u, sin, cos):  # type: ignore[no-untyped-def]  # numbers or CasADi's symbols
    """Of psi, phi, p, heading, x, y."""
    _, phi, p, heading = x[0], x[1], x[2], x[3]
    s = (p - ROTOR * sin(phi) * u[0]) / (MASS * HALF**2)
    ahead = HALF * s * cos(phi)
    return [
        u[0], u[1], ROTOR * cos(phi) * u[0] * u[1], s * sin(phi),
        ahead * cos(heading), ahead * sin(heading),
    ]  # fmt: skip


def ends(inputs: np.ndarray) -> ca.Function:
    """The states after all pieces, as a function of the first state and of their times."""
    first, times = ca.SX.sym("x", 6), ca.SX.sym("h", len(inputs))
    x, u, h = ca.SX.sym("x", 6), ca.SX.sym("u", 2), ca.SX.sym("h")
    after, part = x, h / STEPS
    for _ in range(STEPS):
        k = [ca.vertcat(*rates(after, u, ca.sin, ca.cos))]
        for c in (0.5, 0.5, 1.0):
            k.append(ca.vertcat(*rates(after + c * part * k[-1], u, ca.sin, ca.cos)))
        after = after + part / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    step, state, found = ca.Function("step", [x, u, h], [after]), first, []
    for k, own in enumerate(inputs):
        state = step(state, own, times[k])
        found.append(state)
    states = ca.horzcat(*found)
    table = ca.jacobian(states[:, -1], ca.vertcat(first, times))
    return ca.Function("ends", [first, times], [states, table])


def allowed(plan, slices: int):  # type: ignore[no-untyped-def]
    """A first state, inputs and times (k,) of pieces of a motion that meets the ends."""
    t = plan.span[0] + (np.arange(slices) + 0.5) / slices * (plan.span[1] - plan.span[0])
    a, b, w = (plan.inputs[name].at(t) for name in "abw")
    share = (1 + np.outer(CORNERS[:, 0], a) + np.outer(CORNERS[:, 1], b)
             + np.outer(CORNERS.prod(axis=1), w)) / 4  # fmt: skip
    order = [0, 1, 2, 3, 3, 2, 1, 0]
    width = (plan.span[1] - plan.span[0]) / slices
    times = np.maximum(share[order], 0.0).T.ravel() * width / 2
    inputs, first = np.tile(CORNERS[order], (slices, 1)), plan.states[:, 0].copy()
    function = ends(inputs)
    for _ in range(20):
        states, table = (np.asarray(each) for each in function(first, times))
        last = states[:, -1]
        missed = np.array([*(last[:2] - first[:2]), *last[[2, 3, 5]]])
        missed = np.append(missed, np.sum(times) - width * slices)
        if np.max(np.abs(missed)) < 1e-13:
            break
        rows = table[[0, 1, 2, 3, 5]]
        rows[0, 0] -= 1.0
        rows[1, 1] -= 1.0
        # Only the steering angle is free at the start; a short piece changes less than a long one.
        rows = np.hstack([rows[:, [1]], rows[:, 6:]])
        rows = np.vstack([rows, [0.0, *np.ones(len(times))]])
        size = np.array([1.0, *times])
        change = -size * np.linalg.lstsq(rows * size, missed, rcond=None)[0]
        first[1] += change[0]
        times = times + change[1:]
    return first, inputs, times, states, float(np.max(np.abs(missed)))


def followed(first: np.ndarray, inputs: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The end of SciPy's motion."""
    x = first
    for u, h in zip(inputs, times, strict=True):
        if h > 0:
            run = solve_ivp(
                lambda _, x, u=u: rates(x, u, np.sin, np.cos), (0, h), x, method="DOP853",
                rtol=1e-12, atol=1e-14,
            )  # fmt: skip
            x = run.y[:, -1]
    return np.asarray(x)


def main() -> None:
    plan = snakeboard(True, tolerance=1e-6, transcription="gauss6")
    print(f"relaxed optimum {plan.cost:.10f}")
    for slices in (10, 20, 40, 80, 160, 320):
        first, inputs, times, states, missed = allowed(plan, slices)
        jumps = int(np.sum(np.any(np.diff(inputs[times > 0], axis=0) != 0, axis=1)))
        steer, least = np.max(np.abs(states[1])), np.min(times)
        print(
            f"{slices:4d} slices, {jumps:5d} jumps: cost {-states[4, -1]:.8f}, ends missed by"
            f" {missed:.0e}, largest angle {steer:.4f}, shortest piece {least:.1e}"
        )
    last = followed(first, inputs, times)
    print(f"SciPy ends within {np.max(np.abs(last - states[:, -1])):.1e} of the last one")


if __name__ == "__main__":
    main()
