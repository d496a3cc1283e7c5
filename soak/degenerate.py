r"""Random degenerate Lagrangians against the matrix polynomial of their equations of motion.

For L = v^T M v / 2 + v^T B q - q^T K q / 2 with integer matrices and a singular M, Euler's
equations are P(d/dt) q = 0 with P(s) = M s^2 + (B - B^T) s + K. Exact arithmetic of P knows nothing
of momenta and constraints: the arbitrary functions of the motion are as many as P lacks in rank;
where P is regular the state has deg det P dimensions, and its frequencies are the roots of det P.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.errors import ModelError

from .harness import Options, Report

__all__ = ["run"]

SYSTEMS = 500
#: Frequencies that differ by more than this part of the largest are a fault; multiple roots are
#: known to half the digits only.
ROUNDING = 1e-4


def run(options: Options, report: Report) -> None:
    """Draw Lagrangians until their number or the time is reached."""
    regular = gauge = arbitrary = unproved = done = 0
    for number in range(12 if options.quick else SYSTEMS):
        if time.monotonic() > options.deadline:
            break
        M, B, K = drawn(np.random.default_rng([options.seed, number]))
        fault, found = compared(M, B, K)
        done += 1
        if fault:
            report.fault(f"system {number}: {fault}")
        if found is not None:
            regular += not found.gauge
            gauge += bool(found.gauge)
            arbitrary += len(found.gauge)
            unproved += not found.verdict.is_proved
    report.figure("degenerate Lagrangians", done)
    report.figure("without gauge freedom", regular)
    report.figure("with gauge freedom", gauge)
    report.figure("arbitrary functions", arbitrary)
    report.figure("rank decisions that are not proved", unproved)


def drawn(random: np.random.Generator) -> tuple[Any, Any, Any]:
    """Integer matrices M, B and K, with M singular."""
    n = int(random.integers(2, 5))
    frame = random.integers(-1, 3, (int(random.integers(0, n)), n))
    stiff = random.integers(-1, 2, (int(random.integers(0, n + 1)), n))
    linear = random.integers(-1, 2, (n, n)) * int(random.integers(0, 2))
    signs = np.diag(random.choice([1, 1, -1], len(stiff))) if len(stiff) else np.zeros((0, 0))
    return (
        sympy.Matrix(frame.T @ frame) if len(frame) else sympy.zeros(n, n),
        sympy.Matrix(linear),
        sympy.Matrix((stiff.T @ signs @ stiff).astype(int)) if len(stiff) else sympy.zeros(n, n),
    )


def compared(M: Any, B: Any, K: Any) -> tuple[str, Any]:
    """What the algorithm says otherwise than the matrix polynomial, and what it found."""
    n = M.rows
    q = da.coordinates(" ".join(f"q{k + 1}" for k in range(n)))
    place, speed = sympy.Matrix(q), sympy.Matrix([symbol.dot for symbol in q])
    terms = speed.T * M * speed / 2 + speed.T * B * place - place.T * K * place / 2
    s = sympy.Symbol("s")
    P = M * s**2 + (B - B.T) * s + K
    missing = n - P.rank(simplify=True)
    try:
        found = da.dirac.bergmann(da.System(list(q), lagrangian=sympy.expand(terms[0])))
    except ModelError as error:
        return f"{error}", None
    if len(found.gauge) != missing:
        return f"{len(found.gauge)} arbitrary functions, and P lacks {missing}", found
    if missing:
        return _first_class_fault(found), found
    determinant = sympy.Poly(P.det(method="berkowitz"), s)
    if 2 * found.degrees_of_freedom != determinant.degree():
        return f"{found.degrees_of_freedom} freedoms, degree {determinant.degree()}", found
    return _frequency_fault(found, determinant), found


def _first_class_fault(found: Any) -> str:
    """First-class constraints commute with all of them on the surface."""
    for one in found.first_class:
        for c in found.constraints:
            if not found.surface.vanish(found.bracket(one, c.expression)).is_proved:
                return f"{one} and {c.expression} do not commute"
    return ""


def _frequency_fault(found: Any, determinant: Any) -> str:
    """Every root of det P is an eigenvalue of the flow."""
    if not determinant.degree():
        return ""
    rates = found.flow().rates
    matrix = sympy.Matrix(list(rates.values())).jacobian(list(rates))
    values = np.linalg.eigvals(np.array(matrix.tolist(), dtype=float))
    roots = np.roots([float(c) for c in determinant.all_coeffs()])
    scale = max(1.0, float(np.max(np.abs(roots))))
    worst = max(float(np.min(np.abs(values - root))) for root in roots)
    return f"a frequency differs by {worst:.1e}" if worst > ROUNDING * scale else ""
