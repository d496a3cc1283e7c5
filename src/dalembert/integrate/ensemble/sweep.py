"""Sweeps: a grid or a list of runs, in threads or on a cluster, into a persistent store."""

from __future__ import annotations

import hashlib
import math
import threading
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...errors import ModelError, nearest
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.labels import aligned
from ...model.names import shortened
from ...model.scenario import Scenario
from ...model.symbols import by_name, name_of
from ...model.values import numbers_by_name, real_array, used_parameters
from ...typing import Array, ArrayLike, BySymbol, IntArray, Progress, Span, Start, Values
from ..options import MethodOptions
from ..segment import even_places
from ..start_symbols import fibre_velocities
from .chunks import Results, RunPlan, run_chunk
from .ensemble import Ensemble, RunInputs
from .indicators import Indicators
from .plan_reader import described, flat_values
from .run_table import SweepAxis, Table, laid_out
from .store import RunBlocks, SweepStore, check_path
from .sweep_plan import Order, order_of, order_with, plan_of, suited_order, system_of
from .threads import thread_count

if TYPE_CHECKING:
    from ...formulations.equations import Equations
    from ...model.scenario import Scenario
    from ..options import Model

__all__ = ["latin_hypercube", "sweep"]

#: What handing out a block and keeping its results may cost, as a share of the work in it.
OVERHEAD = 0.03
#: Seconds to submit a block, and to write one of its arrays (benchmarks/sweep_cluster.py).
HANDING_SECONDS, WRITING_SECONDS = 0.03, 0.002
#: Most seconds of a block, where possible, and the most numbers it holds in memory.
LONGEST_BLOCK, LARGEST_BLOCK = 20.0, 8_000_000
#: How many runs are timed to fit the blocks.
TIMED = 12


def sweep(
    model: Model,
    over: BySymbol[ArrayLike],
    *,
    start: Values | None = None,
    parameters: Values | None = None,
    inputs: Values | None = None,
    span: Span | None = None,
    at: ArrayLike | None = None,
    paired: bool = False,
    sample: int | None = None,
    seed: int = 0,
    store: Path | None = None,
    resume: bool = False,
    workers: int | None = None,
    client: object = None,
    scheduler: str | None = None,
    chunk: int | None = None,
    progress: Callable[[float, float], None] | None = None,
    derived: Iterable[SweepAxis] = (),
    indicators: str | Iterable[str] | None = None,
    **options: Unpack[MethodOptions],
) -> Ensemble:
    """Simulate a system over a grid, a list or a sample of parameters and starts.

    Parameters
    ----------
    model : System, Flow, Scenario
    over : mapping of symbol or name to values
        Every combination of the values is a run. With `paired` the k-th values of all belong to the
        k-th run. With `sample` each has two values, between which a Latin hypercube of so many runs
        is drawn from `seed`.
    start, parameters : mapping of symbol or name to value
        What is the same for all runs.
    inputs : mapping of symbol or name to expression
        Laws of inputs in SymPy; their parameters, such as the frequency of a drive, may be swept.
    span, at : as in `simulate`; `at` is the last time by default
    store : path
        A Zarr store for the runs, which `xarray.open_zarr` reads at any time. Default: in memory.
    resume : bool
        Whether to go on with a store that exists; it must have been made by the same call.
    workers, client, scheduler : int, distributed.Client, str
        Threads (one per processor by default), or a Dask cluster, or the address of its scheduler.
    chunk : int
        Runs in a block, which is handed out and stored as one; fitted to their time by default.
    progress : callable
        Called after each block with the fraction of the runs that are done, and their number.
    derived : arrays that follow from the others
    indicators : names of chaos indicators, kept beside the states at the same times: exponent, fli,
        megno, mean_megno, sali, gali2, ... (`dalembert.analysis.chaos_indicators`); `seed` draws
        the directions in which deviations begin
    options : form, method, rtol, atol, step, project, project_start, max_step, first_step,
        max_steps of `simulate`

    Returns
    -------
    Ensemble
        The same bits whatever the workers and the blocks; after Ctrl-C with what was done.

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> grid = {"m": np.linspace(0.5, 2, 3), "theta": np.linspace(0.1, 0.4, 4)}
    >>> runs = da.sweep(da.gallery.load("rolling-disk"), over=grid, span=(0, 0.5))
    >>> runs.table.dims, runs.shape, runs.success
    (('m', 'theta_start'), (3, 4), True)
    """
    if client is not None and scheduler is not None:
        raise ModelError(
            "A sweep runs on one cluster", seen="client and scheduler", remedy="pass one of them"
        )
    model = _driven(model, inputs)
    system_of(model)
    path = None if store is None else Path(store)
    if path is not None:
        check_path(path, resume)
    named = by_name(over, "grid of a sweep")
    is_single = indicators is not None and not named
    axes = [] if is_single else [*_axes(model, named, paired, sample, seed), *derived]
    order = _ordered(model, axes, start, parameters, span, at, options)
    if indicators is not None:
        order = order_with(order, Indicators.read(indicators, seed))
    order = suited_order(order, math.prod(laid_out(list(axes))[0]))
    work = _Work(plan_of(order), order, axes, workers, progress)
    kept, done = _opened(path, work, axes, chunk, client is not None or scheduler is not None)
    return _executed(work, kept, done, client, scheduler)


def _executed(
    work: _Work, kept: InMemory, done: set[int], client: object, scheduler: str | None
) -> Ensemble:
    """Make the blocks that are missing, in threads or on a cluster."""
    with closing(kept):
        began, before = clock.perf_counter(), kept.runs_done
        if client is not None or scheduler is not None:
            from .cluster import run_on_cluster

            finished = run_on_cluster(work, kept, done, client, scheduler)
        else:
            finished = run_in_threads(work, kept, done)
        statistics = described(work.plan) | {
            "wall_seconds": clock.perf_counter() - began,
            "interrupted": not finished,
            "blocks": len(kept.blocks),
            "block": math.prod(kept.blocks.size),
            "runs_before": before,
            "cpu_seconds": kept.cpu_seconds,
        }
        if kept.store is not None and not kept.store.has_diagnostics:
            statistics["runs_without_diagnostics"] = before
        return kept.ensemble(work, statistics)


def latin_hypercube(
    bounds: Mapping[str, Sequence[float]], count: int, seed: int = 0
) -> dict[str, Array]:
    """Sample `count` values of every name, one per interval (McKay, Beckman and Conover 1979).

    >>> drawn = latin_hypercube({"m": (1, 2)}, 4)["m"]
    >>> sorted((4 * (drawn - 1)).astype(int).tolist())
    [0, 1, 2, 3]
    """
    from scipy.stats import qmc

    for name, pair in bounds.items():
        if np.shape(pair) != (2,):
            raise ModelError(
                f"A sample of `{name}` needs two bounds",
                seen=str(pair)[:60],
                remedy="give (low, high)",
            )
    drawn = qmc.LatinHypercube(d=len(bounds), seed=seed).random(count)
    return {
        name: low + (high - low) * drawn[:, k]
        for k, (name, (low, high)) in enumerate(bounds.items())
    }


# -- reading ---------------------------------------------------------------------------------------


def _driven(model: Model, inputs: Values | None) -> Model:
    """The model with laws for its inputs, which are then part of it."""
    if not inputs:
        return model
    functions = [name_of(key) for key, law in inputs.items() if callable(law)]
    if functions:
        raise ModelError(
            f"The input `{functions[0]}` of a sweep must be an expression",
            seen="a Python function",
            remedy=(
                "write it in SymPy, such as u0*sin(w*da.t), or use simulate with arrays in one"
                " process"
            ),
        )
    system = system_of(model).driven(dict(inputs.items()))
    if isinstance(model, Scenario):
        return model.replacing(system=system)
    return derive(system, model.form) if isinstance(model, Equations) else system


def _axes(
    model: Model,
    over: Mapping[str, Any],
    paired: bool,
    sample: int | None,
    seed: int,
) -> list[SweepAxis]:
    """The arrays of a sweep, shaped so that they broadcast to its runs."""
    if not over:
        raise ModelError(
            "A sweep needs something to vary", seen="over = {}", remedy="pass over={'m': [1, 2, 3]}"
        )
    if sample is not None:
        if paired or not (isinstance(sample, int) and sample >= 1):
            raise ModelError(
                "sample is a number of runs, without paired",
                seen=sample,
                remedy="pass sample=1000, seed=0",
            )
        over, paired = latin_hypercube(over, sample, seed), True
    over = aligned(over) if paired else over
    starts, columns = {name: _is_start(model, name) for name in over}, {}
    for name, values in over.items():
        try:
            columns[name] = np.atleast_1d(real_array(values))
        except (TypeError, ValueError):
            raise ModelError(
                f"The values of `{name}` must be numbers",
                seen=str(values)[:60],
                remedy="give real numbers",
            ) from None
        if columns[name].ndim != 1:
            raise ModelError(
                f"The values of `{name}` must form one row", seen=f"shape {columns[name].shape}"
            )
    if paired:
        return [SweepAxis(name, starts[name], values) for name, values in columns.items()]
    count = len(columns)
    return [
        SweepAxis(name, starts[name], values.reshape([-1 if j == k else 1 for j in range(count)]))
        for k, (name, values) in enumerate(columns.items())
    ]


def _is_start(model: Model, name: str) -> bool:
    """Whether a name is a start symbol; an error if it is neither that nor a parameter."""
    system = getattr(model, "system", model)
    parameters = [symbol.name for symbol in getattr(system, "parameters", ())]
    if name in parameters:
        return False
    symbols = [
        s.name
        for group in ("coordinates", "velocities", "momenta")
        for s in getattr(system, group, ())
    ]
    symbols += [symbol.name for symbol in getattr(getattr(system, "image", None), "speeds", ())]
    symbols += [symbol.name for symbol in fibre_velocities(system)]
    symbols += [f"chi_{constraint.name}" for constraint in getattr(system, "constraints", ())]
    symbols += [f"xi_{q.name}" for q in getattr(system, "coordinates", ())]
    if name in symbols or (isinstance(model, Scenario) and name in model.start):
        return True
    near = nearest(name, [*parameters, *symbols])
    raise ModelError(
        f"{shortened(name)} is neither a parameter nor a start value",
        seen=f"parameters {', '.join(parameters) or 'none'}",
        remedy=(
            f"did you mean {near}"
            if near
            else "name parameters, coordinates, velocities or momenta"
        ),
    )


def _ordered(
    model: Model,
    axes: Sequence[SweepAxis],
    start: Start | None,
    parameters: Values | None,
    span: Span | None,
    at: ArrayLike | None,
    options: Mapping[str, object],
) -> Order:
    """The order of a sweep, in which every value that is swept has one of its values."""
    given = numbers_by_name(start)
    fixed = used_parameters(
        numbers_by_name(parameters), [symbol.name for symbol in system_of(model).parameters]
    )
    for axis in axes:
        values = axis.values[np.isfinite(axis.values)]
        (given if axis.is_start else fixed)[axis.name] = float(values[0]) if values.size else 1.0
    if isinstance(model, Scenario):
        references = {q.dot.name: q.momentum.name for q in model.system.coordinates}
        references |= {momentum: velocity for velocity, momentum in references.items()}
        replaced = {references.get(name) for name in given}
        kept = {
            name: value
            for name, value in model.start.items()
            if name in given or name not in replaced
        }
        model = model.replacing(start=kept)
    return order_of(model, given, fixed, span, at, options)


# -- what is to be done, and where it is kept ------------------------------------------------------


class _Work:
    """All runs of a sweep."""

    def __init__(
        self,
        plan: RunPlan,
        order: Order,
        axes: Sequence[SweepAxis],
        workers: int | None,
        progress: Progress | None,
    ) -> None:
        shape, dims, coordinates = laid_out(list(axes))
        self.plan, self.order = plan, order
        common = (plan.times, plan.symbols, described(plan))
        self.table = Table(dims, shape, coordinates, *common, outputs=plan.outputs)
        self.parameters, self.values = flat_values(plan, axes, shape)
        self.threads, self.progress = thread_count(workers), progress
        self.count = len(self.parameters)

    def identity(self, axes: Sequence[SweepAxis]) -> dict[str, str]:
        """What a store of this sweep is made from."""
        digest = hashlib.sha256(repr([(axis.label, axis.values.shape) for axis in axes]).encode())
        for axis in axes:
            digest.update(np.ascontiguousarray(axis.values).tobytes())
        return {**self.order.identity, "grid": digest.hexdigest()}

    def part(self, places: IntArray) -> tuple[Array, Array]:
        """Parameters and start values of some runs."""
        return self.parameters[places], self.values[places]

    def fitted(self, on_cluster: bool, is_stored: bool) -> int:
        """How many runs a block should have, from the time that a few of them take."""
        places = even_places(self.count, TIMED)
        run_chunk(self.plan, *self.part(places[:1]))
        each = max(run_chunk(self.plan, *self.part(places)).cpu_seconds / len(places), 1e-6)
        cost = (
            HANDING_SECONDS * on_cluster + WRITING_SECONDS * len(self.table.variables) * is_stored
        )
        fitting = max(cost / OVERHEAD, 0.1) / each
        numbers = len(self.table.times) * len(self.table.symbols)
        most = min(
            LONGEST_BLOCK / each, LARGEST_BLOCK / max(1, numbers), self.count / max(1, self.threads)
        )
        return max(1, math.ceil(min(fitting, most)))


class InMemory:
    """Where the runs of a sweep are kept; with a store also there."""

    def __init__(self, work: _Work, blocks: RunBlocks, store: SweepStore | None) -> None:
        self.blocks, self.store = blocks, store
        self.whole = Results.empty(work.plan, 0 if store else work.count)
        self.runs_done, self.cpu_seconds = 0, 0.0
        self._counted: set[int] = set()

    def keep(self, number: int, results: Results) -> None:
        """Keep the runs of a block; they count once, and only those that were made and stored."""
        if self.store is None:
            self.whole.put(self.blocks.places(number), results)
        elif not self.store.write(number, results):
            return
        if number not in self._counted:
            self._counted.add(number)
            self.runs_done += results.made
            self.cpu_seconds += results.cpu_seconds

    def close(self) -> None:
        """Let go of the store."""
        if self.store is not None:
            self.store.close()

    def ensemble(self, work: _Work, statistics: dict[str, Any]) -> Ensemble:
        """All runs."""
        table, plan = work.table, work.plan
        columns = (
            table.columns(self.whole, table.shape) if self.store is None else self.store.columns()
        )
        return Ensemble(
            table, columns, statistics, RunInputs.of(plan, work.parameters, work.values)
        )


def _opened(
    path: Path | None, work: _Work, axes: Sequence[SweepAxis], chunk: int | None, on_cluster: bool
) -> tuple[InMemory, set[int]]:
    """Where the runs go, and the blocks that are there already."""
    if chunk is not None and not (isinstance(chunk, int) and chunk >= 1):
        raise ModelError(
            "chunk must be a number of runs, at least 1", seen=chunk, remedy="leave it out"
        )
    identity = work.identity(axes)
    if path is not None and path.exists():
        store = SweepStore.open(path, work.table, identity)
        done = store.done()
        kept = InMemory(work, store.blocks, store)
        kept.runs_done = sum(len(store.blocks.places(number)) for number in done)
        return kept, done
    blocks = RunBlocks.of(work.table.shape, chunk or work.fitted(on_cluster, path is not None))
    return (
        InMemory(
            work,
            blocks,
            None if path is None else SweepStore.create(path, work.table, blocks, identity),
        ),
        set(),
    )


def run_in_threads(work: _Work, kept: InMemory, done: set[int]) -> bool:
    """Make the blocks that are missing, in threads; False where Ctrl-C came before the end."""
    stopped = threading.Event()
    todo = (number for number in kept.blocks if number not in done)
    with ThreadPoolExecutor(work.threads, thread_name_prefix="dalembert") as pool:
        pending: dict[Any, int] = {}
        while True:
            try:
                while len(pending) < 2 * work.threads and not stopped.is_set():
                    number = next(todo, None)
                    if number is None:
                        break
                    parameters, values = work.part(kept.blocks.places(number))
                    pending[
                        pool.submit(run_chunk, work.plan, parameters, values, stopped.is_set)
                    ] = number
                if not pending:
                    return not stopped.is_set()
                finished, _ = wait(pending, timeout=0.5, return_when="FIRST_COMPLETED")
                for future in finished:
                    kept.keep(pending[future], future.result())
                    del pending[future]
                    if work.progress is not None:
                        work.progress(kept.runs_done / work.count, kept.runs_done)
            except KeyboardInterrupt:
                stopped.set()
            except BaseException:
                stopped.set()
                raise
