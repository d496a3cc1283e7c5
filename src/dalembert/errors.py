"""Everything that can go wrong, as one tree.

::

    DalembertError
    ├── ModelError            a model or a call that is wrong            (exit status 2)
    │   ├── ExpressionError     text that is not an expression
    │   ├── FileError           a model file that cannot be read
    │   ├── FormError           a formulation whose hypothesis fails
    │   ├── StartError          an initial value that cannot be honoured
    │   └── MissingExtraError   an optional package that is not installed
    └── RunError              a computation that could not finish        (exit status 1)
        ├── SingularError       the accelerations are not determined
        │   └── NoInertiaError    no state determines them            (exit status 2)
        └── ContradictionError  constraints that exclude each other (exit status 2)

A message has three parts: what is wrong, the value seen, what to do. So has a `DalembertWarning` of
something that is done all the same: `UnusedParameterWarning` for values that a model does not use,
`UnreadPartsWarning` for parts of a robot file that are not in the mechanism,
`RenamedPartsWarning` for names of such a file that are written otherwise.
"""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Sequence

__all__ = [
    "ContradictionError",
    "DalembertError",
    "DalembertWarning",
    "ExpressionError",
    "Faults",
    "FileError",
    "FormError",
    "MissingExtraError",
    "ModelError",
    "NoInertiaError",
    "RenamedPartsWarning",
    "RunError",
    "SingularError",
    "StartError",
    "UnreadPartsWarning",
    "UnusedParameterWarning",
    "nearest",
    "raise_collected",
    "warn",
    "warn_renamed",
]


#: Names and places of a model are marked by backquotes in an error, words of the user by quotes.
MARKED = (re.compile(r"`([^`]{1,120})`"), re.compile(r"(?<!\w)'([^']{1,120})'"))
#: Characters of known words that a wrong one is compared with.
MOST_COMPARED = 20_000


class DalembertError(Exception):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    what : str
        What is wrong, as a clause without a full stop.
    seen : object, optional
        The value that was found.
    remedy : str, optional
        What to do about it, without a full stop; "did you mean ..." gets a question mark.

    Attributes
    ----------
    faults : tuple of DalembertError
        The faults of a model that has several.
    line : int or None
        The line of a file that cannot be read.

    Examples
    --------
    >>> print(ModelError("Parameter `m` has no value", remedy="pass parameters={m: 1.0}"))
    Parameter `m` has no value: pass parameters={m: 1.0}.
    >>> print(ModelError("There is no form `magi`", remedy="did you mean maggi"))
    There is no form `magi`: did you mean maggi?
    """

    faults: tuple[DalembertError, ...] = ()
    line: int | None = None

    def __init__(self, what: str, seen: object | None = None, remedy: str | None = None) -> None:
        self.what, self.seen, self.remedy = what, seen, remedy
        super().__init__(_message(what, seen, remedy))

    @property
    def names(self) -> tuple[str, ...]:
        """The names and places that the error marks, those of the model first.

        >>> ModelError("In `parameters.m`: no number").names
        ('parameters.m',)
        """
        told = f"{self.what} {'' if self.seen is None else self.seen}"
        return tuple(name for pattern in MARKED for name in pattern.findall(told))


def _message(what: str, seen: object | None, remedy: str | None) -> str:
    text = what if seen is None else f"{what} (seen: {seen})"
    if not remedy:
        return f"{text}."
    if remedy.startswith("did you mean"):
        return f"{text}: {remedy.rstrip('?')}?"
    return f"{text}: {remedy}."


class ModelError(DalembertError):
    """A model or a call that is wrong."""


class ExpressionError(ModelError):
    """Text that is not an expression of the model language."""


class FileError(ModelError):
    """A model file or a result file that cannot be read or written."""


class FormError(ModelError):
    """A formulation that does not apply to this system."""


class StartError(ModelError):
    """An initial value that cannot be honoured."""


class MissingExtraError(ModelError):
    """An optional package that is not installed.

    >>> print(MissingExtraError("heyoka", "heyoka"))
    The package `heyoka` is not installed: run pip install "dalembert[heyoka]".
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"The package `{package}` is not installed",
            remedy=f'run pip install "dalembert[{extra}]"',
        )


class RunError(DalembertError):
    """A computation that could not finish."""


class SingularError(RunError):
    """The accelerations are not determined by the equations at this state."""


class NoInertiaError(SingularError):
    """The mass matrix is zero at every state, so that no start determines accelerations."""


class ContradictionError(RunError):
    """Constraints that exclude each other at this state; `row` is the index of the one found."""

    row: int = -1


class DalembertWarning(UserWarning):
    """Something that is done, and may not be what was meant; with the parts of an error."""

    def __init__(self, what: str, seen: object | None = None, remedy: str | None = None) -> None:
        self.what, self.seen, self.remedy = what, seen, remedy
        super().__init__(_message(what, seen, remedy))


class RenamedPartsWarning(DalembertWarning):
    """Names of a robot file that are written otherwise in the mechanism made from it."""


class UnreadPartsWarning(DalembertWarning):
    """Parts of a robot file that are not in the mechanism made from it."""


class UnusedParameterWarning(DalembertWarning):
    """Values of parameters that a model does not use."""


def warn(warning: DalembertWarning) -> None:
    """Warn, at the line outside of this package from which it was called."""
    package, level, frame = __name__.rpartition(".")[0], 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(package):
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(warning, stacklevel=level)


def warn_renamed(old: str, new: str) -> None:
    """Warn that a name is an old one, at the line that uses it."""
    message = f"{old} is now {new}; the old name goes with version 0.3"
    warnings.warn(message, DeprecationWarning, stacklevel=3)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None where none is close.

    >>> nearest("coordinate", ["coordinates", "kinetic"])
    'coordinates'
    """
    compared, length = [], 0
    for candidate in known:  # comparing takes time by the square of the length
        compared.append(candidate)
        length += len(candidate)
        if length > MOST_COMPARED:
            break
    matches = difflib.get_close_matches(word[:200], compared, n=1, cutoff=0.6)
    return matches[0] if matches else None


class Faults(list["DalembertError"]):
    """The faults of a model, collected until all are known (`raise_collected`)."""

    def add(self, what: str, seen: object | None = None, remedy: str | None = None) -> None:
        """Add a `ModelError`."""
        self.append(ModelError(what, seen, remedy))


def raise_collected(faults: Sequence[DalembertError]) -> None:
    """Raise nothing, the one fault, or one `ModelError` that lists them all."""
    if not faults:
        return
    if len(faults) == 1:
        raise faults[0]
    listing = "".join(f"\n  - {fault}" for fault in faults)
    error = ModelError(f"The model has {len(faults)} faults")
    error.args, error.faults = (f"{error.what}:{listing}",), tuple(faults)
    raise error
