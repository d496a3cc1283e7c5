"""Many runs of one system: arrays of parameters and starts in, one table of states out."""

from __future__ import annotations

import errno
import math
import os
import shutil
import threading
import time as clock
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileError, ModelError, StartError, nearest
from ...model.io.atomic_file import place_beside, write_whole
from ...model.labels import aligned, labelled
from ...model.names import shortened
from ...model.read_only import read_only, restore
from ...model.symbols import by_name
from ...model.values import check_sign, real_array, real_number
from ...typing import Array, Symbol
from ..diagnostics import diagnostics_in
from ..motion import Motion
from ..simulate import Task, read_task, run_task
from ..start import own_symbols, start_names
from ..storage.file_image import file_image
from .chunks import NOT_RUN, OUTCOMES, SUCCESS, Plan, Results, run_chunk
from .run_table import Axis, Table, laid_out

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from .store import StoredArray

__all__ = ["Ensemble", "ensemble_of"]

#: The most runs that one thread takes at a time.
LARGEST_CHUNK, LARGEST_OF_LANES = 64, 2048


@dataclass(frozen=True)
class Rerun:
    """Makes one of many runs again, with all its steps; unlike a closure it can be pickled."""

    task: Task
    given: tuple[str, ...]
    parameters: Any
    values: Any

    @classmethod
    def of(cls, plan: Plan, parameters: Any, values: Any) -> Rerun:
        """The runs of a plan, with parameters (k, n_par) and start values (k, n_given)."""
        return cls(replace(plan.task, at=None, progress=None), plan.given, parameters, values)

    def __call__(self, place: int) -> Motion:
        start = dict(zip(self.given, self.values[place], strict=True))
        return run_task(replace(self.task, parameters=self.parameters[place], start=start))


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble:
    """Many runs of one system. Their arrays are read-only: take a copy to change one.

    An ensemble is equal to itself alone. It can be pickled.

    Attributes
    ----------
    table : Table
        The axes of the runs, with the names and values along them.
    columns : mapping of str to array
        The variables of the table; those of a store are read when they are asked for.
    t : array (nt,)
        The times that were asked for.
    states : array (\\*shape, nt, n)
        NaN where a run did not come.
    codes : array (\\*shape) of int
        Places in `dalembert.integrate.ensemble.chunks.OUTCOMES`, or -1 for a run that was not made.
    messages : array (\\*shape) of str
        How a run ended that did not finish, and diagnostics on one that did, as a motion has them behind its first sentence:
        rows of constraints that were left out, digits that may be lost. Empty where there is nothing to say.
    steps : array (\\*shape) of int
    energy_drift : array (\\*shape)
        The largest distance of the energy, at the times asked for, from that of the start.
    statistics : dict

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=x.dot**2/2, potential=k/2*x**2)
    >>> runs = da.simulate(oscillator, {x: 1.0}, (0, np.pi), parameters={k: np.array([1.0, 4.0, 9.0])})
    >>> runs.final["x"].round(9).tolist()
    [-1.0, 1.0, -1.0]
    """

    table: Table
    columns: Mapping[str, NDArray[Any] | StoredArray] = field(repr=False)
    statistics: dict[str, Any]
    _rerun: Callable[[int], Motion] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    __setstate__ = restore

    def __deepcopy__(self, _: Any) -> Ensemble:
        return replace(self, statistics=deepcopy(self.statistics))

    @cached_property
    def states(self) -> Array:
        """All states, (\\*shape, nt, n)."""
        return read_only(np.stack([self.columns[name][...] for name in self.table.symbols], axis=-1))

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """How each run ended as a number, (\\*shape)."""
        return self._own("outcome")

    @cached_property
    def messages(self) -> NDArray[np.object_]:
        """How each run ended that did not finish, and diagnostics on those that did, (\\*shape) of str."""
        return read_only(self._own("message").astype(object))

    @cached_property
    def steps(self) -> NDArray[np.int64]:
        """Steps of each run, (\\*shape)."""
        return self._own("steps")

    @cached_property
    def energy_drift(self) -> Array:
        """The drift of the energy of each run, (\\*shape)."""
        return self._own("energy_drift")

    def _own(self, name: str) -> NDArray[Any]:
        return read_only(self.columns[self.table.own_names[name]][...])

    @property
    def t(self) -> Array:
        """The times that were asked for, (nt,)."""
        return self.table.times

    @property
    def shape(self) -> tuple[int, ...]:
        """How many runs there are along each axis."""
        return self.table.shape

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, name: Symbol) -> Array:
        """A symbol of the state, (\\*shape, nt), or a value that differs from run to run, (\\*shape)."""
        key = getattr(name, "name", name)
        if key in self.table.symbols:
            return read_only(self.columns[key][...])
        if key == "t":
            return self.t
        if key in self.table.coordinates:
            dims, values = self.table.coordinates[key]
            places = [slice(None) if d in dims else None for d in self.table.dims]
            return np.broadcast_to(np.asarray(values)[tuple(places)], self.shape)
        known = [*self.table.symbols, *self.table.coordinates, "t"]
        near = nearest(str(key), known)
        raise ModelError(
            f"The ensemble has no `{key}`", seen=", ".join(known), remedy=f"did you mean {near}" if near else "use one of these"
        )

    @property
    def final(self) -> dict[str, Array]:
        """The last state of every run by symbol, (\\*shape) each."""
        first, last = self.statistics["span"]
        place = int(np.argmax(self.t) if last >= first else np.argmin(self.t))
        return {name: read_only(self.columns[name][..., place]) for name in self.table.symbols}

    @cached_property
    def outcomes(self) -> NDArray[np.object_]:
        """How each run ended, (\\*shape) of str."""
        return read_only(np.array([*OUTCOMES, "not run"], dtype=object)[self.codes])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which runs were made and did not reach their end, (\\*shape) of bool."""
        failed: NDArray[np.bool_] = (self.codes != NOT_RUN) & ~np.isin(self.codes, SUCCESS)
        return failed

    @cached_property
    def remarked(self) -> NDArray[np.bool_]:
        """Which runs reached their end and have a diagnostic in their message, (\\*shape) of bool."""
        found = np.isin(self.codes, SUCCESS) & (self.messages != "").astype(bool)
        found[found] = [bool(diagnostics_in(message)) for message in self.messages[found]]
        return read_only(found)

    @property
    def diagnostic(self) -> str:
        """How many runs have diagnostics, with the first of them; empty where there is none.

        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> ball = da.System(coordinates=[x], kinetic=x.dot**2/2)
        >>> print(da.simulate(ball, {x: [1.0, 1e-12]}, (0, 1)).diagnostic[:43])
        1 of 2 runs has diagnostics, e.g. run (1,):
        """
        count, before = int(np.count_nonzero(self.remarked)), self.statistics.get("runs_without_remarks", 0)
        found = []
        if before:
            found.append(f"diagnostics were not kept for the {before} runs that an earlier version stored")
        if count:
            first = tuple(int(k) for k in np.argwhere(self.remarked)[0])
            said = f"{count} of {len(self)} runs {'has' if count == 1 else 'have'} diagnostics"
            found.append(f"{said}, e.g. run {first}: {diagnostics_in(str(self.messages[first]))}")
        return "; ".join(found)

    @property
    def success(self) -> bool:
        """Whether every run reached its end."""
        return bool(np.isin(self.codes, SUCCESS).all())

    @property
    def counts(self) -> dict[str, int]:
        """How many runs had each outcome."""
        codes, counts = np.unique(self.codes, return_counts=True)
        names = [*OUTCOMES, "not run"]
        return dict(sorted((names[code], int(count)) for code, count in zip(codes, counts, strict=True)))

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        counted = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        diagnostic = f"; {self.diagnostic}" if self.diagnostic else ""
        return f"<Ensemble of {len(self)} runs ({shape}) of {self.statistics.get('system', 'a system')}: {counted}{diagnostic}>"

    def motion(self, index: int | tuple[int, ...]) -> Motion:
        """One of the runs again, as a motion with all its steps."""
        try:
            place = int(np.ravel_multi_index(index if isinstance(index, tuple) else (index,), self.shape))
        except (ValueError, TypeError):
            raise ModelError(
                "The ensemble has no run at this place", seen=index, remedy=f"give one index for each of {self.shape}"
            ) from None
        if self._rerun is None:
            raise ModelError("The ensemble does not know its model", remedy="open it with da.sweep(..., resume=True)")
        return self._rerun(place)

    def to_xarray(self) -> xarray.Dataset:
        """The runs as an `xarray.Dataset`: states over the runs and time, outcomes, messages, steps, drift of the energy."""
        import xarray as xr

        table, own = self.table, self.table.own_names
        found: dict[str, Any] = {name: self[name].copy() for name in table.symbols}
        found |= {own["steps"]: self.steps.copy(), own["energy_drift"]: self.energy_drift.copy()}
        found |= {own["message"]: self.messages.copy(), own["outcome"]: self.codes.copy()}
        variables = {name: (v.dims, found[name], v.attributes) for name, v in table.variables.items()}
        return xr.Dataset(variables, coords={own["time"]: self.t.copy(), **table.coordinates}, attrs=dict(table.attributes))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the runs as netCDF (.nc) or Zarr (.zarr); an existing Zarr store is not replaced.

        They appear under their name only when they are complete.
        """
        target = Path(path)
        try:
            if target.suffix == ".zarr":
                self._save_zarr(target)
            elif target.suffix in (".nc", ".nc4"):
                write_whole(target, file_image({None: self.to_xarray()}))
            else:
                raise FileError(
                    f"The runs cannot be saved as {shortened(str(target))}", remedy="name a file that ends in .nc or .zarr"
                )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise FileError(
                f"The runs cannot be saved as {shortened(str(target))}",
                seen=reason,
                remedy="name a new file in a folder that exists",
            ) from error

    def _save_zarr(self, target: Path) -> None:
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        scratch = place_beside(target.absolute())
        try:
            with warnings.catch_warnings():  # that other programs may not read the copy of the metadata; they need not
                warnings.simplefilter("ignore")
                self.to_xarray().to_zarr(scratch, mode="w-", consolidated=True)
            os.rename(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def ensemble_of(
    model: Any,
    start: Any = None,
    span: Sequence[float] | None = None,
    *,
    parameters: Any = None,
    at: Any = None,
    workers: int | None = None,
    progress: Callable[[float, float], None] | None = None,
    **options: Any,
) -> Ensemble:
    """The runs that `simulate` makes where a start or a parameter is an array; one run where none is."""
    plan, axes = read_plan(model, start, span, parameters, at, options)
    shape, dims, coordinates = laid_out(axes)
    p, v = flat_values(plan, axes, shape)
    began = clock.perf_counter()
    results = run_all(plan, p, v, workers, progress)
    statistics = described(plan) | {"wall_seconds": clock.perf_counter() - began}
    table = Table(dims, shape, coordinates, plan.times, plan.symbols, described(plan))
    return Ensemble(table, table.columns(results, shape), statistics, Rerun.of(plan, p, v))


def described(plan: Plan) -> dict[str, Any]:
    """What was simulated and how, in plain values."""
    task = plan.task
    found: dict[str, Any] = {"system": task.equations.system.name, "form": task.equations.form, "method": task.method}
    if task.stepping is None:
        found |= {"rtol": task.rtol, "atol": float(np.min(task.atol))}
    else:
        found["step"] = abs(task.stepping.step)
    return found | {"span": [float(task.span[0]), float(task.span[1])]}


# -- reading -----------------------------------------------------------------------------------------------------------


def read_plan(model: Any, start: Any, span: Any, parameters: Any, at: Any, options: dict[str, Any]) -> tuple[Plan, list[Axis]]:
    """The plan of all runs, and the arrays that differ from run to run."""
    if options.pop("every", None) is not None:
        raise ModelError("Many runs keep no steps between the times asked for", seen="every", remedy="leave every out")
    parameters, start = labelled(parameters), labelled(start)
    fixed_p, arrays_p = _parted(parameters)
    fixed_s, arrays_s = _parted(start)
    varied = _read_arrays({**arrays_p, **arrays_s})
    varied_p, varied_s = {name: varied[name] for name in arrays_p}, {name: varied[name] for name in arrays_s}
    axes = [Axis(name, False, values) for name, values in varied_p.items()]
    axes += [Axis(name, True, values) for name, values in varied_s.items()]
    task = read_task(
        model,
        start if start is not None and not isinstance(start, Mapping) else fixed_s | _examples(varied_s),
        span,
        parameters=parameters if varied_p == {} else fixed_p | _examples(varied_p),
        at=at,
        **options,
    )
    kept = [event.name for event in task.events if not event.terminal]
    if kept:
        raise ModelError(
            f"Many runs keep no zero crossings of an event such as `{kept[0]}`",
            remedy="make it terminal, or look at single runs with motion(index)",
        )
    if task.at is None or not len(task.at):
        task = replace(task, at=np.array([task.span[1]]))
    plan = Plan(task, tuple(task.start))
    _check_names(plan)
    return plan, axes


def _parted(given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values by name: those that are one for all runs, and the arrays."""
    fixed: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for name, value in by_name(given, "call").items() if isinstance(given, Mapping) else ():
        is_array = isinstance(value, (list, tuple)) or getattr(value, "ndim", False)
        (arrays if is_array else fixed)[name] = value
    return fixed, arrays


def _read_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of numbers, in one order where they have labels."""
    varied: dict[str, Any] = {}
    for name, value in aligned(arrays).items():
        try:
            varied[name] = real_array(value)
        except (TypeError, ValueError):
            raise ModelError(
                f"The values of `{name}` must be numbers", seen=str(value)[:60], remedy="give real numbers"
            ) from None
    return varied


def _examples(varied: Mapping[str, Any]) -> dict[str, float]:
    """One finite value of each array."""
    return {name: float(next(iter(values[np.isfinite(values)]), 1.0)) for name, values in varied.items()}


def _check_names(plan: Plan) -> None:
    """Refuse starts of symbols that the state does not have, once and not for every run."""
    known = start_names(plan.start_kernel.equations)
    known += own_symbols(plan.task.equations, (s.name for s in plan.task.equations.state))
    for name in plan.given:
        if name not in known:
            near = nearest(name, known)
            raise StartError(
                f"The start names `{name}`, which is no part of the state",
                seen=", ".join(known),
                remedy=f"did you mean {near}" if near else "use one of these names",
            )


def flat_values(plan: Plan, axes: Sequence[Axis], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Parameters (k, n_par) and start values (k, n_given) of all runs, in the order of their axes."""
    count = math.prod(shape)
    symbols = {symbol.name: symbol for symbol in plan.task.equations.system.parameters}
    names = list(symbols)
    p = np.tile(np.asarray(plan.task.parameters, dtype=float), (count, 1))
    v = np.tile(np.array([_number(name, value) for name, value in plan.task.start.items()], dtype=float), (count, 1))
    for axis in axes:
        if axis.name in symbols and not axis.is_start:
            check_sign(symbols[axis.name], axis.values)
        target, places = (v, plan.given) if axis.is_start else (p, names)
        target[:, list(places).index(axis.name)] = np.broadcast_to(axis.values, shape).ravel()
    return p, v


def _number(name: str, value: Any) -> float:
    number = real_number(value)
    if math.isnan(number):
        fault = f"The start of `{name}` must be a finite number"
        raise StartError(fault, seen=shortened(value), remedy="give it a number")
    return number


# -- threads -----------------------------------------------------------------------------------------------------------


def thread_count(workers: int | None) -> int:
    """How many threads to use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (isinstance(workers, int) and workers >= 1):
        raise ModelError("workers must be a whole number, at least 1", seen=workers, remedy="leave it out, or pass workers=4")
    return workers


def run_all(plan: Plan, parameters: Any, values: Any, workers: int | None, progress: Any) -> Results:
    """All runs in threads, chunk by chunk. Ctrl-C ends the runs under way and leaves the others."""
    count, threads = len(parameters), thread_count(workers)
    largest = LARGEST_OF_LANES if plan.task.method == "taylor" else LARGEST_CHUNK
    size = max(1, min(largest, math.ceil(count / (8 * threads))))
    stopped = threading.Event()
    plan.prepare()
    whole = empty_results(plan, count)
    with ThreadPoolExecutor(threads, thread_name_prefix="dalembert") as pool:
        pending = {}
        for first in range(0, count, size):
            here = slice(first, min(first + size, count))
            pending[pool.submit(run_chunk, plan, parameters[here], values[here], stopped.is_set)] = here
        done = 0
        while pending:
            try:
                finished, _ = wait(pending, timeout=0.5, return_when="FIRST_COMPLETED")
                for future in finished:
                    put(whole, pending[future], future.result())
                    del pending[future]  # after it: Ctrl-C may come between the two
                    done += future.result().made
                    if progress is not None:
                        progress(done / count, done)
            except KeyboardInterrupt:
                stopped.set()
            except BaseException:
                stopped.set()
                raise
    return whole


def empty_results(plan: Plan, count: int) -> Results:
    """Results of runs that have not been made."""
    nt, n = len(plan.times), len(plan.symbols)
    return Results(
        states=np.full((count, nt, n), np.nan),
        codes=np.full(count, NOT_RUN, np.int8),
        messages=[""] * count,
        steps=np.zeros(count, np.int64),
        drift=np.full(count, np.nan),
        starts=np.full((count, n), np.nan),
    )


def put(whole: Results, here: Any, part: Results) -> None:
    """Enter the results of a chunk at its places, a slice or an array of int."""
    whole.states[here], whole.codes[here], whole.steps[here] = part.states, part.codes, part.steps
    whole.drift[here], whole.starts[here] = part.drift, part.starts
    places = range(here.start, here.stop) if isinstance(here, slice) else here
    for place, message in zip(places, part.messages, strict=True):
        whole.messages[place] = message
