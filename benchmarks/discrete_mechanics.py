"""Discrete mechanics beside collocation on coarse meshes: error of the cost, drift of a momentum.

    python benchmarks/discrete_mechanics.py [--picture docs/pictures/discrete-mechanics.png]

Left: the cart-pole of least effort, whose optimum is known. Right: two bodies that turn each other
by an inner torque, which conserves their angular momentum; the largest distance of its values at
the nodes from the first one is shown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sympy import cos, pi

import dalembert as da
from dalembert.control import integral, optimise

OPTIMUM = 58.8076674645
SCHEMES = ("trapezoid", "gauss2", "dmoc2", "hermite-simpson", "gauss4", "dmoc4")
COUNTS = (10, 14, 20, 28, 40, 56, 80)


def cart_error(scheme: str, count: int) -> float:
    """The relative error of the cost of the program."""
    x, theta = da.coordinates("x theta")
    u = da.inputs("u")
    cart = da.System(
        [x, theta],
        kinetic=0.65 * x.dot**2 + 0.15 * (x.dot * theta.dot * cos(theta) + theta.dot**2 / 4),
        potential=-0.15 * 9.81 * cos(theta), forces={x: u}, inputs=[u],
    )  # fmt: skip
    found = optimise(
        cart, integral(u**2), {x: 0, theta: 0}, {x: 1, theta: pi}, (0, 2), at_rest=True,
        bounds={u: (-20, 20), x: (-2, 2)}, transcription=scheme, intervals=count, refinements=0,
    )  # fmt: skip
    return abs(found.transcribed_cost / OPTIMUM - 1)


def momentum_drift(scheme: str, count: int) -> float:
    """How far the angular momentum of two turning bodies moves along the plan."""
    a, b = da.coordinates("a b")
    u = da.inputs("u")
    kinetic = 0.6 * a.dot**2 + 0.4 * b.dot**2 + 0.3 * a.dot * b.dot * cos(a - b)
    bodies = da.System([a, b], kinetic=kinetic, forces={a: u, b: -u}, inputs=[u])
    found = optimise(
        bodies, integral(u**2), {a: 0, b: 0, a.dot: 1, b.dot: 1}, {a - b: pi / 2}, (0, 3),
        transcription=scheme, intervals=count, refinements=0,
    )  # fmt: skip
    states = dict(zip(found.state_names, found.states, strict=True))
    if "p_a" in states:
        total = states["p_a"] + states["p_b"]
    else:
        angle = np.cos(states["a"] - states["b"])
        total = (1.2 + 0.3 * angle) * states["a_dot"] + (0.8 + 0.3 * angle) * states["b_dot"]
    return float(np.max(np.abs(total - total[0])))


def main() -> None:
    """Print the table, and draw it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--picture", type=Path)
    given = options.parse_args()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for scheme in SCHEMES:
        errors = [cart_error(scheme, count) for count in COUNTS]
        drifts = [momentum_drift(scheme, count) for count in COUNTS]
        print(f"{scheme:16}", *(f"{e:.1e}" for e in errors), " ", *(f"{d:.1e}" for d in drifts))
        line = "-" if scheme.startswith("dmoc") else "--"
        for axis, values in zip(axes, (errors, drifts), strict=True):
            axis.loglog(COUNTS, np.maximum(values, 1e-16), line, marker="o", ms=4, label=scheme)
    axes[1].annotate("dmoc2 and dmoc4: below rounding", (COUNTS[0], 3e-16), fontsize=8)
    axes[0].set(title="Cart-pole: relative error of the cost", xlabel="intervals")
    axes[1].set(title="Two bodies: drift of the angular momentum", xlabel="intervals")
    for axis in axes:
        axis.set_xticks(COUNTS, [str(count) for count in COUNTS])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    if given.picture is not None:
        figure.savefig(given.picture, dpi=110)


if __name__ == "__main__":
    main()
