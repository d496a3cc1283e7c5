"""Native functions run as plain Python: the same motions, and every access to an array checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dalembert.codegen.native.language import Reals, Record, native
from dalembert.codegen.native.plain import as_plain, plain_call

CODE = """
import json
import dalembert as da
disk = da.simulate(da.gallery.load("rolling-disk"), span=(0, 0.4))
pendulum = da.gallery.load("spherical-pendulum")
rattle = da.simulate(pendulum, span=(0, 0.03), method="rattle4", step=0.01)
scenario = da.gallery.load("rolling-disk")
taylor = da.simulate(scenario, span=(0, 0.2), method="taylor")
gauss = da.simulate(scenario, span=(0, 0.02), method="gauss4", step=0.01)
lobatto = da.simulate(pendulum, span=(0, 0.02), method="lobatto4", step=0.01)
x = scenario.system.coordinates[0]
lanes = da.simulate(scenario, {x: [0.1, 0.2, 0.3, 0.4, 0.5]}, (0, 0.1), method="taylor", workers=1)
motions = [motion.y[:, -1].tolist() for motion in (disk, rattle, taylor, gauss, lobatto)]
print(json.dumps([*motions, lanes.final[x.name].tolist()]))
"""


class Basket(Record):
    size: int
    apples: Reals
    pears: Reals


@native
def exchange(context: Basket) -> float:
    context.apples, context.pears = context.pears, context.apples
    total = 0.0
    for k in range(context.size):
        total += context.apples[k] - context.pears[k]
    return total


def ends(native_as: str) -> list[list[float]]:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env=os.environ | {"DALEMBERT_NATIVE": native_as},
    )
    found: list[list[float]] = json.loads(done.stdout)
    return found


@pytest.mark.long
def test_motions_in_plain_python_are_those_of_native_code() -> None:
    for plain, compiled in zip(ends("python"), ends(""), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=0, atol=1e-13)


def test_arrays_that_change_places_do_so_in_the_record() -> None:
    basket = Basket()
    apples, pears = (
        basket.bind("apples", np.array([1.0, 2.0])),
        basket.bind("pears", np.array([5.0, 7.0])),
    )
    basket.size = 2
    assert plain_call(exchange)(basket) == 9.0
    assert basket.arrays["apples"].base is pears.base or np.shares_memory(
        basket.arrays["apples"], pears
    )
    assert basket.words[1] == pears.ctypes.data and basket.words[2] == apples.ctypes.data


def test_an_index_outside_of_its_array_names_the_array() -> None:
    basket = Basket()
    basket.bind("apples", np.zeros(2))
    basket.bind("pears", np.zeros(2))
    basket.size = 3
    with pytest.raises(IndexError, match="`pears` has 2 entries, and 2 was asked for"):
        plain_call(exchange)(basket)
    with pytest.raises(IndexError, match="-1 was asked for"):
        (as_plain(np.zeros(3)) + 1)[-2]
