"""How much a page may ask of the lab."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Bounds of everything that a request can make large; those of time are in seconds.

    Attributes
    ----------
    body_bytes, text_bytes : int
        Of a request, and of a model file.
    names : int
        Parameters or start values in a request.
    frames : int
        Times at which a result is sent.
    steps : int
        Steps of one run.
    check_seconds, equations_seconds, run_seconds : float
        Processor time of a question about a model, of writing equations out or drawing a portrait,
        and of a run. About three times as much may pass on the clock.
    memory_bytes : int
        Address space of a worker.
    result_bytes, kept_bytes : int
        Of one result, and of all results that are kept.
    kept_runs : int
        Runs whose results are kept.
    queued : int
        Runs, and other questions, that may wait.
    unwatched_seconds : float
        After this long a run that nobody asks about is cancelled.
    portrait_points : int
        Orbits of one portrait.
    study_points : int
        Runs that one request for a sweep, a diagram or a map may ask for.

    Examples
    --------
    >>> Limits(run_seconds=5.0).run_seconds
    5.0
    """

    body_bytes: int = 512 * 1024
    text_bytes: int = 256 * 1024
    names: int = 2000
    frames: int = 1200
    steps: int = 2_000_000
    check_seconds: float = 4.0
    equations_seconds: float = 20.0
    run_seconds: float = 60.0
    memory_bytes: int = 3 * 1024**3
    result_bytes: int = 48 * 1024 * 1024
    kept_bytes: int = 256 * 1024 * 1024
    kept_runs: int = 32
    queued: int = 64
    unwatched_seconds: float = 60.0
    portrait_points: int = 24
    study_points: int = 64
