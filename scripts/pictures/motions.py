"""Animations and motions."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image
from sympy import cos, sin

import dalembert as da
from dalembert.model.drawing import Drawing, Link, PointMark, Trace
from dalembert.plotting.scenes.movie_writers import movie_palette
from dalembert.plotting.style import LIGHT, Picture

from .files import FOLDER, reduced, still


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
        drawing=Drawing((Link((0, 0), bob), PointMark(bob), Trace(bob))),
    )
    still("pendulum.png", da.simulate(scenario).animate().overlay())


def chaos_map() -> None:
    """The mean MEGNO over the section x = 0 of the system of Henon and Heiles at E = 1/8."""
    x, y = da.coordinates("x y")
    kinetic, cubic = (x.dot**2 + y.dot**2) / 2, x**2 * y - y**3 / 3
    system = da.System([x, y], kinetic=kinetic, potential=(x**2 + y**2) / 2 + cubic)
    across, up = np.meshgrid(np.linspace(-0.42, 0.66, 500), np.linspace(-0.5, 0.5, 500))
    square = 0.25 - up**2 - across**2 + 2 / 3 * across**3
    inside = square > 0
    speed, values = np.sqrt(square[inside]), np.full(across.shape, np.nan)
    found = da.analysis.chaos_indicators(
        system, {y: across[inside], y.dot: up[inside], x.dot: speed}, "mean_megno",
        start={x: 0.0}, paired=True, span=(0, 1000), rtol=1e-8, atol=1e-8,
    )  # fmt: skip
    values[inside] = found["mean_megno"][:, -1]
    picture = Picture(LIGHT, figsize=(6.4, 5.2), layout="constrained")
    axes = picture.subplots()
    extent = (across.min(), across.max(), up.min(), up.max())
    shown = axes.imshow(
        values, origin="lower", extent=extent, cmap="magma", vmin=1.0, vmax=30.0, aspect="auto"
    )
    picture.colorbar(shown, ax=axes, label="mean MEGNO at t = 1000", extend="both")
    axes.set(xlabel="y", ylabel="y_dot", title="Henon-Heiles, E = 1/8, x = 0")
    still("chaos-map.png", picture)


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
