"""The peers of W5: RATTLE by hand in Numba, and index-reduced equations by hand in Numba, SciPy and
heyoka.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from w5_model import GRAVITY, START, STEP


def numba_rattle(steps: int) -> Any:
    """RATTLE with two rods, everything written out by hand: the limit of what can be had."""
    import numba as nb

    @nb.njit
    def run(x: Any, count: int, h: float, g: float, every: int, out: Any) -> None:
        r1, r2, v1, v2 = x[0:3].copy(), x[3:6].copy(), x[6:9].copy(), x[9:12].copy()
        gravity = np.array([0.0, 0.0, -g])
        a, b, w1, w2 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
        l1, l2 = 0.0, 0.0
        for k in range(count):
            for i in range(3):
                a[i], b[i] = r1[i], r2[i] - r1[i]
                w1[i], w2[i] = v1[i] + 0.5 * h * gravity[i], v2[i] + 0.5 * h * gravity[i]
            for _ in range(20):
                n1, n2, j11, j12, j21, j22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(3):
                    p = r1[i] + h * (w1[i] + 0.5 * h * (-l1 * a[i] + l2 * b[i]))
                    d = r2[i] + h * (w2[i] - 0.5 * h * l2 * b[i]) - p
                    n1 += p * p
                    n2 += d * d
                    j11 -= p * a[i]
                    j12 += p * b[i]
                    j21 += d * a[i]
                    j22 -= 2 * d * b[i]
                n1 -= 1.0
                n2 -= 1.0
                if abs(n1) + abs(n2) < 4e-16:
                    break
                determinant = (j11 * j22 - j12 * j21) * h * h
                d1, d2 = (n1 * j22 - n2 * j12) / determinant, (j11 * n2 - j21 * n1) / determinant
                l1 -= d1
                l2 -= d2
                if abs(d1) + abs(d2) < 1e-11:
                    break
            for i in range(3):
                w1[i] += 0.5 * h * (-l1 * a[i] + l2 * b[i])
                w2[i] -= 0.5 * h * l2 * b[i]
                r1[i] += h * w1[i]
                r2[i] += h * w2[i]
                w1[i] += 0.5 * h * gravity[i]
                w2[i] += 0.5 * h * gravity[i]
            aa, bb, ab, s1, s2 = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(3):
                a[i], b[i] = r1[i], r2[i] - r1[i]
                aa += a[i] * a[i]
                bb += b[i] * b[i]
                ab += a[i] * b[i]
                s1 += a[i] * w1[i]
                s2 += b[i] * (w2[i] - w1[i])
            determinant = 2 * aa * bb - ab * ab
            m1, m2 = (2 * bb * s1 + ab * s2) / determinant, (ab * s1 + aa * s2) / determinant
            for i in range(3):
                v1[i] = w1[i] - m1 * a[i] + m2 * b[i]
                v2[i] = w2[i] - m2 * b[i]
            if (k + 1) % every == 0:
                row = out[(k + 1) // every - 1]
                row[0:3], row[3:6], row[6:9], row[9:12] = r1, r2, v1, v2

    def states(count: int, every: int) -> Any:
        out = np.zeros((count // every, 12))
        run(START, count, STEP, GRAVITY, every, out)
        return out

    states(10, 1)
    return states


def heyoka_reduced(steps: int) -> Any:
    """Index-reduced equations by hand, to rounding by Taylor's method with its own steps."""
    import heyoka as hy

    v = hy.make_vars(*["a0", "a1", "a2", "c0", "c1", "c2", "u0", "u1", "u2", "w0", "w1", "w2"])
    a, u = v[:3], v[6:9]
    b, w = [v[3 + i] - a[i] for i in range(3)], [v[9 + i] - u[i] for i in range(3)]

    def dot(p: Any, q: Any) -> Any:
        return hy.sum([x * y for x, y in zip(p, q, strict=True)])

    aa, bb, ab = dot(a, a), dot(b, b), dot(a, b)
    first, second, determinant = dot(u, u) - GRAVITY * a[2], dot(w, w), 2.0 * aa * bb - ab * ab
    l1, l2 = (
        (2.0 * bb * first + ab * second) / determinant,
        (ab * first + aa * second) / determinant,
    )
    gravity = [0.0, 0.0, -GRAVITY]
    rates = [(v[i], v[6 + i]) for i in range(6)]
    rates += [(v[6 + i], gravity[i] - l1 * a[i] + l2 * b[i]) for i in range(3)]
    rates += [(v[9 + i], gravity[i] - l2 * b[i]) for i in range(3)]
    integrator = hy.taylor_adaptive(rates, START)

    def states(count: int, every: int) -> Any:
        integrator.time = 0.0
        integrator.state[:] = START
        times = np.arange(0, count // every + 1) * (every * STEP)
        return integrator.propagate_grid(times)[-1][1:]

    return states
