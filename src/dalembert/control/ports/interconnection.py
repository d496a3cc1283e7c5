r"""Two systems joined at their ports so that no power is lost or made.

    "feedback"   u_1 = -y_2,  u_2 = y_1        (a gyrator: force along the other's velocity)
    "junction"   y_1 = y_2,   u_1 + u_2 = 0    (a rigid joint: one velocity, opposite forces)

Both conserve power, u_1 y_1 + u_2 y_2 = 0; so does u = K y for every skew K, and no other K does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, overload

import sympy

from ...errors import ModelError
from ...model.constraints import Constraint, velocity
from ...model.symbols import Input, as_expression, as_matrix
from ...model.system import System
from ...typing import Matrix, Symbol
from .ports import PortForm, port_forces

__all__ = ["interconnect"]


Pairs: TypeAlias = "Sequence[tuple[Symbol, Symbol]]"


@overload
def interconnect(
    first: System, second: System, pairs: Pairs, kind: str = ..., matrix: Matrix | None = ...
) -> System: ...
@overload
def interconnect(
    first: PortForm, second: PortForm, pairs: Pairs, kind: str = ..., matrix: Matrix | None = ...
) -> PortForm: ...
def interconnect(
    first: System | PortForm,
    second: System | PortForm,
    pairs: Pairs,
    kind: str = "feedback",
    matrix: Matrix | None = None,
) -> System | PortForm:
    """Two systems joined at pairs of ports (input of the first, input of the second).

    Parameters
    ----------
    first, second : System, or PortForm
        With different symbols; what they share are parameters.
    pairs : sequence of (Input, Input)
    kind : "feedback" or "junction"
        Junctions are for Systems: the joint is a constraint, and its reaction the force between
        them.
    matrix : square matrix
        u = K y instead, with the joined ports of the first and then those of the second; K must be
        skew.

    Returns
    -------
    System or PortForm
        Ports that are not joined stay inputs.

    Raises
    ------
    ModelError
        Where the interconnection would make or lose power, with the power seen; where symbols
        collide.

    Examples
    --------
    >>> import dalembert as da
    >>> x, z = da.coordinates("x z")
    >>> u, w = da.inputs("u w")
    >>> left = da.System([x], kinetic=x.dot**2/2, potential=x**2/2, forces={x: u}, inputs=[u])
    >>> right = da.System([z], kinetic=z.dot**2, forces={z: w}, inputs=[w])
    >>> joined = interconnect(left, right, [(u, w)])
    >>> joined.forces[x], joined.forces[z]
    (-z_dot, x_dot)
    """
    ports = [_port(first, a) for a, _ in pairs], [_port(second, b) for _, b in pairs]
    shared = sorted({s.name for s in _symbols(first)} & {s.name for s in _symbols(second)})
    if shared:
        remedy = "give their coordinates and inputs other names"
        raise ModelError("The two systems share symbols", ", ".join(shared), remedy)
    if kind == "junction" and matrix is None:
        return _junction(first, second, list(zip(*ports, strict=True)))
    if kind != "feedback":
        what = "An interconnection is a feedback or a junction"
        raise ModelError(what, kind, 'choose "feedback" or "junction"')
    K = _coupling(matrix, len(pairs))
    if isinstance(first, PortForm) and isinstance(second, PortForm):
        return _joined_forms(first, second, [*ports[0], *ports[1]], K)
    if isinstance(first, PortForm) or isinstance(second, PortForm):
        seen = f"{type(first).__name__} and {type(second).__name__}"
        raise ModelError("Join two Systems, or two port forms", seen, "use port_form of both")
    outputs = [_output(first, u) for u in ports[0]] + [_output(second, u) for u in ports[1]]
    laws = dict(zip((*ports[0], *ports[1]), K * sympy.Matrix(outputs), strict=True))
    return _sum_of(first, second, laws)


def _port(model: System | PortForm, name: Symbol) -> Input:
    found: Input | None = next((u for u in model.inputs if u.name == str(name)), None)
    if found is None:
        known = ", ".join(map(str, model.inputs)) or "no inputs"
        raise ModelError(f"There is no port `{name}`", known, "name an input")
    return found


def _symbols(model: System | PortForm) -> set[sympy.Symbol]:
    own = model.symbols if isinstance(model, PortForm) else (*model.coordinates, *model.velocities)
    return {*own, *model.inputs}


def _coupling(matrix: Matrix | None, count: int) -> sympy.MatrixBase:
    """K of u = K y, checked to be skew."""
    if matrix is None:
        zero, one = sympy.zeros(count, count), sympy.eye(count)
        return sympy.Matrix(sympy.BlockMatrix([[zero, -one], [one, zero]]))
    K = sympy.Matrix(as_matrix(matrix))
    even = (K + K.T).applyfunc(sympy.expand)
    if K.shape != (2 * count, 2 * count) or any(entry != 0 for entry in even):
        y = sympy.Matrix(sympy.symbols(f"y1:{2 * count + 1}"))
        seen = f"{K.rows} x {K.cols}"
        if K.shape == (2 * count, 2 * count):
            seen = sympy.sstr(sympy.expand((y.T * K * y)[0]))
        raise ModelError(
            "The interconnection does not conserve power",
            f"u . y = {seen}",
            f"pass a skew matrix of {2 * count} rows, or put the symmetric part into the damping"
            " of a system",
        )
    return K


def _output(system: System, port: Input) -> sympy.Expr:
    """The velocity y = B^T q_dot at which an input does work."""
    column = port_forces(system).columns.col(list(system.inputs).index(port))
    return sum((b * v for b, v in zip(column, system.velocities, strict=True)), sympy.S.Zero)


def _sum_of(
    first: System, second: System, laws: Mapping[Input, sympy.Expr],
    joints: Sequence[Constraint] = (),
) -> System:  # fmt: skip
    """Both systems side by side, with laws put in for inputs."""
    if first.is_hamiltonian != second.is_hamiltonian:
        what = "Join systems that are stated alike"
        raise ModelError(what, "a Lagrangian and a Hamiltonian", "use port_form of both")
    energy = "hamiltonian" if first.is_hamiltonian else "lagrangian"
    both = (first, second)
    forces = {q: as_expression(f) for s in both for q, f in s.forces.items()}
    return System(
        [q for s in both for q in s.coordinates],
        constraints=[*(c for s in both for c in s.constraints), *joints],
        forces={q: force.xreplace(dict(laws)) for q, force in forces.items()},
        dissipation=first.dissipation + second.dissipation,
        inputs={u: law for s in both for u, law in s.inputs.items() if u not in laws},
        outputs={key: e.xreplace(dict(laws)) for s in both for key, e in s.outputs.items()},
        name=f"{first.name} with {second.name}",
        **{energy: first.energy_function + second.energy_function},
    )


def _junction(
    first: System | PortForm, second: System | PortForm, pairs: Sequence[tuple[Input, Input]]
) -> System:
    if isinstance(first, PortForm) or isinstance(second, PortForm):
        what = "A junction is a constraint, which ports in symbols do not carry"
        raise ModelError(what, remedy="join the Systems")
    gaps = {(a, b): _output(first, a) - _output(second, b) for a, b in pairs}
    joints = [velocity(gap, name=f"joint_{a}_{b}") for (a, b), gap in gaps.items()]
    return _sum_of(first, second, {u: sympy.S.Zero for pair in pairs for u in pair}, joints)


def _joined_forms(
    first: PortForm, second: PortForm, ports: Sequence[Input], K: sympy.MatrixBase
) -> PortForm:
    """H_1 + H_2 with J + g K g^T: a skew K stays in the structure."""
    structure = sympy.diag(first.structure, second.structure)
    damping = sympy.diag(first.damping, second.damping)
    columns = sympy.diag(first.ports, second.ports)
    inputs = [*first.inputs, *second.inputs]
    g = columns.extract(list(range(columns.rows)), [inputs.index(u) for u in ports])
    open_ports = [k for k, u in enumerate(inputs) if u not in ports]
    rows = sympy.zeros(0, columns.rows)
    if first.rows.rows or second.rows.rows:
        rows = sympy.diag(first.rows, second.rows)
    return PortForm(
        (*first.symbols, *second.symbols),
        first.hamiltonian + second.hamiltonian,
        structure + g * K * g.T,
        damping,
        columns.extract(list(range(columns.rows)), open_ports),
        tuple(inputs[k] for k in open_ports),
        first.rest.col_join(second.rest),
        rows,
        f"{first.name} with {second.name}",
    )
