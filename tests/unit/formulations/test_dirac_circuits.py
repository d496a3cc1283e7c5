"""Circuits with resistors, sources, transformers and gyrators, against equations written by hand
and followed by SciPy.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from sympy import cos, exp, sin

import dalembert as da
from dalembert.dirac import circuit
from dalembert.errors import ModelError


def follow(field, start, end: float) -> np.ndarray:
    return solve_ivp(field, (0, end), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def test_a_driven_series_circuit() -> None:
    R, L, C = da.parameters("R L C", positive=True)
    flow = circuit({
        "E": ("voltage", "a", "0", sin(3 * da.t)),
        "R": ("resistor", "a", "b", R),
        "L": ("inductor", "b", "c", L),
        "C": ("capacitor", "c", "0", C),
    })  # fmt: skip
    values = {R: 0.4, L: 0.7, C: 1.2}
    motion = da.simulate(flow, {"q_C": 0.3}, (0, 5), parameters=values, rtol=1e-12)
    end = follow(
        lambda t, s: [s[1] / 0.7, np.sin(3 * t) - 0.4 * s[1] / 0.7 - s[0] / 1.2], [0.3, 0.0], 5
    )
    assert np.allclose([motion["q_C"][-1], motion["phi_L"][-1]], end, atol=1e-9)
    power = sum(motion[f"v_{b}"] * motion[f"i_{b}"] for b in "ERLC")
    assert np.max(np.abs(power)) < 1e-12  # Tellegen


def test_a_transformer_between_a_source_and_a_load() -> None:
    """Node b sees the source through the ratio: C v' = n (J - n v / R) - phi / L."""
    flow = circuit({
        "J": ("current", "0", "a", 1),
        "R": ("resistor", "a", "0", 2),
        "T": ("transformer", "a", "0", "b", "0", 3),
        "L": ("inductor", "b", "0", 0.5),
        "C": ("capacitor", "b", "0", 0.25),
    })  # fmt: skip
    motion = da.simulate(flow, {"q_C": 0.1, "phi_L": 0.2}, (0, 4), rtol=1e-12)

    def field(_: float, s: np.ndarray) -> list[float]:
        v = s[0] / 0.25
        return [3 * (1 - 3 * v / 2) - s[1] / 0.5, v]

    assert np.allclose(
        [motion["q_C"][-1], motion["phi_L"][-1]], follow(field, [0.1, 0.2], 4), atol=1e-9
    )


def test_a_gyrator_makes_an_inductor_of_a_capacitor() -> None:
    """v1 = r i2 and v2 = -r i1 with C at the second port: v1 = r^2 C i1'."""
    flow = circuit({
        "E": ("voltage", "a", "0", sin(da.t)),
        "R": ("resistor", "a", "b", 2),
        "G": ("gyrator", "b", "0", "c", "0", 1.5),
        "C": ("capacitor", "c", "0", 0.8),
    })  # fmt: skip
    motion = da.simulate(flow, {"q_C": -0.12}, (0, 6), rtol=1e-12)
    current = 0.12 / (0.8 * 1.5)  # v2 = q / C = -r i1
    inductance = 1.5**2 * 0.8
    end = follow(lambda t, i: [(np.sin(t) - 2 * i[0]) / inductance], [current], 6)
    assert abs(motion["i_G_1"][-1] - end[0]) < 1e-9


def test_capacitors_in_a_loop_with_a_source_share_a_law() -> None:
    """q1 / C1 = E(t) - q2 / C2: one state, with the derivative of the source."""
    flow = circuit({
        "E": ("voltage", "a", "0", sin(2 * da.t)),
        "C1": ("capacitor", "a", "b", 1),
        "C2": ("capacitor", "b", "0", 2),
        "R": ("resistor", "b", "0", 3),
    })  # fmt: skip
    assert len(flow.constraints) == 1
    motion = da.simulate(flow, {"q_C2": 0.5}, (0, 3), rtol=1e-12)
    # node b: (C1 + C2) v' = C1 E' - v / R
    end = follow(lambda t, v: [(2 * np.cos(2 * t) - v[0] / 3) / 3], [0.25], 3)
    assert abs(motion["v_C2"][-1] - end[0]) < 1e-9
    assert max(motion.worst_residual.values()) < 1e-10


def test_a_diode_is_a_nonlinear_resistor() -> None:
    """i = exp(v) - 1 in series with R and C: the voltage by a root at each instant."""
    v = da.coordinates("v_D")
    flow = circuit({
        "E": ("voltage", "a", "0", sin(da.t)),
        "R": ("resistor", "a", "b", 1),
        "D": ("resistor", "b", "c", exp(v) - 1),
        "C": ("capacitor", "c", "0", 1),
    })  # fmt: skip
    motion = da.simulate(flow, {"q_C": 0.0}, (0, 3), rtol=1e-12)

    def field(t: float, q: np.ndarray) -> list[float]:
        root = brentq(lambda w: np.expm1(w) + w + q[0] - np.sin(t), -50, 5, xtol=1e-14)
        return [np.expm1(root)]

    assert abs(motion["q_C"][-1] - follow(field, [0.0], 3)[0]) < 1e-9


def test_an_input_drives_a_source_and_nonlinear_storage() -> None:
    """A Josephson junction with a shunt: phi'' C = J - sin(phi) - phi' / R."""
    phi = da.coordinates("phi_J")
    bias = da.inputs("bias")
    flow = circuit({
        "I": ("current", "0", "a", bias),
        "J": ("inductor", "a", "0", 1 - cos(phi)),
        "R": ("resistor", "a", "0", 2),
        "C": ("capacitor", "a", "0", 1),
    }, inputs=[bias])  # fmt: skip
    motion = da.simulate(flow, {"phi_J": 0.3}, (0, 5), inputs={"bias": sin(da.t) / 2}, rtol=1e-12)
    end = follow(lambda t, s: [s[1], np.sin(t) / 2 - np.sin(s[0]) - s[1] / 2], [0.3, 0.0], 5)
    assert np.allclose([motion["phi_J"][-1], motion["q_C"][-1]], end, atol=1e-9)


def test_a_ladder_against_its_nodal_equations() -> None:
    """Six sections: C v_k' = (v_{k-1} - v_k)/R - (v_k - v_{k+1})/R."""
    n, branches = 6, {"E": ("voltage", "n0", "0", sin(da.t))}
    for k in range(n):
        branches[f"R{k}"] = ("resistor", f"n{k}", f"n{k + 1}", 1)
        branches[f"C{k}"] = ("capacitor", f"n{k + 1}", "0", 1)
    motion = da.simulate(circuit(branches), {"q_C0": 0.2}, (0, 4), rtol=1e-12)
    matrix = -2 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)
    matrix[-1, -1] = -1

    def field(t: float, v: np.ndarray) -> np.ndarray:
        return matrix @ v + np.eye(n)[0] * np.sin(t)

    end = follow(field, 0.2 * np.eye(n)[0], 4)
    assert np.allclose([motion[f"q_C{k}"][-1] for k in range(n)], end, atol=1e-9)


def test_faults() -> None:
    with pytest.raises(ModelError, match="contradict"):
        circuit({
            "E": ("voltage", "a", "0", 1),
            "F": ("voltage", "a", "0", 2),
            "C": ("capacitor", "a", "0", 1),
        })  # fmt: skip
    with pytest.raises(ModelError, match="did you mean resistor"):
        circuit({"R": ("resistr", "a", "0", 1)})
    with pytest.raises(ModelError, match="no motion"):
        circuit({"R": ("resistor", "a", "0", 1)})
    with pytest.raises(ModelError, match="derivative of the input"):
        drive = da.inputs("drive")
        circuit(
            {"E": ("voltage", "a", "0", drive), "C": ("capacitor", "a", "0", 1)}, inputs=[drive]
        )
