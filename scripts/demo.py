"""A rolling disk, from its statement to its animation: what `make demo` runs.

States a system, describes it, prints its equations, simulates it, compares two forms of the
equations, reports what was found, and leaves pictures and results in demo/.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "demo"
WIDTH = 110
PANELS = ("energy", "reactions")


def main() -> int:
    """Run the demonstration; the exit status is 1 where a part of it could not be shown."""
    missing = [
        name
        for name in ("dalembert", "sympy", "casadi", "llvmlite")
        if importlib.util.find_spec(name) is None
    ]
    if missing:
        say(
            f"These packages are not installed: {', '.join(missing)}. Run make demo, which sets"
            " them up."
        )
        return 1
    began = time.perf_counter()
    FOLDER.mkdir(exist_ok=True)
    show = Show()
    scenario = show.part("The system: a thin disk that rolls without slipping", stated)
    if scenario is None:
        return 1
    show.part("What kind of system it is", lambda: described(scenario))
    show.part("Its equations of motion (Lagrange's, with multipliers)", lambda: derived(scenario))
    motion = show.part("20 seconds of motion", lambda: simulated(scenario))
    if motion is None:
        return 1
    show.part("The same motion by Hamilton's equations", lambda: compared(scenario, motion))
    show.part("What the floor must do", lambda: reactions(motion))
    show.part("Files", lambda: files(motion))
    say(f"\nDone in {time.perf_counter() - began:.1f} s. Try it yourself:")
    command = os.path.relpath(Path(sys.executable).parent / "dalembert")
    for call in ("gallery", "run snakeboard --plot", "derive rolling-disk --form hamel", "--help"):
        say(f"  {command} {call}")
    return 1 if show.failed else 0


class Show:
    """Runs one part after the other; a part that fails says so in a sentence and the show goes
    on.
    """

    def __init__(self) -> None:
        self.failed: list[str] = []

    def part(self, title: str, run: Callable[[], Any]) -> Any:
        say(f"\n{title}\n{'-' * len(title)}")
        try:
            return run()
        except Exception as error:
            self.failed.append(title)
            say(f"This part could not be shown: {error or type(error).__name__}")
            return None


def say(text: str) -> None:
    """Print at once, so that a reader sees how far the demonstration is."""
    print(text, flush=True)


def stated() -> Any:
    """The disk, with start, parameters and drawing of the gallery."""
    from sympy import cos, sin

    import dalembert as da

    theta, psi, phi, x, y = da.coordinates("theta psi phi x y")
    m, r, g, A, C = da.parameters("m r g A C", positive=True)
    disk = da.System(
        coordinates=[theta, psi, phi, x, y],
        kinetic=m
        / 2
        * (x.dot**2 + y.dot**2 + r**2 * theta.dot**2 + r**2 * phi.dot**2 * sin(theta) ** 2)
        - m * r * theta.dot * cos(theta) * (x.dot * sin(phi) - y.dot * cos(phi))
        - m * r * phi.dot * sin(theta) * (x.dot * cos(phi) + y.dot * sin(phi))
        + A / 2 * (theta.dot**2 + phi.dot**2 * cos(theta) ** 2)
        + C / 2 * (psi.dot + phi.dot * sin(theta)) ** 2,
        potential=m * g * r * cos(theta),
        constraints=[
            da.velocity(x.dot + r * psi.dot * cos(phi), name="rolling_x"),
            da.velocity(y.dot + r * psi.dot * sin(phi), name="rolling_y"),
        ],
        name="Rolling disk",
    )
    wrapped(
        f"tilt theta, turn psi, heading phi, contact (x, y)\nT = {disk.kinetic}\nV ="
        f" {disk.potential}"
    )
    for constraint in disk.constraints:
        wrapped(f"0 = {constraint.expression}   ({constraint.name})")
    return da.gallery.load("rolling-disk").replacing(system=disk)


def described(scenario: Any) -> None:
    import dalembert as da

    found = da.describe(scenario)
    for constraint in found.constraints:
        integrable = {True: "integrable", False: "not integrable", None: "undecided"}[
            constraint.integrable
        ]
        say(f"{constraint.name}: {constraint.kind}, {integrable}")
    say(
        f"rank {found.rank} of {found.rows}, {found.degrees_of_freedom} degrees of freedom by"
        " velocities"
    )
    say(
        f"all {found.configuration_freedom} coordinates can be reached; mass matrix"
        f" {found.mass_matrix}"
    )
    say(f"conserved at sight: {', '.join(item.name for item in found.conserved) or 'nothing'}")
    say(f"forms that apply: {', '.join(form for form, why in found.forms.items() if why is None)}")


def derived(scenario: Any) -> None:
    import dalembert as da

    wrapped(da.derive(scenario.system, "lagrange").text())


def simulated(scenario: Any) -> Any:
    import dalembert as da

    motion = da.simulate(scenario, span=(0.0, 20.0))
    times = motion.statistics
    say(f"{motion.message} {times['steps']} steps of {times['method']}, rtol {times['rtol']:g}.")
    say(
        f"derive {1e3 * times['derive_seconds']:.0f} ms, compile"
        f" {1e3 * times['compile_seconds']:.0f} ms, integrate"
        f" {1e3 * times['integrate_seconds']:.0f} ms"
    )
    say(f"the disk slips by at most     {motion.worst_residual['velocity']:.1e} m/s")
    say(
        f"its energy drifts by at most  {abs(motion.energy / motion.energy[0] - 1).max():.1e} of"
        " itself"
    )
    return motion


def compared(scenario: Any, motion: Any) -> None:
    import numpy as np

    import dalembert as da

    grid = np.linspace(0.0, 5.0, 101)
    lagrange, hamilton = (
        da.simulate(scenario, span=(0.0, 5.0), at=grid, form=f) for f in ("lagrange", "hamilton")
    )
    say(f"state by Lagrange: {' '.join(s.name for s in lagrange.equations.state)}")
    say(f"state by Hamilton: {' '.join(s.name for s in hamilton.equations.state)}")
    for name in ("theta", "x", "energy"):
        say(
            f"{name:<9} differs by at most {abs(lagrange[name] - hamilton[name]).max():.1e}"
            " over 5 s"
        )
    say(
        "reaction  differs by at most"
        f" {abs(lagrange.total_reaction - hamilton.total_reaction).max():.1e} N"
    )


def reactions(motion: Any) -> None:
    import numpy as np

    m, r, g = (motion.parameters[name] for name in ("m", "r", "g"))
    theta, rate, acceleration = motion["theta"], motion["theta_dot"], motion["theta_ddot"]
    friction = np.hypot(*motion.total_reaction[3:5])
    normal = m * (g - r * np.sin(theta) * acceleration - r * np.cos(theta) * rate**2)
    worst = int(np.argmax(friction / normal))
    say(
        f"friction up to {friction.max():.3f} N, normal force {normal.min():.3f} to"
        f" {normal.max():.3f} N"
    )
    say(
        f"a friction coefficient of {friction[worst] / normal[worst]:.3f} is needed, at t ="
        f" {motion.t[worst]:.3f} s"
    )


def files(motion: Any) -> None:
    """Pictures and results; each that fails is named and the others are still written."""
    import dalembert as da

    beginning = da.simulate(motion.scenario, span=(0.0, 6.6))
    works: dict[str, Callable[[Path], Any]] = {
        "motion.png": lambda path: beginning.plot(
            [("theta", "theta_dot"), ("x", "y")], panels=PANELS, path=path
        ),
        "animation.gif": lambda path: beginning.animate(path, fps=10.0, size=(480, 256)),
        "motion.nc": lambda path: motion.save(path),
    }
    failed = []
    for name, work in works.items():
        path = FOLDER / name
        try:
            work(path)
            say(f"{os.path.relpath(path)}  {path.stat().st_size / 1000:.0f} kB")
        except Exception as error:
            failed.append(f"{name}: {error or type(error).__name__}")
    if failed:
        raise RuntimeError("; ".join(failed))


def wrapped(text: str) -> None:
    for line in text.splitlines():
        say(
            textwrap.fill(
                line,
                WIDTH,
                subsequent_indent="    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("\nStopped.")
        sys.exit(1)
