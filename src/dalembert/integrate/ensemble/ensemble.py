"""Many runs of one system: arrays of parameters and starts in, one table of states out."""

from __future__ import annotations

import errno
import math
import os
import shutil
import time as clock
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError, ModelError, nearest, warn_renamed
from ...model.io.atomic_file import place_beside, write_whole
from ...model.names import shortened
from ...model.read_only import ReadOnlyArrays, read_only
from ...typing import Array, Samples, Start, Symbol
from ..methods.automatic import suited_to_many
from ..motion import Motion
from ..options import RunOptions
from ..outcome import Outcome
from ..storage.file_image import file_image
from ..task import Task, run_task
from .chunks import CODE, NOT_RUN, OUTCOMES, SUCCESS, RunPlan
from .plan_reader import described, flat_values, read_plan
from .run_table import Table, laid_out
from .threads import run_all

if TYPE_CHECKING:
    import xarray

    from ..options import Model
    from .store import StoredArray

__all__ = ["Ensemble", "ensemble_of"]


@dataclass(frozen=True)
class RunInputs:
    """Makes one of many runs again, with all its steps; unlike a closure it can be pickled."""

    task: Task
    given: tuple[str, ...]
    parameters: Any
    values: Any

    @classmethod
    def of(cls, plan: RunPlan, parameters: Array, values: Array) -> RunInputs:
        """The runs of a plan, with parameters (k, n_par) and start values (k, n_given)."""
        return cls(replace(plan.task, at=None, progress=None), plan.given, parameters, values)

    def __call__(self, place: int) -> Motion:
        start = dict(zip(self.given, self.values[place], strict=True))
        return run_task(
            replace(self.task, parameters=self.parameters[place], start=start, run=place)
        )


@dataclass(frozen=True, repr=False, eq=False)
class Ensemble(ReadOnlyArrays):
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
        How a run ended that did not finish, and diagnostics on one that did, as a motion has them
        behind its first sentence: rows of constraints that were left out, digits that may be lost.
        Empty where there is nothing to say.
    diagnostics : array (\\*shape) of str
        What limits the accuracy of a run.
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
    >>> runs = da.simulate(
    ...     oscillator, {x: 1.0}, (0, np.pi), parameters={k: np.array([1.0, 4.0, 9.0])}
    ... )
    >>> runs.final["x"].round(9).tolist()
    [-1.0, 1.0, -1.0]
    """

    table: Table
    columns: Mapping[str, NDArray[Any] | StoredArray] = field(repr=False)
    statistics: dict[str, Any]
    _rerun: Callable[[int], Motion] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __deepcopy__(self, _: object) -> Ensemble:
        return replace(self, statistics=deepcopy(self.statistics))

    @cached_property
    def states(self) -> Array:
        """All states, (\\*shape, nt, n)."""
        return read_only(
            np.stack([self.columns[name][...] for name in self.table.symbols], axis=-1)
        )

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        """How each run ended as a number, (\\*shape)."""
        return self._own("outcome")

    @cached_property
    def messages(self) -> NDArray[np.object_]:
        r"""Terminations of unfinished runs, and diagnostics of finished ones, (\*shape) of str."""
        return read_only(self._own("message").astype(object))

    @cached_property
    def diagnostics(self) -> NDArray[np.object_]:
        r"""What limits the accuracy of each run, (\*shape) of str."""
        if self.table.own_names["diagnostics"] in self.columns:
            return read_only(self._own("diagnostics").astype(object))
        # In stores of earlier versions: a sweep has no events, so that messages of successful runs
        # are diagnostics.
        is_finished = self.codes == CODE[Outcome.FINISHED]
        return read_only(np.where(is_finished, self.messages, "").astype(object))

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
        r"""A state symbol or an output, (\*shape, nt), or a value that differs from run to run."""
        key = getattr(name, "name", name)
        if key in self.table.symbols or key in self.table.outputs:
            return read_only(self.columns[key][...])
        if key == "t":
            return self.t
        if key in self.table.coordinates:
            dims, values = self.table.coordinates[key]
            places = [slice(None) if d in dims else None for d in self.table.dims]
            return np.broadcast_to(np.asarray(values)[tuple(places)], self.shape)
        known = [*self.table.symbols, *self.table.outputs, *self.table.coordinates, "t"]
        near = nearest(str(key), known)
        raise ModelError(
            f"The ensemble has no `{key}`",
            seen=", ".join(known),
            remedy=f"did you mean {near}" if near else "use one of these",
        )

    @property
    def final(self) -> dict[str, Array]:
        """The last state and outputs of every run by name, (\\*shape) each."""
        first, last = self.statistics["span"]
        place = int(np.argmax(self.t) if last >= first else np.argmin(self.t))
        names = (*self.table.symbols, *self.table.outputs)
        return {name: read_only(self.columns[name][..., place]) for name in names}

    @cached_property
    def outcomes(self) -> NDArray[np.object_]:
        """How each run ended, (\\*shape) of str."""
        return read_only(np.array([*OUTCOMES, "not run"], dtype=object)[self.codes])

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which runs were made and did not reach their end, (\\*shape) of bool."""
        failed: NDArray[np.bool_] = (self.codes != NOT_RUN) & ~np.isin(self.codes, SUCCESS)
        return failed

    @property
    def remarked(self) -> NDArray[np.bool_]:
        """The old name of `has_diagnostics`."""
        warn_renamed("Ensemble.remarked", "has_diagnostics")
        return self.has_diagnostics

    @cached_property
    def has_diagnostics(self) -> NDArray[np.bool_]:
        r"""Which runs succeeded with a diagnostic, (\*shape) of bool."""
        return read_only(np.isin(self.codes, SUCCESS) & (self.diagnostics != "").astype(bool))

    @property
    def diagnostic(self) -> str:
        """How many runs have diagnostics, with the first of them; empty where there is none.

        >>> import dalembert as da
        >>> x = da.coordinates("x")
        >>> ball = da.System(coordinates=[x], kinetic=x.dot**2/2)
        >>> print(da.simulate(ball, {x: [1.0, 1e-12]}, (0, 1)).diagnostic[:43])
        1 of 2 runs has diagnostics, e.g. run (1,):
        """
        count = int(np.count_nonzero(self.has_diagnostics))
        before = self.statistics.get("runs_without_diagnostics", 0)
        found = []
        if before:
            found.append(
                f"diagnostics were not kept for the {before} runs that an earlier version stored"
            )
        if count:
            first = tuple(int(k) for k in np.argwhere(self.has_diagnostics)[0])
            said = f"{count} of {len(self)} runs {'has' if count == 1 else 'have'} diagnostics"
            found.append(f"{said}, e.g. run {first}: {self.diagnostics[first]}")
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
        return dict(
            sorted((names[code], int(count)) for code, count in zip(codes, counts, strict=True))
        )

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        counted = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        diagnostic = f"; {self.diagnostic}" if self.diagnostic else ""
        return (
            f"<Ensemble of {len(self)} runs ({shape}) of"
            f" {self.statistics.get('system', 'a system')}: {counted}{diagnostic}>"
        )

    def motion(self, index: int | tuple[int, ...]) -> Motion:
        """One of the runs again, as a motion with all its steps."""
        try:
            place = int(
                np.ravel_multi_index(index if isinstance(index, tuple) else (index,), self.shape)
            )
        except (ValueError, TypeError):
            raise ModelError(
                "The ensemble has no run at this place",
                seen=index,
                remedy=f"give one index for each of {self.shape}",
            ) from None
        if self._rerun is None:
            raise ModelError(
                "The ensemble does not know its model",
                remedy="open it with da.sweep(..., resume=True)",
            )
        return self._rerun(place)

    def to_xarray(self) -> xarray.Dataset:
        """The runs as an `xarray.Dataset`: states, outcomes, messages, steps, energy drift."""
        import xarray as xr

        table, own = self.table, self.table.own_names
        found: dict[str, Any] = {
            name: self[name].copy() for name in (*table.symbols, *table.outputs)
        }
        found |= {own["steps"]: self.steps.copy(), own["energy_drift"]: self.energy_drift.copy()}
        found |= {own["message"]: self.messages.copy(), own["outcome"]: self.codes.copy()}
        found[own["diagnostics"]] = self.diagnostics.copy()
        variables = {
            name: (v.dims, found[name], v.attributes) for name, v in table.variables.items()
        }
        return xr.Dataset(
            variables,
            coords={own["time"]: self.t.copy(), **table.coordinates},
            attrs=dict(table.attributes),
        )

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
                    f"The runs cannot be saved as {shortened(str(target))}",
                    remedy="name a file that ends in .nc or .zarr",
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
            with (
                warnings.catch_warnings()
            ):  # that other programs may not read the copy of the metadata; they need not
                warnings.simplefilter("ignore")
                self.to_xarray().to_zarr(scratch, mode="w-", consolidated=True)
            os.rename(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def ensemble_of(
    model: Model,
    start: Start | Samples | None = None,
    span: Sequence[float] | None = None,
    options: RunOptions | None = None,
    workers: int | None = None,
) -> Ensemble:
    """The runs of `simulate` if a start or a parameter is an array; one run if none is."""
    options = options or RunOptions()
    if options.adapt is not None:
        raise ModelError(
            "Many runs at once take equal steps",
            seen="adapt",
            remedy="leave adapt out, or run them one by one",
        )
    plan, axes = read_plan(model, start, span, options)
    shape, dims, coordinates = laid_out(axes)
    plan = replace(plan, task=suited_to_many(plan.task, math.prod(shape)))
    p, v = flat_values(plan, axes, shape)
    began = clock.perf_counter()
    results = run_all(plan, p, v, workers, options.progress)
    statistics = described(plan) | {"wall_seconds": clock.perf_counter() - began}
    table = Table(dims, shape, coordinates, plan.times, plan.symbols, described(plan))
    return Ensemble(table, table.columns(results, shape), statistics, RunInputs.of(plan, p, v))
