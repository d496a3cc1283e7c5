"""The lab with a robot: a URDF or MJCF file is opened, shown, run and saved like a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("latex2mathml")
pytest.importorskip("httpx")

from lab_client import asked, finished, serving

from dalembert.errors import FileError, ModelError
from dalembert.lab import create_app
from dalembert.lab.answers.checking import check
from dalembert.lab.answers.running import run
from dalembert.lab.workers.worker_handlers import _NoJobContext
from dalembert.model.io.files import load_model, loads

ARM = (Path(__file__).parents[3] / "examples" / "robots" / "arm.urdf").read_text(encoding="utf-8")
HINGE = """<mujoco><include file="parts.xml"/></mujoco>"""
PARTS = """<parts><worldbody><body><joint name="q" axis="0 1 0"/>
<inertial pos="0 0 -1" mass="1" diaginertia="1 1 1"/></body></worldbody></parts>"""
FAR = """<robot name="r"><link name="world"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="q" type="revolute"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>
<limit lower="0.5" upper="1.5" effort="1" velocity="1"/></joint></robot>"""


def test_a_robot_file_opens_the_lab(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    about = asked(path, "GET", "/api/about").json()
    assert about["opened"] == "arm.urdf" and about["folder"] == tmp_path.name
    assert asked(path, "GET", "/api/files/arm.urdf").json()["text"] == ARM
    assert asked(tmp_path, "GET", "/api/about").json()["opened"] is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.urdf", "There is no folder or model file"),
        ("arm.py", "opens TOML, URDF and MJCF files"),
        ("link.urdf", "not a plain file"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "arm.py").write_text("", encoding="utf-8")
    (tmp_path / "link.urdf").symlink_to(tmp_path / "arm.py")
    with pytest.raises(FileError, match=message):
        create_app(tmp_path / name)


def test_the_page_is_told_what_a_robot_is_and_what_is_left_out() -> None:
    model = check({"text": ARM}, _NoJobContext())["model"]
    assert model["name"] == "desk_arm" and model["drawing"] == 3
    assert any("effort of <limit>" in note for note in model["notes"])


def test_a_fault_of_a_robot_has_its_line() -> None:
    wrong = ARM.replace('<mass value="1.8"/>', '<mass value="heavy"/>')
    error = check({"text": wrong}, _NoJobContext())["error"]
    assert error["line"] == 1 + ARM[: ARM.index('<mass value="1.8"/>')].count("\n")


def test_a_robot_is_run_and_drawn() -> None:
    found = run(
        {"text": ARM, "id": "", "frames": 5, "steps": 10_000, "span": [0, 0.2]}, _NoJobContext()
    )
    assert len(found["scene"]["shapes"]) > 6


def test_files_that_a_text_includes_are_read_from_the_folder_alone(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "parts.xml").write_text(PARTS, encoding="utf-8")
    assert [q.name for q in loads(HINGE, folder=inside).system.coordinates] == ["q"]
    with pytest.raises(ModelError, match="lies in no folder"):
        loads(HINGE)
    with pytest.raises(ModelError, match="outside the folder"):
        loads(HINGE.replace("parts.xml", "../inside/parts.xml"), folder=inside / "none")


def test_a_robot_starts_inside_its_limits(tmp_path: Path) -> None:
    path = tmp_path / "far.urdf"
    path.write_text(FAR, encoding="utf-8")
    with pytest.warns(UserWarning, match="effort"):
        assert load_model(path).start == {"q": 1.0}


@pytest.mark.long
def test_a_served_robot_reads_its_folder_and_saves(tmp_path: Path) -> None:
    path = tmp_path / "hinge.xml"
    path.write_text(HINGE, encoding="utf-8")
    (tmp_path / "parts.xml").write_text(PARTS, encoding="utf-8")
    case: dict[str, Any] = {"text": HINGE, "start": {"q": 0.5}, "span": [0, 1]}
    with serving(path) as (client, _):
        assert client.post("/api/check", json=case).json()["ok"]
        id = client.post("/api/runs", json=case).json()["id"]
        assert finished(client, id)[0] == "done"
        answer = client.put("/api/files/copy.xml", json={"text": HINGE})
        assert answer.status_code == 200, answer.text
    with serving(tmp_path) as (client, _):
        refused = client.post("/api/check", json=case).json()
        assert not refused["ok"] and "lies in no folder" in refused["error"]["what"]
