"""Units of the Functional Mock-up Interface for co-simulation.

A unit is a zip file with ``modelDescription.xml``, its sources, and a shared library for the
platform that it was made on where there is a C compiler.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError, ModelError, RunError
from ..formulations.equations import Equations
from ..formulations.registry import derive
from ..model.io.atomic_file import replaced_whole
from ..model.io.plain_file import program_path
from ..model.symbols import name_of
from ..typing import ArrayLike, Parameters, Span, Start, Symbol
from .c_file import c_source_of
from .c_model import CModel, c_model
from .export_task import read_export
from .fmi2_text import fmi2_text
from .fmi3_text import fmi3_text
from .fmu_description import build_description, instantiation_token, model_description
from .fmu_variables import unit_variables

__all__ = ["Unit", "export_fmu"]

#: Versions of the interface, and what writes their functions.
VERSIONS = {"2.0": fmi2_text, "3.0": fmi3_text}
#: When files in a unit say they were written: the same unit is the same bytes.
_WRITTEN = (2000, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Unit:
    """A unit that was written.

    Attributes
    ----------
    path : Path
    name : str
        Its model identifier.
    version : str
        Of the interface.
    platforms : tuple of str
        Those that it has a shared library for; without any it is a source unit, which the importing
        tool compiles.
    """

    path: Path
    name: str
    version: str
    platforms: tuple[str, ...]

    def __str__(self) -> str:
        built = "source code only: no C compiler was found or asked for"
        if self.platforms:
            built = f"built for {', '.join(self.platforms)}"
        return f"{self.path} (FMI {self.version} for co-simulation, {built})"


def export_fmu(
    equations: Equations,
    path: str | os.PathLike[str],
    version: str = "2.0",
    *,
    name: str | None = None,
    parameters: Parameters | None = None,
    start: Start | None = None,
    inputs: Iterable[Symbol] = (),
    span: Span | None = None,
    rtol: float = 1e-10,
    atol: ArrayLike | None = None,
    step: float | None = None,
    binary: bool | None = None,
) -> Unit:
    """Write a unit; see `Equations.to_fmu`."""
    if version not in VERSIONS:
        what = f"There is no FMI version {version!s:.20} here"
        raise ModelError(what, ", ".join(VERSIONS), "choose one of these")
    if isinstance(inputs, Mapping):
        raise ModelError(
            "The inputs of a unit are driven from outside",
            f"values for {', '.join(name_of(key) for key in inputs)}",
            "name the inputs, inputs=[...]; impose expressions by system.driven({...})",
        )
    released = _released(equations, list(inputs))
    values = parameters if parameters is not None else {}
    task = read_export(released, values, start or {}, span, rtol, atol, step)
    model = c_model(task, name)
    sources, token = _sources(model, version)
    compiled = sorted(word for word in sources if word.endswith(".c"))
    listed = unit_variables(model)
    files = {"modelDescription.xml": model_description(model, listed, version, token, compiled)}
    files |= {f"sources/{word}": text for word, text in sources.items()}
    if version == "3.0":
        files["sources/buildDescription.xml"] = build_description(model, compiled)
    folder, library = _platform(version), _library(model.name)
    built = _built(sources, compiled, library, version, binary)
    libraries = {} if built is None else {f"binaries/{folder}/{library}": built}
    place = _written(Path(path), files, libraries)
    return Unit(place, model.name, version, () if built is None else (folder,))


def _released(equations: Equations, wanted: Sequence[Symbol]) -> Equations:
    """The equations with some inputs free that the system gives as expressions."""
    if not wanted:
        return equations
    system = equations.system.driven({name_of(key): None for key in wanted})
    return derive(system, equations.form, **equations.options)


def _sources(model: CModel, version: str) -> tuple[dict[str, str], str]:
    """The C files by name, and the token that the interface and the description share."""
    source = c_source_of(model)
    files = {f"{model.name}.h": source.header, f"{model.name}.c": source.source}
    write = VERSIONS[version]
    token = instantiation_token({**files, "interface": write(model, "")})
    return {**files, f"{model.name}_fmi{version[0]}.c": write(model, token)}, token


def _platform(version: str) -> str:
    """The folder of shared libraries for this machine."""
    systems = {"linux": "linux", "darwin": "darwin", "win32": "windows"}
    system, machine = systems.get(sys.platform, sys.platform), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    plain = f"{machine}-{system}"
    if version == "2.0" and machine == "x86_64":
        return {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}.get(system, plain)
    return plain


def _library(name: str) -> str:
    return name + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def _built(
    sources: Mapping[str, str], compiled: Sequence[str], library: str, version: str,
    wanted: bool | None,
) -> bytes | None:  # fmt: skip
    """The shared library, where there is a compiler."""
    if wanted is False:
        return None
    compiler = next(
        (found for word in ("cc", "gcc", "clang") if (found := program_path(word))), None
    )
    if compiler is None:
        if wanted:
            what = "A unit with a shared library needs a C compiler"
            raise ModelError(what, "no cc, gcc or clang", "install one, or pass binary=False")
        return None
    with tempfile.TemporaryDirectory() as folder:
        for word, text in sources.items():
            Path(folder, word).write_text(text, encoding="utf-8")
        options = ["-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
        options.append(f"-DFMI{version[0]}_OVERRIDE_FUNCTION_PREFIX")
        command = [compiler, *options, "-o", library, *compiled, "-lm"]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if run.returncode != 0:
            what, seen = "The C compiler did not build the unit", run.stderr.strip()[:300]
            raise RunError(what, seen, "pass binary=False for source code only")
        return Path(folder, library).read_bytes()


def _written(path: Path, texts: Mapping[str, str], libraries: Mapping[str, bytes]) -> Path:
    place = path if path.suffix == ".fmu" else path.with_name(f"{path.name}.fmu")
    contents = {**{name: text.encode() for name, text in texts.items()}, **libraries}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with (
            replaced_whole(place) as whole,
            zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for name, data in contents.items():
                entry = zipfile.ZipInfo(name, _WRITTEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name in libraries else 0o644) << 16
                archive.writestr(entry, data)
    except OSError as error:
        what = f"The unit cannot be written to {place}"
        raise FileError(what, error.strerror, "name another place") from error
    return place
