"""Draw the pictures that README and documentation keep in docs/pictures: run it after a change that
alters them.

Each file stays under 300 kB, so that the repository stays small.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from PIL import Image
from sympy import cos, sin

import dalembert as da
from dalembert.model.drawing import Drawing, Link, Point, Trace
from dalembert.plotting.scenes.movie_writers import movie_palette
from dalembert.plotting.style import LIGHT, Picture

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
LARGEST = 300_000


def rolling_disk_animation() -> None:
    """The animation at the top of the README; each frame keeps only what changed."""
    motion = da.simulate(da.gallery.load("rolling-disk"), span=(0.0, 4.4))
    film = motion.animate(duration=4.4, fps=12.5, size=(500, 262)).frame_source()
    frames = [film.frame(k) for k in range(film.count)]
    palette = Image.new("P", (1, 1))
    palette.putpalette(movie_palette(np.concatenate(frames[::7]).reshape(-1, 3)).tobytes())
    first, *rest = [reduced(frame, palette) for frame in frames]
    target = FOLDER / "rolling-disk.gif"
    first.save(
        target, save_all=True, append_images=rest, duration=80, loop=0, optimize=True, disposal=1
    )


def wheel_cart_animation() -> None:
    """The animation of the last tutorial."""
    model = da.load_model(FOLDER.parents[1] / "examples" / "wheel_cart.toml")
    da.simulate(model, span=(0.0, 3.0)).animate(
        FOLDER / "wheel-cart.gif", duration=3.0, fps=12.5, size=(440, 240)
    )


def reduced(frame: Any, palette: Image.Image) -> Image.Image:
    """A frame in the colours of a palette; Pillow looks colours up coarsely, and white must stay
    white.
    """
    image = Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
    colors = np.array(palette.getpalette()).reshape(-1, 3)
    indices = np.array(image)
    indices[(frame == 255).all(axis=-1)] = int(np.argmax(colors.sum(axis=1)))
    exact = Image.fromarray(indices)
    exact.putpalette(colors.astype(np.uint8).tobytes())
    return exact


def still(name: str, picture: Any, dpi: float = 110.0) -> None:
    """A figure as a PNG of few colours."""
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=dpi)
    image = Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(FOLDER / name, optimize=True)


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


def snakeboard_voronets() -> None:
    """The equations of the snakeboard as they would stand in a paper, from the LaTeX of the
    library.
    """
    equations("snakeboard", "voronets")


def rolling_disk_hamel() -> None:
    """Hamel's equations of the rolling disk."""
    equations("rolling-disk", "hamel", width=8.6, middle=0.36)


def equations(name: str, form: str, width: float = 6.0, middle: float = 0.475) -> None:
    """The equations of a gallery system, set by Matplotlib from the LaTeX of the library."""
    from dalembert.presentation.typeset import lines_latex

    lines = lines_latex(da.derive(da.gallery.load(name).system, form).written())
    height, unit = 0.44 * len(lines) + 0.2, 6.0 / width
    with matplotlib.rc_context({"mathtext.fontset": "cm"}):
        picture = Figure(figsize=(width, height), facecolor="white")
        for number, sides in enumerate(lines, start=1):
            place = 1 - (0.44 * number - 0.06) / height
            # Matplotlib sets no space before the name of a function.
            left, right = (re.sub(r" (\\(?:sin|cos|tan|cot)\b)", r"\\,\1", side) for side in sides)
            for x, words, side in (
                (middle - 0.015 * unit, left, "right"),
                (middle, "=", "left"),
                (middle + 0.05 * unit, right, "left"),
                (0.98, f"({number})", "right"),
            ):
                picture.text(x, place, f"${words}$", fontsize=17, ha=side, va="baseline")
        still(f"{name}-{form}.png", picture, dpi=150.0)


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


def matrix_flows() -> None:
    """A free body on its momentum sphere, Toda's lattice sorting, and the drift of a spectrum by
    two methods of order 4.
    """
    picture = Picture(LIGHT, figsize=(8.4, 2.9), layout="constrained")
    left, middle, right = picture.subplots(1, 3)
    inertias = np.array([1.0, 2.0, 3.0])
    body = da.lie.rigid_body(inertias.tolist(), attitude=False)
    view = np.array(
        [[0.8, -0.6, 0.0], [-0.36, -0.48, 0.8], [0.48, 0.64, 0.6]]
    )  # to the right, up, towards the eye
    for angle in np.linspace(0, np.pi / 2, 8)[1:-1]:
        for vector, role in (
            ((np.cos(angle), np.sin(angle), 0.0), "body"),
            ((0.0, np.sin(angle), np.cos(angle)), "accent"),
        ):
            for sign in (1, -1):
                a, b, c = sign * np.array(vector)
                m = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
                motion = da.simulate(
                    body, body.start(M=m), (0, 400), rtol=1e-9, at=np.linspace(0, 400, 5000)
                )
                across, up, depth = view @ np.array(
                    [motion["M"][:, 2, 1], motion["M"][:, 0, 2], motion["M"][:, 1, 0]]
                )
                seen = np.where(depth > 0, 1.0, np.nan)
                left.plot(seen * across, seen * up, color=LIGHT.color(role), linewidth=1.1)
    turn = np.linspace(0, 2 * np.pi, 200)
    left.plot(np.cos(turn), np.sin(turn), color="#9aa3ad", linewidth=1.0)
    left.set(title="free body: momenta", aspect="equal")
    left.set_axis_off()
    motion = da.simulate(da.gallery.load("toda-lattice"))
    for k in range(8):
        middle.plot(
            motion.t, motion[f"a_{k + 1}"], color=LIGHT.blend("body", 0.3 + 0.1 * k), linewidth=1.4
        )
    for value in np.linalg.eigvalsh(motion["A"][0]):
        middle.axhline(value, color=LIGHT.color("accent"), linewidth=0.6, linestyle=":")
    middle.set(title="Toda: the diagonal", xlabel="t", xlim=(0, 20))
    spectrum_drift(right)
    still("matrix-flows.png", picture)


def spectrum_drift(panel: Any) -> None:
    """|spectrum of M - that of the start| of the body on SO(5) against the number of steps, the
    same step for all methods.
    """
    body = da.lie.rigid_body([1.0, 2.0, 3.0, 4.0, 5.0], attitude=False)
    m = np.random.default_rng(4).normal(size=(5, 5))
    start, step, count = body.start(M=m - m.T), 0.05, 100_000
    for method, role in (("gauss4", "body"), ("isospectral4", "accent")):
        motion = da.simulate(body, start, (0, step * count), method=method, step=step, every=100)
        spectrum = np.sort(np.linalg.eigvals(motion["M"]).imag, axis=1)
        drift = np.abs(spectrum - spectrum[0]).max(axis=1)
        panel.loglog(
            motion.t[1:] / step,
            np.maximum.accumulate(drift[1:]),
            color=LIGHT.color(role),
            label=method,
            linewidth=1.4,
        )
    panel.legend(frameon=False, fontsize=8, loc="center right")
    panel.set(title="drift of the spectrum", xlabel="steps")


def sleigh() -> None:
    """The plot of the first model."""
    x, y, theta = da.coordinates("x y theta")
    m, J, a = da.parameters("m J a", positive=True)
    system = da.System(
        coordinates=[x, y, theta],
        kinetic=m
        / 2
        * ((x.dot - a * theta.dot * sin(theta)) ** 2 + (y.dot + a * theta.dot * cos(theta)) ** 2)
        + J / 2 * theta.dot**2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
        name="Sleigh",
    )
    motion = da.simulate(
        system, {x.dot: 0.5, theta.dot: 1.0}, (0, 20), parameters={m: 1, J: 0.5, a: 0.2}
    )
    still("sleigh.png", motion.plot())


def pendulum() -> None:
    """The still of the page on results."""
    theta = da.coordinates("theta")
    l, g = da.parameters("l g", positive=True)
    system = da.System(
        [theta], kinetic=(l * theta.dot) ** 2 / 2, potential=-g * l * cos(theta), name="Pendulum"
    )
    bob = (l * sin(theta), -l * cos(theta))
    scenario = da.Scenario(
        system,
        parameters={"l": 1.0, "g": 9.81},
        start={"theta": 2.0},
        simulate={"span": (0, 5)},
        drawing=Drawing((Link((0, 0), bob), Point(bob), Trace(bob))),
    )
    still("pendulum.png", da.simulate(scenario).animate().overlay())


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


def nonholonomic_energy() -> None:
    """Energy errors of the transmission by three methods, where their steps are reversible and
    where they are not.
    """
    x, y, s = coordinates = da.coordinates("x y s")
    shift = sin(s + 0.3) + sin(x + 0.7) * cos(y - 0.4) / 2 + 0.3 * cos(s) * x
    rate = sum(shift.diff(q) * q.dot for q in coordinates)
    belt = da.velocity(cos(s) * y.dot - sin(s) * x.dot, name="belt")
    start, step, count = {x: 1.0, y: 0.3, s: 1.0, s.dot: 0.1, x.dot: 0.5}, 0.2, 150_000
    picture = Picture(LIGHT, figsize=(7.4, 2.7), layout="constrained")
    panels = picture.subplots(1, 2, sharey=True)
    for panel, gauge, title in zip(
        panels, (0.0, 0.2), ("reversible", "the same motion, not reversible"), strict=True
    ):
        lagrangian = (
            (x.dot**2 + y.dot**2 + s.dot**2) / 2 - (x**2 + 2 * y**2) / 2 + cos(s) - 1 + gauge * rate
        )
        system = da.System([x, y, s], lagrangian=lagrangian, constraints=[belt])
        for method, color in (
            ("dla", LIGHT.color("body")),
            ("dla4", "#9aa3ad"),
            ("energy2", LIGHT.color("accent")),
        ):
            motion = da.simulate(
                system, start, (0, step * count), method=method, step=step, every=25
            )
            error = motion.energy / motion.energy[0] - 1
            mean = error[: len(error) // 40 * 40].reshape(-1, 40).mean(axis=1)
            panel.plot(
                motion.t[: len(mean) * 40 : 40] / step / 1000,
                mean,
                color=color,
                linewidth=1.2,
                label=method,
            )
        panel.set(title=title, xlabel="thousand steps")
    panels[0].set_ylabel("energy error, mean of 1000 steps", fontsize=9)
    panels[0].legend(frameon=False, fontsize=8, loc="lower left")
    still("nonholonomic-energy.png", picture)


def page_of_pictures() -> None:
    """What the code of docs/pictures.md draws, and the report that it writes as a browser shows it,
    where there is one.
    """
    page = (FOLDER.parent / "pictures.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        Path("page.py").write_text(code, encoding="utf-8")
        runpy.run_path("page.py")
        for name in ("crane", "section", "spectrum", "exponents"):
            smaller(Image.open(f"{name}.png"), 1000, FOLDER / f"{name}.png")
        browser = shutil.which("chromium")
        if browser is not None:
            options = [
                "--headless",
                "--no-sandbox",
                "--hide-scrollbars",
                "--window-size=1280,2010",
                "--screenshot=report.png",
            ]
            subprocess.run(
                [browser, *options, Path("run.html").resolve().as_uri()],
                check=True,
                capture_output=True,
                timeout=60,
            )
            smaller(Image.open("report.png"), 1000, FOLDER / "report.png")


def tracked_swing_up() -> None:
    """The swing-up of the seventh tutorial: the plan, its inputs alone, and runs with feedback."""
    page = (FOLDER.parent / "tutorials" / "plan-to-loop.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        script = Path(folder) / "blocks.py"
        script.write_text("\n".join(blocks[:3]))
        found = runpy.run_path(str(script))
    picture = Picture(LIGHT, figsize=(8.4, 3.2), layout="constrained")
    off, force = picture.subplots(1, 2)
    plan, times = found["swing"].motion, np.linspace(0.0, 2.0, 401)
    expected = plan.sol(times)[1]
    for number in range(20):
        run = found["runs"].motion(number)
        label = "with feedback, 20 runs" if number == 0 else None
        off.plot(times, run.sol(times)[1] - expected, "tab:blue", linewidth=0.6, label=label)
        if number < 3:
            force.plot(run.t, run["u"], color="tab:blue", linewidth=0.6)
    missed = found["alone"].sol(times)[1] - expected
    off.plot(times, missed, "tab:red", linewidth=1.4, label="inputs of the plan alone")
    force.plot(plan.t, plan["u"], color="black", linewidth=1.4, label="plan")
    off.set(xlabel="t", ylabel="angle, off the plan")
    force.set(xlabel="t", ylabel="force on the cart")
    off.legend(fontsize=8)
    force.legend(fontsize=8)
    still("tracked-swing-up.png", picture)


def smaller(image: Image.Image, width: int, path: Path) -> None:
    """A picture of that width, in few colours."""
    sized = image.convert("RGB").resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )
    sized.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for draw in (
        rolling_disk_animation,
        wheel_cart_animation,
        sleigh,
        pendulum,
        snakeboard_gaits,
        snakeboard_height,
        snakeboard_voronets,
        rolling_disk_hamel,
        planar_bodies,
        orbits_of_three_bodies,
        moment_polytope,
        matrix_flows,
        optimal_control,
        matching,
        holonomy_control,
        servo_and_ports,
        nonholonomic_energy,
        tracked_swing_up,
        page_of_pictures,
    ):
        draw()
    for path in sorted(FOLDER.iterdir()):
        size = path.stat().st_size
        print(f"{path.name:<24} {size / 1000:6.0f} kB")
        if size > LARGEST:
            raise SystemExit(
                f"{path.name} is larger than {LARGEST} bytes: lower its size or its colours."
            )


if __name__ == "__main__":
    main()
