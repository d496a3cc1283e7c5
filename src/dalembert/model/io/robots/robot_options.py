"""What a reader of robot files is asked, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .xml_reader import Unread

if TYPE_CHECKING:
    from ...bodies.contributions import Element
    from ...bodies.joints import Joint

__all__ = ["ReadOptions", "Robot"]


@dataclass(frozen=True)
class ReadOptions:
    """How a file becomes a mechanism; `load_mechanism` explains the fields."""

    base: Literal["fixed", "free"] = "fixed"
    limits: bool = True
    inputs: bool = False
    check: bool = True
    shapes: bool = True
    #: Where files that the robot file names lie.
    folder: Path | None = None
    base_name: str = "base"
    input_prefix: str = "u_"


@dataclass(frozen=True)
class Robot:
    """What a file states: joints and relations, and what was not taken over.

    `renamed` maps names of the file that are no identifiers to those of the mechanism. `gravity`
    and `start` are given where the file states them.
    """

    name: str
    joints: tuple[Joint | Element, ...]
    unread: Unread
    renamed: Mapping[str, str]
    gravity: tuple[float, float, float] | None = None
    start: Mapping[str, float] = field(default_factory=dict)
