"""Motions as tables and as files.

A saved motion is a netCDF file. Its root group is what `to_xarray` gives: everything over time, for
any program that reads netCDF. A group "dalembert" beside it keeps what only we need: every step,
the events, and one record with the model, so that `load` gives back a motion that can do all that
the first one could, dense output included.
"""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._version import __version__
from ...errors import DalembertError, FileError, MissingExtraError, ModelError
from ...model.io.atomic_file import write_whole
from ...model.io.files import dumps
from ...model.names import shortened
from ...model.scenario import Scenario
from ...typing import Array, Path
from ..energy_columns import MEANINGS
from ..reactions import refuse_too_many
from .file_image import file_image, opened, sealed

if TYPE_CHECKING:
    import pandas
    import xarray

    from ..motion import Motion

__all__ = ["load", "save", "scenario_of", "to_dataframe", "to_xarray"]

#: The group for ourselves, and the version of what it holds.
GROUP, FORMAT = "dalembert", 3
#: HDF5 keeps no attribute beyond 64 kB.
LONGEST_ATTRIBUTE = 30_000


def scenario_of(motion: Motion) -> Scenario:
    """The scenario that repeats a motion: its driven system, its parameters and its start."""
    statistics = motion.statistics
    known_options = ("rtol", "form", "method", "step", "every", "adapt")
    if "start_density" in statistics:
        raise ModelError(
            "A run whose steps went on from another run is no scenario",
            seen=f"density {statistics['start_density']:g} at its start",
            remedy="run it without a density",
        )
    options: dict[str, Any] = {key: statistics[key] for key in known_options if key in statistics}
    span = statistics.get("span") or (motion.segments[0].step_t[0], motion.segments[-1].step_t[-1])
    if span[0] != span[1]:
        options = {"span": (float(span[0]), float(span[1]))} | options
    known = motion.scenario
    return Scenario(
        motion.system,
        parameters=dict(motion.parameters),
        start=_start_of(motion),
        simulate=options,
        source=known.source if known else "",
        summary=known.summary if known else "",
        drawing=known.drawing if known else None,
    )


def _start_of(motion: Motion) -> dict[str, float]:
    """The start in the model's symbols; velocities replace symbols of the form, as of a frame."""
    system, first = motion.system, motion.segments[0]
    speeds = system.image.speeds if system.image is not None else ()
    symbols = {s.name for s in (*system.coordinates, *system.velocities, *system.momenta, *speeds)}
    symbols |= {f"chi_{c.name}" for c in system.bilateral} | {
        f"xi_{q.name}" for q in system.coordinates
    }
    if symbols.issuperset(motion.start):
        return dict(motion.start)
    velocities = first.context.kernel.velocities(
        first.step_t[:1], first.step_y[:1], first.context.parameters
    )[0]
    known = {name: value for name, value in motion.start.items() if name in symbols}
    return known | {
        v.name: float(value) for v, value in zip(system.velocities, velocities, strict=True)
    }


def model_text(motion: Motion) -> tuple[str, str]:
    """The model file of a motion, and a note on what it lacks."""
    from .stored_motion import input_note

    try:
        return dumps(scenario_of(motion), drawing=False), input_note(motion.system)
    except DalembertError as error:
        return "", f"The model cannot be written as a model file. {error}"


# -- tables ----------------------------------------------------------------------------------------


class _Layout:
    """Names of a dataset's variables: those of the motion as they are, and ours where free."""

    def __init__(self, motion: Motion) -> None:
        self.taken = {"t"}
        self.variables = {name: self._free(name) for name in motion.names if name != "t"}
        roles = ["reaction", "multiplier", "position_residual", "velocity_residual"]
        roles += ["coordinate", "constraint", "row", "holonomic", "bilateral"]
        self.roles = {role: self._free(role) for role in roles}

    def _free(self, name: str) -> str:
        found = name.replace("/", "_")
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return found


def to_xarray(motion: Motion) -> xarray.Dataset:
    """An `xarray.Dataset` over ``t``: quantities by name, reactions, residuals.

    Attributes hold the model, parameters, start, statistics (the last three as JSON), outcome and
    version.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> motion = da.simulate(
    ...     da.System(coordinates=[x], kinetic=x.dot**2 / 2), {x.dot: 2.0}, (0, 1), at=[0, 1]
    ... )
    >>> to_xarray(motion)["x"].values.round(12).tolist()
    [0.0, 2.0]
    """
    import xarray

    layout = _Layout(motion)
    data: dict[str, Any] = {
        variable: ("t", motion[name].copy(), _described(motion, name))
        for name, variable in layout.variables.items()
    }
    coordinates: dict[str, Any] = {"t": ("t", motion.t.copy())}
    roles = layout.roles

    def table(
        role: str, dimensions: Mapping[str, Iterable[str]], blocks: list[Any], about: str
    ) -> None:
        if blocks:
            data[roles[role]] = (
                (*(roles[d] for d in dimensions), "t"),
                np.array(blocks),
                {"long_name": about},
            )
            coordinates.update(
                {roles[d]: np.array(list(names), dtype=object) for d, names in dimensions.items()}
            )

    reactions, residuals = motion.reactions, motion.residuals
    refuse_too_many(len(reactions), len(motion.system.coordinates), len(motion.t))
    coordinate_names = [q.name for q in motion.system.coordinates]
    forces = [reaction.force for reaction in reactions.values()]
    table(
        "reaction",
        {"constraint": reactions, "coordinate": coordinate_names},
        forces,
        "generalised force",
    )
    multipliers = _multipliers(motion)
    table(
        "multiplier",
        {"row": multipliers},
        list(multipliers.values()),
        "multiplier mu of a constraint row",
    )
    about = "what is left of a constraint"
    table(
        "position_residual",
        {"holonomic": residuals.position},
        list(residuals.position.values()),
        about,
    )
    table(
        "velocity_residual",
        {"bilateral": residuals.velocity},
        list(residuals.velocity.values()),
        about,
    )
    return xarray.Dataset(data, coordinates, _attributes(motion))


def _multipliers(motion: Motion) -> dict[str, Array]:
    prefix = "multiplier "
    return {
        k.removeprefix(prefix): block[0]
        for k, block in motion._observed.items()
        if k.startswith(prefix)
    }


def _described(motion: Motion, name: str) -> dict[str, str]:
    if name == "energy":
        return {"long_name": "energy p . q_dot - L, or H"}
    if name in motion.columns.energy_names:
        return {"long_name": MEANINGS[name]}
    output = motion.system.outputs.get(name)
    return {"long_name": name if output is None else f"output {name} = {shortened(output, 200)}"}


def _attributes(motion: Motion) -> dict[str, str]:
    text, note = model_text(motion)
    scenario = motion.scenario
    about = {
        "title": motion.system.name,
        "source": scenario.source if scenario else "",
        "summary": scenario.summary if scenario else "",
        "form": motion.equations.form,
        "outcome": motion.outcome.value,
        "message": motion.message,
        "parameters": json.dumps(dict(motion.parameters)),
        "start": json.dumps(dict(motion.start)),
        "start_report": json.dumps(list(motion.start_report)),
        "statistics": json.dumps(motion.statistics),
        "model": text,
        "model_note": note,
        "dalembert_version": __version__,
    }
    return {key: value for key, value in about.items() if value}


def to_dataframe(motion: Motion) -> pandas.DataFrame:
    """A pandas `DataFrame` over ``t``: quantities, then "reaction <constraint> <coordinate>"."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("pandas", "pandas") from None
    columns = {name: motion[name] for name in motion.names if name != "t"}
    refuse_too_many(len(motion.reactions), len(motion.system.coordinates), len(motion.t))
    for name, reaction in motion.reactions.items():
        for q, force in zip(motion.system.coordinates, reaction.force, strict=True):
            columns[f"reaction {name} {q.name}"] = force
    return pandas.DataFrame(columns, index=pandas.Index(motion.t, name="t"))


# -- files -----------------------------------------------------------------------------------------


def save(motion: Motion, path: Path) -> None:
    """Write a motion as netCDF. The file appears under its name only when it is complete.

    Raises
    ------
    FileError
        Where it cannot be written.
    """
    target = pathlib.Path(path)
    shown = shortened(os.fspath(path), 100)
    if target.is_dir():
        raise FileError(
            f"The motion cannot be saved as {shown}, which is a folder", remedy="name a file in it"
        )
    if target.exists() and not target.is_file():
        raise FileError(
            f"The motion cannot be saved as {shown}, which is no plain file",
            remedy="name another file",
        )
    try:
        write_whole(target, sealed(_image(motion)))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(
            f"The motion cannot be saved as {shown}",
            seen=reason,
            remedy="check the folder and the disk, or save it elsewhere",
        ) from error


def _image(motion: Motion) -> bytes:
    """The netCDF file of a motion, made in memory, because HDF5 hangs on a full disk."""
    public, private = to_xarray(motion), _private(motion)
    for key, value in public.attrs.items():
        if len(value.encode()) > LONGEST_ATTRIBUTE:
            public.attrs[key] = f"too long for an attribute: see `record` in the group `{GROUP}`"
    return file_image({None: public, GROUP: private})


def _private(motion: Motion) -> xarray.Dataset:
    import xarray

    from .stored_drawing import drawing_record
    from .stored_options import options_record

    layout = _Layout(motion)
    text, note = model_text(motion)
    record = {
        "format": FORMAT,
        "version": __version__,
        "form": motion.equations.form,
        "options": options_record(motion.equations.options, motion.system),
        "state": [symbol.name for symbol in motion.state],
        "model": text,
        "model_note": note,
        "parameters": dict(motion.parameters),
        "start": dict(motion.start),
        "start_report": list(motion.start_report),
        "statistics": motion.statistics,
        "outcome": motion.outcome.value,
        "message": motion.message,
        "termination": {
            "sentence": motion.termination.sentence,
            "diagnostics": list(motion.diagnostics),
        },
        "modes": [list(segment.mode) for segment in motion.segments],
        "letters": [
            [symbol.name for symbol in segment.context.kernel.equations.state]
            for segment in motion.segments
        ],
        "charts": [list(segment.context.kernel.equations.chart) for segment in motion.segments],
        "steps": [len(segment.step_t) for segment in motion.segments],
        "interpolated": [segment.interpolated for segment in motion.segments],
        "impacts": [[float(time), name] for time, name in motion.impacts],
        "contact_changes": [[float(change.time), *change[1:]] for change in motion.modes],
        "switches": [[float(time), sentence] for time, sentence in motion.switches],
        "events": list(motion.event_names),
        "passages": [len(times) for times in motion.t_events],
        "variables": layout.variables,
        "roles": layout.roles,
        "reactions": list(motion.reactions),
        "drawing": drawing_record(motion),
        "call": {key: value for key, value in motion.call.items() if key != "at"},
    }
    asked = motion.call.get("at")
    size = len(record["state"])
    return xarray.Dataset(
        {
            "record": ((), np.array(json.dumps(record), dtype=object)),
            "step_t": ("step", np.concatenate([s.step_t for s in motion.segments])),
            "step_y": (("step", "letter_of_form"), _padded([s.step_y for s in motion.segments])),
            "owner": ("point", np.asarray(motion.owner, dtype=np.int64)),
            "passage_t": ("passage", np.concatenate([np.zeros(0), *motion.t_events])),
            "passage_y": (
                ("passage", "letter"),
                np.concatenate([np.zeros((0, size)), *motion.y_events]),
            ),
        }
        | ({} if asked is None else {"asked_t": ("asked", np.asarray(asked, dtype=float))})
    )


def _padded(blocks: list[Array]) -> Array:
    """States of all segments, (steps, most symbols), with nan if a form has fewer symbols."""
    width = max(block.shape[1] for block in blocks)
    return np.concatenate(
        [np.pad(b, ((0, 0), (0, width - b.shape[1])), constant_values=np.nan) for b in blocks]
    )


def load(path: Path) -> Motion:
    """Read a motion that `save` wrote.

    Raises
    ------
    FileError
        Where there is no such file, or it is damaged, or something else.
    """
    import h5py

    from .stored_arrays import StoredArrays, UnpackedBytes
    from .stored_motion import stored_motion

    shown = shortened(os.fspath(path), 100)
    if not pathlib.Path(path).exists():
        raise FileError(f"There is no file {shown}", remedy="check the path")
    if not pathlib.Path(path).is_file():
        raise FileError(f"{shown} is no plain file", remedy="name a file that Motion.save wrote")
    try:
        content, is_sealed = opened(path)
        with h5py.File(content, "r") as file:
            public = StoredArrays(file, UnpackedBytes(content.getbuffer().nbytes))
            return stored_motion(public, public.group(GROUP), is_sealed)
    except FileError:
        raise
    except DalembertError as error:
        raise FileError(
            f"The file {shown} holds a model that cannot be read", seen=error.what
        ) from error
    except Exception as error:  # a damaged file can fail anywhere, in any layer
        raise FileError(
            f"The file {shown} cannot be read as a motion",
            seen=shortened(f"{type(error).__name__}: {error}", 120),
            remedy="name a file that Motion.save wrote",
        ) from error
