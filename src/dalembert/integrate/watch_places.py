"""Where the book of a run keeps the watch of its constraint rows; zero in WATCH_PROGRAM: they are not watched."""

from __future__ import annotations

from .steppers.taylor_places import COEFFICIENTS

__all__ = ["WATCH_ENTRIES", "WATCH_LARGEST", "WATCH_NEW", "WATCH_OLD", "WATCH_PROGRAM", "WATCH_ROWS", "WATCH_STATE"]

#: The address of the program; of the rows at the last look and of room for the next; of the largest squared lengths and the row
#: that was found; of the time and state of the last look at which none was; how many entries and rows there are.
WATCH_PROGRAM, WATCH_OLD, WATCH_NEW, WATCH_LARGEST, WATCH_STATE, WATCH_ENTRIES, WATCH_ROWS = range(
    COEFFICIENTS + 1, COEFFICIENTS + 8
)
