"""Draw the pictures that README and documentation keep in docs/pictures: run it after a change that
alters them, for all of them or for those whose functions are named.

Each file stays under 300 kB, so that the repository stays small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from pictures import contact, control, motions, pages, printed, symmetry, trajectories
from pictures.files import FOLDER

LARGEST = 300_000
PICTURES: tuple[Callable[[], None], ...] = (
    motions.rolling_disk_animation,
    motions.wheel_cart_animation,
    motions.sleigh,
    motions.pendulum,
    motions.chaos_map,
    motions.matrix_flows,
    motions.nonholonomic_energy,
    contact.contact,
    contact.contact_arrows,
    symmetry.snakeboard_gaits,
    symmetry.snakeboard_height,
    symmetry.planar_bodies,
    symmetry.orbits_of_three_bodies,
    symmetry.moment_polytope,
    *printed.PICTURES,
    control.optimal_control,
    control.matching,
    control.holonomy_control,
    control.servo_and_ports,
    trajectories.optimised_trajectories,
    trajectories.swing_up_animation,
    trajectories.trailers_animation,
    trajectories.walker_animation,
    trajectories.racer_animation,
    trajectories.snakeboard_animation,
    trajectories.bicycle_animation,
    trajectories.cart_animations,
    trajectories.disk_animation,
    pages.tracked_swing_up,
    pages.page_of_pictures,
)


def main(wanted: list[str]) -> None:
    """Draw all pictures, or those of the named functions."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    known = [draw.__name__ for draw in PICTURES]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"There is no picture {name}: choose one of {', '.join(known)}.")
    for draw in PICTURES:
        if not wanted or draw.__name__ in wanted:
            draw()
    for path in sorted(FOLDER.iterdir()):
        size = path.stat().st_size
        print(f"{path.name:<28} {size / 1000:6.0f} kB")
        if size > LARGEST:
            raise SystemExit(
                f"{path.name} is larger than {LARGEST} bytes: lower its size or its colours."
            )


if __name__ == "__main__":
    main(sys.argv[1:])
