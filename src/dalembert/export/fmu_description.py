"""The XML files of a unit: its model description for FMI 2.0 or 3.0, and how to build it."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from .._version import __version__
from .c_model import CModel
from .fmu_variables import UnitVariable

__all__ = ["build_description", "instantiation_token", "model_description"]


def instantiation_token(sources: Mapping[str, str]) -> str:
    """A name for what a unit computes: another one for other sources."""
    whole = "\0".join(f"{name}\0{text}" for name, text in sorted(sources.items()))
    digest = hashlib.sha256(whole.encode()).digest()
    return f"{{{uuid.UUID(bytes=digest[:16], version=4)}}}"


def model_description(
    model: CModel,
    variables: Sequence[UnitVariable],
    version: str,
    token: str,
    sources: Sequence[str],
) -> str:
    """The text of ``modelDescription.xml``."""
    equations = model.task.kernel.equations
    what = f"Equations of motion in the form {equations.form}: {equations.citation}"
    head = {
        "fmiVersion": version,
        "modelName": _plain(equations.system.name),
        "guid" if version == "2.0" else "instantiationToken": token,
        "description": _plain(what),
        "generationTool": f"dalembert {__version__}",
        "variableNamingConvention": "flat",
    }
    if version == "2.0":
        head["numberOfEventIndicators"] = "0"
    root = ElementTree.Element("fmiModelDescription", head)
    _co_simulation(root, model, version, sources)
    _default_experiment(root, model)
    listed = ElementTree.SubElement(root, "ModelVariables")
    places = {variable.reference: str(place) for place, variable in enumerate(variables, start=1)}
    for variable in variables:
        _variable(listed, variable, places, version)
    _structure(ElementTree.SubElement(root, "ModelStructure"), variables, version)
    return _text(root)


def _co_simulation(root: Element, model: CModel, version: str, sources: Sequence[str]) -> None:
    state = "state" if version == "2.0" else "State"
    abilities = {
        "modelIdentifier": model.name,
        "canHandleVariableCommunicationStepSize": "true",
        f"canGetAndSetFMU{state}": "true",
        f"canSerializeFMU{state}": "true",
    }
    if version == "2.0":
        abilities["canNotUseMemoryManagementFunctions"] = "true"
    element = ElementTree.SubElement(root, "CoSimulation", abilities)
    if version == "2.0":
        files = ElementTree.SubElement(element, "SourceFiles")
        for name in sources:
            ElementTree.SubElement(files, "File", {"name": name})


def _default_experiment(root: Element, model: CModel) -> None:
    task = model.task
    values = {"tolerance": repr(float(task.rtol))}
    if task.span is not None and task.step is not None and task.span[1] > task.span[0]:
        values |= {"startTime": repr(float(task.span[0])), "stopTime": repr(float(task.span[1]))}
        values["stepSize"] = repr(float(task.step))
    ElementTree.SubElement(root, "DefaultExperiment", values)


def _variable(
    listed: Element, variable: UnitVariable, places: Mapping[int, str], version: str
) -> None:
    values = {"name": _plain(variable.name), "valueReference": str(variable.reference)}
    values |= {"causality": variable.causality, "variability": variable.variability}
    values["description"] = _plain(variable.description)
    if variable.initial is not None:
        values["initial"] = variable.initial
    numbers = {} if variable.start is None else {"start": repr(variable.start)}
    if version == "2.0":
        if variable.derivative_of is not None:
            numbers["derivative"] = places[variable.derivative_of]
        element = ElementTree.SubElement(listed, "ScalarVariable", values)
        ElementTree.SubElement(element, "Real", numbers)
        return
    if variable.derivative_of is not None:
        numbers["derivative"] = str(variable.derivative_of)
    ElementTree.SubElement(listed, "Float64", values | numbers)


def _structure(structure: Element, variables: Sequence[UnitVariable], version: str) -> None:
    """Outputs, and those among them that are computed at the start."""
    outputs = [k for k, variable in enumerate(variables) if variable.causality == "output"]
    unknown = [k for k in outputs if variables[k].initial == "calculated"]
    for one, references in (("Output", outputs), ("InitialUnknown", unknown)):
        if version != "2.0":
            for k in references:
                reference = str(variables[k].reference)
                ElementTree.SubElement(structure, one, {"valueReference": reference})
        elif references:
            group = ElementTree.SubElement(structure, f"{one}s")
            for k in references:
                ElementTree.SubElement(group, "Unknown", {"index": str(k + 1)})


def build_description(model: CModel, sources: Sequence[str]) -> str:
    """The text of ``sources/buildDescription.xml``, which FMI 3.0 asks for."""
    root = ElementTree.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    named = {"modelIdentifier": model.name}
    configuration = ElementTree.SubElement(root, "BuildConfiguration", named)
    files = ElementTree.SubElement(configuration, "SourceFileSet", {"language": "C99"})
    for name in sources:
        ElementTree.SubElement(files, "SourceFile", {"name": name})
    return _text(root)


def _plain(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return "".join(c if c.isprintable() else " " for c in text)


def _text(root: Element) -> str:
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
