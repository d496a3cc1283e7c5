"""Five planar rigid bodies in a row, hinged at their ends, free in the plane and seen from their
centre of mass.

The momenta of the five angles are the mu_i of the source; their sum is conserved. `planar_chain(n)`
states the same for any number of bodies, and its `reduced_system()` moves the hinges alone.
"""

from __future__ import annotations

from ...model.builders.planar_bodies import planar_chain
from ...model.scenario import Scenario
from ..shared_parts import BLOCH

COUNT = 5


def scenario() -> Scenario:
    """Five equal bodies, of which the first carries most of the momentum."""
    chain = planar_chain(COUNT)
    hinges: dict[str, float] = {}
    for k in range(1, COUNT):
        ahead, back = f"d{k}{k + 1}", f"d{k + 1}{k}"
        hinges |= {f"{ahead}x": 1.0, f"{ahead}y": 0.0, f"{back}x": -1.0, f"{back}y": 0.0}
    angles = (0.0, 0.3, 0.1, -0.2, 0.1)
    momenta = (3.0, 1.5, 1.0, 0.5, 0.0)
    return Scenario(
        chain.system("Chain of five planar bodies"),
        parameters={f"m{i}": 1.0 for i in range(1, COUNT + 1)}
        | {f"I{i}": 0.4 for i in range(1, COUNT + 1)}
        | hinges,
        start={f"theta{i}": value for i, value in enumerate(angles, start=1)}
        | {f"p_theta{i}": value for i, value in enumerate(momenta, start=1)},
        simulate={"span": (0.0, 20.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 3.13",
        summary="Five coupled bodies with conserved angular momentum.",
        drawing=chain.drawing,
    )
