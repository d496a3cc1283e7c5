"""Results that someone else made, sealed as ours are: read as they are, or refused in a sentence,
from this file alone.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileError
from dalembert.integrate.storage import file_image, stored_arrays
from dalembert.integrate.storage.file_image import DIGEST, MARK, sealed
from dalembert.model.io.files import loads

MODEL = (
    'coordinates = ["x"]\nkinetic = "m*x_dot**2/2"\nparameters = {m = 1.5}\nstart = {x_dot ='
    " 1.0}\nsimulate = {t = [0, 1]}"
)
OVER = {"m": [1.0, 2.0, 3.0]}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "motion.nc"
    da.simulate(loads(MODEL)).save(path)
    return path


@pytest.fixture(scope="module")
def unsealed(honest: Path) -> Path:
    """The same file as plain HDF5, which links from other files can point to."""
    path = honest.with_name("plain.nc")
    path.write_bytes(honest.read_bytes()[: -len(MARK) - DIGEST])
    return path


def changed(unsealed: Path, path: Path, change: Callable[[Any], Any]) -> Path:
    """A copy of the file with a change, and with a seal that fits it."""
    shutil.copy(unsealed, path)
    with h5py.File(path, "a") as file:
        change(file)
    path.write_bytes(sealed(path.read_bytes()))
    return path


def replaced(file: Any, make: Callable[[Any, Any], Any]) -> None:
    """Another thing in place of the times of the steps; `make` is given the group and the honest
    values.
    """
    group = file["dalembert"]
    values = group["step_t"][()]
    del group["step_t"]
    make(group, values)


def linked(kind: str, outside: Path) -> Callable[[Any], None]:
    """Parts of the file that are elsewhere."""

    def virtual(group: Any, values: Any) -> None:
        layout = h5py.VirtualLayout(values.shape, "f8")
        layout[:] = h5py.VirtualSource(str(outside), "/dalembert/step_t", values.shape)
        group.create_virtual_dataset("step_t", layout)

    def external(group: Any, values: Any) -> None:
        group.create_dataset(
            "step_t", values.shape, "f8", external=[(str(outside), 0, values.nbytes)]
        )

    def by(link: Any) -> Callable[[Any], None]:
        return lambda file: replaced(file, lambda group, _: group.__setitem__("step_t", link))

    def whole_group(file: Any) -> None:
        del file["dalembert"]
        file["dalembert"] = h5py.ExternalLink(str(outside), "/dalembert")

    ways: dict[str, Callable[[Any], None]] = {
        "external link": by(h5py.ExternalLink(str(outside), "/dalembert/step_t")),
        "soft link": by(h5py.SoftLink("/t")),
        "link to the passwords": by(h5py.ExternalLink("/etc/passwd", "/")),
        "group of another file": whole_group,
        "virtual": lambda file: replaced(file, virtual),
        "external storage": lambda file: replaced(file, external),
    }
    return ways[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "external link",
        "soft link",
        "link to the passwords",
        "group of another file",
        "virtual",
        "external storage",
    ],
)
def test_nothing_outside_of_a_file_is_read(kind: str, unsealed: Path, tmp_path: Path) -> None:
    """A file whose parts were links to another one was loaded, with what that one held."""
    path = changed(unsealed, tmp_path / "motion.nc", linked(kind, unsealed))
    with pytest.raises(FileError, match="not stored in it: name a file"):
        da.load(path)


KINDS: dict[str, Any] = {
    "compound": np.dtype([("a", "f8"), ("b", "i4")]),
    "opaque": h5py.opaque_dtype(np.dtype("V16")),
    "reference": h5py.ref_dtype,
    "lists": h5py.vlen_dtype(np.dtype("f8")),
    "enumeration": h5py.enum_dtype({"a": 1}),
    "blocks": np.dtype(("f8", (3,))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_hold_numbers_or_text(kind: str, unsealed: Path, tmp_path: Path) -> None:
    def make(group: Any, values: Any) -> None:
        group.create_dataset("step_t", values.shape, dtype=KINDS[kind])

    path = changed(unsealed, tmp_path / "motion.nc", lambda file: replaced(file, make))
    with pytest.raises(FileError, match="neither numbers nor text"):
        da.load(path)


def never_written(group: Any, values: Any) -> None:
    group.create_dataset("step_t", (10**7,), "f8", chunks=(10**6,))


def far_too_long(group: Any, values: Any) -> None:
    group.create_dataset("step_t", (10**12, 10**6), "f8", chunks=(1, 1000))


def inflated(group: Any, values: Any) -> None:
    """A chunk of a few numbers that unpacks to 20 MB; HDF5 unpacks all of it before it looks at the
    size.
    """
    array = group.create_dataset("step_t", values.shape, "f8", chunks=values.shape, compression=1)
    array.id.write_direct_chunk((0,), zlib.compress(bytes(20_000_000)))


def packed_twice(group: Any, values: Any) -> None:
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk(values.shape)
    settings.set_deflate(1)
    settings.set_deflate(1)
    space = h5py.h5s.create_simple(values.shape)
    made = h5py.h5d.create(group.id, b"step_t", h5py.h5t.IEEE_F64LE, space, settings)
    h5py.Dataset(made)[...] = values


def otherwise_packed(group: Any, values: Any) -> None:
    group.create_dataset("step_t", data=values, chunks=values.shape, compression="lzf")


BOMBS = {
    "never written": (never_written, "never written"),
    "far too long": (far_too_long, "unpacks to more"),
    "inflated": (inflated, "unpacks to more than it should"),
    "packed twice": (packed_twice, "packed in another way"),
    "otherwise packed": (otherwise_packed, "packed in another way"),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_few_bytes_do_not_become_many(kind: str, unsealed: Path, tmp_path: Path) -> None:
    make, expected = BOMBS[kind]
    path = changed(unsealed, tmp_path / "motion.nc", lambda file: replaced(file, make))
    with pytest.raises(FileError, match=expected):
        da.load(path)


def test_one_long_text_is_not_read_very_often(
    unsealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of variable length is a reference into the file, and many of them may be the same."""

    def change(file: Any) -> None:
        array = file.create_dataset("many", (100,), h5py.string_dtype(), chunks=(1,))
        array[0] = "a" * 50_000
        one = array.id.read_direct_chunk((0,))[1]
        for place in range(1, 100):
            array.id.write_direct_chunk((place,), one)

    path = changed(unsealed, tmp_path / "motion.nc", change)
    monkeypatch.setattr(stored_arrays, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr(stored_arrays, "MOST_TIMES", 1)
    with h5py.File(path) as file:
        arrays = stored_arrays.StoredArrays(file, stored_arrays.UnpackedBytes(path.stat().st_size))
        assert file["many"][99] == b"a" * 50_000
        with pytest.raises(FileError, match="more than a file of this size"):
            arrays["many"]


def test_a_file_that_is_too_large_is_not_read(
    honest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_image, "LARGEST_FILE", 1000)
    with pytest.raises(FileError, match=r"too large .* xarray"):
        da.load(honest)


def test_attributes_change_no_number(honest: Path, unsealed: Path, tmp_path: Path) -> None:
    """A scale in an attribute, which readers of netCDF apply, gave other numbers; a reference for a
    unit gave an error.
    """

    def change(file: Any) -> None:
        file["x"].attrs["scale_factor"] = 1e6
        file["x"].attrs["units"] = "days since 0000-99-99"
        file["t"].attrs.create("valid_range", np.zeros(1000, dtype=[("a", "f8")]))
        file["dalembert/step_t"].attrs["missing_value"] = 0.0
        file.attrs["loop"] = file.ref

    found, expected = da.load(changed(unsealed, tmp_path / "motion.nc", change)), da.load(honest)
    assert np.array_equal(found.y, expected.y) and np.array_equal(
        found.segments[0].step_t, expected.segments[0].step_t
    )


#: Parts of the record that lie, and what is said of them.
LIES: dict[str, tuple[dict[str, Any], str]] = {
    "parameters of text": ({"parameters": {"m": "__import__('os')"}}, "'parameters'"),
    "no number": ({"parameters": {"m": float("nan")}}, "'parameters'"),
    "another parameter": ({"parameters": {"k": 1.0}}, "not those of its model"),
    "start is a list": ({"start": [1]}, "'start'"),
    "obeyed by terminals": ({"message": "\x1b]0;owned\x07 fine"}, "'message'"),
    "events are numbers": ({"events": [1]}, "'events'"),
    "events without zero crossings": ({"events": ["a"]}, "do not fit together"),
    "negative counts": ({"passages": [-1, 1], "events": ["a", "b"]}, "'passages'"),
    "counts of all": ({"passages": [2**40], "events": ["a"]}, "do not fit together"),
    "impacts of one": ({"impacts": [[1.0]]}, "'impacts'"),
    "no statistics": ({"statistics": "many"}, "'statistics'"),
    "a path for a name": (
        {"variables": {"x": "dalembert/step_t", "x_dot": "/etc/passwd"}},
        "path for a name",
    ),
    "a power tower": (
        {"model": MODEL.replace("m*x_dot**2/2", "m*x_dot**2/2 + x**9**9**9**9")},
        "model",
    ),
    "deep brackets": (
        {"model": MODEL.replace("m*x_dot", "(" * 20_000 + "m" + ")" * 20_000 + "*x_dot")},
        "model",
    ),
    "a form with a path": ({"form": "../../etc/passwd"}, "model"),
    "a deep option": (
        {"options": {"quasi_velocities": {"w": ["expression", "(" * 9999 + "x", "x"]}}},
        "model",
    ),
}


def with_record(unsealed: Path, path: Path, text: Callable[[dict[str, Any]], str]) -> Path:
    def change(file: Any) -> None:
        file["dalembert/record"][()] = text(json.loads(file["dalembert/record"][()]))

    return changed(unsealed, path, change)


@pytest.mark.parametrize("lie", LIES)
def test_a_record_is_what_a_motion_needs(lie: str, unsealed: Path, tmp_path: Path) -> None:
    """Motions with text for a mass were loaded, and failed later with an error of our own."""
    parts, expected = LIES[lie]
    path = with_record(unsealed, tmp_path / "motion.nc", lambda record: json.dumps(record | parts))
    with pytest.raises(FileError, match=expected) as error:
        da.load(path)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"format": ' + "9" * 10_000 + "}",
        "null",
        '{"format": true}',
        '{"format": 3}',
    ],
)
def test_records_of_any_text_are_refused(text: str, unsealed: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError):
        da.load(with_record(unsealed, tmp_path / "motion.nc", lambda _: text))


def test_points_belong_to_segments_that_there_are(unsealed: Path, tmp_path: Path) -> None:
    def change(file: Any) -> None:
        file["dalembert/owner"][...] = 7

    with pytest.raises(FileError, match="do not fit together"):
        da.load(changed(unsealed, tmp_path / "motion.nc", change))


# -- stores of sweeps ------------------------------------------------------------------------------


def swept(path: Path, resume: bool = True) -> da.Ensemble:
    return da.sweep(loads(MODEL), OVER, store=path, resume=resume, chunk=2, workers=1)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.zarr"
    swept(path, resume=False)
    return path


@pytest.fixture()
def store(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "runs.zarr"))


def contents(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes()
        for file in [path, *path.rglob("*")]
        if file.is_file()
    }


def described(store: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the description of every array, in its own file and in the copy beside the root."""
    root = json.loads((store / "zarr.json").read_text())
    for name, words in root["consolidated_metadata"]["metadata"].items():
        change(words)
        (store / name / "zarr.json").write_text(json.dumps(words))
    (store / "zarr.json").write_text(json.dumps(root))


#: Links, and where they are in the store; the victim is a file or a folder outside.
PLANTED = {
    "a part": "x/c.0.0.part",
    "a chunk": "x/c.0.0",
    "values of an axis": "m/c/0",
    "an array": "x",
    "a description": "zarr.json",
    "anything": "readme",
}


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("where", PLANTED)
def test_links_in_a_store_lead_nowhere(where: str, store: Path, tmp_path: Path) -> None:
    """A link in place of a part under way had another file, anywhere, overwritten with numbers."""
    planted, victim = store / PLANTED[where], tmp_path / "victim"
    if planted.is_dir():
        shutil.copytree(planted, victim)
        shutil.rmtree(planted)
    else:
        victim.write_bytes(planted.read_bytes()[:-1] if planted.exists() else b"precious")
        planted.unlink(missing_ok=True)
    before = contents(victim)
    (store / "outcome" / "c.0").unlink()
    planted.symlink_to(victim)
    with pytest.raises(FileError, match=r"what no sweep writes .* a link"):
        swept(store)
    assert contents(victim) == before


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
@pytest.mark.parametrize("name", ["zarr.json", "x/c.0.0", "m/zarr.json", "m/c/0"])
def test_pipes_are_not_waited_for(name: str, store: Path) -> None:
    (store / name).unlink()
    os.mkfifo(store / name)
    with pytest.raises(FileError, match="no plain file"):
        swept(store)


def test_a_part_that_is_the_same_file_as_another_leaves_it_alone(
    store: Path, tmp_path: Path
) -> None:
    """A second name of a file is no link that could be seen; it was written into."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    os.link(victim, store / "x" / "c.0.0.part")
    (store / "outcome" / "c.0").unlink()
    assert swept(store).success and victim.read_bytes() == b"precious"


def coded(codec: dict[str, Any], at: int) -> Callable[[dict[str, Any]], None]:
    return lambda words: words["codecs"].insert(at, codec)


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "packed": coded({"name": "zstd", "configuration": {"level": 0, "checksum": False}}, 2),
    "pickled": coded({"name": "numcodecs.pickle", "configuration": {}}, 0),
    "unknown": coded(
        {"name": "https://example.org/codec", "configuration": {"path": "/etc/passwd"}}, 0
    ),
    "the earlier format": lambda words: words.update(
        zarr_format=2, filters=[{"id": "pickle"}], dtype="|O"
    ),
    "absurd chunks": (
        lambda words: words["chunk_grid"]["configuration"].update(
            chunk_shape=[10**12] * len(words["chunk_grid"]["configuration"]["chunk_shape"])
        )
    ),
    "absurd shape": lambda words: words.update(shape=[10**15] * len(words["shape"])),
    "no chunks": lambda words: words["chunk_grid"]["configuration"].update(chunk_shape=[]),
    "a path for a key": lambda words: words.update(
        chunk_key_encoding={"name": "default", "configuration": {"separator": "../"}}
    ),
    "nonsense": lambda words: words.update(data_type={"name": "object"}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", CHANGES)
def test_a_store_is_coded_as_sweeps_code_it(kind: str, store: Path) -> None:
    """Arrays in codecs of others were taken for ours: chunks were written that no reader could
    read.
    """
    described(store, CHANGES[kind])
    before = contents(store)
    with pytest.raises(FileError, match=r"damaged|not the store of a sweep"):
        swept(store)
    assert contents(store) == before


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "", "{}", "\x00", '{"zarr_format": 3, "node_type": "group", "attributes": []}'],
)
def test_a_description_of_any_text_is_refused(text: str, store: Path) -> None:
    (store / "zarr.json").write_text(text)
    with pytest.raises(FileError, match="not the store of a sweep"):
        swept(store)


def test_a_description_that_is_a_folder_is_refused(store: Path) -> None:
    (store / "zarr.json").unlink()
    (store / "zarr.json").mkdir()
    with pytest.raises(FileError, match="not the store of a sweep"):
        swept(store)


def test_a_store_of_pickles_is_refused(tmp_path: Path) -> None:
    """The format before ours, whose objects may be pickles; whoever unpickles this one makes a
    file.
    """
    store, owned = tmp_path / "runs.zarr", tmp_path / "owned"
    (store / "x").mkdir(parents=True)
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    (store / ".zattrs").write_text('{"dalembert_sweep": {}}')
    pickled = f"cos\nsystem\n(S'touch {owned}'\ntR.".encode()
    words = {
        "shape": [1],
        "chunks": [1],
        "dtype": "|O",
        "order": "C",
        "compressor": None,
        "fill_value": None,
    }
    (store / "x" / ".zarray").write_text(
        json.dumps(words | {"zarr_format": 2, "filters": [{"id": "pickle"}]})
    )
    (store / "x" / "0").write_bytes(pickled)
    with pytest.raises(FileError, match="not the store of a sweep"):
        swept(store)
    assert not owned.exists()


@pytest.mark.parametrize("name", ["x/c.0.0", "outcome/c.0", "m/c/0", "message/c.0"])
def test_files_of_absurd_length_are_made_again(name: str, store: Path, whole: Path) -> None:
    """A file with holes is as long as one likes, on a small disk."""
    with (store / name).open("ab") as file:
        file.truncate(2**40)
    assert swept(store).success
    assert contents(store) == contents(whole)


def test_texts_are_as_many_as_they_say(store: Path, whole: Path) -> None:
    """The number of texts stands before them, and room for all is made at once."""
    import google_crc32c

    data = b"\xff\xff\xff\xff" + bytes(8)
    (store / "message" / "c.0").write_bytes(data + google_crc32c.value(data).to_bytes(4, "little"))
    assert swept(store).messages.tolist() == [""] * 3
    assert contents(store) == contents(whole)
