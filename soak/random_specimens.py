"""Which random systems are looked at: the number of a specimen gives its coordinates, constraints,
statement and symbols.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from core_systems import random_system

#: How often a system has 1 to 8 coordinates, and 0 to 5 constraints that do not follow from others.
COORDINATES = (0.10, 0.30, 0.28, 0.16, 0.07, 0.04, 0.03, 0.02)
CONSTRAINTS = (0.15, 0.35, 0.25, 0.13, 0.07, 0.05)
#: The kinds of constraints by symbol, see `core_systems.random_system`, and how often each is
#: drawn.
KINDS = {"h": 2, "r": 2, "v": 2, "a": 2, "n": 1, "s": 1, "t": 1, "w": 1, "m": 1, "e": 2, "c": 2}
STATED = ("lagrangian", "kinetic", "hamiltonian", "bundle", "planar", "cyclic", "parts")
#: Statements whose energies are long are made with no more coordinates than this.
MOST = {"bundle": 5, "hamiltonian": 6}


@dataclass(frozen=True)
class Specimen:
    """A random system by its number: what it is made of, and the system itself."""

    number: int
    n: int
    kinds: str
    stated: str
    gyroscopic: bool
    forced: bool
    parametric: bool
    driven: bool
    contact: bool

    @property
    def label(self) -> str:
        """What messages call it; `python -m soak.random_worker NUMBER` looks at it again."""
        words = ("gyroscopic", "forced", "parametric", "driven", "contact")
        return ", ".join(
            [
                f"system {self.number}: {self.kinds or 'no constraints'} on {self.n} coordinates",
                self.stated,
            ]
            + [word for word in words if getattr(self, word)]
        )

    def system(self) -> da.System:
        """The system."""
        options: dict[str, Any] = {
            word: getattr(self, word)
            for word in ("gyroscopic", "forced", "parametric", "driven", "contact")
        }
        made: da.System = random_system(
            50_000 + self.number, n=self.n, kinds=self.kinds, stated=self.stated, **options
        )
        return made


def specimen(number: int) -> Specimen:
    """The specimen with this number."""
    random = np.random.default_rng([9, number])
    n = 1 + int(random.choice(8, p=COORDINATES))
    stated = STATED[number % len(STATED)]
    n = min(n, MOST.get(stated, n)) if stated != "planar" else max(3, n)
    freedom = 0 if random.uniform() < 0.06 else 1
    count = min(int(random.choice(6, p=CONSTRAINTS)), n - freedom)
    weights = np.array(list(KINDS.values()), dtype=float)
    kinds = "".join(random.choice(list(KINDS), size=count, p=weights / weights.sum()))
    if kinds.count("n") > 1:  # two spheres in the space of velocities need not meet
        kinds = kinds.replace("n", "v", kinds.count("n") - 1)
    implied = int(random.choice(3, p=(0.75, 0.2, 0.05))) if kinds else 0
    kinds += "d" * min(implied, 5 - count)
    gyroscopic, forced, parametric, driven = (
        bool(random.uniform() < share) for share in (0.6, 0.7, 0.3, 0.3)
    )
    return Specimen(
        number,
        n,
        kinds,
        stated,
        gyroscopic,
        forced,
        parametric,
        driven,
        bool(random.uniform() < 0.04),
    )
