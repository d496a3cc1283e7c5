"""H(x, u) from (f, h): random Hamiltonians, symplectic forms and broken reciprocity."""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.lie import PoissonStructure

q1, q2, p1, p2 = da.coordinates("q1 q2 p1 p2")
u, w = da.inputs("u w")
PAIRS = [(q1, p1), (q2, p2)]


def test_a_hamiltonian_that_is_not_affine_in_the_inputs_comes_back():
    H = (p1**2 + p2**2 * (1 + q1**2)) / 2 - sympy.cos(q1 - q2) - u * sympy.sin(q1)
    H += u * w / 3 + w**2 * q1 / 5 - w * q2 * p1
    flow = da.control.hamiltonian_control(H, PAIRS, [u, w])
    found = da.control.recover_hamiltonian(flow, PAIRS)
    assert found.verdict.is_proved
    assert sympy.simplify(sympy.expand_trig(found.hamiltonian - H)).is_constant()


@pytest.mark.parametrize(
    ("broken", "condition"),
    [
        ({"rate": -p1}, "state"),
        ({"output": p1}, "reciprocity"),
        ({"crossed": w * 2}, "inputs"),
    ],
)
def test_each_condition_can_fail_alone(broken, condition):
    H = (p1**2 + q1**2) / 2 - u * q1 + u * w
    rates = {q1: sympy.diff(H, p1), p1: -sympy.diff(H, q1) + broken.get("rate", 0)}
    flow = da.Flow(rates, inputs=[u, w])
    outputs = {u: sympy.diff(H, u) + broken.get("output", 0) + broken.get("crossed", 0)}
    outputs[w] = sympy.diff(H, w)
    found = da.control.recover_hamiltonian(flow, [(q1, p1)], outputs)
    refuted = [name for name, verdict in found.conditions.items() if verdict.is_refuted]
    assert refuted == [condition] and found.hamiltonian is None and found.verdict.is_refuted


def test_another_symplectic_form():
    """A charge in a field B = q1 dq1 ^ dq2: f = Pi dH with Pi the inverse of the form."""
    form = sympy.Matrix([[0, -q1, 1, 0], [q1, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]])
    structure = PoissonStructure.symplectic(form, [q1, q2, p1, p2])
    H = (p1**2 + p2**2) / 2 + u * q2
    gradient = sympy.Matrix([sympy.diff(H, s) for s in (q1, q2, p1, p2)])
    rates = (form.T).inv() * gradient
    flow = da.Flow(dict(zip((q1, q2, p1, p2), rates, strict=True)), inputs=[u])
    found = da.control.recover_hamiltonian(flow, structure, {u: q2})
    assert sympy.expand(found.hamiltonian - H) == 0
    canonical = da.control.recover_hamiltonian(flow, PAIRS, {u: q2})
    assert canonical.conditions["state"].is_refuted


def test_wrong_calls_are_refused():
    flow = da.Flow({q1: p1, p1: -q1 + u}, inputs=[u])
    with pytest.raises(ModelError, match="has no output"):
        da.control.recover_hamiltonian(flow, [(q1, p1)])
    with pytest.raises(ModelError, match="symbols of the flow"):
        da.control.recover_hamiltonian(flow, PAIRS, {u: q1})
    flat = PoissonStructure([[0, 0], [0, 0]], [q1, p1])
    with pytest.raises(ModelError, match="symplectic"):
        da.control.recover_hamiltonian(flow, flat, {u: q1})
