"""``dalembert run``: simulate, write what was asked for, and say how it went."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ContradictionError, DalembertError, FileError, ModelError, RunError
from ..model.names import shortened
from ..model.scenario import Scenario
from .entry import Failure, one_line, tell
from .run_report import report_motion, reported
from .stored_command import keep_call
from .systems import check_inputs, configured, read_span, read_times, without_times
from .terminal import Progress, ProgressLines, collected_warnings, print_json

if TYPE_CHECKING:
    from ..integrate.motion import Motion

__all__ = ["Request", "run_command"]


@dataclass(frozen=True)
class Request:
    """A call of ``dalembert run``, as it was given."""

    system: str
    settings: tuple[str, ...]
    at: str | None
    span: str | None
    options: dict[str, Any]
    output: Path | None
    plot: str | None
    animate: Path | None
    as_json: bool
    report: Path | None = None
    live: Path | None = None
    animation: dict[str, Any] = field(default_factory=dict)
    json_lines: bool = False

    @property
    def picture(self) -> Path | None:
        """Where the plot goes; under the name of the system where no path was given."""
        if self.plot is None:
            return None
        return Path(self.plot or f"{re.sub(r'[^A-Za-z0-9._-]+', '-', Path(self.system).stem)}.png")


def run_command(request: Request) -> int:
    """Run and report; the status is 0, or 1 where the run could not finish."""
    _check_targets(request)
    with collected_warnings() as warned:
        scenario = configured(request.system, request.settings)
        check_inputs(scenario)
        times = None if request.at is None else read_times(request.at)
        span = read_span(request.span, times, scenario.simulate.get("span"))
        scenario = without_times(scenario, request.span)
        try:
            motion = _simulated(scenario, span, times, request)
        except RunError as error:
            if not request.as_json:
                raise
            print_json(_nothing_json(scenario, error))
            return tell(Failure.of(error))
        trouble, written = _write_targets(request, motion)
    shown = reported(motion, request.as_json, written)
    keep_call(request, motion, warned)
    return report_motion(motion, shown, trouble)


def _simulated(
    scenario: Scenario,
    span: tuple[float, float],
    times: list[float] | None,
    request: Request,
) -> Motion:
    from ..integrate.simulate import simulate

    shown = ProgressLines if request.json_lines else Progress
    with shown("Simulating") as progress:
        motion: Motion = simulate(
            scenario, span=span, at=times, progress=progress, **request.options
        )
    return motion


# -- what is written -------------------------------------------------------------------------------


def _check_targets(request: Request) -> None:
    """Refuse files that cannot be written before anything is computed."""
    _check_apart(request)
    if request.output is not None:
        folder = request.output.parent
        what = f"The motion cannot be saved as {shortened(str(request.output))}"
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise FileError(what, folder, "name a folder that exists")
        if request.output.exists() and not request.output.is_file():
            raise FileError(what, "no plain file", "name another file")
    if request.picture is not None:
        from ..plotting.style import STILL_SUFFIXES, checked_path

        checked_path(request.picture, STILL_SUFFIXES)
    _animation_options(request)
    if request.animate is not None:
        from ..plotting.scenes.movie_writers import VIDEO_SUFFIXES, require_ffmpeg
        from ..plotting.style import STILL_SUFFIXES, checked_path

        checked_path(request.animate, (".gif", *VIDEO_SUFFIXES, *STILL_SUFFIXES))
        if request.animate.suffix.lower() in VIDEO_SUFFIXES:
            require_ffmpeg(request.animate)
    for page in (request.report, request.live):
        if page is not None:
            from ..plotting.style import checked_path

            checked_path(page, (".html", ".htm"), "report")


def _check_apart(request: Request) -> None:
    """No file is written twice, and none over the model."""
    taken = {_place(Path(request.system)): "the model file"}
    targets = {"-o": request.output, "--plot": request.picture, "--animate": request.animate}
    targets |= {"--report": request.report, "--live": request.live}
    for flag, path in targets.items():
        if path is None:
            continue
        place = _place(path)
        if place in taken and (path.is_file() or taken[place] != "the model file"):
            what = f"{flag} would write over {taken[place]}"
            raise FileError(what, shortened(str(path)), "name a file for each of them")
        taken[place] = f"the file of {flag}"


def _place(path: Path) -> str:
    """Where a path leads; itself where it leads nowhere."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return str(path)


def _write_targets(request: Request, motion: Motion) -> tuple[DalembertError | None, list[Path]]:
    """Write every file that can be written; the first trouble, and the files."""
    trouble: DalembertError | None = None
    written = []
    for path, write in (
        (request.output, lambda path: motion.save(path)),
        (request.picture, lambda path: motion.plot(path=path)),
        (request.animate, lambda path: _animated(motion, path, _animation_options(request))),
        (request.report, lambda path: motion.report(path)),
        (request.live, lambda path: motion.report(path, live=True)),
    ):
        if path is None:
            continue
        try:
            write(path)
            written.append(path)
        except OSError as error:
            reason = error.strerror or str(error)
            what = f"{shortened(str(path))} cannot be written"
            trouble = trouble or FileError(what, reason, "check the disk")
        except DalembertError as error:
            if trouble is None:
                is_motion = path is request.output
                trouble = _kept_elsewhere(motion, path, error) if is_motion else error
    return trouble, written


def _kept_elsewhere(motion: Motion, path: Path, error: DalembertError) -> DalembertError:
    """The error of a motion that could not be saved, with the place where it was, if any."""
    rescue = Path(tempfile.gettempdir()) / f"{path.stem}-{secrets.token_hex(4)}.nc"
    try:
        motion.save(rescue)
    except DalembertError:
        return error
    remedy = f"take the motion from {rescue}, where it was saved instead"
    return FileError(error.what, error.seen, remedy)


def _animation_options(request: Request) -> dict[str, Any]:
    """Frames in a second and size of the animation, where they were given."""
    found = {key: value for key, value in request.animation.items() if value is not None}
    if found and request.animate is None:
        flag = f"--{next(iter(found))}"
        seen = f"no --animate beside {flag}"
        raise ModelError(f"{flag} is for an animation", seen, "add --animate film.gif")
    if "size" in found:
        sides = re.fullmatch(r"(\d{1,5})[xX,](\d{1,5})", found["size"])
        if sides is None:
            what = "`--size` is a width and a height"
            raise ModelError(what, shortened(found["size"]), "write --size 640x480")
        found["size"] = (int(sides[1]), int(sides[2]))
    if found:
        from ..plotting.scenes.animation import check_animation

        check_animation(**found)
    return found


def _animated(motion: Motion, path: Path, options: dict[str, Any]) -> None:
    with Progress("Drawing frames") as progress:
        motion.animate(path, progress=progress, **options)


# -- JSON ------------------------------------------------------------------------------------------


def _nothing_json(scenario: Scenario, error: RunError) -> dict[str, Any]:
    """What ``run --json`` prints where the start itself does not determine a motion."""
    from ..integrate.outcome import Outcome

    outcome = Outcome.CONTRADICTORY if isinstance(error, ContradictionError) else Outcome.SINGULAR
    system = scenario.system
    momenta = system.momenta if system.is_hamiltonian else ()
    symbols = (*system.coordinates, *momenta, *system.velocities)
    return {
        "t": [],
        "state": {symbol.name: [] for symbol in symbols},
        "outputs": {name: [] for name in ("energy", *system.outputs)},
        "residual": {"position": None, "velocity": None},
        "reactions": {},
        "start": scenario.start,
        "start_report": [],
        "statistics": {},
        "outcome": outcome.value,
        "message": one_line(error),
        "error": Failure.of(error).to_json(),
    }
