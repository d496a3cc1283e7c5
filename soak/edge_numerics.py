"""Edges of the linear algebra: nearly singular masses and charts, nearly dependent constraints,
stiffness.

Independent implementations are closed forms, Cartesian coordinates, and solves in 60 digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import sympy

import dalembert as da
from dalembert.errors import ContradictionError, DalembertError
from dalembert.runtime.gauss.constrained_solve import solve

from .edge_cases import REFUSED, RIGHT, SILENT, Tally, judge

ADAPTIVE = ("dop853", "taylor")
ANGLES = tuple(float(angle) for angle in np.logspace(0, -16, 65))
EPS = float(np.finfo(float).eps)
#: Digits that a solve may lose beyond 1/angle; straight-line code, which forms A G^-1 A^T, is used
#: above an angle of 3e-4.
MARGIN = 300.0

#: The condition of masses up to which rows are measured in the kinetic metric; beyond, in units of
#: the unknowns.
WORST_MASS = 1e6

x, y, z, theta, phi = da.coordinates("x y z theta phi")
m, k, a, c = da.parameters("m k a c")


# -- rows at an angle ------------------------------------------------------------------------------


def exact_solution(G: Any, f: Any, A: Any, b: Any) -> Any:
    """z of the Gauss problem with independent rows, in 60 digits."""
    with mpmath.workdps(60):
        n, rows = len(f), len(b)
        matrix, right = mpmath.zeros(n + rows, n + rows), mpmath.zeros(n + rows, 1)
        for i in range(n):
            right[i] = mpmath.mpf(float(f[i]))
            for j in range(n):
                matrix[i, j] = mpmath.mpf(float(G[i, j]))
        for r in range(rows):
            right[n + r] = mpmath.mpf(float(b[r]))
            for j in range(n):
                matrix[n + r, j] = mpmath.mpf(float(A[r, j]))
                matrix[j, n + r] = -matrix[n + r, j]
        found = mpmath.lu_solve(matrix, right)
        return np.array([float(found[i]) for i in range(n)])


def rows_at_an_angle(random: np.random.Generator, angle: float) -> tuple[Any, Any, Any, Any]:
    """G, f, and two rows whose angle in the kinetic metric is given; b is implied by some z."""
    n = int(random.integers(2, 7))
    G = np.zeros((n, n))
    while not np.linalg.cond(G) < WORST_MASS:
        root = random.normal(size=(n, n)) + 2 * np.eye(n)
        G = root @ root.T
    factor = np.linalg.cholesky(G)
    first, other = np.linalg.qr(random.normal(size=(n, 2)))[0].T
    lengths = 10.0 ** random.uniform(-6, 6, 2)
    A = np.array(
        [
            lengths[0] * first @ factor.T,
            lengths[1] * (np.cos(angle) * first + np.sin(angle) * other) @ factor.T,
        ]
    )
    return G, random.normal(size=n), A, A @ random.normal(size=n)


def dependent_rows(tally: Tally, random: np.random.Generator) -> None:
    """The solve at 65 angles: the rank that it reports, and z against 60 digits for that rank."""
    group = "rows at an angle, solve"
    for angle in ANGLES:
        G, f, A, b = rows_at_an_angle(random, angle)
        try:
            found = solve(G, f, A, b)
        except DalembertError:
            tally.add(group, f"angle {angle:.1e}", REFUSED)
            continue
        kept = [A] if found.rank == 2 else [A[:1], A[1:]]
        sides = [b] if found.rank == 2 else [b[:1], b[1:]]
        exact = [exact_solution(G, f, rows, right) for rows, right in zip(kept, sides, strict=True)]
        size = max(np.max(np.abs(found.z)), *(np.max(np.abs(each)) for each in exact))
        error = min(float(np.max(np.abs(found.z - each))) for each in exact) / size
        allowed = (
            MARGIN
            * EPS
            * np.linalg.cond(G) ** 0.5
            * (1.0 / max(angle, 1e-11) if found.rank == 2 else 1.0)
        )
        expected = 2 if angle > 1.1e-11 else 1 if angle < 0.9e-11 else found.rank
        is_right = error <= allowed and found.rank == expected
        tally.add(
            group,
            f"angle {angle:.3e}",
            RIGHT if is_right else SILENT,
            error,
            f"rank {found.rank}, allowed {allowed:.1e}",
        )
        _contradict(tally, angle, (G, f, A, b))


def _contradict(tally: Tally, angle: float, problem: tuple[Any, Any, Any, Any]) -> None:
    """Right sides that exclude each other: a huge but right answer where rows are independent, an
    error where they are not.
    """
    G, f, A, b = problem
    away = 1e-3 * (abs(b[1]) + np.linalg.norm(A[1]))
    moved = b + np.array([0.0, np.copysign(away, b[1])])
    group = "rows at an angle, contradictory"
    try:
        found = solve(G, f, A, moved)
    except ContradictionError:
        tally.add(
            group,
            f"angle {angle:.3e}",
            REFUSED if angle < 1.1e-11 else SILENT,
            0.0,
            "refused although independent",
        )
        return
    exact = exact_solution(G, f, A, moved)
    error = float(np.max(np.abs(found.z - exact)) / np.max(np.abs(exact)))
    is_right = found.rank == 2 and error <= MARGIN * EPS * np.linalg.cond(G) ** 0.5 / angle
    tally.add(
        group, f"angle {angle:.3e}", RIGHT if is_right else SILENT, error, f"rank {found.rank}"
    )


def _two_walls(angle: Any, of_positions: bool) -> da.System:
    first, second = x - da.t, sympy.cos(angle) * (x - da.t) + sympy.sin(angle) * y
    rows = [da.holonomic(first, name="A"), da.holonomic(second, name="B")]
    if not of_positions:
        rows = [da.velocity(da.rate(first), name="A"), da.velocity(da.rate(second), name="B")]
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=-3 * x - 5 * y + x**2 / 2,
        constraints=rows,
    )


def dependent_motions(tally: Tally) -> None:
    """A particle between two walls at an angle: it stays at y = 0 unless the rank was decided to be
    one, which is said.
    """
    for of_positions in (False, True):
        system = da.derive(_two_walls(a, of_positions), "lagrange")
        for method in ("dop853",):
            for angle in ANGLES:
                judge(
                    tally,
                    f"walls at an angle, {'positions' if of_positions else 'velocities'}",
                    f"{method}, angle {angle:.3e}",
                    lambda system=system, angle=angle, method=method: da.simulate(
                        system,
                        {x: 0.0, x.dot: 1.0},
                        (0, 1),
                        parameters={a: angle},
                        method=method,
                        max_steps=100_000,
                    ),
                    lambda motion: np.max(np.abs(motion["y"])),
                    1e-10,
                )


def rank_on_the_way(tally: Tally) -> None:
    """Blades that become parallel at an instant, on the way or at the start: an ending or a
    diagnostic.
    """
    free = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        potential=-3 * x - 5 * y,
        constraints=[
            da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="A"),
            da.velocity(y.dot, name="B"),
        ],
    )
    for form in ("lagrange", None):
        for begin in (-0.5, -0.1, -1e-6, 0.0, 1e-12, 1e-6):
            judge(
                tally,
                "rows that become parallel",
                f"form {form}, from {begin:g}",
                lambda form=form, begin=begin: da.simulate(
                    free, {theta: begin, theta.dot: 1.0}, (0, 1), form=form, max_steps=100_000
                ),
                lambda motion: np.max(np.abs(motion["x"])),
                1e-9 if begin > 1e-9 else -1.0,
            )


# -- masses and charts -----------------------------------------------------------------------------


def masses(tally: Tally) -> None:
    """Masses in ratio 1 to 1e20 of two oscillators in coordinates that mix them; the closed form is
    that of each alone.
    """
    mixed = da.System(
        [x, y],
        kinetic=x.dot**2 / 2 + m * (x.dot + y.dot) ** 2 / 2,
        potential=x**2 / 2 + m * (x + y) ** 2 / 2,
    )
    for method in ADAPTIVE:
        for power in range(-20, 21):
            judge(
                tally,
                "masses in ratio",
                f"{method}, 1e{power}",
                lambda method=method, power=power: da.simulate(
                    mixed,
                    {x: 1.0, y: -0.5},
                    (0, 1),
                    parameters={m: 10.0**power},
                    method=method,
                    max_steps=100_000,
                ),
                lambda motion: max(
                    abs(motion["x"][-1] - np.cos(1)), abs(motion["y"][-1] + 0.5 * np.cos(1))
                ),
                1e-9,
            )
    for value, name in ((0.0, "singular"), (-1.0, "indefinite"), (-1e-16, "barely indefinite")):
        plain = da.System(
            [x, y], kinetic=x.dot**2 / 2 + m * y.dot**2 / 2, potential=x**2 / 2 - k * y
        )
        judge(
            tally,
            "masses in ratio",
            name,
            lambda value=value, plain=plain: da.simulate(
                plain, {x: 1.0}, (0, 1), parameters={m: value, k: abs(value)}
            ),
            lambda motion, value=value: abs(motion["y"][-1] - np.sign(value) / 2),
            1e-9,
        )


def charts(tally: Tally) -> None:
    """A spherical pendulum that passes the vertical at a distance down to nothing, against
    Cartesian coordinates.
    """
    sphere = da.System(
        [theta, phi],
        kinetic=(theta.dot**2 + sympy.sin(theta) ** 2 * phi.dot**2) / 2,
        potential=-sympy.cos(theta),
    )
    space = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=z,
        constraints=[da.holonomic(x**2 + y**2 + z**2 - 1, name="rod")],
    )
    for method in ADAPTIVE:
        for spin in (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 0.0):
            reference = da.simulate(
                space,
                {x: np.sin(1), z: -np.cos(1), y.dot: np.sin(1) * spin},
                (0, 3),
                rtol=1e-12,
                at=[3.0],
            )

            def error(motion: Any, reference: Any = reference) -> float:
                place = [
                    np.sin(motion["theta"][-1]) * np.cos(motion["phi"][-1]),
                    np.sin(motion["theta"][-1]) * np.sin(motion["phi"][-1]),
                    -np.cos(motion["theta"][-1]),
                ]
                return float(
                    np.max(np.abs(np.array(place) - [reference[name][-1] for name in "xyz"]))
                )

            judge(
                tally,
                "a chart near its pole",
                f"{method}, spin {spin:g}",
                lambda method=method, spin=spin: da.simulate(
                    sphere, {theta: 1.0, phi.dot: spin}, (0, 3), method=method, max_steps=200_000
                ),
                error,
                1e-8,
            )


# -- stiffness -------------------------------------------------------------------------------------


def stiffness(tally: Tally) -> None:
    """A damped and an undamped spring, from soft to 1e12, by explicit and implicit methods and the
    choice.
    """
    damped = da.System([x], kinetic=x.dot**2 / 2, forces={x: -k * x.dot - x})
    springs = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=x**2 / 2 + k * (y - x) ** 2 / 2
    )
    for power in range(13):
        for method in (*ADAPTIVE, "auto", "gauss2", "gauss4", "gauss6"):
            options: dict[str, Any] = (
                {"step": 1 / 256} if method.startswith("gauss") else {"max_steps": 60_000}
            )
            judge(
                tally,
                "stiff damper",
                f"{method}, 1e{power}",
                lambda method=method, power=power, options=options: da.simulate(
                    damped, {x: 1.0}, (0, 1), parameters={k: 10.0**power}, method=method, **options
                ),
                lambda motion, power=power: abs(motion["x"][-1] - _damped(10.0**power)),
                1e-9 if not method.startswith("gauss") else 1e-4,
            )
        for method in (*ADAPTIVE, "auto"):
            judge(
                tally,
                "stiff spring",
                f"{method}, 1e{power}",
                lambda method=method, power=power: da.simulate(
                    springs,
                    {x: 1.0, y: 1.0},
                    (0, 1),
                    parameters={k: 10.0**power},
                    method=method,
                    max_steps=60_000,
                ),
                lambda motion, power=power: abs(motion["x"][-1] - _springs(10.0**power)),
                2e-8,
            )


def _damped(strength: float) -> float:
    """x(1) of x_ddot = -k x_dot - x from rest at 1, by its eigenvalues in 40 digits."""
    with mpmath.workdps(40):
        s = mpmath.mpf(strength)
        root = mpmath.sqrt(s * s / 4 - 1)
        first, second = -s / 2 + root, -s / 2 - root
        return float(
            mpmath.re((second * mpmath.e**first - first * mpmath.e**second) / (second - first))
        )


def _springs(strength: float) -> float:
    """x(1) of two masses, one on a unit spring, joined by a spring of strength k, in 60 digits."""
    with mpmath.workdps(60):
        s = mpmath.mpf(strength)
        mean, root = (1 + 2 * s) / 2, mpmath.sqrt(1 + 4 * s * s) / 2
        slow, fast = mean - root, mean + root
        # x = A cos(slow) + B cos(fast); y / x = (1 + s - w^2) / s on each mode.
        ratios = [(1 + s - square) / s for square in (slow, fast)]
        share = (1 - ratios[1]) / (ratios[0] - ratios[1])
        return float(
            share * mpmath.cos(mpmath.sqrt(slow)) + (1 - share) * mpmath.cos(mpmath.sqrt(fast))
        )


def groups(tally: Tally, random: np.random.Generator) -> Iterator[str]:
    """Every group of this file, one after the other."""
    for work in (dependent_motions, rank_on_the_way, masses, charts, stiffness):
        work(tally)
        yield work.__name__
    dependent_rows(tally, random)
    yield "dependent_rows"
