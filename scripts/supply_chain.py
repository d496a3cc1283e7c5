"""What the pinned environment is made of, and which advisories concern it; no connection is needed.

    python scripts/supply_chain.py sbom [-o sbom.cdx.json]
    python scripts/supply_chain.py audit ADVISORIES

The list of parts is CycloneDX 1.6 JSON: every package of requirements/ci.txt with its version,
package URL and hashes of its files. ADVISORIES are records in the OSV format: one JSON file with a
record or a list of them, a folder of such files, or a zip archive such as osv.dev's of all
advisories for PyPI. The exit status is 1 where one concerns a pinned version.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "requirements" / "ci.txt"
#: Larger records are not read: an archive may be hostile.
LARGEST_RECORD = 5_000_000


class Pin(NamedTuple):
    """One package of requirements/ci.txt."""

    name: str
    version: str
    hashes: tuple[str, ...]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("sbom")
    writer.add_argument("-o", "--output", type=Path)
    reader = commands.add_parser("audit")
    reader.add_argument("advisories", type=Path)
    options = parser.parse_args(arguments)
    pins = read_pins(PINS.read_text(encoding="utf-8"))
    if options.command == "sbom":
        text = json.dumps(bill_of_materials(pins), indent=1) + "\n"
        if options.output is None:
            sys.stdout.write(text)
        else:
            options.output.write_text(text, encoding="utf-8")
        return 0
    return audit(pins, options.advisories)


def read_pins(text: str) -> list[Pin]:
    """The pins of a requirements file with hashes.

    >>> read_pins("numpy==2.1.0 ; python_version > '3' \\\\\\n    --hash=sha256:ab\\n")
    [Pin(name='numpy', version='2.1.0', hashes=('ab',))]
    """
    pins = []
    for line in text.replace("\\\n", " ").splitlines():
        found = re.match(r"([A-Za-z0-9._-]+)==(\S+)", line)
        if found is not None:
            hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]+)", line))
            pins.append(Pin(normalised(found[1]), found[2], hashes))
    return pins


def normalised(name: str) -> str:
    """A name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def bill_of_materials(pins: list[Pin]) -> dict[str, Any]:
    """CycloneDX: the same pins give the same document."""
    components = []
    for pin in pins:
        address = f"pkg:pypi/{pin.name}@{pin.version}"
        hashes = [{"alg": "SHA-256", "content": value} for value in pin.hashes]
        components.append(
            {
                "type": "library",
                "bom-ref": address,
                "name": pin.name,
                "version": pin.version,
                "purl": address,
                "externalReferences": [{"type": "distribution", "url": address, "hashes": hashes}],
            }
        )
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(components, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {"type": "library", "bom-ref": "dalembert", "name": "dalembert"}},
        "components": components,
    }


def audit(pins: list[Pin], place: Path) -> int:
    """Print the advisories that concern a pin."""
    by_name: dict[str, list[Pin]] = {}
    for pin in pins:
        by_name.setdefault(pin.name, []).append(pin)
    count = 0
    found: list[str] = []
    for record in read_records(place):
        count += 1
        if record.get("withdrawn"):
            continue
        for affected in record.get("affected", []):
            package = affected.get("package", {})
            if package.get("ecosystem") != "PyPI":
                continue
            for pin in by_name.get(normalised(str(package.get("name", ""))), []):
                if concerns(affected, pin.version):
                    summary = record.get("summary") or record.get("details", "")[:100]
                    found.append(f"{pin.name} {pin.version}: {record.get('id')} {summary}")
    for line in sorted(set(found)):
        print(line)
    if count == 0:
        print(f"{place} has no advisories; pass OSV records of PyPI", file=sys.stderr)
        return 2
    print(f"{len(set(found))} of {count} advisories concern {len(pins)} pinned packages")
    return 1 if found else 0


def concerns(affected: dict[str, Any], version: str) -> bool:
    """Whether an entry of an advisory contains a version, by its list or its ranges."""
    if version in affected.get("versions", []):
        return True
    try:
        own = Version(version)
        return any(
            _within(span.get("events", []), own)
            for span in affected.get("ranges", [])
            if span.get("type") == "ECOSYSTEM"
        )
    except InvalidVersion:
        return True  # what cannot be compared is shown, not passed over


def _within(events: list[dict[str, str]], version: Version) -> bool:
    """Whether a version lies after the last `introduced` and before what ends it."""

    def first(event: dict[str, str]) -> Version:
        return Version(next(iter(event.values())))

    inside = False
    for event in sorted(events, key=first):
        if "introduced" in event and version >= first(event):
            inside = True
        elif "fixed" in event:
            inside &= version < first(event)
        elif "last_affected" in event:
            inside &= version <= first(event)
    return inside


def read_records(place: Path) -> Iterator[dict[str, Any]]:
    """OSV records of a file, a folder or an archive."""
    if place.is_dir():
        for path in sorted(place.rglob("*.json")):
            yield from _parsed(path.read_text(encoding="utf-8"))
    elif zipfile.is_zipfile(place):
        with zipfile.ZipFile(place) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(".json") and entry.file_size <= LARGEST_RECORD:
                    yield from _parsed(archive.read(entry).decode("utf-8"))
    else:
        yield from _parsed(place.read_text(encoding="utf-8"))


def _parsed(text: str) -> Iterator[dict[str, Any]]:
    data = json.loads(text)
    yield from (record for record in (data if isinstance(data, list) else [data]))


if __name__ == "__main__":
    sys.exit(main())
