"""The list of parts of the pinned environment, and the audit without a connection."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import supply_chain  # noqa: E402


@pytest.fixture()
def pins(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "ci.txt"
    path.write_text("Foo_Bar==1.4.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\nbaz==2.0\n")
    monkeypatch.setattr(supply_chain, "PINS", path)
    return path


def advisory(name: str, *events: dict[str, str], **more) -> dict:
    span = {"type": "ECOSYSTEM", "events": list(events)}
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": [span]}
    return {"id": "OSV-1", "summary": "it breaks", "affected": [affected]} | more


def test_every_pin_of_the_project_is_in_the_list_with_its_hashes(tmp_path) -> None:
    assert supply_chain.main(["sbom", "-o", str(tmp_path / "sbom.json")]) == 0
    listed = json.loads((tmp_path / "sbom.json").read_text())["components"]
    text = (ROOT / "requirements" / "ci.txt").read_text()
    assert len(listed) == sum("==" in line for line in text.splitlines())
    hashes = [one["externalReferences"][0]["hashes"] for one in listed]
    assert sum(map(len, hashes)) == text.count("--hash=sha256:") and all(hashes)


def test_the_list_of_parts_is_the_same_each_time(pins, capsys) -> None:
    texts = []
    for _ in range(2):
        supply_chain.main(["sbom"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["components"][0]["purl"] == "pkg:pypi/foo-bar@1.4.0"


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (advisory("foo.bar", {"introduced": "0"}, {"fixed": "1.4.1"}), 1),
        (advisory("foo.bar", {"introduced": "0"}, {"fixed": "1.4"}), 0),
        (advisory("foo-bar", {"introduced": "1.5"}), 0),
        (advisory("foo-bar", {"introduced": "1.0"}, {"last_affected": "1.4.0"}), 1),
        (advisory("foo-bar", {"introduced": "1.0"}, {"last_affected": "1.3.9"}), 0),
        (
            advisory(
                "baz", {"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.9"}, {"fixed": "3"}
            ),
            1,
        ),
        (advisory("baz", {"introduced": "0"}, withdrawn="2026-01-01"), 0),
        (advisory("baz", {"introduced": "not a version"}), 1),
        (advisory("other", {"introduced": "0"}), 0),
    ],
)
def test_an_advisory_concerns_the_versions_it_names(pins, tmp_path, record, status) -> None:
    path = tmp_path / "advisories.json"
    path.write_text(json.dumps([record]))
    assert supply_chain.main(["audit", str(path)]) == status


def test_archives_and_folders_are_read_and_nothing_is_no_answer(pins, tmp_path, capsys) -> None:
    record = json.dumps(advisory("baz", {"introduced": "0"}))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("OSV-1.json", record)
    assert supply_chain.main(["audit", str(tmp_path / "all.zip")]) == 1
    assert "baz 2.0: OSV-1 it breaks" in capsys.readouterr().out
    folder = tmp_path / "folder"
    folder.mkdir()
    assert supply_chain.main(["audit", str(folder)]) == 2
    (folder / "one.json").write_text(record)
    assert supply_chain.main(["audit", str(folder)]) == 1


def test_the_makefile_states_each_target_once_and_audits_offline() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([\w$()/.-]+):(?!=)", text, re.MULTILINE)
    assert len(targets) == len(set(targets))
    recipe = text.split("ifdef ADVISORIES\n")[1].split("else")[0]
    assert "scripts/supply_chain.py audit $(ADVISORIES)" in recipe
