r"""Discrete optimal control on groups: extremals of sums over steps between two given places.

The discrete rigid body solves the two-point problem (Bloch and others, Supplement, 7.7.25)

    stationary  sum_k tr(Lambda U_k),     Q_k+1 = Q_k U_k in SO(n),     Q_0 and Q_N given,

whose extremals are U_k Lambda - Lambda U_k^T = M_k, M_k+1 = U_k^T M_k U_k (7.7.53, 7.7.54); the
print says min, but at U = 1 the sum is at its maximum. On any matrix group, with g_k+1 = g_k
exp(h xi_k) and the cost h/2 sum xi_k . I xi_k, variations g_k eta_k give

    m_k = (dexp_k^-1)^T I xi_k,      (dexp_k^-1 Ad_k)^T I xi_k = m_k-1,      k = 1, ..., N - 1

with dexp_k = dexp(h xi_k) trivialised on the left and Ad_k that of exp(-h xi_k): the discrete
equations of Euler and Poincare, of second order in h. Both problems are solved by shooting on the
first step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ...errors import DalembertError, ModelError, RunError
from ...geometry.lie import LieGroup
from ...geometry.rigid_rotations import checked_inertias, symmetric_partner
from ...integrate.methods.groups.discrete_body import discrete_rigid_body
from ...model.read_only import ReadOnlyArrays
from ...typing import Array, ArrayLike, Span

__all__ = ["DiscreteExtremal", "discrete_body_extremal", "discrete_group_extremal"]

#: Steps of Newton's method and halvings of one, differences for its derivative, what is closed.
STEPS, HALVINGS, DIFFERENCE, CLOSED = 60, 12, 1e-7, 1e-11
#: Iterations of one implicit step, and what a good step of Newton's method leaves of a residual.
ITERATIONS, GOOD = 60, 0.2
Shot = Callable[[Array], Array]


@dataclass(frozen=True)
class DiscreteExtremal(ReadOnlyArrays):
    """A discrete extremal between two places of a group.

    Attributes
    ----------
    places : array (N + 1, n, n)
        Q_k or g_k.
    controls : array (N, ...)
        U_k (n, n), or the velocities xi_k (d,).
    momenta : array (N, ...)
        M_k (n, n), or the components m_k (d,).
    cost : float
        sum tr(Lambda U_k), or h/2 sum xi_k . I xi_k.
    residual : float
        The largest entry of g_N - g_T.
    """

    places: Array
    controls: Array
    momenta: Array
    cost: float
    residual: float

    @property
    def partners(self) -> Array:
        """P_k of the discrete symmetric body, with Q_k^T P_k - P_k^T Q_k = M_k (N, n, n)."""
        first = symmetric_partner(self.places[0], self.momenta[0])
        return np.asarray(first @ self.places[0].T @ self.places[:-1])


def discrete_body_extremal(
    Lambda: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    steps: int,
    *,
    guess: ArrayLike | None = None,
) -> DiscreteExtremal:
    """The extremal of sum tr(Lambda U_k) between two rotations (Bloch 7.7.25).

    Parameters
    ----------
    Lambda : sequence of n positive numbers
    start, end : matrices (n, n)
        Rotations.
    steps : int
        N, at least 2. Few steps over a large turn may leave what U Lambda - Lambda U^T can be.
    guess : skew matrix (n, n)
        The momentum of the first step; by default that of equal steps along the minimal rotation.

    Raises
    ------
    RunError
        Where no extremal is found.

    Examples
    --------
    >>> quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    >>> found = discrete_body_extremal([1.0, 2.0, 3.0], np.eye(3), quarter, 9)
    >>> turn = np.pi / 18      # nine equal turns about the third axis
    >>> bool(found.residual < 1e-9), bool(abs(found.controls[4][1, 0] - np.sin(turn)) < 1e-9)
    (True, True)
    """
    inertias = checked_inertias(Lambda, positive=True)
    n, count = inertias.size, _checked_steps(steps)
    group = LieGroup.SO(n)
    first, last = (_checked_place(group, Q) for Q in (start, end))
    axes = np.array(group.generators)

    def matrix(components: Array) -> Array:
        return np.asarray(np.einsum("a,aij->ij", components, axes))

    def run(components: Array) -> Array:
        return np.asarray(
            discrete_rigid_body(inertias, matrix(components), first, steps=count).Q[-1]
        )

    def missed(components: Array) -> Array:
        gap = last.T @ run(components)
        return group.vee((gap - gap.T) / 2)

    if guess is None:
        turn = group.exp(group.log(first.T @ last) / count)
        momentum = turn * inertias - (turn * inertias).T
    else:
        momentum = np.asarray(guess, dtype=float)
    unknowns = _newton(missed, group.vee(momentum))
    motion = discrete_rigid_body(inertias, matrix(unknowns), first, steps=count)
    places = np.asarray(motion.Q)
    controls = np.swapaxes(places[:-1], 1, 2) @ places[1:]
    cost = float(np.einsum("kii,i->", controls, inertias))
    residual = float(np.max(np.abs(places[-1] - last)))
    return DiscreteExtremal(places, controls, np.asarray(motion.M)[:-1], cost, residual)


def discrete_group_extremal(
    group: LieGroup,
    inertia: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    span: Span,
    steps: int,
    *,
    guess: ArrayLike | None = None,
) -> DiscreteExtremal:
    """The discrete extremal of the kinetic energy between two elements of a matrix group.

    Parameters
    ----------
    group : LieGroup
        Such as ``LieGroup.SU(2)`` or ``LieGroup.SE(3)``.
    inertia : array (d, d) or (d,)
        I, symmetric and positive definite, or its diagonal.
    start, end : matrices (n, n)
    span : (t0, t1)
        N steps of equal length h.
    guess : array (d,)
        The velocity of the first step; by default the constant one.

    Raises
    ------
    ModelError
        For an inertia that is not positive definite.
    RunError
        Where no extremal is found.

    Examples
    --------
    >>> group = LieGroup.SU(2)
    >>> there = group.exp([0.3, 0.2, 0.8])
    >>> found = discrete_group_extremal(group, [1, 1, 1], np.eye(4), there, (0, 1), 10)
    >>> found.controls[7].round(9).tolist()      # a one-parameter group where I is the identity
    [0.3, 0.2, 0.8]
    """
    table, count = _checked_inertia(inertia, group.dimension), _checked_steps(steps)
    first, last = (_checked_place(group, g) for g in (start, end))
    times = [float(time) for time in span]
    h = (times[1] - times[0]) / count
    away, axes = np.linalg.inv(last), np.array(group.generators)
    gram = np.einsum("aij,bij->ab", axes, axes)

    def moved(velocity: Array) -> Array:
        return np.asarray(expm(h * np.einsum("a,aij->ij", velocity, axes)))

    def components(matrix: Array) -> Array:
        return np.asarray(np.linalg.solve(gram, np.einsum("aij,ij->a", axes, matrix)))

    def path(velocity: Array) -> tuple[Array, Array, Array]:
        velocities, momenta, places = [velocity], [], [first, first @ moved(velocity)]
        momenta.append(_momentum(group, table, h, velocity))
        for _ in range(count - 1):
            velocity = _next_velocity(group, table, h, velocities[-1], momenta[-1])
            velocities.append(velocity)
            momenta.append(_momentum(group, table, h, velocity))
            places.append(places[-1] @ moved(velocity))
        return np.array(places), np.array(velocities), np.array(momenta)

    def missed(velocity: Array) -> Array:
        gap = away @ path(velocity)[0][-1]
        return components(gap - np.linalg.inv(gap)) / 2

    way = group.log(np.linalg.inv(first) @ last) / (times[1] - times[0])
    unknowns = _newton(missed, way if guess is None else np.asarray(guess, dtype=float))
    places, velocities, momenta = path(unknowns)
    cost = float(h / 2 * np.einsum("ka,ab,kb->", velocities, table, velocities))
    residual = float(np.max(np.abs(places[-1] - last)))
    return DiscreteExtremal(places, velocities, momenta, cost, residual)


def _momentum(group: LieGroup, inertia: Array, h: float, velocity: Array) -> Array:
    """m = (dexp^-1)^T I xi."""
    return np.asarray(group.dexp_inverse(h * velocity).T @ (inertia @ velocity))


def _next_velocity(
    group: LieGroup, inertia: Array, h: float, velocity: Array, momentum: Array
) -> Array:
    """xi with (dexp^-1 Ad)^T I xi = m, by iteration from the one before.

    dexp trivialised on the right is Ad_exp dexp on the left, so that xi = I^-1 dexp^T m with it.
    """
    inverse, current = np.linalg.inv(inertia), velocity
    for _ in range(ITERATIONS):
        following = np.asarray(inverse @ (group.dexp(h * current, "right").T @ momentum))
        change = float(np.max(np.abs(following - current)))
        current = following
        if change <= 4e-16 * (1 + float(np.max(np.abs(current)))):
            return current
    if change <= 1e-12:
        return current
    raise RunError(
        "A step of the discrete equations has no solution nearby",
        seen=f"a change of {change:.1e} after {ITERATIONS} iterations",
        remedy="take more steps",
    )


def _newton(missed: Shot, start: Array) -> Array:
    """A zero by Newton's method; its derivative, by differences, is kept while steps are good."""
    current = np.array(start, dtype=float)
    value, matrix = missed(current), None
    for _ in range(STEPS):
        size = float(np.max(np.abs(value)))
        if size <= CLOSED:
            return current
        if matrix is None:
            matrix = _differences(missed, current, value)
        try:
            change = np.linalg.solve(matrix, -value)
        except np.linalg.LinAlgError:
            break
        for k in range(HALVINGS):
            try:
                trial = current + change / 2**k
                there = missed(trial)
            except DalembertError:  # beyond what a step can take
                continue
            if np.max(np.abs(there)) < size:
                break
        else:
            break
        if np.max(np.abs(there)) > GOOD * size:
            matrix = None
        current, value = trial, there
    raise RunError(
        "No discrete extremal was found between the two places",
        seen=f"a residual of {float(np.max(np.abs(value))):.2e}",
        remedy="take more steps, or give another guess",
    )


def _differences(missed: Shot, current: Array, value: Array) -> Array:
    step = DIFFERENCE * (1 + float(np.max(np.abs(current))))
    columns = [(missed(current + step * e) - value) / step for e in np.eye(len(current))]
    return np.array(columns).T


def _checked_steps(steps: int) -> int:
    if isinstance(steps, bool) or int(steps) != steps or steps < 2:
        raise ModelError(
            "A discrete extremal needs two steps or more", steps, "pass a whole number"
        )
    return int(steps)


def _checked_place(group: LieGroup, element: ArrayLike) -> Array:
    matrix = np.asarray(element, dtype=float)
    if matrix.shape != (group.size, group.size) or not group.contains(matrix):
        remedy = f"give an element of {group} as a {group.size} x {group.size} matrix"
        raise ModelError("A place is not on the group", f"shape {matrix.shape}", remedy)
    return matrix


def _checked_inertia(inertia: ArrayLike, d: int) -> Array:
    table = np.asarray(inertia, dtype=float)
    table = np.diag(table) if table.ndim == 1 else table
    if table.shape != (d, d) or np.max(np.abs(table - table.T)) > 1e-12 * np.max(np.abs(table)):
        what = "The inertia must be a symmetric matrix on the Lie algebra"
        raise ModelError(what, f"shape {table.shape}", f"give {d} x {d} numbers, or a diagonal")
    if np.min(np.linalg.eigvalsh(table)) <= 0:
        raise ModelError("The inertia must be positive definite", str(np.linalg.eigvalsh(table)))
    return table
