"""What workers answer, asked in this process: each answer against the library itself, or against a
law.
"""

from __future__ import annotations

import base64
import csv
import io
import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("latex2mathml")

from lab_client import PENDULUM

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.formulations.registry import applicability
from dalembert.lab.answers import character
from dalembert.lab.answers.scenarios import RecentItems, scenario_of
from dalembert.lab.messages import encoded
from dalembert.lab.workers.worker_handlers import ANSWERS
from dalembert.model.io.files import dumps, loads


class JobContext:
    """A job context where nobody is in a hurry."""

    is_late = False

    def check(self) -> None:
        pass

    def progress(self, fraction: float, time: float) -> None:
        pass


def ask(kind: str, text: str = PENDULUM, **request: Any) -> Any:
    """An answer, as the page reads it."""
    given = {"text": text, "id": "a", "frames": 60, "steps": 100_000} | request
    return json.loads(encoded(ANSWERS[kind](given, JobContext())))


@pytest.fixture(scope="module")
def disk() -> str:
    return dumps(da.gallery.load("rolling-disk"))


# -- check -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_model_is_described(disk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(character, "FORM_SECONDS", 1e9)
    monkeypatch.setattr(character, "_found", RecentItems(64))
    found = ask("check", disk)
    assert found["ok"]
    model, scenario = found["model"], da.gallery.load("rolling-disk")
    assert [q["name"] for q in model["coordinates"]] == [
        q.name for q in scenario.system.coordinates
    ]
    assert (model["rank"], model["degrees_of_freedom"]) == (
        2,
        3,
    )  # two rolling constraints on five coordinates
    assert {p["name"]: p["value"] for p in model["parameters"]} == dict(scenario.parameters)
    applies = {form["name"]: form["applies"] for form in model["forms"]}
    assert applies == {name: why is None for name, why in applicability(scenario.system).items()}
    assert all(form["applies"] or form["why"] for form in model["forms"])
    assert (
        model["kind"] == "lagrangian"
        and model["span"] == [0.0, 5.0]
        and "gauss4" in model["stepped"]
    )
    assert all(
        c["mathml"].startswith("<math") for c in (*model["constraints"], *model["coordinates"])
    )


def test_forms_that_nobody_had_time_for_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(character, "FORM_SECONDS", -1.0)
    monkeypatch.setattr(character, "_found", RecentItems(64))
    offered = ask("check")["model"]["forms"]
    assert (
        all(form["applies"] for form in offered)
        and len({form["name"] for form in offered}) == len(offered) > 10
    )
    large = (
        "coordinates = [" + ", ".join(f'"x{k}"' for k in range(40)) + ']\nkinetic = "x1_dot**2/2"'
    )
    model = ask("check", large)["model"]
    assert (
        model["rank"] is None
        and [form["name"] for form in model["forms"]] == ["lagrange"]
        and model["notes"]
    )


def test_flows_and_hamiltonians_are_told_apart() -> None:
    assert ask("check", dumps(da.gallery.load("rigid-body")))["model"]["kind"] == "flow"
    stated = 'coordinates = ["x"]\nhamiltonian = "p_x**2/2"'
    model = ask("check", stated)["model"]
    assert (
        model["kind"] == "hamiltonian"
        and model["state"] == ["x", "p_x"]
        and model["momenta"] == ["p_x"]
    )


def test_a_fault_has_its_line() -> None:
    found = ask("check", PENDULUM.replace("cos(theta)", "cosx(theta)"))
    assert not found["ok"] and found["error"]["line"] == 5 and "cos" in found["error"]["remedy"]
    found = ask("check", PENDULUM.replace("theta = 0.5", "theta = = 0.5"))
    assert not found["ok"] and found["error"]["line"] == 13
    several = ask("check", PENDULUM.replace("m = 1.0", "m = 'x'").replace("cos(", "cosine("))[
        "error"
    ]
    assert len(several["faults"]) == 2


def test_numbers_do_not_touch_the_system(disk: str) -> None:
    """A change of numbers keeps what was derived; a change of the model does not."""
    first = scenario_of({"text": disk})
    other = scenario_of({"text": disk, "parameters": {"m": 3.0}, "start": {"psi_dot": 1.0}})
    assert other.system is first.system and other.parameters["m"] == 3.0 != first.parameters["m"]
    edited = scenario_of({"text": disk.replace("psi_dot = 3.0", "psi_dot = 4.0")})
    assert edited.system is first.system and edited.start["psi_dot"] == 4.0
    heavier = scenario_of({"text": disk.replace('kinetic = "', 'kinetic = "m*x_dot**2/2 + ')})
    assert heavier.system is not first.system
    renamed = scenario_of({"text": disk.replace('name = "Rolling disk"', 'name = "Coin"')})
    assert renamed.system.name == "Coin"


def test_parameters_that_others_depend_on_take_them_along() -> None:
    text = PENDULUM.replace("g = 9.81", 'g = "5*m"').replace("theta = 0.5", 'theta = "m/4"')
    model = ask("check", text, parameters={"m": 2.0})["model"]
    assert {p["name"]: p["value"] for p in model["parameters"]}["g"] == 10.0 and model["start"][
        "theta"
    ] == 0.5
    assert "no parameter `mass`" in ask("check", text, parameters={"mass": 2.0})["error"]["what"]


# -- start and equations ---------------------------------------------------------------------------


def test_a_start_is_completed_and_moved(disk: str) -> None:
    found = ask("start", disk, start={"x_dot": None, "y_dot": None})
    assert (
        set(found["completed"]) >= {"x_dot", "y_dot"}
        and not found["moved"]
        and found["residual"] < 1e-9
    )
    given = ask("start", disk, start={"x_dot": 5.0, "y_dot": 5.0})
    assert {entry["name"] for entry in given["moved"]} & {"x_dot", "y_dot"} and given[
        "residual"
    ] < 1e-9
    assert next(e["from"] for e in given["moved"] if e["name"] == "x_dot") == 5.0


def test_a_start_that_cannot_be_is_refused() -> None:
    refused = ask("start", start={"thetta": 1.0})
    assert not refused["ok"] and refused["error"]["remedy"] == "did you mean theta"


def test_equations_are_those_of_the_form() -> None:
    found = ask("equations", form="hamilton")
    expected = da.derive(loads(PENDULUM).system, "hamilton")
    assert (
        found["text"] == expected.text()
        and found["latex"] == expected.latex()
        and found["form"] == "hamilton"
    )
    assert found["mathml"] and all(
        line.startswith("<math") and line.endswith("</math>") for line in found["mathml"]
    )


def test_equations_are_explicit_where_asked() -> None:
    found = ask("equations", form="hamilton", explicit=True)
    expected = da.derive(loads(PENDULUM).system, "hamilton", explicit=True)
    assert found["text"] == expected.text() and found["notes"] == []


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_result_is_the_motion(disk: str) -> None:
    found = ask("run", disk, span=[0.0, 3.0], parameters={"m": 2.0}, form="lagrange", rtol=1e-9)
    scenario = loads(disk, {"m": 2.0})
    motion = da.simulate(scenario, span=(0, 3), form="lagrange", rtol=1e-9)
    times = np.array(found["t"])
    assert len(times) == 60 and times[0] == 0.0 and times[-1] == 3.0
    for k, symbol in enumerate(motion.state):
        np.testing.assert_allclose(
            found["state"][symbol.name], motion.sol(times)[k], rtol=1e-9, atol=1e-9
        )
    assert (found["form"], found["outcome"], found["parameters"]["m"]) == (
        "lagrange",
        "finished",
        2.0,
    )
    energy = np.array(found["energy"])
    assert np.ptp(energy) < 1e-6 * abs(energy[0]) and "energy" in found["conserved"]
    assert max(found["residual"]["velocity"]) < 1e-9 and set(found["reactions"]) == {
        c.name for c in scenario.system.bilateral
    }


def test_reactions_at_frames_are_those_of_the_kernel(disk: str) -> None:
    found = ask("run", disk, span=[0.0, 1.0], frames=5)
    motion = da.simulate(loads(disk), span=(0, 1), at=found["t"], rtol=1e-12)
    for name, sizes in found["reactions"].items():
        np.testing.assert_allclose(
            sizes, np.linalg.norm(motion.reactions[name].force, axis=0), rtol=1e-6, atol=1e-9
        )


@pytest.mark.long
def test_what_is_kept_is_constant() -> None:
    board = ask("run", dumps(da.gallery.load("snakeboard")), span=[0.0, 2.0])
    assert {"energy", "p_psi", "p_phi"} <= set(board["conserved"])
    body = ask("run", dumps(da.gallery.load("rigid-body")), span=[0.0, 2.0])
    for found in (board, body):
        for values in found["conserved"].values():
            assert np.ptp(values) < 1e-7 * (1 + abs(values[0]))


def test_runs_end_where_they_end() -> None:
    found = ask("run", dumps(da.gallery.load("blow-up")))
    assert found["outcome"] != "finished" and not found["success"] and found["t"][-1] < 2.0
    assert (
        all(value is None or np.isfinite(value) for value in found["state"]["x"])
        if "x" in found["state"]
        else True
    )
    back = ask("run", span=[4.0, 0.0])
    assert back["t"][0] == 4.0 and back["t"][-1] == 0.0 and back["outcome"] == "finished"


@pytest.mark.long
def test_impacts_are_events() -> None:
    found = ask("run", dumps(da.gallery.load("elastic-pendulum-wall")), frames=200)
    assert found["events"] and all(event["name"].startswith("impact") for event in found["events"])


def test_changes_of_contacts_are_listed() -> None:
    x, y = da.coordinates("x y")
    floor = da.unilateral(y >= 0, friction=0.5, tangent=x.dot, name="floor")
    kinetic = (x.dot**2 + y.dot**2) / 2
    block = da.System([x, y], kinetic=kinetic, potential=10 * y, constraints=[floor])
    found = ask("run", dumps(da.Scenario(block, start={x.dot: 1})), span=[0.0, 1.0], frames=20)
    assert [change["words"] for change in found["modes"]] == [
        "floor slips: at the start",
        "floor sticks: its slip ended",
    ]
    assert found["modes"][1]["t"] == pytest.approx(0.2) and "floor" in found["reactions"]


def test_a_run_that_is_late_keeps_what_it_has() -> None:
    class Late(JobContext):
        is_late = True

    request = {"text": PENDULUM, "id": "late", "frames": 20, "steps": 10**7, "span": [0.0, 1e5]}
    found = ANSWERS["run"](request, Late())
    assert (
        found["outcome"] == "interrupted"
        and 0 < found["t"][-1] < 1e5
        and any("as long as" in n for n in found["notes"])
    )


# -- scenes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name == "rolling-disk" else [pytest.mark.long])
        for name in da.gallery.names("mechanical")
    ],
)
def test_scenes_hold_every_shape(name: str) -> None:
    scenario = da.gallery.load(name)
    found = ANSWERS["run"](
        {"system": name, "id": "s", "frames": 9, "steps": 10**6, "span": [0.0, 0.5]}, JobContext()
    )
    scene = found["scene"]
    assert scene["dimension"] == scenario.drawing.dimension and len(scene["shapes"]) >= len(
        scenario.drawing.shapes
    )
    low, high = np.array(scene["limits"]).T
    for shape in scene["shapes"]:
        frames, corners, dimension = shape["points"]["shape"]
        assert (
            frames in (1, 9)
            and dimension == scene["dimension"]
            and len(shape["points"]["data"]) == frames * corners * dimension
        )
        if scenario.drawing.limits is None:
            points = np.array(shape["points"]["data"]).reshape(-1, dimension)
            assert (points >= low - 1e-4).all() and (points <= high + 1e-4).all()
    assert any(shape["points"]["shape"][0] == 9 for shape in scene["shapes"])


def test_positions_are_those_of_the_drawing() -> None:
    text = (
        'coordinates = ["x", "y"]\nkinetic = "(x_dot**2 + y_dot**2)/2"\n[start]\nx_dot = 2\ny_dot ='
        " 1\n[simulate]\nt = [0, 1]"
    )
    scene = ask("run", text, frames=5)["scene"]
    point = next(shape for shape in scene["shapes"] if shape["kind"] == "point")
    straight = np.linspace(0, 1, 5)[:, None] * [2.0, 1.0]
    np.testing.assert_allclose(np.array(point["points"]["data"]).reshape(5, 2), straight, atol=1e-5)


def test_what_may_change_the_energy_is_said() -> None:
    text = 'coordinates = ["x"]\nkinetic = "x_dot**2/2"\n{}[start]\nx = 1\n[simulate]\nt = [0, 1]'
    assert ask("run", text.format(""), frames=5)["energy_changes"] == ""
    driven = ask("run", text.format('dissipation = "x_dot**2/2"\n'), frames=5)
    assert driven["energy_changes"] == "dissipation" and "kinetic" in driven["outputs"]


def test_a_spring_in_space_keeps_its_ends() -> None:
    from dalembert.plotting.scenes.page_scene import spring_points

    ends = np.random.default_rng(3).normal(size=(4, 2, 3))
    ends[3, 1] = ends[3, 0] + [0, 0, 2.0]  # upright
    drawn = spring_points(ends, 6)
    assert drawn.shape == (4, 16, 3) and np.isfinite(drawn).all()
    np.testing.assert_allclose(drawn[:, [0, -1]], ends, atol=1e-12)


# -- portraits and files ---------------------------------------------------------------------------


def test_orbits_begin_where_they_were_asked_to() -> None:
    points = [[0.3, 0.0], [1.0, 0.5]]
    found = ask("portrait", x="theta", y="theta_dot", points=points)
    for orbit, (x, y) in zip(found["orbits"], points, strict=True):
        theta, rate = np.array(orbit["x"]), np.array(orbit["y"])
        assert (theta[0], rate[0]) == (x, y)
        energy = 2 * rate**2 - 2 * 9.81 * np.cos(theta)
        assert np.ptp(energy) < 1e-6 * abs(energy[0])
    rests = ask("portrait", x="theta", y="theta_dot", points=[[0.0, 6.0]])[
        "equilibria"
    ]  # turns over
    assert {round(place / np.pi, 9): stability for place, _, stability in rests}[1.0] == "unstable"
    assert all(
        stability == ("stable" if round(place / np.pi) % 2 == 0 else "unstable")
        for place, _, stability in rests
    )
    with pytest.raises(DalembertError, match="did you mean theta_dot"):
        ask("portrait", x="theta", y="theta_dott", points=points)


CART = """coordinates = ["x", "theta"]
kinetic = "x_dot**2/2 + ((x_dot + cos(theta)*theta_dot)**2 + (sin(theta)*theta_dot)**2)/2"
potential = "-9.81*cos(theta)"
[start]
theta = 0.5
[simulate]
t = [0, 10]
[[drawing]]
link = [["x", 0], ["x + sin(theta)", "-cos(theta)"]]
"""


def test_a_dragged_point_is_brought_to_its_place() -> None:
    given = {"shape": 0, "text": CART, "system": None}
    found = ask("place", point=1, to=[1.3, -0.4], **given)["start"]
    x, theta = found["x"], found["theta"]
    assert [x + np.sin(theta), -np.cos(theta)] == pytest.approx([1.3, -0.4], abs=1e-7)
    assert ask("place", point=0, to=[0.7, 5.0], **given)["start"] == {"x": pytest.approx(0.7)}
    with pytest.raises(DalembertError, match="no such point"):
        ask("place", point=7, to=[0.0, 0.0], **given)


def test_studies_look_at_many_runs() -> None:
    def values(kind: str, names: list[str], points: list[list[float]], **more: Any) -> list[Any]:
        asked = {"quantity": "theta", "skip": 0.0, "start": {"theta": 0.01}} | more
        answer = ask("study", study=kind, names=names, points=points, **asked)["points"]
        return [one["values"] for one in answer]

    lengths = [[1.0], [4.0]]
    for least, largest, last in values("sweep", ["theta"], [[0.01], [0.02]]):
        assert abs(largest + least) < 1e-4 * largest
        assert least <= last <= largest
    one, two = values("bifurcation", ["l"], lengths, span=[0, 20])
    assert len(one) == pytest.approx(2 * len(two), abs=1)  # half the period, twice the maxima
    assert np.array(one) == pytest.approx(0.01, rel=1e-7)
    rows = values("chaos", ["theta", "l"], [[3.0, 1.0], [0.1, 1.0]], span=[0, 40], skip=0.5)
    assert all(abs(row[0]) < 0.5 for row in rows)  # no chaos with one degree of freedom
    with pytest.raises(DalembertError, match="did you mean theta"):
        values("sweep", ["thetta"], [[1.0]])
    found = ask("study", study="sweep", names=["l"], points=[[1.0]], quantity="heat", skip=0.0)
    assert found["points"][0]["values"] == [] and "heat" in found["points"][0]["message"]


def download(format: str, **request: Any) -> bytes:
    return base64.b64decode(ask("download", format=format, label="My run", **request)["content"])


def test_the_model_file_repeats_the_run() -> None:
    changes = {
        "parameters": {"m": 2.0},
        "start": {"theta": 1.0},
        "span": [0.0, 2.0],
        "method": "gauss4",
        "step": 0.01,
    }
    scenario = loads(download("toml", **changes).decode())
    run = ask("run", **changes)
    motion = da.simulate(scenario)
    assert motion.statistics["method"] == "gauss4" and motion.t[-1] == 2.0
    assert abs(motion["theta"][-1] - run["state"]["theta"][-1]) < 1e-11


def test_the_script_repeats_the_run() -> None:
    script = download("py", parameters={"m": 2.0}, span=[0.0, 2.0]).decode()
    compile(script, "script", "exec")
    model = script.partition('"""\\\n')[2].partition('"""')[0]
    assert loads(model).parameters["m"] == 2.0 and "span=(0.0, 2.0)" in script
    named = ANSWERS["download"](
        {"system": "rolling-disk", "format": "py", "parameters": {"m": 2.0}, "id": "x"},
        JobContext(),
    )
    text = base64.b64decode(named["content"]).decode()
    compile(text, "script", "exec")
    assert "da.gallery.load('rolling-disk')" in text and "'m': 2.0" in text


def test_a_name_cannot_leave_the_script() -> None:
    text = PENDULUM.replace('name = "Pendulum"', 'name = "a\\"\\"\\" + __import__(\'os\') #"')
    given = {"text": text, "id": "z", "frames": 5, "steps": 1000, "format": "py", "label": '../"x"'}
    answer = ANSWERS["download"](given, JobContext())
    import ast

    tree = ast.parse(base64.b64decode(answer["content"]))
    assert "__import__" not in {
        n.func.id
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert answer["name"] == "x"


def test_tables_have_every_digit() -> None:
    rows = list(csv.reader(io.StringIO(download("csv", id="table").decode())))
    motion = da.simulate(loads(PENDULUM))
    assert rows[0] == list(motion.names) and len(rows) == len(motion.t) + 1
    np.testing.assert_array_equal(
        np.array(rows[1:], dtype=float).T, [motion[name] for name in motion.names]
    )


@pytest.mark.parametrize(("format", "magic"), [("png", b"\x89PNG"), ("gif", b"GIF89a")])
def test_pictures_are_downloaded(format: str, magic: bytes) -> None:
    drawn = PENDULUM + '[[drawing]]\nlink = [[0, 0], ["l*sin(theta)", "-l*cos(theta)"]]\n'
    assert download(format, text=drawn, span=[0.0, 0.5], id=format).startswith(magic)


def test_the_notebook_repeats_the_run() -> None:
    cells = json.loads(download("ipynb", span=[0.0, 2.0]))["cells"]
    code = [cell["source"] for cell in cells if cell["cell_type"] == "code"]
    scope: dict[str, Any] = {}
    exec(code[0], scope)
    assert scope["motion"].t[-1] == 2.0 and len({cell["id"] for cell in cells}) == len(cells)


def test_the_downloaded_page_runs_or_says_why_not() -> None:
    page = download("html", span=[0.0, 0.5], id="page").decode()
    assert "live-model" in page
    contacts = download(
        "html", text=dumps(da.gallery.load("elastic-pendulum-wall")), id="wall"
    ).decode()
    assert "live-model" not in contacts and "The model does not run in this page" in contacts


def test_a_quick_run_leaves_the_integrals_out() -> None:
    whole, quick = ask("run", id="whole"), ask("run", id="quick", integrals=False)
    assert "action" in whole["outputs"] and whole["conserved"]
    assert "action" not in quick["outputs"] and not quick["conserved"]
    assert quick["state"] == whole["state"]
