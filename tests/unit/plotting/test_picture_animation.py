"""Animations and stills: frames at the right times, shapes at the right places, files of the right
kind.
"""

from __future__ import annotations

import stat
import sys
import warnings

import numpy as np
import pytest
from picture_motions import oscillator, wheel
from PIL import Image

from dalembert.errors import FileError, ModelError, RunError
from dalembert.model.drawing import Drawing, Link, PointMark
from dalembert.plotting import animate, motion_strip
from dalembert.plotting.scenes.animation import usual_fps
from dalembert.plotting.scenes.movie_writers import gif_delay, movie_palette
from dalembert.plotting.scenes.scene import Camera, build_scene, nice_step, zigzag


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_gif_has_the_frames_and_the_length_asked_for(tmp_path):
    animation = animate(oscillator(), tmp_path / "film.gif", fps=10, speed=2.0, size=(200, 160))
    with Image.open(tmp_path / "film.gif") as image:
        assert image.n_frames == animation.frames == 21
        assert image.size == (200, 160)
        assert image.info["duration"] == 100 and image.info["loop"] == 0


@pytest.mark.long
def test_a_gif_has_fewer_frames_unless_they_are_asked_for(tmp_path):
    """The same film of one second: at 30 frames a second, as a GIF at 20, and as it was asked
    for.
    """
    film = animate(oscillator(), speed=4.0, size=(64, 64))
    assert (film.fps, film.frames) == (30.0, 31)
    for made in (lambda path: animate(oscillator(), path, speed=4.0, size=(64, 64)), film.save):
        made(tmp_path / "film.gif")
        with Image.open(tmp_path / "film.gif") as image:
            assert image.n_frames == 21 and image.info["duration"] == 50
    animate(oscillator(), fps=10, speed=4.0, size=(64, 64)).save(tmp_path / "film.gif")
    with Image.open(tmp_path / "film.gif") as image:
        assert image.n_frames == 11 and image.info["duration"] == 100
    for seconds in (0.1, 5, 13, 20, 45):
        assert seconds * usual_fps(seconds, ".gif") <= 250 and 5 <= usual_fps(seconds, ".gif") <= 20
    assert usual_fps(1000, ".gif") == 5


@pytest.mark.long
def test_a_gif_shows_the_colours_of_its_frames(tmp_path):
    animation = animate(oscillator(), tmp_path / "film.gif", fps=10, duration=1.0, size=(240, 200))
    with Image.open(tmp_path / "film.gif") as image:
        image.seek(6)
        shown = np.asarray(image.convert("RGB")).astype(int)
    wanted = animation.frame_source().frame(6).astype(int)
    assert (shown[0, 0] == wanted[0, 0]).all()
    error = np.abs(shown - wanted).max(axis=2)
    assert np.mean(error == 0) > 0.9 and np.percentile(error, 99.5) < 24


def test_frames_differ_and_still_parts_do_not():
    animation = animate(oscillator(), fps=10, duration=1.0, size=(240, 200))
    film = animation.frame_source()
    first, again, later = film.frame(0), film.frame(0), film.frame(5)
    assert first.shape == (200, 240, 3) and first.dtype == np.uint8
    assert (first == again).all() and (first != later).any()
    assert (animation.frame(-1) == film.frame(animation.frames - 1)).all()


def test_speed_and_duration():
    assert animate(oscillator(), fps=20).frames == 81
    assert animate(oscillator(), fps=20, duration=2.0).speed == 2.0
    assert animate(oscillator(end=200.0), fps=10).speed == 10.0
    assert animate(oscillator(end=0.01), fps=10).speed == pytest.approx(0.002)
    np.testing.assert_allclose(np.diff(animate(oscillator(), fps=7).times, 2), 0, atol=1e-14)


def test_backward_motions_run_backward():
    motion = oscillator()
    motion.t = motion.t[::-1]
    motion.derived = {name: values[::-1] for name, values in motion.derived.items()}
    animation = animate(motion, fps=10)
    assert animation.times[0] == 4.0 and animation.times[-1] == 0.0
    animation.frame(3)


@pytest.mark.long
def test_stills_and_strips_of_plane_and_space(tmp_path):
    for motion in (oscillator(), wheel()):
        for suffix in (".png", ".svg", ".pdf"):
            animate(motion, tmp_path / f"still{suffix}")
            assert (tmp_path / f"still{suffix}").stat().st_size > 4_000
        strip = motion_strip(motion, tmp_path / "strip.png", frames=6)
        assert len(strip.axes) == 6 and strip.axes[0].get_title(loc="left") == "$t = 0$"


@pytest.mark.long
def test_without_a_drawing_the_coordinates_run(tmp_path):
    motion = oscillator(drawn=False)
    animation = animate(motion, tmp_path / "curves.gif", fps=5, size=(300, 200))
    with Image.open(tmp_path / "curves.gif") as image:
        assert image.n_frames == animation.frames
    animate(motion, tmp_path / "curves.png")
    motion_strip(motion, tmp_path / "strip.png")


@pytest.mark.long
def test_notebooks_show_an_animation():
    html = animate(oscillator(), fps=5, duration=0.6, size=(100, 100))._repr_html_()
    assert html.startswith('<img alt="animation" src="data:image/gif;base64,R0lGOD')


def test_missing_ffmpeg_is_named_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr("dalembert.plotting.scenes.movie_writers.ffmpeg_program", lambda: None)
    with pytest.raises(ModelError, match=r"needs the program ffmpeg.*imageio-ffmpeg.*film\.gif"):
        animate(oscillator(), tmp_path / "film.mp4")


def fake_ffmpeg(folder, body: str) -> str:
    program = folder / "ffmpeg"
    program.write_text(f"#!{sys.executable}\nimport sys\n{body}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_video_pipes_every_frame_to_ffmpeg(tmp_path, monkeypatch):
    program = fake_ffmpeg(tmp_path, "open(sys.argv[-1], 'wb').write(sys.stdin.buffer.read())")
    monkeypatch.setattr("dalembert.plotting.scenes.movie_writers.ffmpeg_program", lambda: program)
    told: list[float] = []
    animation = animate(
        oscillator(), tmp_path / "film.mp4", fps=5, size=(101, 81), progress=told.append
    )
    assert (tmp_path / "film.mp4").stat().st_size == animation.frames * 100 * 80 * 3
    assert told[-1] == 1.0


def test_ffmpeg_that_fails_is_quoted(tmp_path, monkeypatch):
    program = fake_ffmpeg(tmp_path, "sys.stderr.write('no such codec\\n'); sys.exit(3)")
    monkeypatch.setattr("dalembert.plotting.scenes.movie_writers.ffmpeg_program", lambda: program)
    with pytest.raises(RunError, match="no such codec"):
        animate(oscillator(), tmp_path / "film.webm", fps=5, size=(400, 400))


def test_wrong_calls_are_refused(tmp_path):
    with pytest.raises(ModelError, match="`fps` must be positive"):
        animate(oscillator(), fps=0)
    for size in ((10, 200), (640, 10**6), (640,)):
        with pytest.raises(ModelError, match="`size` must be two sides"):
            animate(oscillator(), size=size)
    with pytest.raises(ModelError, match="not both"):
        animate(oscillator(), speed=1.0, duration=2.0)
    with pytest.raises(ModelError, match="too many frames"):
        animate(oscillator(end=1e4), speed=1e-3)
    with pytest.raises(FileError, match=r"\.gif"):
        animate(oscillator(), tmp_path / "film.avi")


def test_shapes_are_where_the_motion_is():
    motion = wheel()
    times = np.linspace(0.0, 6.0, 13)
    camera = Camera(azimuth=0.0, elevation=90.0)  # straight from above: right is y, up is -x
    scene = build_scene(motion, motion.drawing, times, camera=camera)
    rim = scene.parts[0].points
    center = rim[:, :-1].mean(axis=1)
    np.testing.assert_allclose(center[:, 0], -1.5 * np.cos(times), atol=1e-12)
    np.testing.assert_allclose(center[:, 1], -1.5 * np.sin(times), atol=1e-12)
    np.testing.assert_allclose(scene.parts[0].depth - scene.parts[0].depth[0], 0.0, atol=1e-12)


def test_a_bob_is_painted_over_its_rod_wherever_it_swings():
    motion = wheel()
    x, y, *_ = motion.system.coordinates
    drawing = Drawing((Link((0, 0, 2), (x, y, 0)), PointMark((x, y, 0)), PointMark((0, 0, 2))))
    rod, bob, pivot = build_scene(motion, drawing, np.linspace(0, 6, 40)).parts
    assert (bob.depth > rod.depth).all() and (pivot.depth > rod.depth).all()


def test_a_camera_keeps_lengths_across_the_line_of_sight():
    camera = Camera(30.0, 20.0)
    np.testing.assert_allclose(camera.frame @ camera.frame.T, np.eye(3), atol=1e-15)
    assert camera.project(np.array([0.0, 0.0, 1.0]))[0][1] > 0


def test_scene_shows_all_of_the_motion_to_one_scale():
    motion = oscillator()
    film = animate(motion, fps=10).frame_source()
    (left, right), (bottom, top) = film.scene.window
    assert left < -2 and right > 2 and bottom < -0.3 < 0.2 < top
    axes = film.sheet.picture.axes[0]
    box = axes.get_window_extent()
    across, upward = (
        np.diff(axes.get_xlim())[0] / box.width,
        np.diff(axes.get_ylim())[0] / box.height,
    )
    assert across == pytest.approx(upward, rel=1e-3)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_view_follows_a_point(dimension):
    """A ball that moves in front of a ground stays at one place of the picture."""
    motion = oscillator()
    x = motion.system.coordinates[0]
    rest = (0.0,) * (dimension - 1)
    motion.drawing = Drawing(
        (PointMark((50 * x, *rest)), Link((50 * x, *rest), (50 * x + 1, *rest)))
    )
    follow = (50 * x, *rest)
    times = np.linspace(0, 4, 9)
    scene = build_scene(motion, motion.drawing, times, follow=follow)
    (left, right), (bottom, top) = scene.window
    assert right - left < 5 and build_scene(motion, motion.drawing, times).window[0][1] > 10
    dot = next(part for part in scene.parts if part.kind == "dot")
    seen = dot.points[:, 0] - scene.followed
    np.testing.assert_allclose(seen, np.broadcast_to(seen[0], seen.shape), atol=1e-12)
    assert left < seen[0, 0] < right and bottom < seen[0, 1] < top
    film = animate(motion, fps=2, size=(200, 160), follow=follow)
    frames = film.frame_source()
    frames.frame(3)
    middle = np.mean(frames.axes.get_xlim()) - np.mean(frames.window[0])
    expected = build_scene(motion, motion.drawing, film.times, follow=follow).followed[3, 0]
    assert middle == pytest.approx(expected) and abs(expected) > 10


def test_what_cannot_be_followed_is_said(tmp_path):
    with pytest.raises(ModelError, match="another dimension"):
        animate(oscillator(), follow=("x", "x", "x")).frame(0)
    with pytest.raises(ModelError, match="nothing to follow"):
        animate(oscillator(drawn=False), follow=("x", "x"))
    with pytest.raises(ModelError, match="A still"):
        animate(oscillator(), tmp_path / "still.png", follow=("x", "x"))


def test_a_zigzag_starts_and_ends_at_its_points():
    ends = np.array([[[0.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 2.0]]])
    path = zigzag(ends, 6)
    np.testing.assert_allclose(path[:, [0, -1]], ends)
    offsets = path[0] @ np.array([-0.8, 0.6])
    assert np.ptp(offsets) == pytest.approx(2 * 0.055 * 3.0)


def test_mixed_dimensions_and_unknown_symbols_are_named():
    motion = oscillator()
    x = motion.system.coordinates[0]
    times = np.linspace(0, 1, 3)
    with pytest.raises(ModelError, match="all be plane or all spatial"):
        build_scene(motion, Drawing((PointMark((x, 0)), Link((0, 0, 0), (x, 0, 0)))), times)
    with pytest.raises(ModelError, match="no quantity `z`"):
        import dalembert as da

        build_scene(motion, Drawing((PointMark((da.coordinates("z"), 0)),)), times)
    with pytest.raises(ModelError, match="no shapes"):
        build_scene(motion, Drawing(()), times)


def test_thin_bright_lines_keep_their_colour_in_a_gif(tmp_path):
    rng = np.random.default_rng(1)
    page = np.full((100, 100, 3), 255, dtype=np.uint8)
    page[:40] = rng.integers(0, 256, (40, 100, 3))
    page[50] = (230, 159, 0)
    palette = movie_palette(page.reshape(-1, 3))
    assert palette.shape == (256, 3)
    for color in ((255, 255, 255), (230, 159, 0)):
        assert (palette == color).all(axis=1).any()
    few = movie_palette(page[45:60].reshape(-1, 3))
    assert {tuple(c) for c in few} == {(255, 255, 255), (230, 159, 0)}


def test_small_numbers():
    assert [gif_delay(fps) for fps in (10, 24, 50, 60)] == [10, 4, 2, 2]
    assert nice_step(10.0, 5) == 2.0
