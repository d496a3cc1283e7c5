r"""A rigid body turned from rest to rest by torques of least effort, on SO(n) without charts.

    minimise    int |tau|^2 / 2 dt
    subject to  Q_dot = Q Omega,   M_dot = [M, Omega] + tau,   M = Lambda Omega + Omega Lambda

with <a, b> = -tr(a b)/2. Costates Pi of the attitude, seen from the body, and tau of the momentum
give the normal extremals

    H = <Pi, Omega> + <tau, [M, Omega]> + |tau|^2 / 2,
    Pi_dot = [Pi, Omega],      tau_dot = [tau, Omega] - J^-1 (Pi + [tau, M])

(Bloch and others, Supplement, section 7.7, with the dynamics of the body added). Q Pi Q^T stays.
Where J is a multiple of the identity the body turns about a fixed axis by theta (3 s^2 - 2 s^3), s
= t/T, at the cost 6 J^2 |log|^2 / T^3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import sympy

from ...errors import RunError, StartError
from ...integrate.simulate import simulate
from ...model.builders.bracket_flows import skew_symbols
from ...model.builders.rigid_bodies import rigid_body
from ...model.flow_system import Action, Flow
from ...model.parameter_values import parameter_values
from ...typing import Array, ArrayLike, Expression, Values
from .arc_sensitivities import Arcs
from .conjugate_points import CanonicalVariables, ConjugateSearch
from .extremal import Branch, ControlExtremal, raise_unconverged
from .first_guesses import approached, turn_name
from .maximum import RUNNING_COST
from .rotations import logarithms, missed_rotation, skew_entries
from .shooting import Boundary, Shot, shoot
from .spans import read_span

__all__ = ["rest_to_rest", "torque_flow"]


def torque_flow(inertias: int | Sequence[Expression]) -> Flow:
    """The extremals as a flow with the matrices Q, M, Pi and tau.

    >>> flow = torque_flow([1, 2, 3])
    >>> list(flow.matrices), len(flow.coordinates)
    (['Q', 'M', 'Pi', 'tau'], 18)
    """
    body = rigid_body(inertias)
    Q, M = body.matrices["Q"], body.matrices["M"]
    n = Q.rows
    velocity = _velocity(body)
    Pi, (symbols_of_tau, tau) = skew_symbols("Pi", n)[1], skew_symbols("tau", n)
    planes = list(combinations(range(n), 2))
    # 1 / (Lambda_i + Lambda_j)
    derivatives = {(i, j): sympy.diff(velocity[i, j], M[i, j]) for i, j in planes}
    turned = Pi * velocity - velocity * Pi
    swung = tau * velocity - velocity * tau
    felt = Pi + tau * M - M * tau
    rates = dict(body.rates)
    rates |= {M[i, j]: body.rates[M[i, j]] + tau[i, j] for i, j in planes}
    rates |= {Pi[i, j]: turned[i, j] for i, j in planes}
    rates |= {tau[i, j]: swung[i, j] - derivatives[i, j] * felt[i, j] for i, j in planes}
    effort = sympy.Add(*(symbol**2 for symbol in symbols_of_tau)) / 2
    bent = M * velocity - velocity * M
    terms = [Pi[i, j] * velocity[i, j] + tau[i, j] * bent[i, j] for i, j in planes]
    hamiltonian = sympy.Add(*terms) + effort
    spatial = Q * Pi * Q.T
    return Flow(
        rates,
        integrals={"H": hamiltonian} | {f"pi_{i + 1}_{j + 1}": spatial[i, j] for i, j in planes},
        outputs={RUNNING_COST: effort},
        constraints=body.constraints,
        matrices={"Q": Q, "M": M, "Pi": Pi, "tau": tau},
        actions=[body.actions[0], Action("Pi", *[sympy.ImmutableMatrix(-velocity)] * 2)],
        name=f"extremals of torques on a rigid body on SO({n})",
    )


def rest_to_rest(
    inertias: Sequence[Expression] | Flow,
    start: ArrayLike,
    end: ArrayLike,
    span: Sequence[float],
    *,
    parameters: Values | None = None,
    ways: int = 2,
) -> ControlExtremal:
    """Torques of least effort that turn a body from rest to rest.

    Parameters
    ----------
    inertias : sequence of n numbers or expressions, or a Flow
        Lambda, as for `rigid_body`; or the flow that `torque_flow` made of them, which saves its
        derivation.
    start, end : matrices (n, n)
        Rotations.
    span : (t0, t1)
    ways : int
        How many of the ways to turn are tried, the smallest first; the cheapest is returned.

    Raises
    ------
    StartError
        For ends that are no rotations.
    RunError
        Where no way converged.

    Examples
    --------
    >>> import numpy as np
    >>> quarter = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    >>> found = rest_to_rest([0.5, 0.5, 0.5], np.eye(3), quarter, (0, 1), ways=1)
    >>> round(found.cost, 8), round(6*(np.pi/2)**2, 8)
    (14.8044066, 14.8044066)
    """
    times = read_span(span)
    flow = inertias if isinstance(inertias, Flow) else torque_flow(inertias)
    n = flow.matrices["Q"].rows
    first, last = (_rotation(value, n, where) for value, where in ((start, "start"), (end, "end")))
    numbers = parameter_values(flow.parameters, parameters or {})
    table = dict(zip((symbol.name for symbol in flow.parameters), numbers.tolist(), strict=True))
    arcs = Arcs(flow, flow.own_outputs[RUNNING_COST], table)
    boundary = _boundary(n, first, last)
    inertia = _plane_inertias(flow, table)
    tried: list[tuple[Branch, Shot]] = []
    for turn in logarithms(first.T @ last, max(1, ways)):
        shot = _reach(arcs, boundary, times, inertia, skew_entries(turn.logarithm))
        if shot is not None:
            tried.append((Branch(turn_name(turn), shot.cost, shot.residual), shot))
    tried.sort(key=lambda pair: pair[0].rank)
    if not tried or not tried[0][0].converged:
        remedy = "try more ways, or a longer span"
        raise_unconverged(tried, "No extremal from rest to rest was found", remedy)
    return _extremal(flow, arcs, boundary, times, table, tried)


def _plane_inertias(flow: Flow, table: Mapping[str, float]) -> Array:
    """J of each plane (i, j), Lambda_i + Lambda_j."""
    values = {symbol: table[symbol.name] for symbol in flow.parameters}
    velocity, momentum = _velocity(flow), flow.matrices["M"]
    planes = list(combinations(range(momentum.rows), 2))
    found = [sympy.diff(velocity[plane], momentum[plane]).xreplace(values) for plane in planes]
    return np.array([1 / float(value) for value in found])


def _velocity(flow: Flow) -> sympy.MatrixBase:
    """Omega of Q_dot = Q Omega."""
    right = flow.actions[0].right
    assert right is not None
    return -right


def _rotation(value: ArrayLike, n: int, where: str) -> Array:
    matrix = np.asarray(value, dtype=float)
    good = matrix.shape == (n, n) and np.allclose(matrix.T @ matrix, np.eye(n), atol=1e-8)
    if not good or np.linalg.det(matrix) <= 0:
        what = f"The {where} is not a rotation"
        raise StartError(what, f"shape {matrix.shape}", f"give Q in SO({n})")
    return matrix


def _boundary(n: int, first: Array, last: Array) -> Boundary:
    """Q and M = 0 are given at both ends; Pi and tau are unknown at the start."""
    d = n * (n - 1) // 2
    size = n * n + 3 * d
    base = np.concatenate([first.ravel(), np.zeros(3 * d)])

    def missed(state: Array) -> tuple[Array, Array]:
        values, derivatives = missed_rotation(state[: n * n].reshape(n, n), last)
        rows = np.zeros((2 * d, size))
        rows[:d, : n * n] = derivatives
        rows[d:, n * n : n * n + d] = np.eye(d)
        return np.concatenate([values, state[n * n : n * n + d]]), rows

    return Boundary(base, np.eye(size)[:, n * n + d :], missed)


def _reach(
    arcs: Arcs, boundary: Boundary, span: tuple[float, float], inertia: Array, turn: Array
) -> Shot | None:
    """From the turn about fixed axes: tau = 6 J log / T^2, Pi = 12 J^2 log / T^3 at the start."""
    length = span[1] - span[0]
    guess = np.concatenate([12 * inertia**2 * turn / length**3, 6 * inertia * turn / length**2])
    try:
        shot = shoot(arcs, boundary, span, guess)
    except RunError:
        shot = None
    if shot is not None and shot.converged:
        return shot
    return approached(arcs, boundary, span, guess) or shot


def _canonical(n: int) -> CanonicalVariables:
    """xi = Q^T dQ with d Pi - [Pi, xi] / 2, and dM with d tau.

    <Pi, Q^-1 dQ> has the derivative d Pi ^ xi - <Pi, [xi, xi]>.
    """
    d = n * (n - 1) // 2
    rows, columns = np.triu_indices(n, 1)

    def skew(entries: Array) -> Array:
        found = np.zeros((n, n))
        found[rows, columns] = entries
        return found - found.T

    def read(state: Array, derivatives: Array) -> tuple[Array, Array]:
        Q, Pi = state[: n * n].reshape(n, n), skew(state[n * n + d : n * n + 2 * d])
        turned = [Q.T @ column.reshape(n, n) for column in derivatives[: n * n].T]
        bent = [Pi @ xi - xi @ Pi for xi in turned]
        xi, half = (np.array([one[rows, columns] for one in part]).T for part in (turned, bent))
        M, dPi, dtau = np.split(derivatives[n * n :], 3)
        return np.vstack([xi, M]), np.vstack([dPi - half / 2, dtau])

    def sizes(scale: Array) -> Array:
        return np.concatenate([np.full(n * n, np.max(scale[:d])), scale[d:], 1 / scale])

    return CanonicalVariables(read, sizes, 2 * d, True)


def _extremal(
    flow: Flow, arcs: Arcs, boundary: Boundary, span: tuple[float, float],
    table: Mapping[str, float], tried: Sequence[tuple[Branch, Shot]],
) -> ControlExtremal:  # fmt: skip
    branch, shot = tried[0]
    n = flow.matrices["Q"].rows
    count = n * n + n * (n - 1) // 2
    names, node = [symbol.name for symbol in flow.coordinates], shot.nodes[0].tolist()
    start = dict(zip(names, node, strict=True))
    motion = simulate(flow, start, span, parameters=table, rtol=1e-11)
    begin, directions = np.array(span[:1]), boundary.directions
    search = ConjugateSearch(arcs, shot.nodes[:1], begin, directions, _canonical(n))
    return ControlExtremal(
        flow=flow,
        motion=motion,
        span=span,
        cost=shot.cost,
        costates=dict(zip(names[count:], node[count:], strict=True)),
        residual=shot.residual,
        conjugate_points=search(span[1]),
        steps=shot.steps,
        branch=branch.name,
        branches=tuple(pair[0] for pair in tried),
        search=search,
    )
