"""The lab as it is used: a server with real workers, over HTTP."""

from __future__ import annotations

import concurrent.futures
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("latex2mathml")
pytest.importorskip("httpx")

import httpx
from lab_client import AUTHORISED, PENDULUM, finished, serving, wait_until

LONG = {"span": [0.0, 1e7], "rtol": 1e-12}
WICKED = Path(tempfile.gettempdir()) / "dalembert-lab-wicked"
#: Models that try to take the machine, or the page.
HOSTILE = {
    "power tower": PENDULUM.replace("cos(theta)", "9**9**9**9**9"),
    "deep": PENDULUM.replace("cos(theta)", "(" * 20_000 + "theta" + ")" * 20_000),
    "long sum": PENDULUM.replace("cos(theta)", "+".join(["theta"] * 60_000)),
    "nested functions": PENDULUM.replace("cos(theta)", "sin(" * 3000 + "theta" + ")" * 3000),
    "python": PENDULUM.replace("cos(theta)", f"__import__('os').system('touch {WICKED}')"),
    "attribute": PENDULUM.replace("cos(theta)", "theta.__class__.__mro__"),
    "deep table": "a" + ".a" * 5000 + " = 1",
    "many coordinates": (
        "coordinates = [" + ", ".join(f'"x{k}"' for k in range(5000)) + ']\nkinetic = "1"'
    ),
    "not text": "\x00\x01\x02",
    "nothing": "",
    "big number": PENDULUM.replace("1.0", "1" * 5000),
    "expansion": PENDULUM.replace("cos(theta)", "(theta+m+l+g+1)**(400)*(theta+m+l+g+2)**(400)"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("models"), check_seconds=2.0) as (client, _):
        yield client


def begun(client: Any, **case: Any) -> str:
    answer = client.post("/api/runs", json={"text": PENDULUM} | case)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


@pytest.mark.long
def test_a_run_from_the_question_to_the_file(client: Any) -> None:
    assert client.post("/api/check", json={"text": PENDULUM}).json()["ok"]
    id = begun(client, frames=50, label="My run")
    assert client.get(f"/api/runs/{id}/result").status_code in (200, 409)
    ending, fractions = finished(client, id)
    assert ending == "done" and all(0.0 <= fraction <= 1.0 for fraction in fractions)
    result = client.get(f"/api/runs/{id}/result").json()
    assert result["id"] == id and len(result["t"]) == 50 and result["label"] == "My run"
    assert client.get(f"/api/runs/{id}").json()["status"] == "done"
    table = client.get(f"/api/runs/{id}/download?format=csv")
    assert table.headers["content-disposition"] == 'attachment; filename="my-run.csv"'
    assert table.text.startswith("t,theta,theta_dot")
    assert client.get(f"/api/runs/{id}/download?format=exe").status_code == 400
    assert client.get("/api/runs/unknown/result").status_code == 404


@pytest.mark.long
def test_a_run_is_cancelled_and_the_next_one_runs(client: Any) -> None:
    id = begun(client, **LONG)
    assert wait_until(lambda: client.get(f"/api/runs/{id}").json()["fraction"] > 0.0)
    cancelled = client.request(
        "DELETE", f"/api/runs/{id}", headers={"content-type": "application/json"}
    )
    assert cancelled.json() == {"status": "cancelled"}
    assert finished(client, id)[0] == "cancelled"
    assert client.get(f"/api/runs/{id}/result").status_code == 409
    assert finished(client, begun(client))[0] == "done"


def test_quick_questions_do_not_wait_for_runs(client: Any) -> None:
    ids = [begun(client, **LONG) for _ in range(3)]
    assert client.post("/api/check", json={"text": PENDULUM, "parameters": {"m": 2.0}}).json()["ok"]
    assert [
        client.get(f"/api/runs/{id}").json()["status"] in ("queued", "running") for id in ids
    ] == [True] * 3
    for id in ids:
        client.request("DELETE", f"/api/runs/{id}", headers={"content-type": "application/json"})


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_models_give_an_error_and_nothing_else(client: Any, name: str) -> None:
    answer = client.post("/api/check", json={"text": HOSTILE[name]})
    found = answer.json()
    assert answer.status_code in (200, 400, 413) and (name == "expansion" or not found.get("ok"))
    assert found.get("ok") or len(found["error"]["what"]) > 5
    assert "Traceback" not in answer.text and not WICKED.exists()


def test_a_failed_run_says_why(client: Any) -> None:
    id = begun(client, text=PENDULUM.replace("cos(theta)", "cosx(theta)"))
    assert finished(client, id)[0] == "failed"
    error = client.get(f"/api/runs/{id}").json()["error"]
    assert error["line"] == 5 and "cosx" in error["what"]
    refused = client.post("/api/start", json={"text": PENDULUM, "start": {"x": 1.0}})
    assert (
        refused.status_code == 200
        and not refused.json()["ok"]
        and "`x`" in refused.json()["error"]["what"]
    )


def test_files_are_checked_before_they_are_saved(client: Any) -> None:
    wrong = PENDULUM.replace("cos(", "cosx(")
    assert client.put("/api/files/wrong.toml", json={"text": wrong}).status_code == 400
    assert client.get("/api/files").json() == {"files": []}
    assert (
        client.put("/api/files/wrong.toml", json={"text": wrong, "draft": True}).status_code == 200
    )
    assert client.put("/api/files/right.toml", json={"text": PENDULUM}).status_code == 200
    assert client.get("/api/files/right.toml").json()["text"] == PENDULUM
    assert [entry["name"] for entry in client.get("/api/files").json()["files"]] == [
        "right.toml",
        "wrong.toml",
    ]


# -- longer ----------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_gallery_is_listed_and_can_be_run(client: Any) -> None:
    import dalembert as da
    from dalembert.model.io.files import loads

    listed = client.get("/api/gallery").json()["systems"]
    assert [entry["name"] for entry in listed] == list(da.gallery.names())
    for entry in listed:
        text = client.get(f"/api/gallery/{entry['name']}").json()["text"]
        assert (text is not None) is entry["editable"] and "text" not in entry
        if text is not None:
            assert [q.name for q in loads(text).system.coordinates] == entry["coordinates"]
    assert client.get("/api/gallery/unknown").status_code == 404


@pytest.mark.long
def test_time_and_memory_are_bounded(tmp_path: Path) -> None:
    bounds = {
        "run_seconds": 1.5,
        "check_seconds": 1.0,
        "equations_seconds": 4.0,
        "memory_bytes": 1200 * 1024**2,
    }
    with serving(tmp_path, steps=10**8, unwatched_seconds=3.0, **bounds) as (client, _):
        late = begun(client, **LONG, frames=10)
        assert finished(client, late)[0] == "done"
        result = client.get(f"/api/runs/{late}/result").json()
        assert result["outcome"] == "interrupted" and 0 < result["t"][-1] < 1e7
        large = "coordinates = [" + ", ".join(f'"x{k}"' for k in range(400)) + "]\n"
        product = "*".join(f"(x{k}_dot + x{(k * 7) % 400})" for k in range(40))
        answer = client.post(
            "/api/equations", json={"text": large + f'kinetic = "{product}"', "form": "hamilton"}
        )
        assert answer.status_code == 400 and answer.json()["error"]["what"]
        forgotten = begun(client, **LONG)
        assert client.post("/api/check", json={"text": PENDULUM}).json()["ok"]
        import time

        time.sleep(7.0)
        assert client.get(f"/api/runs/{forgotten}").json()["status"] in ("cancelled", "done")


@pytest.mark.long
def test_fifty_clients_are_all_answered(tmp_path: Path) -> None:
    """Every question is answered or refused at once, and the server stays within its bounds."""
    with serving(tmp_path, workers=2, queued=20, kept_runs=8) as (client, _):
        assert client.post("/api/check", json={"text": PENDULUM}).json()["ok"]

        def visit(k: int) -> list[int]:
            with httpx.Client(base_url=client.base_url, timeout=120.0, headers=AUTHORISED) as own:
                text = PENDULUM.replace("l = 2.0", f"l = {2.0 + k / 100}")
                found = [own.post("/api/check", json={"text": text}).status_code for _ in range(4)]
                answer = own.post("/api/runs", json={"text": text, "frames": 20})
                found.append(answer.status_code)
                if answer.status_code == 202 and k % 5:  # others close the page
                    ending, _ = finished(own, answer.json()["id"])
                    assert ending == "done"
                return found

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            statuses = [status for found in pool.map(visit, range(50)) for status in found]
        assert (
            set(statuses) <= {200, 202, 429}
            and statuses.count(202) >= 8
            and statuses.count(200) >= 50
        )
        assert client.get("/api/about").status_code == 200
        assert finished(client, begun(client))[0] == "done"


@pytest.mark.long
@pytest.mark.skipif(
    not shutil.which("pgrep") or not Path("/proc/self").exists(),
    reason="processes are listed as on Linux",
)
def test_the_command_ends_with_its_workers(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "dalembert.cli",
        "lab",
        str(tmp_path),
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.readline().split()[4]
    address = printed.partition("?")[0]
    with httpx.Client(base_url=address, timeout=60.0, follow_redirects=True) as client:
        assert client.get("/").status_code == 401
        assert client.get(printed).text.startswith("<!doctype html>")  # and keeps the cookie
        assert client.post("/api/check", json={"text": PENDULUM}).json()["ok"]

    def workers() -> list[str]:
        return subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True, text=True
        ).stdout.split()

    assert wait_until(lambda: len(workers()) == 3)
    started = workers()
    taken = subprocess.run(
        [*command[:-1], address.rstrip("/").rpartition(":")[2]],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert taken.returncode == 1 and "in use" in taken.stderr and taken.stderr.count("\n") == 1
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=30)
    assert process.returncode == 0 and "Traceback" not in complaints
    assert wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started))
