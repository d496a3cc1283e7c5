"""Where pictures are kept, and how they are made small."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def still(name: str, picture: Any, dpi: float = 110.0) -> None:
    """A figure as a PNG of few colours."""
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=dpi)
    image = Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    image.save(FOLDER / name, optimize=True)


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


def smaller(image: Image.Image, width: int, path: Path) -> None:
    """A picture of that width, in few colours."""
    sized = image.convert("RGB").resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )
    sized.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
