"""Forward dynamics in numbers, and compiled quantities that are found on disk again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError, SingularError
from dalembert.model.bodies.contributions import Contribution
from dalembert.model.bodies.mechanism import Mechanism

b = da.bodies


def arm(mass: float = 1.3, **options: float) -> Mechanism:
    upper, lower = (b.Body(name, mass, (0.1, 0.2, -0.5), (0.1, 0.2, 0.25)) for name in "ab")
    joints = [
        b.spherical("s", b.ground(), upper),
        b.revolute("q", upper, lower, (1, 2, 3), at=(0, 0.1, -1), damping=0.3, **options),
    ]
    return b.Mechanism(joints, gravity=(0, 0, -9.81))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def unstated(monkeypatch):
    """No mechanism can be stated as a system any more."""

    def forbid() -> None:
        monkeypatch.setattr(Mechanism, "system", None)

    return forbid


def states(count: int) -> np.ndarray:
    found = np.random.default_rng(5).uniform(-1, 1, (3, count, 5))
    found[0, :, :4] /= np.linalg.norm(found[0, :, :4], axis=-1, keepdims=True)
    # rates of a unit quaternion are normal to it
    inner = np.sum(found[0, :, :4] * found[1, :, :4], axis=-1, keepdims=True)
    found[1, :, :4] -= inner * found[0, :, :4]
    return found


def test_forward_dynamics_undoes_inverse_dynamics_and_equals_the_equations():
    model = b.BodyModel(arm(), native=True)
    q, v, tau = states(4)
    tau[:, :4] = 0.0  # so that the norm of the quaternion needs no force
    found = model.forward_dynamics(q, v, tau)
    kernel = da.derive(model.system, "lagrange").compile()
    plain = model.forward_dynamics(q, v, 0 * tau)
    for k in range(4):
        assert plain[k] == pytest.approx(kernel.rates(0.0, np.append(q[k], v[k]))[5:], rel=1e-11)
    rest = model.inverse_dynamics(q, v, found) - tau
    # what is left is the force of the constraint, along the quaternion
    along = np.sum(rest[:, :4] * q[:, :4], axis=-1, keepdims=True)
    assert rest[:, :4] == pytest.approx(along * q[:, :4], abs=1e-11)
    assert rest[:, 4] == pytest.approx(0.0, abs=1e-11)


def test_loops_are_closed_in_forward_dynamics():
    bars = [b.Body(f"b{k}", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)) for k in range(3)]
    joints = [
        b.revolute("q0", b.ground(), bars[0]),
        b.revolute("q1", bars[0], bars[1], at=(1, 0, 0)),
        b.revolute("q2", bars[1], bars[2], at=(1, 0, 0)),
    ]
    closed = b.Mechanism(
        [*joints, b.distance("rod", bars[2].point((1, 0, 0)), b.ground().point((0.5, 0, 0)), 0.7)],
        gravity=(0, -9.81, 0),
    )
    model = b.BodyModel(closed)
    q = closed.assemble(guess={"q0": 1.0, "q1": -2.0, "q2": -1.0}).values
    state = [q[name] for name in model.names]
    kernel = da.derive(model.system, "lagrange").compile()
    expected = kernel.rates(0.0, np.append(state, np.zeros(3)))[3:]
    assert model.forward_dynamics(state, np.zeros(3), np.zeros(3)) == pytest.approx(expected)


def test_what_has_no_unique_accelerations_is_said():
    massless = b.Mechanism([b.revolute("a", b.ground(), b.Body("arm"))])
    with pytest.raises(SingularError, match="no inertia"):
        b.BodyModel(massless).forward_dynamics([0.0], [0.0], [1.0])
    with pytest.raises(ModelError, match="friction needs its mode"):
        b.BodyModel(arm(friction_loss=0.1)).forward_dynamics(*np.ones((3, 5)))


def test_a_compiled_quantity_is_found_without_stating_the_system(folder, unstated):
    q, v, tau = states(2)
    first = b.BodyModel(arm(), native=True).forward_dynamics(q, v, tau)
    unstated()
    again = b.BodyModel(arm(), native=True)
    assert again.names == ("s_qw", "s_qx", "s_qy", "s_qz", "q")
    assert np.array_equal(again.forward_dynamics(q, v, tau), first)
    with pytest.raises(TypeError):  # another mechanism has to be stated
        b.BodyModel(arm(1.4), native=True)
    with pytest.raises(TypeError):  # another quantity too
        again.mass_matrix(q)


def test_a_damaged_entry_is_compiled_again(folder):
    q, v, tau = states(2)
    first = b.BodyModel(arm(), native=True).forward_dynamics(q, v, tau)
    for path in folder.glob("*.o"):
        path.write_bytes(path.read_bytes()[:-3] + b"abc")
    assert np.array_equal(b.BodyModel(arm(), native=True).forward_dynamics(q, v, tau), first)


@dataclass(frozen=True)
class Push:
    """A user's own element, whose meaning may change under its name."""

    name: str

    def expressions(self):
        return ()

    def contribution(self, kinematics):
        return Contribution()


def test_mechanisms_with_a_users_own_classes_are_not_stored(folder, unstated):
    own = b.Mechanism(arm().joints, [Push("push")], gravity=(0, 0, -9.81))
    q, v, tau = states(1)
    b.BodyModel(own, native=True).forward_dynamics(q, v, tau)
    unstated()
    with pytest.raises(TypeError):
        b.BodyModel(own, native=True)
