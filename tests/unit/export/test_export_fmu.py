"""Units of the Functional Mock-up Interface, judged and run by FMPy."""

from __future__ import annotations

import ctypes
import math
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from c_library import COMPILER, needs_compiler, run_compiler
from dalembert.errors import FileError, ModelError
from dalembert.export import fmu as fmu_module

fmpy = pytest.importorskip("fmpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # of FMPy's own


@cache
def pendulum() -> tuple[da.Equations, dict[str, Any]]:
    """A particle on a rod, with a force from outside."""
    x, y = da.coordinates("x y")
    m, g, l = da.parameters("m g l", positive=True)
    u = da.inputs("u")
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    system = da.System(
        [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=[rod],
        forces={x: u}, inputs=[u], name="driven pendulum", outputs={"angle": x / l},
    )  # fmt: skip
    return da.derive(system, "lagrange"), {"m": 1.5, "g": 9.81, "l": 2.0}


START = {"x": 1.2, "y": -1.6}


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    equations, values = pendulum()
    path = tmp_path_factory.mktemp("units") / f"pendulum{request.param[0]}"
    return equations.to_fmu(
        path, request.param, name="pendulum", parameters=values, start=START, span=(0, 2), step=0.02
    )


def simulated(unit: Any, **options: Any) -> Any:
    given = {"stop_time": 2.0, "output_interval": 0.02, "relative_tolerance": 1e-11, **options}
    return fmpy.simulate_fmu(str(unit.path), **given)


def reference(
    parameters: dict[str, float], start: Any, force: float = 0.0, span: Any = (0, 2), **options: Any
) -> da.Motion:
    """Our own motion under a constant force."""
    inputs = {"u": lambda t, state: force}
    return da.simulate(
        pendulum()[0], start, span, parameters=parameters, inputs=inputs, rtol=1e-12, **options
    )


@pytest.mark.long
def test_the_description_is_valid_and_says_what_there_is(unit: Any) -> None:
    from fmpy.validation import validate_fmu

    description = fmpy.read_model_description(str(unit.path), validate=True)
    assert validate_fmu(str(unit.path)) == []
    kinds = {
        variable.name: (variable.causality, variable.variability, variable.initial)
        for variable in description.modelVariables
    }
    assert kinds["l"] == ("parameter", "tunable", "exact")
    assert kinds["u"][:2] == ("input", "continuous")
    assert kinds["x"] == kinds["y_dot"] == ("output", "continuous", "exact")
    for name in ("energy", "x_ddot", "multiplier.rod", "reaction.rod.y", "angle", "p_x"):
        assert kinds[name] == ("output", "continuous", "calculated")
    assert (
        kinds["der(x_dot)"]
        == kinds["position_residual.rod"]
        == ("local", "continuous", "calculated")
    )
    assert (
        description.coSimulation.canGetAndSetFMUstate
        and description.coSimulation.canHandleVariableCommunicationStepSize
    )
    starts = {
        variable.name: variable.start
        for variable in description.modelVariables
        if variable.start is not None
    }
    assert float(starts["x"]) == 1.2 and float(starts["l"]) == 2.0


@pytest.mark.long
@needs_compiler
def test_a_simulation_agrees_with_ours(unit: Any) -> None:
    names = [
        "x",
        "y",
        "x_dot",
        "y_dot",
        "energy",
        "x_ddot",
        "angle",
        "der(y_dot)",
        "reaction.rod.x",
        "position_residual.rod",
    ]
    result = simulated(unit, output=names)
    _, values = pendulum()
    motion = reference(values, START, at=result["time"])
    for name in ("x", "y", "x_dot", "y_dot", "energy", "angle", "x_ddot"):
        np.testing.assert_allclose(result[name], motion[name], atol=1e-9)
    np.testing.assert_allclose(result["der(y_dot)"], motion["y_ddot"], atol=1e-9)
    np.testing.assert_allclose(
        result["reaction.rod.x"], motion.reactions["rod"].force[0], atol=1e-9
    )
    assert np.max(np.abs(result["position_residual.rod"])) < 1e-12


@needs_compiler
def test_start_and_parameters_are_honoured(unit: Any) -> None:
    changed = {"m": 1.5, "g": 3.0, "l": 2.5}
    start = {"x": 2.0, "y": -1.5, "x_dot": 0.3, "y_dot": 0.4}
    result = simulated(unit, start_values={"g": 3.0, "l": 2.5, **start}, output=["x", "x_dot"])
    motion = reference(changed, start, at=result["time"])
    np.testing.assert_allclose(result["x"], motion["x"], atol=1e-9)
    np.testing.assert_allclose(result["x_dot"], motion["x_dot"], atol=1e-9)
    moved = simulated(
        unit, start_values={"x": 1.0}, stop_time=0.02, output=["position_residual.rod", "x", "y"]
    )
    assert (
        abs(moved["position_residual.rod"][0]) < 1e-12 and moved["x"][0] != 1.0
    )  # brought to the constraint


@needs_compiler
def test_an_input_is_held_over_each_communication_step(unit: Any) -> None:
    times = np.arange(0, 2.0, 0.25)
    levels = np.sin(3 * times)
    signal = np.array(list(zip(times, levels, strict=True)), dtype=[("time", float), ("u", float)])
    result = simulated(unit, input=signal, output_interval=0.25, output=["x", "x_dot"])
    _, values = pendulum()
    state: dict[str, float] = dict(START)
    for k, time in enumerate(result["time"][:-1]):
        level = float(np.interp(time, times, levels))
        motion = reference(values, state, level, (float(time), float(result["time"][k + 1])))
        state = {name: motion[name][-1] for name in ("x", "y", "x_dot", "y_dot")}
        np.testing.assert_allclose(result["x_dot"][k + 1], state["x_dot"], atol=1e-8)
    assert np.ptp(result["x_dot"] - reference(values, START, at=result["time"])["x_dot"]) > 0.05


class Slave:
    """An instance of a unit, stepped by hand."""

    def __init__(self, unit: Any, folder: Path) -> None:
        description = fmpy.read_model_description(str(unit.path))
        self.references = {
            variable.name: variable.valueReference for variable in description.modelVariables
        }
        self.version = unit.version[0]
        place = fmpy.extract(str(unit.path), str(folder))
        common = {
            "unzipDirectory": place,
            "modelIdentifier": "pendulum",
            "instanceName": "one",
            "guid": description.guid,
        }
        if self.version == "2":
            from fmpy.fmi2 import FMU2Slave

            self.fmu = FMU2Slave(**common)
            self.fmu.instantiate()
        else:
            from fmpy.fmi3 import FMU3Slave

            self.fmu = FMU3Slave(**common)
            self.fmu.instantiate()
        self.initialise()

    def initialise(self, **start: float) -> None:
        if self.version == "2":
            self.fmu.setupExperiment(tolerance=1e-11, startTime=0.0)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(tolerance=1e-11, startTime=0.0)
        self.set(**start)
        self.fmu.exitInitializationMode()

    def get(self, *names: str) -> list[float]:
        references = [self.references[name] for name in names]
        return list(
            self.fmu.getReal(references) if self.version == "2" else self.fmu.getFloat64(references)
        )

    def set(self, **values: float) -> None:
        references = [self.references[name] for name in values]
        if references:
            (self.fmu.setReal if self.version == "2" else self.fmu.setFloat64)(
                references, list(values.values())
            )

    def step(self, time: float, length: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=length)

    def close(self) -> None:
        self.fmu.terminate()
        self.fmu.freeInstance()


@needs_compiler
def test_instances_are_independent_and_states_come_back(unit: Any, tmp_path: Path) -> None:
    first, second = Slave(unit, tmp_path / "a"), Slave(unit, tmp_path / "b")
    second.set(g=1.0)
    first.step(0.0, 0.5)
    second.step(0.0, 0.5)
    _, values = pendulum()
    ends = [reference({**values, "g": g}, START, span=(0, 0.5))["x"][-1] for g in (9.81, 1.0)]
    np.testing.assert_allclose([*first.get("x"), *second.get("x")], ends, atol=1e-10)
    version = "state" if unit.version == "2.0" else "State"
    kept = getattr(first.fmu, f"getFMU{version}")()
    stored = getattr(first.fmu, f"serializeFMU{version}")(kept)
    before = first.get("x", "x_dot", "energy", "time")
    first.step(0.5, 0.25)
    after = first.get("x", "x_dot", "energy", "time")
    assert after != before and after[3] == 0.75
    getattr(first.fmu, f"setFMU{version}")(kept)
    assert first.get("x", "x_dot", "energy", "time") == before
    first.step(0.5, 0.25)
    assert first.get("x", "x_dot", "energy", "time") == after
    again = getattr(
        first.fmu, "deSerializeFMUstate" if unit.version == "2.0" else "deserializeFMUState"
    )(stored)
    getattr(second.fmu, f"setFMU{version}")(again)
    assert second.get("x", "x_dot", "energy", "time") == before
    for state in (kept, again):
        getattr(first.fmu, f"freeFMU{version}")(state)
    first.fmu.reset()
    first.initialise()
    first.step(0.0, 0.5)
    np.testing.assert_allclose(first.get("x")[0], ends[0], atol=1e-10)
    first.close()
    second.close()


@needs_compiler
def test_faults_are_errors_of_the_unit(unit: Any, tmp_path: Path) -> None:
    slave = Slave(unit, tmp_path)
    with pytest.raises(Exception, match="Set"):
        slave.set(energy=1.0)
    with pytest.raises(Exception, match="Set"):
        slave.set(x=1.0)  # not any more
    with pytest.raises(Exception, match="DoStep"):
        slave.step(0.0, -0.1)
    with pytest.raises(Exception, match="DoStep"):
        slave.step(5.0, 0.1)
    slave.set(l=math.nan)
    with pytest.raises(Exception, match="DoStep"):
        slave.step(0.0, 0.1)
    slave.close()


@pytest.mark.long
@needs_compiler
def test_the_sources_compile_strictly_with_and_without_a_prefix(unit: Any, tmp_path: Path) -> None:
    with zipfile.ZipFile(unit.path) as archive:
        archive.extractall(tmp_path)
        assert {"modelDescription.xml", "sources/pendulum.c", "sources/pendulum.h"} < set(
            archive.namelist()
        )
    wrapper = tmp_path / "sources" / f"pendulum_fmi{unit.version[0]}.c"
    run_compiler(
        "-O0",
        "-fPIC",
        "-shared",
        "-o",
        tmp_path / "a.so",
        wrapper,
        tmp_path / "sources" / "pendulum.c",
        "-lm",
    )
    library = ctypes.CDLL(str(tmp_path / "a.so"))
    assert getattr(library, f"pendulum_fmi{unit.version[0]}DoStep")
    if unit.version == "3.0":
        from fmpy.model_description import read_build_description

        built = read_build_description(str(tmp_path), validate=True)
        assert built[0].sourceFileSets[0].sourceFiles == ["pendulum.c", wrapper.name]


def test_without_a_compiler_it_is_a_source_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmpy.validation import validate_fmu

    equations, values = pendulum()
    monkeypatch.setattr(fmu_module, "program_path", lambda word: None)
    unit = equations.to_fmu(tmp_path / "pendulum.fmu", parameters=values, start=START)
    assert unit.platforms == () and "source code only" in str(unit)
    assert validate_fmu(str(unit.path)) == []
    with zipfile.ZipFile(unit.path) as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())
    first = unit.path.read_bytes()
    assert (
        equations.to_fmu(
            tmp_path / "pendulum.fmu", parameters=values, start=START
        ).path.read_bytes()
        == first
    )
    with pytest.raises(ModelError, match=r"needs a C compiler.*install one"):
        equations.to_fmu(tmp_path / "pendulum.fmu", parameters=values, start=START, binary=True)


def test_what_cannot_be_a_unit_is_refused(tmp_path: Path) -> None:
    equations, values = pendulum()
    with pytest.raises(ModelError, match="no FMI version"):
        equations.to_fmu(tmp_path / "a", "1.0", parameters=values)
    with pytest.raises(ModelError, match="have no value"):
        equations.to_fmu(tmp_path / "a")
    with pytest.raises(ModelError, match="driven from outside"):
        equations.to_fmu(tmp_path / "a", parameters=values, inputs={"u": lambda t, state: 0.0})
    with pytest.raises(ModelError, match="has no input"):
        equations.to_fmu(tmp_path / "a", parameters=values, inputs=["w"])
    with pytest.raises(FileError, match="cannot be written"):
        (tmp_path / "taken").write_text("", encoding="utf-8")
        equations.to_fmu(tmp_path / "taken" / "a", parameters=values, binary=False)
    wall = da.gallery.load("elastic-pendulum-wall")
    with pytest.raises(ModelError, match="One-sided"):
        da.derive(wall.system, "lagrange").to_fmu(tmp_path / "a", parameters=wall.parameters)


def test_an_input_of_the_system_can_be_released(tmp_path: Path) -> None:
    scenario = da.gallery.load("cart-pendulum")
    equations = da.derive(scenario.system)
    held = equations.to_fmu(
        tmp_path / "held", parameters=scenario.parameters, start=scenario.start, binary=False
    )
    free = equations.to_fmu(
        tmp_path / "free",
        parameters=scenario.parameters,
        start=scenario.start,
        inputs=["u"],
        binary=False,
    )
    causality = [
        {v.name: v.causality for v in fmpy.read_model_description(str(unit.path)).modelVariables}
        for unit in (held, free)
    ]
    assert causality[0]["u"] == "output" and causality[1]["u"] == "input"


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "rolling-disk",
        "linked-particles-zero-distance",
        "toda-lattice",
        "appell-vakonomic",
        "planar-chain",
    ],
)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_gallery_units_are_valid_and_agree(name: str, version: str, tmp_path: Path) -> None:
    from fmpy.validation import validate_fmu

    assert COMPILER is not None
    scenario = da.gallery.load(name)
    equations = da.derive(scenario.system, scenario.simulate.get("form"))
    known = {symbol.name for symbol in equations.system.parameters}
    values = {key: value for key, value in scenario.parameters.items() if key in known}
    span = scenario.simulate["span"]
    unit = equations.to_fmu(
        tmp_path / "unit", version, parameters=values, start=scenario.start, span=span
    )
    assert validate_fmu(str(unit.path)) == []
    end = min(span[1], 3.0)
    result = fmpy.simulate_fmu(
        str(unit.path), stop_time=end, output_interval=end / 60, relative_tolerance=1e-11
    )
    motion = da.simulate(scenario, form=equations.form, at=result["time"], rtol=1e-11)
    for symbol in equations.state:
        expected = motion[symbol.name]
        np.testing.assert_allclose(
            result[symbol.name], expected, atol=1e-9 * (1 + np.max(np.abs(expected)))
        )
