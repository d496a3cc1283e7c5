"""Circuits against node analysis by matrix exponentials, against their dual description, and
against Kirchhoff's laws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import dalembert as da
from dalembert.errors import ModelError, SingularError
from dalembert.model.builders.circuit_graph import Graph

TIMES = np.linspace(0.0, 8.0, 33)
Branches = dict[str, tuple[Any, ...]]

#: Capacitors that span all nodes as a tree: both descriptions determine the motion.
TREE: Branches = {
    "C1": ("capacitor", "a", "0", 1.1),
    "C2": ("capacitor", "b", "a", 0.7),
    "C3": ("capacitor", "c", "a", 1.6),
    "L1": ("inductor", "a", "b", 0.9),
    "L2": ("inductor", "b", "c", 1.3),
    "L3": ("inductor", "c", "0", 0.6),
    "L4": ("inductor", "a", "0", 2.1),
}
#: Two more capacitors close loops.
LOOPS: Branches = TREE | {"C4": ("capacitor", "b", "0", 0.4), "C5": ("capacitor", "b", "c", 0.8)}
#: The nodes d and e hang on inductors alone.
CUTSETS: Branches = TREE | {
    "L5": ("inductor", "c", "d", 0.8),
    "L6": ("inductor", "d", "0", 1.2),
    "L7": ("inductor", "a", "d", 0.5),
}
BOTH: Branches = LOOPS | CUTSETS


def ends(branches: Branches) -> dict[str, tuple[str, str]]:
    return {name: (str(words[1]), str(words[2])) for name, words in branches.items()}


def node_matrix(branches: Branches, names: list[str], nodes: list[str]) -> Any:
    """The incidence matrix without the ground, by hand."""
    table = np.zeros((len(nodes), len(names)))
    for j, name in enumerate(names):
        tail, head = ends(branches)[name]
        if tail in nodes:
            table[nodes.index(tail), j] += 1
        if head in nodes:
            table[nodes.index(head), j] -= 1
    return table


def node_analysis(
    branches: Branches, charges: dict[str, float], currents: dict[str, float], times: Any
) -> dict[str, Any]:
    """Voltages of capacitors and currents of inductors by potentials u and inductor currents i, a
    linear system without loops:

        A_C C A_C^T u_dot + A_L i = 0,      L i_dot = A_L^T u.

    A node on inductors alone has no capacitance: its potential is what keeps the sum of its
    currents at zero.
    """
    capacitors = [n for n, w in branches.items() if w[0] == "capacitor"]
    inductors = [n for n, w in branches.items() if w[0] == "inductor"]
    every = sorted({node for pair in ends(branches).values() for node in pair} - {"0"})
    held = [node for node in every if any(node in ends(branches)[name] for name in capacitors)]
    loose = [node for node in every if node not in held]
    c_rows, l_rows = node_matrix(branches, capacitors, held), node_matrix(branches, inductors, held)
    loose_rows = node_matrix(branches, inductors, loose)
    capacity = c_rows @ np.diag([branches[n][3] for n in capacitors]) @ c_rows.T
    inverse = np.diag([1 / branches[n][3] for n in inductors])
    # 0 = A_loose i_dot = A_loose L^-1 (A_held^T u + A_loose^T u_loose)
    follow = (
        -np.linalg.solve(loose_rows @ inverse @ loose_rows.T, loose_rows @ inverse @ l_rows.T)
        if loose
        else np.zeros((0, len(held)))
    )
    drive = inverse @ (l_rows.T + loose_rows.T @ follow)
    n, m = len(held), len(inductors)
    matrix = np.block(
        [[np.zeros((n, n)), -np.linalg.solve(capacity, l_rows)], [drive, np.zeros((m, m))]]
    )
    # the start: potentials from the charges that the node holds
    charge = np.array([charges[n] for n in capacitors])
    start = np.concatenate(
        [np.linalg.solve(capacity, c_rows @ charge), [currents[n] for n in inductors]]
    )
    states = np.array([expm(matrix * time) @ start for time in times]).T
    found = {f"current_{name}": states[n + k] for k, name in enumerate(inductors)}
    found |= {f"voltage_{name}": c_rows[:, k] @ states[:n] for k, name in enumerate(capacitors)}
    return found


def consistent_values(branches: Branches, seed: int) -> tuple[dict[str, float], dict[str, float]]:
    """Random potentials and loop currents, as charges of capacitors and currents of inductors."""
    random = np.random.default_rng(seed)
    capacitors = [n for n, w in branches.items() if w[0] == "capacitor"]
    inductors = [n for n, w in branches.items() if w[0] == "inductor"]
    nodes = sorted({node for pair in ends(branches).values() for node in pair} - {"0"})
    voltages = node_matrix(branches, capacitors, nodes).T @ random.normal(size=len(nodes))
    held = [node for node in nodes if any(node in ends(branches)[name] for name in capacitors)]
    loose = node_matrix(branches, inductors, [node for node in nodes if node not in held])
    free = random.normal(size=len(inductors))
    currents = free - np.linalg.pinv(loose) @ (loose @ free) if len(loose) else free
    charges = {n: float(branches[n][3] * v) for n, v in zip(capacitors, voltages, strict=True)}
    return charges, {n: float(i) for n, i in zip(inductors, currents, strict=True)}


def start_of(
    branches: Branches, by: str, charges: dict[str, float], currents: dict[str, float]
) -> dict[str, float]:
    """The start in the symbols of one description; whatever is not determined by it is
    completed.
    """
    if by == "charges":
        return {f"q_{n}": q for n, q in charges.items()} | {
            f"q_{n}_dot": i for n, i in currents.items()
        }
    start = {f"phi_{n}_dot": q / branches[n][3] for n, q in charges.items()}
    return start | {f"phi_{n}": i * branches[n][3] for n, i in currents.items()}


def run(branches: Branches, by: str, seed: int = 1, **options: Any) -> da.Motion:
    charges, currents = consistent_values(branches, seed)
    circuit = da.dirac.lc_circuit(branches, by=by, **options)
    motion = da.simulate(
        circuit, start_of(branches, by, charges, currents), (0, 8), at=TIMES, rtol=1e-11, atol=1e-13
    )
    assert motion.success, motion.message
    return motion


# -- the motion ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("by", ["charges", "fluxes"])
@pytest.mark.parametrize(
    "branches", [TREE, LOOPS, CUTSETS, BOTH], ids=["tree", "loops", "cutsets", "both"]
)
def test_it_moves_as_node_analysis_says(branches: Branches, by: str) -> None:
    motion = run(branches, by)
    expected = node_analysis(branches, *consistent_values(branches, 1), TIMES)
    for name, values in expected.items():
        assert np.abs(motion[name] - values).max() < 2e-9, name
        assert np.ptp(values) > 0.05
    assert np.ptp(motion.energy) < 1e-10


@pytest.mark.parametrize(
    ("branches", "expected"),
    [(TREE, "q_C1"), (LOOPS, "phi_C1"), (CUTSETS, "q_C1")],
    ids=["tree", "loops", "cutsets"],
)
def test_the_description_is_the_one_that_determines_the_motion(
    branches: Branches, expected: str
) -> None:
    circuit = da.dirac.lc_circuit(branches)
    assert circuit.coordinates[0].name == expected
    assert not [
        c for c in circuit.constraints if isinstance(c, type(da.holonomic(circuit.coordinates[0])))
    ]


def test_loops_and_cutsets_together_are_named_and_can_be_forced() -> None:
    with pytest.raises(ModelError) as found:
        da.dirac.lc_circuit(BOTH)
    assert "the capacitors C1, C2, C4 form a loop" in str(found.value)
    assert "the inductors L5, L6, L7 form a cutset" in str(found.value)
    assert 'by="charges"' in str(found.value)
    charges, fluxes = (
        da.dirac.lc_circuit(BOTH, by="charges"),
        da.dirac.lc_circuit(BOTH, by="fluxes"),
    )
    assert [c.name for c in charges.constraints][-2:] == ["loop_C1_C2_C4", "loop_C2_C3_C5"]
    assert [c.name for c in fluxes.constraints][-1:] == ["cutset_L5_L6_L7"]


@pytest.mark.parametrize(
    ("branches", "by"), [(LOOPS, "charges"), (CUTSETS, "fluxes")], ids=["loops", "cutsets"]
)
def test_without_the_missing_law_the_motion_is_not_determined(branches: Branches, by: str) -> None:
    circuit = da.dirac.lc_circuit(branches, by=by)
    lacking = circuit.replacing(
        constraints=[c for c in circuit.constraints if c.expression.has(*circuit.velocities)]
    )
    assert len(lacking.constraints) < len(circuit.constraints)
    charges, currents = consistent_values(branches, 1)
    with pytest.raises(SingularError):
        da.simulate(lacking, start_of(branches, by, charges, currents), (0, 1))


@pytest.mark.long
@pytest.mark.parametrize("by", ["charges", "fluxes"])
def test_dependent_rows_change_nothing(by: str) -> None:
    branches = TREE if by == "charges" else LOOPS
    whole = run(branches, by, **({"loops": "all"} if by == "fluxes" else {}))
    rows = whole.system.bilateral
    independent = len(branches) - 3 if by == "fluxes" else 3
    assert len(rows) > independent
    bare = run(branches, by) if by == "fluxes" else None
    if bare is None:
        fewer = whole.system.replacing(constraints=whole.system.constraints[1:])
        bare = da.simulate(fewer, whole.start, (0, 8), at=TIMES, rtol=1e-11, atol=1e-13)
    assert len(bare.system.bilateral) == independent
    for name in ("voltage_C1", "current_L3"):
        assert np.abs(whole[name] - bare[name]).max() < 1e-9


# -- Kirchhoff's laws ------------------------------------------------------------------------------


def laws(
    branches: Branches, voltage: dict[str, Any], current: dict[str, Any]
) -> tuple[float, float]:
    """The worst sum of currents at a node, and of voltages around a loop of the whole graph."""
    graph = Graph(ends(branches))
    node = max(
        np.abs(sum(s * current[b] for b, s in graph.incidence(n).items())).max()
        for n in graph.nodes
    )
    loop = max(
        np.abs(sum(s * voltage[b] for b, s in walk.items())).max() for walk in graph.every_loop()
    )
    return float(node), float(loop)


@pytest.mark.parametrize("branches", [TREE, LOOPS, BOTH], ids=["tree", "loops", "both"])
def test_both_of_kirchhoffs_laws_hold_by_charges(branches: Branches) -> None:
    """The node law is imposed; the loop law comes out, of q / C and L q_ddot."""
    motion = run(branches, "charges")
    value = {name: words[3] for name, words in branches.items()}
    voltage = {
        n: motion[f"q_{n}"] / value[n] if n.startswith("C") else value[n] * motion[f"q_{n}_ddot"]
        for n in branches
    }
    node, loop = laws(branches, voltage, {n: motion[f"q_{n}_dot"] for n in branches})
    assert node < 1e-11 and loop < 1e-9
    assert min(np.abs(v).max() for v in voltage.values()) > 1e-2


@pytest.mark.parametrize("branches", [TREE, LOOPS, BOTH], ids=["tree", "loops", "both"])
def test_both_of_kirchhoffs_laws_hold_by_fluxes(branches: Branches) -> None:
    """The loop law is imposed; the node law comes out, of C phi_ddot and phi / L."""
    motion = run(branches, "fluxes")
    value = {name: words[3] for name, words in branches.items()}
    current = {
        n: (
            motion[f"phi_{n}"] / value[n]
            if n.startswith("L")
            else value[n] * motion[f"phi_{n}_ddot"]
        )
        for n in branches
    }
    node, loop = laws(branches, {n: motion[f"phi_{n}_dot"] for n in branches}, current)
    assert node < 1e-9 and loop < 1e-11


@pytest.mark.long
def test_multipliers_of_nodes_are_potentials_and_those_of_loops_are_currents() -> None:
    motion = run(TREE, "charges")
    graph = Graph(ends(TREE))
    potential = {node: motion.reactions[f"node_{node}"].multiplier[0] for node in graph.nodes}
    for name, (tail, head) in ends(TREE).items():
        voltage = (
            motion[f"voltage_{name}"]
            if name.startswith("C")
            else TREE[name][3] * motion[f"q_{name}_ddot"]
        )
        assert np.abs(potential[tail] - potential[head] - voltage).max() < 1e-9
    dual = run(LOOPS, "fluxes")
    for name in LOOPS:
        walks = [
            (c.name, sign)
            for c in dual.system.bilateral
            for sign in [_sign(c.expression, name)]
            if sign
        ]
        around = sum(sign * dual.reactions[label].multiplier[0] for label, sign in walks)
        current = (
            dual[f"current_{name}"]
            if name.startswith("L")
            else LOOPS[name][3] * dual[f"phi_{name}_ddot"]
        )
        assert np.abs(around - current).max() < 1e-9


def _sign(expression: sympy.Expr, name: str) -> int:
    return int(expression.coeff(da.coordinates(f"phi_{name}").dot))


def test_reactions_of_the_missing_law_vanish() -> None:
    """The voltage law of a loop of capacitors holds by itself once it holds; stating it exerts no
    force.
    """
    motion = run(BOTH, "charges")
    for name in ("loop_C1_C2_C4", "loop_C2_C3_C5"):
        assert np.abs(motion.reactions[name].force).max() < 1e-9
    assert np.abs(motion.reactions["node_a"].force).max() > 0.1


@pytest.mark.long
def test_trapped_charge_and_flux_stay() -> None:
    """Two capacitors in series hold the charge between them, two inductors in parallel the flux in
    their loop.
    """
    series = da.dirac.lc_circuit(
        {
            "C1": ("capacitor", "a", "b", 1),
            "C2": ("capacitor", "b", "0", 2),
            "L1": ("inductor", "a", "0", 1),
        }
    )
    motion = da.simulate(
        series, {"q_C1": 1.0, "q_C2": 0.2}, (0, 5), at=TIMES[TIMES <= 5], rtol=1e-11
    )
    assert np.ptp(motion["q_C1"] - motion["q_C2"]) < 1e-12
    assert motion["q_C1"][0] - motion["q_C2"][0] == pytest.approx(0.8)
    parallel = da.dirac.lc_circuit(
        {
            "L1": ("inductor", "a", "0", 1),
            "L2": ("inductor", "a", "0", 2),
            "C1": ("capacitor", "a", "0", 1),
        },
        by="fluxes",
    )
    motion = da.simulate(
        parallel, {"phi_L1": 1.0, "phi_L2": 0.2}, (0, 5), at=TIMES[TIMES <= 5], rtol=1e-11
    )
    assert np.ptp(motion["phi_L1"] - motion["phi_L2"]) < 1e-12
    assert motion["phi_L1"][0] - motion["phi_L2"][0] == pytest.approx(0.8)


def test_small_elements_are_no_singularity() -> None:
    """A microhenry and a nanofarad: period 2 pi sqrt(L C)."""
    circuit = da.dirac.lc_circuit(
        {"C1": ("capacitor", "a", "0", 1e-9), "L1": ("inductor", "a", "0", 1e-6)}
    )
    period = 2 * np.pi * np.sqrt(1e-15)
    times = period * np.array([0.0, 0.25, 0.5, 1.0])
    motion = da.simulate(circuit, {"q_C1": 1e-9}, (0, period), at=times, rtol=1e-10, atol=1e-20)
    assert np.allclose(motion["voltage_C1"], [1, 0, -1, 1], atol=1e-8)


# -- nonlinear elements ----------------------------------------------------------------------------


def test_a_junction_swings_like_a_pendulum() -> None:
    """A capacitor across a Josephson junction: C phi_ddot + E sin(phi) = 0, in fluxes because of
    the junction.
    """
    C, E = da.parameters("C E", positive=True)
    phi = da.coordinates("phi_J")
    circuit = da.dirac.lc_circuit(
        {"J": ("inductor", "a", "0", E * (1 - sympy.cos(phi))), "C1": ("capacitor", "a", "0", C)}
    )
    motion = da.simulate(
        circuit, {"phi_J": 2.0}, (0, 8), parameters={C: 0.5, E: 1.5}, at=TIMES, rtol=1e-11
    )
    pendulum = solve_ivp(
        lambda t, y: [y[1], -3 * np.sin(y[0])],
        (0, 8),
        [2.0, 0.0],
        t_eval=TIMES,
        rtol=1e-12,
        atol=1e-12,
    )
    assert np.abs(motion["phi_J"] - pendulum.y[0]).max() < 1e-8
    assert np.allclose(motion["current_J"], 1.5 * np.sin(motion["phi_J"]), atol=1e-12)


@pytest.mark.long
def test_a_nonlinear_circuit_is_the_same_in_both_descriptions() -> None:
    """A capacitor with v = q + q^3 and an inductor with phi = atan(i): each needs energy in one and
    coenergy in the other.
    """
    q, phi = da.coordinates("q_C1 phi_C1")
    i, current = da.coordinates("q_L1").dot, da.coordinates("phi_L1")
    coenergy = i * sympy.atan(i) - sympy.log(1 + i**2) / 2  # integral of atan
    energy = -sympy.log(sympy.cos(current))  # integral of tan
    linear: Branches = {"C2": ("capacitor", "b", "0", 0.6), "L2": ("inductor", "a", "b", 0.9)}
    by_charges = da.dirac.lc_circuit(
        {"C1": ("capacitor", "a", "0", q**2 / 2 + q**4 / 4), "L1": ("inductor", "a", "0", coenergy)}
        | linear,
        by="charges",
    )
    by_fluxes = da.dirac.lc_circuit(
        {"C1": ("capacitor", "a", "0", phi.dot**2 / 2), "L1": ("inductor", "a", "0", energy)}
        | linear,
        by="fluxes",
    )
    assert by_charges.coordinates[0].name == "q_C1" and by_fluxes.coordinates[0].name == "phi_C1"
    motion = da.simulate(
        by_charges,
        {"q_C1": 0.5, "q_C2": 0.0, "q_L1_dot": 0.0, "q_L2_dot": 0.3},
        (0, 8),
        at=TIMES,
        rtol=1e-11,
    )
    assert np.ptp(motion.energy) < 1e-9
    assert np.allclose(motion["voltage_C1"], motion["q_C1"] + motion["q_C1"] ** 3, atol=1e-12)
    assert np.allclose(motion["flux_L1"], np.arctan(motion["q_L1_dot"]), atol=1e-12)
    # the same circuit with a linear first capacitor, in both
    same = {"C1": ("capacitor", "a", "0", 1), "L1": ("inductor", "a", "0", coenergy)} | linear
    first = da.simulate(
        da.dirac.lc_circuit(same),
        {"q_C1": 0.5, "q_C2": 0.0, "q_L1_dot": 0.0, "q_L2_dot": 0.3},
        (0, 8),
        at=TIMES,
        rtol=1e-11,
    )
    second = da.simulate(
        by_fluxes,
        {"phi_C1_dot": 0.5, "phi_C2_dot": 0.0, "phi_L1": 0.0, "phi_L2": 0.27},
        (0, 8),
        at=TIMES,
        rtol=1e-11,
    )
    for name in ("voltage_C1", "charge_C2", "flux_L1", "current_L1", "current_L2"):
        assert np.abs(first[name] - second[name]).max() < 1e-8, name
    assert np.abs(first["voltage_C1"] - motion["voltage_C1"]).max() > 1e-2


def test_an_element_decides_the_description_or_is_asked_for_in_another_way() -> None:
    phi = da.coordinates("phi_L1")
    branches = {"C1": ("capacitor", "a", "0", 1), "L1": ("inductor", "a", "0", phi**4)}
    assert da.dirac.lc_circuit(branches).coordinates[0].name == "phi_C1"
    with pytest.raises(
        ModelError, match=r"cannot be described by charges.*L1.*coenergy, an expression of q_L1_dot"
    ):
        da.dirac.lc_circuit(branches, by="charges")
    with pytest.raises(
        ModelError,
        match=(
            r"by charges, L1 given by.*by fluxes, the inductors L1, L2 form a cutset.*by=\"fluxes\""
        ),
    ):
        da.dirac.lc_circuit(
            {
                "C1": ("capacitor", "a", "b", 1),
                "L1": ("inductor", "a", "c", phi**4),
                "L2": ("inductor", "c", "b", 1),
            }
        )


# -- reading ---------------------------------------------------------------------------------------


def test_an_incidence_matrix_is_the_same_circuit() -> None:
    nodes = ["a", "b", "c", "0"]
    full = node_matrix(TREE, list(TREE), nodes).astype(int)
    values = {name: (words[0], words[3]) for name, words in TREE.items()}
    expected = da.dirac.lc_circuit(TREE)
    for rows in (4, 3):  # with and without the ground
        made = da.dirac.lc_circuit(values, full[:rows].tolist(), nodes=nodes[:rows])
        assert made.lagrangian == expected.lagrangian
        assert {c.expression for c in made.constraints} == {
            c.expression for c in expected.constraints
        }
    plain = da.dirac.lc_circuit(values, sympy.Matrix(full[:3]))
    assert {c.name for c in plain.constraints} == {"node_1", "node_2", "node_3", "node_0"}


def test_loops_can_be_given_as_a_matrix_as_tables_or_by_a_word() -> None:
    graph = Graph(ends(LOOPS))
    tables = graph.every_loop()
    matrix = [[loop.get(b, 0) for b in LOOPS] for loop in tables]
    by_table, by_matrix, by_word = (
        da.dirac.lc_circuit(LOOPS, loops=loops) for loops in (tables, matrix, "all")
    )
    assert by_table.constraints == by_matrix.constraints == by_word.constraints
    rows = np.array(matrix)
    assert np.linalg.matrix_rank(rows) == 6 < len(rows)
    assert not np.any(rows @ node_matrix(LOOPS, list(LOOPS), list(graph.nodes)).T)
    twice = da.dirac.lc_circuit(LOOPS, loops=[*graph.fundamental_loops(list(LOOPS)), tables[0]])
    assert [c.name for c in twice.constraints][-1].endswith("_2")


def test_every_loop_of_the_complete_graph_of_four_nodes() -> None:
    pairs = [("1", "2"), ("1", "3"), ("1", "4"), ("2", "3"), ("2", "4"), ("3", "4")]
    found = Graph({f"b{k}": pair for k, pair in enumerate(pairs)}).every_loop()
    assert sorted(len(loop) for loop in found) == [3, 3, 3, 3, 4, 4, 4]
    assert len({frozenset(loop) for loop in found}) == 7


@pytest.mark.parametrize("seed", range(5))
def test_loops_and_cutsets_of_random_graphs_annihilate_each_other(seed: int) -> None:
    """A loop meets a cutset with signs that sum to zero, and both have their full number."""
    random = np.random.default_rng(seed)
    pairs = [tuple(str(k) for k in random.choice(7, 2, replace=False)) for _ in range(12)]
    graph = Graph({f"b{k}": pair for k, pair in enumerate(pairs)})
    names = list(graph.ends)
    rows = np.array([[graph.incidence(n).get(b, 0) for b in names] for n in graph.nodes])
    rank = np.linalg.matrix_rank(rows)
    among = [b for b in names if random.uniform() < 0.6]
    loops, cutsets = graph.fundamental_loops(names), graph.fundamental_cutsets(names)
    assert len(loops) == 12 - rank and len(cutsets) == rank
    for loop in loops:
        assert graph.opening(loop) is None
        assert all(sum(loop.get(b, 0) * s for b, s in cut.items()) == 0 for cut in cutsets)
    mine, others = (
        [names.index(b) for b in among],
        [k for k, b in enumerate(names) if b not in among],
    )
    inner = graph.fundamental_loops(among)
    assert all(set(loop) <= set(among) for loop in inner)
    assert len(inner) == len(among) - np.linalg.matrix_rank(rows[:, mine])
    apart = graph.fundamental_cutsets(among)
    assert all(set(cut) <= set(among) for cut in apart)
    assert (
        len(apart) == rank - np.linalg.matrix_rank(rows[:, others])
        if others
        else len(apart) == rank
    )
    cut_rows = np.array([[cut.get(b, 0) for b in names] for cut in apart]).reshape(len(apart), 12)
    assert (
        np.linalg.matrix_rank(np.vstack([rows, cut_rows])) == rank
    )  # every cutset is a sum of node rows


C1 = ("capacitor", "a", "0", 1)
WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "nothing": ({}, {}, "needs its branches"),
    "short": ({"C1": ("capacitor", "a", 1)}, {}, r"must be \(kind, from, to, value\)"),
    "kind": ({"C1": ("capacitr", "a", "0", 1)}, {}, "did you mean capacitor"),
    "short circuit": ({"C1": ("capacitor", "a", "a", 1)}, {}, "Both ends"),
    "name": ({"C 1": C1}, {}, "symbols, digits"),
    "node": ({"C1": ("capacitor", "a b", "0", 1)}, {}, "symbols, digits"),
    "negative": ({"C1": ("capacitor", "a", "0", -1)}, {}, "positive"),
    "foreign": ({"C1": ("capacitor", "a", "0", da.coordinates("q_C2") ** 2)}, {}, r"q_C2.*in q_C1"),
    "twice": (
        {"C1": ("capacitor", "a", "0", da.coordinates("q_C1") * da.coordinates("phi_C1").dot)},
        {},
        "at once",
    ),
    "text": ({"C1": ("capacitor", "a", "0", "1")}, {}, "text"),
    "by": ({"C1": C1}, {"by": "charge"}, "did you mean charges"),
    "incidence": (
        {"C1": ("capacitor", 1)},
        {"incidence": [[1, 1]]},
        "1 x 2 for 1 nodes and 1 branches",
    ),
    "column": ({"C1": ("capacitor", 1)}, {"incidence": [[2]]}, "one 1 and one -1"),
    "loops": ({"C1": C1}, {"by": "fluxes", "loops": "every"}, "fundamental, all"),
    "open": (
        {"C1": C1, "L1": ("inductor", "a", "0", 1)},
        {"by": "fluxes", "loops": [{"C1": 1, "L1": 1}]},
        "does not close",
    ),
    "unknown": ({"C1": C1}, {"by": "fluxes", "loops": [{"C2": 1}]}, "use C1"),
    "left out": (
        {"C1": C1, "L1": ("inductor", "a", "0", 1)},
        {"by": "fluxes", "loops": []},
        "leave one out.*C1, L1",
    ),
    "columns": ({"C1": C1}, {"by": "fluxes", "loops": [[1, 1]]}, "column for each branch"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said(case: str) -> None:
    branches, options, message = WRONG[case]
    with pytest.raises(ModelError, match=message):
        da.dirac.lc_circuit(branches, **options)


def test_faults_are_collected() -> None:
    with pytest.raises(ModelError, match="3 faults"):
        da.dirac.lc_circuit(
            {
                "A": ("resistor", "a", "0", 1),
                "B": ("capacitor", "a", "a", 1),
                "C": ("inductor", "a", "0", 0),
            }
        )


def test_too_many_loops_are_refused() -> None:
    branches = {f"L{k}": ("inductor", "a", "0", 1) for k in range(15)} | {"C1": C1}
    with pytest.raises(ModelError, match="15 independent ones"):
        da.dirac.lc_circuit(branches, by="fluxes", loops="all")


# -- the gallery -----------------------------------------------------------------------------------


def test_the_resonators_of_the_gallery_against_three_unknowns() -> None:
    """C u_ddot + L^-1 u = 0 for the fluxes of the nodes, with the capacitance matrix written out by
    hand.
    """
    scenario = da.gallery.load("lc-circuit")
    value = scenario.parameters
    capacity = np.array(
        [
            [value["Ca"] + value["Cab"] + value["Cca"], -value["Cab"], -value["Cca"]],
            [-value["Cab"], value["Cb"] + value["Cab"] + value["Cbc"], -value["Cbc"]],
            [-value["Cca"], -value["Cbc"], value["Cc"] + value["Cbc"] + value["Cca"]],
        ]
    )
    stiffness = np.diag([1 / value["La"], 1 / value["Lb"], 1 / value["Lc"]])
    matrix = np.block(
        [[np.zeros((3, 3)), np.eye(3)], [-np.linalg.solve(capacity, stiffness), np.zeros((3, 3))]]
    )
    start = np.array([scenario.start[f"phi_L{node}"] for node in "abc"] + [0.0] * 3)
    motion = da.simulate(scenario)
    exact = np.array([expm(matrix * time) @ start for time in motion.t]).T
    for k, node in enumerate("abc"):
        assert np.abs(motion[f"flux_L{node}"] - exact[k]).max() < 1e-10
        assert np.abs(motion[f"voltage_C{node}"] - exact[3 + k]).max() < 1e-10
    assert np.ptp(motion.energy) < 1e-11
    assert motion.worst_residual["velocity"] < 1e-13
    rows = np.array(
        [
            [c.expression.coeff(v) for v in scenario.system.velocities]
            for c in scenario.system.bilateral
        ],
        float,
    )
    assert rows.shape == (7, 9) and np.linalg.matrix_rank(rows) == 6
    charges = {name: value[name] * motion[f"phi_{name}_ddot"] for name in ("Ca", "Cab", "Cca")}
    node_a = charges["Ca"] + charges["Cab"] - charges["Cca"] + motion["current_La"]
    assert np.abs(node_a).max() < 1e-11
