"""Moving pictures on disk: GIF through Pillow, MP4 and WebM through ffmpeg."""

from __future__ import annotations

import importlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ...errors import FileError, ModelError, RunError
from ...model.io.atomic_file import replaced_whole
from ...model.io.plain_file import program_path

__all__ = ["VIDEO_SUFFIXES", "ffmpeg_program", "gif_delay", "write_gif", "write_video"]

Frame = npt.NDArray[np.uint8]

#: Codecs by suffix: near-lossless, and playable in every browser.
_CODECS = {
    ".mp4": ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"),
    ".webm": ("-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p", "-crf", "28", "-b:v", "0"),
}
VIDEO_SUFFIXES = tuple(_CODECS)


def gif_delay(fps: float) -> int:
    """Hundredths of a second a GIF shows each frame; browsers slow down anything below two.

    >>> gif_delay(30), gif_delay(25), gif_delay(100)
    (3, 4, 2)
    """
    return max(2, round(100 / fps))


def write_gif(frame: Callable[[int], Frame], count: int, path: Path, delay: int) -> None:
    """Write frames (height, width, 3) as an endless GIF with one palette, without flicker.

    Parameters
    ----------
    frame : callable
        The k-th frame.
    delay : int
        Hundredths of a second for each frame.
    """
    from PIL import Image

    probes = [frame(k) for k in sorted({0, count // 3, 2 * count // 3, count - 1})]
    colors = movie_palette(np.concatenate(probes).reshape(-1, 3))
    palette = Image.new("P", (1, 1))
    palette.putpalette(colors.tobytes())
    # The place of each colour in the palette, the first where it is there twice.
    place = np.full(1 << 24, -1, np.int16)
    place[_codes(colors)[::-1]] = np.arange(len(colors))[::-1]

    def images() -> Iterator[Image.Image]:
        for k in range(count):
            pixels = frame(k)
            reduced = Image.fromarray(pixels).quantize(palette=palette, dither=Image.Dither.NONE)
            # Pillow looks colours up coarsely; those that the palette has must stay as they are.
            known = place[_codes(pixels)]
            places = np.where(known >= 0, known, np.asarray(reduced)).astype(np.uint8)
            exact = Image.fromarray(places)
            exact.putpalette(colors.tobytes())
            yield exact

    stream = images()
    movie: dict[str, Any] = {"format": "GIF", "save_all": True, "append_images": stream}
    movie |= {"duration": 10 * delay, "loop": 0, "optimize": False}
    with _written_whole(path) as whole:
        next(stream).save(whole, **movie)


@contextmanager
def _written_whole(path: Path) -> Iterator[Path]:
    """A place for a file that appears at `path` when it is complete."""
    try:
        with replaced_whole(path) as whole:
            yield whole
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"The movie {path.name} cannot be written"
        raise FileError(what, reason, "check the disk") from error


def _codes(pixels: Frame) -> npt.NDArray[np.uint32]:
    """Colours (..., 3) as one number each."""
    red, green, blue = np.moveaxis(pixels.astype(np.uint32), -1, 0)
    return np.asarray(red << 16 | green << 8 | blue, dtype=np.uint32)


def movie_palette(pixels: Frame, exact: int = 64) -> Frame:
    """256 colours for pixels (n, 3): the `exact` most frequent, the rest for the others alike.

    Frequencies count by their root, so that thin bright lines on a wide page keep their colour.
    """
    from PIL import Image

    found, counts = np.unique(_codes(pixels), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    found, counts = found[order], counts[order]
    colors = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=-1).astype(np.uint8)
    if len(colors) <= 256:
        return np.resize(colors, (256, 3))
    weights = np.ceil(np.sqrt(counts[exact:])).astype(int).clip(1, 64)
    sample = np.repeat(colors[exact:], weights, axis=0)
    method = Image.Quantize.MEDIANCUT
    reduced = Image.fromarray(sample[None]).quantize(256 - exact, method=method).getpalette() or []
    rest = np.array(reduced, dtype=np.uint8).reshape(-1, 3)[: 256 - exact]
    return np.resize(np.concatenate([colors[:exact], rest]), (256, 3))


def ffmpeg_program() -> str | None:
    """The ffmpeg that can be run here: on the path, or inside the package imageio-ffmpeg."""
    found = program_path("ffmpeg")
    if found:
        return found
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


def require_ffmpeg(path: Path) -> str:
    """The ffmpeg to use for `path`, or an error that says what to install."""
    program = ffmpeg_program()
    if program is None:
        raise ModelError(
            f"Writing {path.suffix} needs the program ffmpeg, which is not installed",
            path.name,
            f"install ffmpeg, or imageio-ffmpeg, or write {path.with_suffix('.gif').name}",
        )
    return program


def write_video(frame: Callable[[int], Frame], count: int, path: Path, fps: float) -> None:
    """Write frames (height, width, 3), with even sides, as MP4 or WebM."""
    program = require_ffmpeg(path)
    with _written_whole(path) as place:
        _through_ffmpeg(program, frame, count, path, place, fps)


def _through_ffmpeg(
    program: str, frame: Callable[[int], Frame], count: int, path: Path, place: Path, fps: float
) -> None:
    height, width, _ = frame(0).shape
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", f"{fps:g}", "-i", "-", "-an"]
    command += [*_CODECS[path.suffix.lower()], str(place)]
    with tempfile.TemporaryFile() as complaints:
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": complaints, "bufsize": 0}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, **quiet)
        assert process.stdin is not None
        try:
            with process.stdin as pipe:
                for k in range(count):
                    _write_all(pipe, frame(k).tobytes())
        except BrokenPipeError:  # the program has ended, and says why below
            pass
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.wait() != 0:
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip().splitlines()
            raise RunError(
                f"ffmpeg could not write {path.name}",
                said[-1] if said else f"exit status {process.returncode}",
                f"write {path.with_suffix('.gif').name} instead",
            )


def _write_all(pipe: IO[bytes], data: bytes) -> None:
    """Write all of `data` to an unbuffered pipe, which may take it in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest) :]
