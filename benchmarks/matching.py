"""Do closed loops converge from the whole region that a level set of the controlled energy
guarantees?

    python benchmarks/matching.py [--side 7] [--time 60]

For each system a grid of side^4 starts, up to 1.3 times as far as the level set goes, is divided
into those inside and those outside the set; every start is followed to the end of the span, and has
converged where all symbols are below 1e-6 there. Starts that speed up beyond 1000 are given up. The
last rows look for the edge of the basin of the balanced unicycle along a tilt.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sympy import cos, sin

import dalembert as da
from dalembert.control.feedback.routhian_matching import closed_on_quotient

CONVERGED, TOO_FAST = 1e-6, 1e3


def furuta() -> tuple[da.System, dict[str, float]]:
    """Furuta's pendulum with the torque left free."""
    scenario = da.gallery.load("furuta-matched")
    system = scenario.system.replacing(inputs=list(scenario.system.inputs), outputs={})
    return system, {p.name: scenario.parameters[p.name] for p in system.parameters}


def incline() -> tuple[da.System, dict[str, float]]:
    """An upright pendulum on a cart on a derivative."""
    phi, s = da.coordinates("phi s")
    m, M, l, g, beta = da.parameters("m M l g beta", positive=True)
    u = da.inputs("u")
    cart = (s * cos(beta), s * sin(beta))
    bob = (cart[0] + l * sin(phi), cart[1] + l * cos(phi))
    parts = [
        da.particle(M, list(cart)),
        da.particle(m, list(bob)),
        da.gravity(M, cart[1], g),
        da.gravity(m, bob[1], g),
    ]
    system = da.System(
        [phi, s], parts=parts, forces={s: u}, inputs=[u], name="Pendulum on a derivative"
    )
    return system, {"m": 0.14, "M": 0.44, "l": 0.215, "g": 9.8, "beta": 0.3}


def cart() -> tuple[da.System, dict[str, float]]:
    scenario = da.gallery.load("cart-pendulum")
    return scenario.system, dict(scenario.parameters)


def settles(
    equations: Any, start: dict[str, float], parameters: dict[str, float], span: float
) -> bool:
    system = equations.system
    fast = da.event(sum(v**2 for v in system.velocities) - TOO_FAST**2, direction=1, terminal=True)
    motion = da.simulate(
        equations,
        start,
        (0.0, span),
        parameters=parameters,
        rtol=1e-8,
        events=[fast],
        max_steps=50_000,
    )
    return bool(motion.outcome.value == "finished" and np.max(np.abs(motion.y[:, -1])) < CONVERGED)


def measured(
    name: str,
    system: da.System,
    parameters: dict[str, float],
    side: int,
    span: float,
    **options: Any,
) -> None:
    before = time.process_time()
    found = da.control.match(system, parameters=parameters, **options)
    ready = time.process_time() - before
    equations = da.derive(found.system)
    counts = {True: [0, 0], False: [0, 0]}
    for start in found.region.grid(side):
        inside = found.region.contains(start)
        counts[inside][1] += 1
        counts[inside][0] += settles(equations, start, parameters, span)
    (a, b), (c, d) = counts[True], counts[False]
    print(
        f"{name:<22} {found.kind:<26} {found.certificate.residual:9.1e} {found.region.level:9.4f}"
        f" {a:5d} of {b:<5d} ({a / max(b, 1):6.1%}) {c:5d} of {d:<5d} ({c / max(d, 1):6.1%})"
        f" {ready:6.1f}"
    )


def unicycle(span: float) -> None:
    """The largest tilt, alone, from which the balanced unicycle converges: by poles, and by a
    controlled Routhian.
    """
    scenario = da.gallery.load("unicycle-rider")
    _, _, psi, phi, x, y = scenario.system.coordinates
    R = next(symbol for symbol in scenario.system.parameters if symbol.name == "R")
    group = {
        "ahead": {x: cos(phi), y: sin(phi)},
        "aside": {x: -sin(phi), y: cos(phi)},
        "turn": {phi: 1},
        "roll": {psi: 1},
    }
    section = [[0, 0, 1, 0], [-R, 0, 0, 1]]
    balanced = da.gallery.load("unicycle-balanced")
    by_poles = da.symmetry.reduce(balanced.system, group, section=section, reconstruct=False)
    routhian = da.symmetry.nonholonomic_routhian(scenario, group, section=section)
    by_routhian = closed_on_quotient(
        routhian, da.control.match_routhian(routhian, {"p_2": 0.5}).system
    )

    def stays(equations: Any, tilt: float, parameters: Any) -> bool:
        start = {"theta": tilt, "p_2": 0.5}
        motion = da.simulate(
            equations, start, (0.0, span), parameters=parameters, rtol=1e-8, max_steps=50_000
        )
        calm = motion.outcome.value == "finished" and np.max(np.abs(motion["theta"])) < 0.5
        return bool(calm and abs(motion["kappa_dot"][-1]) < CONVERGED)

    for name, equations, parameters in (
        ("poles", by_poles, balanced.parameters),
        ("controlled Routhian", by_routhian, scenario.parameters),
    ):
        low, high = 0.0, 0.1
        for _ in range(14):
            middle = (low + high) / 2
            low, high = (middle, high) if stays(equations, middle, parameters) else (low, middle)
        print(f"unicycle, {name:<22} converges from a tilt of {low:.5f}, not from {high:.5f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--side", type=int, default=7)
    parser.add_argument("--time", type=float, default=60.0)
    options = parser.parse_args()
    print(
        f"{'':<22} {'class':<26} {'residual':>9} {'level':>9} {'inside converged':>23}"
        f" {'outside converged':>23} {'s':>6}"
    )
    for name, (system, parameters), ratio in (
        ("pendulum on a cart", cart(), 2.0),
        ("pendulum on a cart", cart(), 4.0),
        ("pendulum on a derivative", incline(), 4.0),
        ("Furuta's pendulum", furuta(), 2.0),
    ):
        measured(
            f"{name}, {ratio:g}",
            system,
            parameters,
            options.side,
            options.time,
            gains={"ratio": ratio},
        )
    unicycle(options.time)


if __name__ == "__main__":
    main()
