"""Three resonators a, b, c, an inductor and a capacitor to the ground each, coupled by a triangle
of capacitors.

    L = sum C phi_dot^2 / 2 - sum phi^2 / (2 L),      the voltages around each loop sum to zero

The six capacitors alone form loops, so that branch charges would leave the motion undetermined and
branch fluxes are the coordinates. All four triangles of capacitors are stated as loops, although
they depend on each other, and one loop for each inductor: seven rows of rank six on nine
coordinates. With the potentials of the nodes as voltages the same circuit is C u_dot + L^-1 u = 0
in three unknowns.
"""

from __future__ import annotations

from ...model.builders.circuits import lc_circuit
from ...model.drawing import Drawing, Link, PointMark, Spring
from ...model.scenario import Scenario
from ...model.symbols import Coordinate, parameters
from ..shared_parts import MOREAU

#: The branches from one resonator to the next, by the parameter that is the capacitance.
COUPLINGS = {"Cab": "ab", "Cbc": "bc", "Cca": "ca"}
LOOPS = (
    {"Cab": 1, "Cbc": 1, "Cca": 1},
    {"Ca": -1, "Cab": 1, "Cb": 1},
    {"Cb": -1, "Cbc": 1, "Cc": 1},
    {"Cc": -1, "Cca": 1, "Ca": 1},
    {"La": 1, "Ca": -1},
    {"Lb": 1, "Cb": -1},
    {"Lc": 1, "Cc": -1},
)


def scenario() -> Scenario:
    """Current in two of the inductors, no voltage anywhere."""
    values = {
        "Ca": 1.0,
        "Cb": 1.5,
        "Cc": 0.8,
        "Cab": 0.3,
        "Cbc": 0.2,
        "Cca": 0.4,
        "La": 1.0,
        "Lb": 0.7,
        "Lc": 1.3,
    }
    symbols = dict(zip(values, parameters(" ".join(values), positive=True), strict=True))
    branches = {name: ("capacitor", *COUPLINGS[name], symbols[name]) for name in COUPLINGS}
    for node in "abc":
        branches[f"C{node}"] = ("capacitor", node, "0", symbols[f"C{node}"])
        branches[f"L{node}"] = ("inductor", node, "0", symbols[f"L{node}"])
    fluxes = {"a": 1.0, "b": 0.0, "c": -0.4}
    start = {f"phi_{name}": fluxes[ends[0]] - fluxes[ends[1]] for name, ends in COUPLINGS.items()}
    start |= {f"phi_{kind}{node}": flux for kind in "CL" for node, flux in fluxes.items()}
    start |= {f"{name}_dot": 0.0 for name in start}
    heights = [(place, Coordinate(f"phi_L{node}")) for place, node in enumerate("abc")]
    return Scenario(
        lc_circuit(branches, loops=LOOPS, name="Coupled LC resonators"),
        parameters=values,
        start=start,
        simulate={"span": (0.0, 30.0), "rtol": 1e-10},
        source=f"{MOREAU}, section I and reference 12 (LC circuits)",
        summary=(
            "An electrical circuit as a mechanical system: Kirchhoff's laws as constraints that"
            " depend on each other."
        ),
        drawing=Drawing(
            shapes=(
                Link((-0.5, 0), (2.5, 0), width=4.0, color="ground"),
                *(Spring((place, 0), (place, height)) for place, height in heights),
                *(Link(heights[k - 1], heights[k], width=1.0) for k in range(3)),
                *(PointMark(position, size=13.0) for position in heights),
            ),
            labels=("node", "flux", "z"),
        ),
    )
