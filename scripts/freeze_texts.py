"""The part `texts` of `freeze.py`: text, LaTeX, C and JAX source of gallery systems, and FMUs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from freeze_records import Found, command, gallery, public, sha, without_version

__all__ = ["texts"]

#: Other names of the form "lagrange".
OTHER_NAMES = frozenset({"gauss", "udwadia-kalaba"})
#: Formats of source code.
SOURCES = ("c", "jax")
#: Systems whose texts are written in one form: another one has their structure and costs less.
ONE_FORM = frozenset({"planar-chain", "knife-edge-stabilised", "unicycle-balanced"})
#: Systems whose exported C program is compiled and run.
C_PROGRAMS = ("spherical-pendulum", "rolling-disk", "snakeboard", "rigid-body")


def texts() -> Found:
    """Text, LaTeX, C and JAX source of gallery systems in every form that applies; FMUs."""
    import dalembert as da

    found = Found()
    forms = [form for form in public("forms")() if form not in OTHER_NAMES]
    found.add("forms", forms)
    for name, scenario in gallery():
        for form in forms if isinstance(scenario.system, da.System) else [None]:
            place = f"{name}/{form or 'flow'}"
            try:
                equations = da.derive(scenario.system, form)
            except da.errors.DalembertError as error:
                found.add(place, "does not apply", message=str(error))
                continue
            if name not in ONE_FORM or form in (None, "lagrange"):
                written_text(found, place, equations)
            chosen = [] if form is None else ["--form", form]
            for language in SOURCES:
                ended = command("derive", name, "--format", language, *chosen)
                exported_text(found, f"{place}/{language}", language, ended)
        for version in ("fmu2", "fmu3"):
            unit_contents(found, name, version)
    for name in C_PROGRAMS:
        program_output(found, name)
    return found


def written_text(found: Found, place: str, equations: Any) -> None:
    """The equations for people; those that are too large to be written say so."""
    import dalembert as da

    for kind in ("text", "latex"):
        try:
            found.add(f"{place}/{kind}", getattr(equations, kind)())
        except da.errors.DalembertError as error:
            found.add(f"{place}/{kind}", "is not written", message=str(error))


def exported_text(found: Found, place: str, language: str, ended: tuple[int, str, str]) -> None:
    status, out, err = ended
    record = {"status": status, **source_record(out, language)}
    comments = record.pop("comments")
    found.add(place, record, stderr=err, comments=comments)


#: Comments of C; comments and the first docstring of Python.
COMMENTS = {"c": r"/\*.*?\*/|//[^\n]*", "jax": r'\A""".*?"""|(?<= ) *#[^\n]*|^#[^\n]*'}


def source_record(text: str, language: str) -> dict[str, Any]:
    """Lines and digest of code, and apart from it the digest of its comments."""
    pattern = re.compile(COMMENTS[language], re.DOTALL | re.MULTILINE)
    comments = "\n".join(part.group() for part in pattern.finditer(text))
    lines = [line.rstrip() for line in pattern.sub("", text).splitlines()]
    code = [line for line in lines if line]
    comment = sha(without_version(comments))
    return {"lines": len(code), "code": sha("\n".join(code)), "comments": comment}


@contextlib.contextmanager
def no_compiler() -> Iterator[None]:
    """Hide the C compiler: FMUs then hold their sources only."""
    before = os.environ["PATH"]
    os.environ["PATH"] = ""
    try:
        yield
    finally:
        os.environ["PATH"] = before


def unit_contents(found: Found, name: str, version: str) -> None:
    """The members of an FMU without its token, which is a digest of sources and comments."""
    with tempfile.TemporaryDirectory() as folder, no_compiler():
        path = Path(folder, "unit.fmu")
        status, _, err = command("export", name, "--to", version, "-o", str(path))
        members: dict[str, Any] = {}
        if status == 0:
            with zipfile.ZipFile(path) as unit:
                members = {entry: unit.read(entry).decode() for entry in sorted(unit.namelist())}
    description = members.get("modelDescription.xml", "")
    token = re.search(r'(?:guid|instantiationToken)="([^"]+)"', description)
    record: dict[str, Any] = {"status": status}
    words: dict[str, Any] = {"stderr": err}
    for entry, text in members.items():
        plain = without_version(text.replace(token.group(1), "TOKEN") if token else text)
        if entry.endswith(".xml"):
            described = re.findall(r'description="[^"]*"', plain)
            plain = re.sub(r'description="[^"]*"|generationDateAndTime="[^"]*"', "", plain)
            record[entry], words[entry] = sha(plain), sha("\n".join(described))
        else:
            record[entry] = source_record(plain, "c")
            words[entry] = record[entry].pop("comments")
    found.add(f"{name}/{version}", record, **words)


def program_output(found: Found, name: str) -> None:
    """What the exported C program prints; this does not depend on the names in its source."""
    compiler = shutil.which("cc")
    if compiler is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "model.c"))
        _, _, err = command("export", name, "--to", "c", "--name", "model", "-o", path)
        build = [compiler, "-std=c99", "-O2", "-DMODEL_MAIN", "-o", "model", "model.c", "-lm"]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
        program = str(Path(folder, "model"))
        done = subprocess.run([program], capture_output=True, text=True, timeout=300)
    rows = done.stdout.splitlines()
    record = [done.returncode, len(rows), sha(done.stdout), *rows[-1:]]
    found.add(f"{name}/program", record, stderr=err)
