"""Units of the Functional Mock-up Interface for co-simulation: the exported C, the interface around it, and its description.

A unit is a zip file with ``modelDescription.xml``, its sources, and a shared library for the platform that it was made on where
there is a C compiler.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FileError, ModelError, RunError
from ..formulations.equations import Equations
from ..formulations.registry import derive
from ..model.io.atomic_file import replaced_whole
from ..model.symbols import name_of
from .c_file import c_source_of
from .c_model import CModel, c_model
from .fmi2_text import fmi2_text
from .fmi3_text import fmi3_text
from .fmu_description import build_description, instantiation_token, model_description
from .fmu_variables import unit_variables
from .task import read_export

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
        Those that it has a shared library for; without any it is a source unit, which the importing tool compiles.
    """

    path: Path
    name: str
    version: str
    platforms: tuple[str, ...]

    def __str__(self) -> str:
        built = (
            f"built for {', '.join(self.platforms)}"
            if self.platforms
            else "source code only: no C compiler was found or asked for"
        )
        return f"{self.path} (FMI {self.version} for co-simulation, {built})"


def export_fmu(
    equations: Equations,
    path: str | os.PathLike[str],
    version: str = "2.0",
    *,
    name: str | None = None,
    parameters: Any = None,
    start: Mapping[Any, Any] | None = None,
    inputs: Iterable[Any] = (),
    span: Any = None,
    rtol: float = 1e-10,
    atol: Any = None,
    step: float | None = None,
    binary: bool | None = None,
) -> Unit:
    """Write a unit; see `Equations.to_fmu`."""
    if version not in VERSIONS:
        raise ModelError(
            f"There is no FMI version {version!s:.20} here", seen=", ".join(VERSIONS), remedy="choose one of these"
        )
    if isinstance(inputs, Mapping):
        raise ModelError(
            "The inputs of a unit are driven from outside",
            seen=f"values for {', '.join(name_of(key) for key in inputs)}",
            remedy="name the inputs, inputs=[...]; impose expressions by system.driven({...})",
        )
    released = _released(equations, list(inputs))
    task = read_export(released, parameters if parameters is not None else {}, start or {}, span, rtol, atol, step)
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
    place = _written(Path(path), files, {} if built is None else {f"binaries/{folder}/{library}": built})
    return Unit(place, model.name, version, () if built is None else (folder,))


def _released(equations: Equations, wanted: Sequence[Any]) -> Equations:
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
    system = {"linux": "linux", "darwin": "darwin", "win32": "windows"}.get(sys.platform, sys.platform)
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if version == "2.0" and machine == "x86_64":
        return {"linux": "linux64", "darwin": "darwin64", "windows": "win64"}.get(system, f"{machine}-{system}")
    return f"{machine}-{system}"


def _library(name: str) -> str:
    return name + {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


def _built(
    sources: Mapping[str, str], compiled: Sequence[str], library: str, version: str, wanted: bool | None
) -> bytes | None:
    """The shared library, where there is a compiler."""
    if wanted is False:
        return None
    compiler = next((found for word in ("cc", "gcc", "clang") if (found := shutil.which(word))), None)
    if compiler is None:
        if wanted:
            raise ModelError(
                "A unit with a shared library needs a C compiler",
                seen="no cc, gcc or clang",
                remedy="install one, or pass binary=False",
            )
        return None
    with tempfile.TemporaryDirectory() as folder:
        for word, text in sources.items():
            Path(folder, word).write_text(text, encoding="utf-8")
        options = ["-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-DFMI{version[0]}_OVERRIDE_FUNCTION_PREFIX"]
        run = subprocess.run([compiler, *options, "-o", library, *compiled, "-lm"], cwd=folder, capture_output=True, text=True)
        if run.returncode != 0:
            raise RunError(
                "The C compiler did not build the unit",
                seen=run.stderr.strip()[:300],
                remedy="pass binary=False for source code only",
            )
        return Path(folder, library).read_bytes()


def _written(path: Path, texts: Mapping[str, str], libraries: Mapping[str, bytes]) -> Path:
    place = path if path.suffix == ".fmu" else path.with_name(f"{path.name}.fmu")
    contents = {**{name: text.encode() for name, text in texts.items()}, **libraries}
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced_whole(place) as whole, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in contents.items():
                entry = zipfile.ZipInfo(name, _WRITTEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name in libraries else 0o644) << 16
                archive.writestr(entry, data)
    except OSError as error:
        raise FileError(f"The unit cannot be written to {place}", seen=error.strerror, remedy="name another place") from error
    return place
