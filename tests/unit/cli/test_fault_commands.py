"""The command line when it is told to end, and when its output has nowhere to go: a sentence, and
the status of the signal.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dalembert.cli import main

pytestmark = pytest.mark.skipif(os.name == "nt", reason="children are forked")


def ending(
    folder: Path,
    arguments: list[str],
    prepare: Callable[[pytest.MonkeyPatch], None],
    output: str = "",
) -> tuple[int, str]:
    """The exit status of a process that was given these arguments, and what it said on stderr."""
    said = folder / "said"
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.dup2(os.open(output or os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            sys.argv = ["dalembert", *arguments]
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (
                signal.SIGTERM,
                signal.SIGHUP,
            ):  # which whoever runs the tests may ignore
                signal.signal(number, signal.SIG_DFL)
            prepare(pytest.MonkeyPatch())
            status = main()
            sys.stderr.flush()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said.read_text()


def sending(number: int) -> Callable[[pytest.MonkeyPatch], None]:
    def signalled(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)

    return lambda patch: patch.setattr("dalembert.cli.run_command.configured", signalled)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_one_sentence_and_its_status(number: int, tmp_path: Path) -> None:
    assert ending(tmp_path, ["run", "rolling-disk"], sending(number)) == (
        128 + number,
        "Interrupted.\n",
    )


@pytest.mark.long
def test_a_run_that_is_told_to_end_keeps_its_motion(tmp_path: Path) -> None:
    import dalembert as da

    def prepare(patch: pytest.MonkeyPatch) -> None:
        def signalled(*_: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

        patch.setattr("dalembert.cli.terminal.Progress.__call__", signalled)

    model = tmp_path / "spring.toml"
    model.write_text(
        'coordinates = ["x"]\nkinetic = "x_dot**2/2"\npotential = "x**2/2"\nstart = {x = 1.0}'
    )
    path = tmp_path / "motion.nc"
    status, said = ending(tmp_path, ["run", str(model), "--t", "0,1e5", "-o", str(path)], prepare)
    assert status == 143 and said.startswith("Interrupted at t = ") and said.count("\n") == 1
    motion = da.load(path)
    assert motion.outcome is da.Outcome.INTERRUPTED and len(motion.t) > 1


def test_an_interrupt_that_python_cannot_pass_on_comes_again(tmp_path: Path) -> None:
    """It came while an object was taken down: Python showed a traceback, and the command went
    on.
    """

    class Fragile:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    def prepare(patch: pytest.MonkeyPatch) -> None:
        def taken_down(*_: object, **__: object) -> None:
            import time

            fragile = Fragile()
            del fragile
            time.sleep(5.0)

        patch.setattr("dalembert.cli.run_command.configured", taken_down)

    assert ending(tmp_path, ["run", "rolling-disk"], prepare) == (130, "Interrupted.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_output_without_room_is_one_sentence(tmp_path: Path) -> None:
    """It was called a fault of our own."""
    status, said = ending(tmp_path, ["--version"], lambda patch: None, "/dev/full")
    assert (
        status == 2
        and said
        == "The output cannot be written (seen: No space left on device): check where it goes.\n"
    )


def test_closed_streams_are_no_fault(tmp_path: Path) -> None:
    def prepare(patch: pytest.MonkeyPatch) -> None:
        sys.stdout = sys.stderr = None

    assert ending(tmp_path, ["--version"], prepare)[0] == 0


def test_a_bar_is_not_left_half_on_the_screen(tmp_path: Path) -> None:
    """Interrupted while it appeared, it could not be removed: a fault of our own, and a terminal
    without a cursor.
    """
    from rich.progress import Progress as Bar

    from dalembert.cli.terminal import Progress

    def prepare(patch: pytest.MonkeyPatch) -> None:
        start = Bar.start

        def told_to_end(bar: Bar) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            start(bar)

        def shown(*_: object, **__: object) -> None:
            with Progress("Working") as progress:
                progress.began -= 10.0
                progress(0.5)

        patch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        patch.setenv("TERM", "xterm")
        patch.setenv("FORCE_COLOR", "1")
        patch.setattr(Bar, "start", told_to_end)
        patch.setattr("dalembert.cli.run_command.configured", shown)

    status, said = ending(tmp_path, ["run", "rolling-disk"], prepare)
    assert status == 143 and said.endswith("Interrupted.\n")
    assert "\x1b[?25l" in said and said.rfind("\x1b[?25h") > said.rfind("\x1b[?25l")


def test_a_motion_that_cannot_be_saved_in_its_place_is_kept_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run may have taken hours, and ended with its disk full."""
    import tempfile

    import dalembert as da
    from dalembert.errors import FileError

    rescue, save = tmp_path / "rescue", da.Motion.save
    rescue.mkdir()

    def full(motion: da.Motion, path: Path) -> None:
        if Path(path).parent == tmp_path:
            raise FileError(
                "The motion cannot be saved",
                seen="No space left on device",
                remedy="check the disk",
            )
        save(motion, path)

    monkeypatch.setattr(da.Motion, "save", full)
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))
    model = tmp_path / "spring.toml"
    model.write_text(
        'coordinates = ["x"]\nkinetic = "x_dot**2/2"\npotential = "x**2/2"\nstart = {x = 1.0}'
    )
    assert main(["run", str(model), "--t", "0,1", "-o", str(tmp_path / "motion.nc")]) == 2
    (kept,) = rescue.iterdir()
    assert (
        f"(seen: No space left on device): take the motion from {kept}" in capsys.readouterr().err
    )
    assert da.load(kept).t[-1] == 1.0
