"""Where the rows of the table are registered, and the judge that turns residuals into verdicts.

A row is a function that computes a residual. What is said of it stands in a file beside its module,
``<module>.toml``, by id: ``claim`` (what holds), ``how`` (it is recomputed), ``tests``, and where
needed ``tolerance``, ``correction`` and ``fault``::

    ["U-23"]
    claim = "H_pp is the inverse of the mass matrix"
    how = "random Lagrangians: library H_pp times M against the identity"
    tests = "part"

The module has the computation, as a function or as one expression, and the rows have the order of
the file::

    @listed("U-23", over=samples)
    def inverse_mass_matrix(s: Sample) -> Residual:
        return distance(s.blocks.G @ s.mass, np.eye(3))

    listed("U-5", over=samples)(lambda s: distance(s.library_momenta, s.mass @ s.v + s.shift))

``over`` names the samples (see `samples`): the function is called for each, and the worst residual
counts. Without it the function has no sample. A residual is a number, an array or a tuple of them;
a function that has many yields them (`Residuals`).

``tests`` says what would be wrong if the row failed: a "public function" of the library (also the
rates and reactions of derived equations), a "part" of it (blocks of a form, symbols of a
derivation), or the "mathematics" alone.

Where the print is wrong, the function has a keyword whose default gives the corrected form, and
``misprint`` gives the value that the print has; or it returns a `Corrected` pair. ``correction``
says what the print has instead, and ``fault`` whose fault that may be: the authors' ("print"), that
of the text at hand, which may have lost or changed a sign ("transcription"), or "unknown"::

    @listed("G-66", over=swings, misprint={"sign": -1})
    def moment(s: Swing, sign: int = 1) -> Residual: ...

Results that share a computation share a function: ``@listed`` may stand on it several times, with
``given`` for the keywords of each.
"""

from __future__ import annotations

import importlib
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, TypeVar, get_args

from ..errors import DalembertError, ModelError, nearest
from .documents import DOCUMENTS
from .numeric import Residual, worst

__all__ = [
    "SEPARATION",
    "Claim",
    "Corrected",
    "Fault",
    "Row",
    "Summary",
    "Tests",
    "Verdict",
    "Words",
    "claim",
    "identifiers",
    "judge",
    "listed",
    "registered",
    "rows",
    "summary",
]

Verdict = Literal["reproduced", "reproduced with correction", "not reproduced"]
#: What a row tests: a function of the public interface, an internal part, or no code of ours.
Tests = Literal["public function", "part", "mathematics"]
#: Whose fault a wrong print may be.
Fault = Literal["print", "transcription", "unknown"]

#: How many tolerances the residual of a printed form must exceed before the print counts as wrong.
SEPARATION = 100.0


@dataclass(frozen=True)
class Corrected:
    """The residuals of the corrected form of a result and of the form in print."""

    residual: Residual
    printed: Residual


Outcome: TypeAlias = "Residual | Corrected"
Computation = TypeVar("Computation", bound="Callable[..., Outcome]")


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    id : str
        Symbol of the document and equation or section, such as ``U-36``.
    claim : str
        What holds (the corrected statement where the print is wrong).
    how : str
        How it was recomputed.
    residual : float
        What is left of the claim.
    printed_residual : float or None
        What is left of the statement in print; None where the print is right.
    verdict : "reproduced", "reproduced with correction" or "not reproduced"
    tests : "public function", "part" or "mathematics"
        What the row tests: a public function, an internal part, or no code of the library.
    fault : "print", "transcription" or "unknown"
        Whose fault a wrong print may be: the authors', that of the text at hand, or either.
    section : str
        The section of the document.
    """

    id: str
    claim: str
    how: str
    residual: float
    printed_residual: float | None
    verdict: Verdict
    tests: Tests | None = None
    fault: Fault | None = None
    section: str = ""


@dataclass(frozen=True)
class Summary:
    """How many rows there are, by verdict, by what they test, and by fault where corrected."""

    verdicts: Mapping[str, int]
    tests: Mapping[str, int]
    faults: Mapping[str, int]


def summary(found: Iterable[Row]) -> Summary:
    """Count rows by verdict, by what they test, and by fault.

    >>> summary(rows(["U-1", "U-23"])).verdicts["reproduced"]
    2
    """
    table = list(found)

    def counts(options: Any, attribute: str) -> dict[str, int]:
        seen = Counter(getattr(row, attribute) for row in table)
        return {option: seen[option] for option in get_args(options)}

    return Summary(counts(Verdict, "verdict"), counts(Tests, "tests"), counts(Fault, "fault"))


@dataclass(frozen=True)
class Claim:
    """A registered row before it is computed.

    `tolerance` is the largest residual that counts as agreement; `correction` is what the print has
    instead of the statement, and part of `claim`; the other fields are those of `Row`.
    """

    id: str
    claim: str
    how: str
    tolerance: float
    compute: Callable[[], Outcome]
    tests: Tests | None = None
    fault: Fault | None = None
    section: str = ""
    correction: str = ""
    place: int = field(default=0, repr=False)

    @property
    def module(self) -> str:
        """The module of its function."""
        return _origin(self)[0]

    def row(self) -> Row:
        """Compute and judge; what cannot be computed is not reproduced."""
        verdict: Verdict
        try:
            outcome = self.compute()
            pair = outcome if isinstance(outcome, Corrected) else None
            residual = worst(pair.residual if pair else _plain(outcome))
            printed = worst(pair.printed) if pair else None
        except (DalembertError, ArithmeticError, LookupError, ValueError) as error:
            residual, printed = math.inf, None
            how, verdict = f"{self.how}; stopped: {error}", "not reproduced"
        else:
            how, verdict = self.how, judge(residual, printed, self.tolerance)
        data = (self.tests, self.fault, self.section)
        return Row(self.id, self.claim, how, residual, printed, verdict, *data)


def judge(residual: float, printed: float | None, tolerance: float) -> Verdict:
    """The verdict on two residuals.

    A correction counts only where the printed form fails by more than `SEPARATION` tolerances.

    >>> judge(1e-14, None, 1e-10), judge(1e-14, 0.3, 1e-10), judge(0.3, None, 1e-10)
    ('reproduced', 'reproduced with correction', 'not reproduced')
    """
    if not residual <= tolerance:
        return "not reproduced"
    if printed is None:
        return "reproduced"
    return "reproduced with correction" if printed > SEPARATION * tolerance else "not reproduced"


_CLAIMS: dict[str, Claim] = {}
#: The modules with rows, in the order of the table.
_MODULES = [
    f"{__package__}.{document.package}.{module}"
    for document in DOCUMENTS.values()
    for module in document.sections
]


class Words(TypedDict, total=False):
    """What is said of a row: `claim` and `how` always, the rest where it is needed."""

    claim: str
    how: str
    tests: Tests
    tolerance: float
    correction: str
    fault: Fault


def claim(
    identifier: str,
    words: Words,
    place: int = 0,
    over: Iterable[object] | None = None,
    given: Mapping[str, object] | None = None,
    misprint: Mapping[str, object] | None = None,
) -> Callable[[Computation], Computation]:
    """Register the decorated function as a row with these words, at a place in its module."""
    statement, correction = words["claim"], words.get("correction", "")

    def register(function: Computation) -> Computation:
        made = Claim(
            identifier,
            f"{statement}; {correction}" if correction else statement,
            words["how"],
            words.get("tolerance", 1e-10),
            partial(_outcome, function, over, dict(given or {}), misprint),
            words.get("tests"),
            words.get("fault"),
            _section(function.__module__),
            correction,
            place,
        )
        if _origin(_CLAIMS.setdefault(identifier, made)) != _origin(made):
            remedy = "give one of them another id"
            raise ModelError(f"Two rows are called `{identifier}`", remedy=remedy)
        _CLAIMS[identifier] = made
        return function

    return register


def listed(
    identifier: str,
    over: Iterable[object] | None = None,
    given: Mapping[str, object] | None = None,
    misprint: Mapping[str, object] | None = None,
) -> Callable[[Computation], Computation]:
    """Register the decorated function as a row whose words stand in the file beside its module."""

    def register(function: Computation) -> Computation:
        file = _words(function.__code__.co_filename)
        if identifier not in file:
            remedy = f"add it to the file beside {function.__module__}"
            raise ModelError(f"Nothing is said of the row `{identifier}`", remedy=remedy)
        place = list(file).index(identifier)
        return claim(identifier, file[identifier], place, over, given, misprint)(function)

    return register


@cache
def _words(module: str) -> dict[str, Words]:
    """The words of the rows of a module, by id."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def _outcome(
    function: Callable[..., Outcome],
    over: Iterable[object] | None,
    given: dict[str, object],
    misprint: Mapping[str, object] | None,
) -> Outcome:
    """The residuals of a row over its samples, in the corrected and in the printed form."""
    if misprint is not None:
        printed = _outcome(function, over, given | dict(misprint), None)
        return Corrected(_plain(_outcome(function, over, given, None)), _plain(printed))
    if over is None:
        return function(**given)
    found = [function(sample, **given) for sample in over]
    pairs = [item for item in found if isinstance(item, Corrected)]
    if pairs:
        return Corrected([item.residual for item in pairs], [item.printed for item in pairs])
    return [_plain(item) for item in found]


def _plain(outcome: Outcome) -> Residual:
    if isinstance(outcome, Corrected):
        raise ModelError(
            "A row gives the print twice", remedy="return one residual, or no misprint"
        )
    return outcome


def _origin(item: Claim) -> tuple[str, str, int]:
    """Where the function of a row stands, the same after a second import."""
    function = item.compute.args[0] if isinstance(item.compute, partial) else item.compute
    return function.__module__, function.__qualname__, function.__code__.co_firstlineno


def _section(module: str) -> str:
    package, _, name = module.removeprefix(f"{__package__}.").partition(".")
    found = (item for item in DOCUMENTS.values() if item.package == package)
    return next((item.sections.get(name, "") for item in found), "")


def registered(documents: Iterable[str] | None = None) -> tuple[Claim, ...]:
    """The claims of some documents by symbol, or of all, in the order of the table."""
    symbols = tuple(DOCUMENTS) if documents is None else tuple(documents)
    for symbol in symbols:
        for module in DOCUMENTS[symbol].sections:
            importlib.import_module(f"{__package__}.{DOCUMENTS[symbol].package}.{module}")
    ordered = sorted(_CLAIMS.values(), key=_position)
    return tuple(item for symbol in symbols for item in ordered if item.id.split("-")[0] == symbol)


def _position(item: Claim) -> tuple[int, int]:
    """Where a row stands in the table: the number of its module, and its place there."""
    return _MODULES.index(item.module) if item.module in _MODULES else -1, item.place


def identifiers() -> tuple[str, ...]:
    """The ids of all rows, in the order of the table."""
    return tuple(item.id for item in registered())


def rows(ids: Iterable[str] | str | None = None) -> Iterator[Row]:
    """The rows of the table, each computed when it is asked for.

    Parameters
    ----------
    ids : sequence of str, optional
        Ids of rows (``"U-36"``) or codes of documents (``"U"``); all rows by default.

    Raises
    ------
    ModelError
        At once, where an id is unknown; the message names the nearest one.
    """
    wanted = _selected(None if ids is None else [ids] if isinstance(ids, str) else list(ids))
    return (item.row() for item in wanted)


def _selected(ids: list[str] | None) -> list[Claim]:
    if ids is None:
        return list(registered())
    chosen: dict[str, Claim] = {}
    for wanted in ids:
        symbol = wanted.split("-")[0].upper()
        known = {
            item.id.lower(): item for item in registered([symbol] if symbol in DOCUMENTS else None)
        }
        if wanted.upper() in DOCUMENTS:
            chosen |= {item.id: item for item in known.values()}
        elif wanted.lower() in known:
            item = known[wanted.lower()]
            chosen[item.id] = item
        else:
            near = nearest(wanted.lower(), known)
            raise ModelError(
                f"There is no result `{wanted[:80]}`",
                remedy=(
                    f"did you mean {known[near].id}"
                    if near
                    else f"name a row or one of {', '.join(DOCUMENTS)}"
                ),
            )
    return list(chosen.values())
