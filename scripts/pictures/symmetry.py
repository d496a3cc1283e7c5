"""Gaits, planar bodies, orbits and polytopes."""

from __future__ import annotations

import numpy as np
from sympy import cos, sin

import dalembert as da
from dalembert.plotting.style import LIGHT, Picture

from .files import still


def snakeboard_gaits() -> None:
    """The paths of three gaits with the board after each stroke: ahead, on the spot, aside."""
    system = da.gallery.load("snakeboard").system
    x, y, theta, psi, phi = system.coordinates
    group = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    light = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
    times = np.linspace(0, 6 * np.pi, 1201)
    picture = Picture(LIGHT, figsize=(8.4, 2.8), layout="constrained")
    panels = picture.subplots(1, 3)
    for panel, (name, (i, j)) in zip(
        panels, {"drive": (1, 1), "rotate": (2, 1), "park": (3, 2)}.items(), strict=True
    ):
        stroke = da.symmetry.follow_shape(
            system, group, {psi: sin(i * da.t), phi: 0.6 * sin(j * da.t)}
        )
        motion = da.simulate(stroke, {}, (0, 6 * np.pi), parameters=light, at=times)
        size = 0.12 * max(np.ptp(motion["x"]), np.ptp(motion["y"]))
        for number, place in enumerate(range(0, 1201, 400)):
            ahead = size * np.array(
                [np.cos(motion["theta"][place]), np.sin(motion["theta"][place])]
            )
            here = np.array([motion["x"][place], motion["y"][place]])
            color = LIGHT.blend("body", 0.4 + 0.2 * number)
            panel.plot(
                *np.transpose([here - ahead, here + ahead]),
                color=color,
                linewidth=4,
                solid_capstyle="round",
            )
        panel.plot(motion["x"], motion["y"], color=LIGHT.color("accent"), linewidth=1.0)
        panel.set(title=f"{name} ({i}:{j})", xlabel="x", aspect="equal", adjustable="datalim")
        panel.locator_params(nbins=5)
    panels[0].set(ylabel="y")
    still("snakeboard-gaits.png", picture)


def snakeboard_height() -> None:
    """The curvature of the snakeboard over its shapes, with a stroke round the middle and one where
    it turns over.
    """
    board = da.gallery.load("snakeboard")
    x, y, theta, psi, phi = board.system.coordinates
    light = {"m": 6.0, "r": 0.2, "J0": 0.016, "J1": 0.0013}
    group = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    found = da.symmetry.connection(board, group)
    height = da.symmetry.height_function(
        found, {psi: (-1.2, 1.2), phi: (-1.5, 1.5)}, parameters=light, points=(3, 61)
    )
    strokes = [{psi: 0.7 * sin(da.t), phi: middle + 0.3 * cos(da.t)} for middle in (0.0, 1.0)]
    loops = [
        da.symmetry.area_rule(found, stroke, 2 * np.pi, parameters=light) for stroke in strokes
    ]
    still("snakeboard-height.png", height.plot(loops=loops, title=""))


def planar_bodies() -> None:
    """Two hinged bodies: orbits of the hinge with the one that leaves the folded state and comes
    back; and three bodies.
    """
    picture = Picture(LIGHT, figsize=(8.4, 3.2), layout="constrained")
    pair = da.planar_chain(
        2, masses=[1, 1], inertias=[1, 1], hinges={(1, 2): (1, 0), (2, 1): (-1, 0)}
    )
    middle = da.parameters("m", positive=True)
    ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    chain = da.planar_chain(3, masses=[1, middle, 1], inertias=[1, 1, 1], hinges=ends)
    with LIGHT.context():
        left, right = picture.subplots(1, 2, width_ratios=[1.35, 1])
        da.plotting.phase_portrait(pair.reduced_system(), {"mu": 2.0}, momentum=True, ax=left)
        left.set(title="two bodies")
        left.set_xlabel("angle of the hinge", fontsize=11)
        left.set_ylabel("momentum of the second body", fontsize=11, rotation=90, labelpad=4)
        for mass in np.linspace(0.1, 3.0, 30):
            for found in da.symmetry.relative_equilibria(chain, {middle: mass}).found:
                stable = found.stability == "stable"
                for turn in {
                    float(found.angles[0]),
                    *([-np.pi] if abs(found.angles[0] - np.pi) < 1e-9 else []),
                }:
                    role = LIGHT.color("accent" if stable else "body")
                    right.plot(mass, turn, ".", markersize=4, color=role, zorder=4 if stable else 3)
        right.set(
            title="three bodies",
            xlabel="mass of the middle body",
            ylabel="angle of the first hinge",
        )
    still("planar-bodies.png", picture)


def orbits_of_three_bodies() -> None:
    """A branch of relative periodic orbits, and Melnikov's function of the perturbed chain."""
    ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    three = da.planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 1], hinges=ends).system()
    angles, shape = three.coordinates, (-0.1, 0.2, -0.1)
    start = dict(zip(angles, shape, strict=True)) | {q.dot: 0.4 for q in angles}
    turn = {"turn": dict.fromkeys(angles, 1)}
    orbit = da.symmetry.relative_periodic_orbit(three, start, 12.8, drift=turn)
    still("orbit-branch.png", da.symmetry.continue_orbit(orbit, "energy", 0.9, step=0.05).plot())
    eps = da.parameters("eps")
    hinges = {(1, 2): (1, 0), (2, 1): (-1, 0), (2, 3): (0.5, 0), (3, 2): (eps, 0)}
    chain = da.planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 0.5], hinges=hinges)
    still("melnikov.png", da.symmetry.chain_melnikov(chain, eps, total=3.0, spin=0.4).plot())


def moment_polytope() -> None:
    """The polytope of Schur and Horn for four eigenvalues, with diagonals of random matrices."""
    roots, point = da.lie.RootSystem("A3"), [4, 2, 1, 0]
    drawn = da.plotting.polytope(roots.polytope(point), roots.orbit_samples(point, 400))
    still("moment-polytope.png", drawn)
