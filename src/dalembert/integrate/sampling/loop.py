"""What a sampled law is: its clock, what it measures, computes and remembers, and its limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import sympy

from ...errors import ModelError
from ...model.symbols import Input, as_expression, by_name, name_of
from ...model.values import real_number
from ...typing import Array, ArrayLike, BySymbol, Expression, Symbol, Symbols

__all__ = ["HeldInput", "Law", "SampledLoop", "sampled"]

#: A function of Python for one command, of the time and what was measured.
Command: TypeAlias = Callable[[float, dict[str, float]], float]
#: One for all commands.
Commands: TypeAlias = Callable[
    [float, dict[str, float]], "float | Sequence[float] | Array | Mapping[str, float]"
]
#: A law: expressions or functions by input, or one function for all of them.
Law: TypeAlias = "BySymbol[Expression | Command] | Commands"
#: Of a quantity of memory: its first value, and its value after a sample.
Recurrence: TypeAlias = "tuple[float, Expression]"


@dataclass(frozen=True, eq=False)
class HeldInput:
    """An input that a sampled loop sets; it stands where a function of time and state stands."""

    loop: SampledLoop
    name: str

    @property
    def breaks(self) -> Array:
        """No times: the clock of the loop meets the jumps."""
        return np.zeros(0)

    def __call__(self, time: float, state: object) -> float:
        raise ModelError(
            f"The input `{self.name}` has values only inside a run", f"t = {time:g}",
            'simulate first, and read motion["' + self.name + '"]',
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class SampledLoop(Mapping[str, HeldInput]):
    """A sampled law, by the inputs that it sets: pass it as ``inputs=loop``; see `sampled`.

    Attributes
    ----------
    commands : tuple of str
        The inputs that the law commands; `disturbed` are those that have noise alone.
    law : tuple of expressions, tuple of functions, or one function

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> da.control.sampled({u: -2*x}, 0.01)
    <SampledLoop of u every 0.01, compiled>
    """

    commands: tuple[str, ...]
    disturbed: tuple[str, ...]
    law: tuple[sympy.Expr | Command, ...] | Commands
    period: float
    delay: float
    is_linear: bool
    measure: Mapping[str, sympy.Expr] | None
    memory: Mapping[sympy.Symbol, tuple[float, sympy.Expr]]
    schedule: Mapping[sympy.Symbol, Array]
    initial: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    rate: Mapping[str, float]
    quantum: Mapping[str, float]
    noise: Mapping[str, float]
    seed: int

    @property
    def is_native(self) -> bool:
        """Whether the law consists of expressions, which are compiled."""
        return bool(self.expressions)

    @property
    def expressions(self) -> tuple[sympy.Expr, ...]:
        """The expressions of the law; none where it is a function."""
        if not isinstance(self.law, tuple):
            return ()
        return tuple(e for e in self.law if isinstance(e, sympy.Expr))

    def __getitem__(self, key: Symbol) -> HeldInput:
        name = name_of(key)
        if name not in (*self.commands, *self.disturbed):
            raise KeyError(name)
        return HeldInput(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.commands, *self.disturbed))

    def __len__(self) -> int:
        return len(self.commands) + len(self.disturbed)

    def __repr__(self) -> str:
        kind = "compiled" if self.is_native else "a Python function"
        return f"<SampledLoop of {', '.join(self)} every {self.period:g}, {kind}>"


def sampled(
    law: Law,
    period: float,
    *,
    delay: float = 0.0,
    hold: str = "zero",
    inputs: Symbols = (),
    measure: BySymbol[Expression] | None = None,
    memory: Mapping[Symbol, Recurrence] | None = None,
    schedule: Mapping[Symbol, ArrayLike] | None = None,
    initial: BySymbol[float] | None = None,
    bounds: BySymbol[Sequence[float | None]] | None = None,
    rate: BySymbol[float] | None = None,
    quantum: BySymbol[float] | None = None,
    noise: BySymbol[float] | None = None,
    seed: int = 0,
) -> SampledLoop:
    """Make a law that a digital controller runs: sampled, computed, delayed, limited and held.

    At t_k = t_0 + k period quantities are measured, with noise and rounded to their quanta. The
    command of the law is rounded to its quantum, its change is limited to rate times period, and
    its size to the bounds. It takes effect at t_k + delay and is held until the next does.

    Parameters
    ----------
    law : mapping of input to an expression, or a function
        Expressions of measured quantities, time, parameters of the system and memory are compiled.
        A function ``f(t, measured)`` of Python, which returns a number, a sequence in the order of
        `inputs` or a mapping, is called at every sample, which is slower. If it has a method
        ``fresh()``, every run calls that and takes what it returns.
    period : float
    delay : float
        From a sample to its effect; it may exceed the period.
    hold : "zero" or "first"
        Whether a command is held, or continued linearly from the two last, within its bounds.
    inputs : sequence of inputs
        Those that one function commands.
    measure : mapping of symbol to expression
        What is measured beside coordinates and velocities: ``{y: x + l*sin(theta)}``. A function of
        Python then finds these alone.
    memory : mapping of symbol to (first value, expression)
        What the law remembers. The expression, of measured quantities, commands and memory, is the
        value at the next sample.
    schedule : mapping of symbol to values (K,)
        Symbols of the law that change from sample to sample as stated, such as references and
        gains; the last value stays.
    initial : mapping of input to number
        Its value before the first command takes effect; zero by default.
    bounds, rate, quantum : mappings
        (least, most) of an input, its most change in unit time, the resolution of an input or of a
        measured quantity.
    noise : mapping of quantity to its standard deviation
        Normal, new at every sample. That of a measured quantity is added to the measurement; that
        of an input, commanded or not, is added to the input until the next sample (process noise;
        white noise of intensity S has the standard deviation sqrt(S / period)).
    seed : int
        Of the noise. Every run of an ensemble draws its own.

    Returns
    -------
    SampledLoop
        To be passed as ``inputs=loop``, or with other inputs as ``inputs={**loop, v: 1.0}``. The
        motion has the measured quantities, commands and memory in ``motion.samples``.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> loop = sampled({u: -4*x - 3*x.dot}, 0.1, delay=0.02, bounds={u: (-1, 1)}, noise={x: 1e-3})
    >>> motion = da.simulate(mass, {x: 1.0}, (0, 8), inputs=loop)
    >>> len(motion.samples.times), bool(abs(motion["x"][-1]) < 0.01), float(motion["u"].min())
    (80, True, -1.0)
    """
    commands, functions = _read_law(law, inputs)
    table = by_name(noise, "noise")
    named = {name_of(key): key for key in (noise or {})}
    disturbed = tuple(n for n in table if n not in commands and isinstance(named[n], Input))
    loop = SampledLoop(
        commands=commands,
        disturbed=disturbed,
        law=functions,
        period=_positive(period, "period"),
        delay=_positive(delay, "delay", least=0.0),
        is_linear=_is_linear(hold),
        measure=None if measure is None else _expressions(measure),
        memory=_recurrences(memory or {}),
        schedule=_schedule(schedule or {}),
        initial=_numbers(initial, "initial", commands),
        bounds=_bounds(by_name(bounds, "bounds"), commands),
        rate=_numbers(rate, "rate", commands, least=0.0),
        quantum=_numbers(quantum, "quantum", least=0.0),
        noise=_numbers(noise, "noise", least=0.0),
        seed=int(seed),
    )
    if (loop.memory or loop.schedule) and not loop.is_native:
        raise ModelError(
            "Memory and schedules belong to laws that are expressions", "a function of Python",
            "let the function remember, with a method fresh() for each run",
        )  # fmt: skip
    for name in commands:
        low, high = loop.bounds.get(name, (-math.inf, math.inf))
        if not low <= loop.initial.get(name, 0.0) <= high:
            raise ModelError(
                f"The initial value of `{name}` is outside its bounds",
                f"{loop.initial.get(name, 0.0):g} of {low:g} to {high:g}", "pass initial",
            )  # fmt: skip
    return loop


def _read_law(law: Any, inputs: Symbols) -> tuple[tuple[str, ...], Any]:
    """The names of the commands, and their expressions or functions."""
    if callable(law) and not isinstance(law, Mapping):
        several = [inputs] if isinstance(inputs, (str, sympy.Basic)) else list(inputs)
        if not several:
            raise ModelError(
                "A law that is one function must name its inputs", repr(law)[:60], "pass inputs=[u]"
            )
        return tuple(name_of(key) for key in several), law
    table = by_name(law, "law")
    if not table:
        raise ModelError("A law commands at least one input", "none", "pass {u: -2*x}")
    found = tuple(value if callable(value) else as_expression(value) for value in table.values())
    if any(callable(value) for value in table.values()) and not all(map(callable, table.values())):
        raise ModelError(
            "A law consists of expressions or of functions", "both", "write all of them as one kind"
        )
    return tuple(table), found


def _is_linear(hold: str) -> bool:
    if hold not in ("zero", "first"):
        raise ModelError(
            "Commands are held by a rule", repr(hold)[:40], 'pass hold="zero" or "first"'
        )
    return hold == "first"


def _positive(value: float, name: str, least: float | None = None) -> float:
    number = real_number(value)
    if not (math.isfinite(number) and (number > 0 if least is None else number >= least)):
        raise ModelError(
            f"The {name} of a sampled law must be {'positive' if least is None else 'at least 0'}",
            value, f"pass {name}=0.01",
        )  # fmt: skip
    return number


def _expressions(given: Any) -> dict[str, sympy.Expr]:
    return {n: as_expression(value) for n, value in by_name(given, "measured quantities").items()}


def _recurrences(given: Mapping[Any, Any]) -> dict[sympy.Symbol, tuple[float, sympy.Expr]]:
    found = {}
    for key, pair in given.items():
        if not isinstance(key, sympy.Symbol) or not isinstance(pair, (tuple, list)):
            raise ModelError(
                "Memory is given as a first value and an expression by symbol",
                f"{key}: {pair}"[:60], "pass memory={z: (0.0, z + x)}",
            )  # fmt: skip
        found[key] = (real_number(pair[0]), as_expression(pair[1]))
    return found


def _schedule(given: Mapping[Any, Any]) -> dict[sympy.Symbol, Array]:
    found = {}
    for key, values in given.items():
        row = np.array(values, dtype=float).ravel()
        if not isinstance(key, sympy.Symbol) or not row.size or not np.all(np.isfinite(row)):
            raise ModelError(
                "A schedule is given as finite values by symbol", f"{key}: {values}"[:60],
                "pass schedule={r: [0.0, 0.1, 0.2]}",
            )  # fmt: skip
        found[key] = row
    return found


def _numbers(
    given: Any, what: str, known: tuple[str, ...] | None = None, least: float = -math.inf
) -> dict[str, float]:
    table = {name: real_number(value) for name, value in by_name(given, what).items()}
    for name, value in table.items():
        if not (math.isfinite(value) and value >= least):
            raise ModelError(
                f"The {what} of `{name}` must be a number"
                + ("" if least == -math.inf else f", at least {least:g}"),
                value, "leave it out",
            )  # fmt: skip
        if known is not None and name not in known:
            raise ModelError(
                f"The law does not command `{name}`", f"{what} of {name}",
                f"name one of {', '.join(known)}",
            )  # fmt: skip
    return table


def _bounds(given: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    found = {}
    for name, pair in given.items():
        low, high = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (1.0, 0.0)
        low = -math.inf if low is None else real_number(low)
        high = math.inf if high is None else real_number(high)
        if name not in known or not low <= high:
            raise ModelError(
                f"The bounds of `{name}` must be least and most of a command", str(pair)[:60],
                f"pass bounds={{{known[0]}: (-1, 1)}}",
            )  # fmt: skip
        found[name] = (low, high)
    return found
