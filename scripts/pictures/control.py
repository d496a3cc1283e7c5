"""Optimal control, holonomy, servo-constraints and matching."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Circle
from sympy import cos, sin

import dalembert as da
from dalembert.plotting.style import LIGHT, Picture

from .files import still


def optimal_control() -> None:
    """Arcs of least effort in the Heisenberg group, and a body turned from rest to rest: its axes,
    and the torques.
    """
    x, y, z = da.coordinates("x y z")
    u, w = da.inputs("u w")
    lift = da.Flow({x: u, y: w, z: (x * w - y * u) / 2}, inputs=[u, w])
    picture = Picture(LIGHT, figsize=(8.4, 2.9), layout="constrained")
    arcs, sphere, torques = picture.subplots(1, 3)
    for number, area in enumerate((0.05, 0.2, 0.45, 0.9)):
        found = da.control.optimal(
            lift, (u**2 + w**2) / 2, {x: 0, y: 0, z: 0}, {x: 1, y: 0, z: -area}, (0, 1)
        )
        path = found.motion.sol(np.linspace(0, 1, 200))
        arcs.plot(path[0], path[1], color=LIGHT.blend("accent", 0.4 + 0.2 * number), linewidth=1.4)
        arcs.annotate(
            f"{area:g}",
            (0.5, path[1].max()),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
    arcs.plot([0, 1], [0, 0], "o", color=LIGHT.color("ink"), markersize=4)
    arcs.set(
        title="least effort for an area",
        xlabel="x",
        ylabel="y",
        aspect="equal",
        adjustable="datalim",
    )
    flip, lean = (
        [[-0.96, -0.28, 0], [0.28, -0.96, 0], [0, 0, 1]],
        [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]],
    )
    turned = da.control.rest_to_rest(
        [1, 2, 3], np.eye(3), np.array(flip) @ np.array(lean), (0, 1)
    ).motion
    times = np.linspace(0, 1, 200)
    states = turned.sol(times)
    view = np.array([[-0.6, 0.8, 0], [-0.32, -0.24, 0.916515]])
    sphere.add_patch(Circle((0, 0), 1, fill=False, color=LIGHT.color("muted"), linewidth=0.8))
    for axis, name in enumerate(("body", "accent", "trace")):
        tips = view @ states[[axis, 3 + axis, 6 + axis]]
        depth = np.cross(*view) @ states[[axis, 3 + axis, 6 + axis]]
        sphere.plot(*tips, color=LIGHT.blend(name, 0.35), linewidth=1.0)
        sphere.plot(*np.where(depth >= 0, tips, np.nan), color=LIGHT.color(name), linewidth=1.6)
        sphere.plot(*tips[:, 0], "o", color=LIGHT.color(name), markersize=3)
        sphere.plot(*tips[:, -1], "s", color=LIGHT.color(name), markersize=4)
    sphere.set(title="axes of a body, rest to rest", aspect="equal", xticks=[], yticks=[])
    sphere.set_frame_on(False)
    first = [symbol.name for symbol in turned.state].index("tau_12")
    for k, (plane, name) in enumerate({"12": "trace", "13": "accent", "23": "body"}.items()):
        torques.plot(times, states[first + k], color=LIGHT.color(name), linewidth=1.4, label=plane)
    torques.legend(title="plane", frameon=False, fontsize=7, title_fontsize=7)
    torques.set(title="torques", xlabel="t")
    still("optimal-control.png", picture)


def holonomy_control() -> None:
    """A blade parked by a loop, the loop of its base, and the passes of the algorithm on so(6)."""
    picture = Picture(LIGHT, figsize=(8.4, 2.9), layout="constrained")
    plane, base, passes = picture.subplots(1, 3)
    motion = da.simulate(da.gallery.load("knife-edge-stabilised"), at=np.linspace(0, 9, 901))
    x, y, heading = (motion[name] for name in ("x", "y", "varphi"))
    plane.plot(x, y, color=LIGHT.color("accent"), linewidth=1.0)
    for number, place in enumerate((0, 100, 200, 300, 400, 500, 600, 700, 900)):
        ahead = 0.14 * np.array([np.cos(heading[place]), np.sin(heading[place])])
        here = np.array([x[place], y[place]])
        color = LIGHT.blend("body", 0.25 + 0.08 * number)
        plane.plot(
            *np.transpose([here - ahead, here + ahead]),
            color=color,
            linewidth=4,
            solid_capstyle="round",
        )
    plane.set(
        title="a blade is parked", xlabel="x", ylabel="y", aspect="equal", adjustable="datalim"
    )
    along = x * np.cos(heading) + y * np.sin(heading)
    base.plot(along, heading, color=LIGHT.color("body"), linewidth=1.6)
    circle = da.control.holonomy_loop(knife_edge_kinematics(), -1.0, "optimal").extremal.motion.sol(
        np.linspace(0, 1, 200)
    )
    base.plot(*circle[:2], color=LIGHT.color("accent"), linewidth=1.2, linestyle="--")
    base.set(
        title="loops of area one", xlabel="z1", ylabel="z2", aspect="equal", adjustable="datalim"
    )
    random = np.random.default_rng(12)
    square = random.normal(size=(6, 6))
    found = da.control.stabilise_so(random.normal(size=6), square - square.T)
    # A stage is drawn one unit wide: they differ in length by a factor of a hundred.
    for number, part in enumerate(found.stages.parts):
        times = np.linspace(part.motion.t[0], part.motion.t[-1], 60)
        entries = part.motion.sol(times)[6:].T
        matrices = np.zeros((60, 6, 6))
        matrices[:, *np.triu_indices(6, 1)] = entries
        sizes = np.linalg.svd(matrices - matrices.transpose(0, 2, 1), compute_uv=False)[:, ::2]
        passes.semilogy(
            number + np.linspace(0, 1, 60),
            np.maximum(sizes, 1e-9),
            color=LIGHT.color("body"),
            linewidth=1.4,
        )
    passes.set(title="pairs of Y on so(6)", xlabel="stage", ylim=(1e-9, 20))
    still("holonomy-control.png", picture)


def knife_edge_kinematics() -> Any:
    """z1' = u, z2' = w, z3' = -z1 w."""
    z1, z2, z3 = da.coordinates("z1 z2 z3")
    u, w = da.inputs("u w")
    return da.Flow({z1: u, z2: w, z3: -z1 * w}, inputs=[u, w], name="knife edge")


def servo_and_ports() -> None:
    """A crane whose load finds its path, its errors; satellites in formation; and the energy
    balance of a cart.
    """
    picture = Picture(LIGHT, figsize=(8.4, 2.9), layout="constrained")
    path, errors, formation = picture.subplots(1, 3)
    crane = da.simulate(da.gallery.load("tracking-crane"), at=np.linspace(0, 15, 601))
    x, length, angle = (crane[name] for name in ("x", "l", "theta"))
    load = np.array([x + length * np.sin(angle), -length * np.cos(angle)])
    path.axhline(0, color=LIGHT.color("ground"), linewidth=1.0)
    for place in range(0, 330, 33):
        rope = np.transpose([(x[place], 0.0), load[:, place]])
        path.plot(*rope, color=LIGHT.blend("link", 0.3 + 0.002 * place), linewidth=0.9)
        path.plot(*rope[:, :1], "s", color=LIGHT.color("body"), markersize=4)
    path.plot(*load, color=LIGHT.color("accent"), linewidth=1.4)
    path.set(
        title="a crane's load on its path",
        xlabel="x",
        ylabel="z",
        aspect="equal",
        adjustable="datalim",
    )
    for name, role in (("across", "accent"), ("up", "body")):
        size = np.maximum(np.abs(crane[f"error_{name}"]), 1e-15)
        errors.semilogy(crane.t, size, color=LIGHT.color(role), linewidth=1.3, label=name)
    errors.legend(frameon=False, fontsize=7)
    errors.set(title="its errors", xlabel="t", ylim=(1e-15, 1))
    flight = da.simulate(da.gallery.load("formation-satellites"), at=np.linspace(0, 14, 800))
    formation.plot(flight["x1"], flight["y1"], color=LIGHT.color("body"), linewidth=1.2)
    formation.plot(flight["x2"], flight["y2"], color=LIGHT.color("accent"), linewidth=0.9)
    formation.plot([0], [0], "o", color=LIGHT.color("ground"), markersize=9)
    formation.set(title="one satellite circles another", aspect="equal", adjustable="datalim")
    still("servo.png", picture)
    angle, place = da.coordinates("a x")
    push = da.inputs("F")
    kinetic = place.dot**2 + angle.dot**2 / 4 + cos(angle) * place.dot * angle.dot / 2
    cart = da.System(
        [place, angle],
        kinetic=kinetic,
        potential=-7 * cos(angle),
        dissipation=place.dot**2 / 3,
        forces={place: push},
        inputs=[push],
    )
    motion = da.simulate(cart, {angle: 0.9}, (0, 8), inputs={push: 3 * sin(2 * da.t)})
    still(
        "ports.png",
        da.control.energy_balance(motion).plot(title="Energy of a cart with a pendulum"),
    )


def matching() -> None:
    """A level set of a controlled energy with motions inside and outside, the energies along one,
    and the unicycle's basin.
    """
    cart = da.gallery.load("cart-pendulum")
    found = da.control.match(cart, gains={"ratio": 4.0})
    picture = Picture(LIGHT, figsize=(8.4, 2.9), layout="constrained")
    plane, course, tilts = picture.subplots(1, 3)
    phi, s = np.meshgrid(np.linspace(-1.5, 1.5, 121), np.linspace(-1.2, 1.2, 121), indexing="ij")
    rest = [{"phi": float(a), "s": float(b)} for a, b in zip(phi.ravel(), s.ravel(), strict=True)]
    height = np.array([found.region.energy(state) for state in rest]).reshape(phi.shape)
    inside = np.array([found.region.contains(state) for state in rest]).reshape(phi.shape)
    plane.contour(
        phi,
        s,
        height,
        levels=found.region.level * np.array([0.25, 0.5, 2, 4]),
        colors=LIGHT.color("muted"),
        linewidths=0.6,
    )
    plane.contourf(phi, s, inside, levels=[0.5, 1.5], colors=[LIGHT.blend("trace", 0.25)])
    for start in ({"phi": 0.9, "s": -0.6}, {"phi": -0.5, "s": 0.1}, {"phi": 0.2, "s": 0.3}):
        motion = da.simulate(found.system, start, (0, 12), parameters=cart.parameters)
        path = motion.sol(np.linspace(0, 12, 900))
        plane.plot(path[0], path[1], color=LIGHT.color("accent"), linewidth=1.1)
        plane.plot(*path[:2, 0], "o", color=LIGHT.color("accent"), markersize=3)
    plane.set(
        title="starts at rest that converge",
        xlabel="phi",
        ylabel="s",
        xlim=(-1.5, 1.5),
        ylim=(-1.2, 1.2),
    )
    closed = da.simulate(da.gallery.load("cart-pendulum-matched"), at=np.linspace(0, 8, 400))
    course.plot(closed.t, closed["phi"], color=LIGHT.color("body"), linewidth=1.3, label="phi")
    course.plot(closed.t, closed["s"], color=LIGHT.color("accent"), linewidth=1.3, label="s")
    scaled = closed["controlled_energy"] / closed["controlled_energy"][0]
    course.plot(
        closed.t, scaled, color=LIGHT.color("trace"), linewidth=1.3, label="controlled energy"
    )
    course.legend(frameon=False, fontsize=7)
    course.set(title="cart, matched", xlabel="t")
    rider = da.gallery.load("unicycle-balanced")
    _, _, psi, heading, x, y = rider.system.coordinates
    R = next(symbol for symbol in rider.system.parameters if symbol.name == "R")
    ahead, aside = {x: cos(heading), y: sin(heading)}, {x: -sin(heading), y: cos(heading)}
    group = {"ahead": ahead, "aside": aside, "turn": {heading: 1}, "roll": {psi: 1}}
    balanced = da.symmetry.reduce(
        rider.system, group, section=[[0, 0, 1, 0], [-R, 0, 0, 1]], reconstruct=False
    )
    for tilt, name in ((0.001, "trace"), (0.0013, "body"), (0.002, "accent")):
        start = {"theta": tilt, "p_2": 0.5}
        motion = da.simulate(
            balanced, start, (0, 20), parameters=rider.parameters, at=np.linspace(0, 20, 600)
        )
        tilts.plot(
            motion.t,
            motion["theta"],
            color=LIGHT.color(name),
            linewidth=1.3,
            label=f"from {tilt:g}",
        )
    tilts.legend(frameon=False, fontsize=7)
    tilts.set(title="tilt of the unicycle", xlabel="t", ylim=(-0.1, 0.04))
    still("matching.png", picture)
