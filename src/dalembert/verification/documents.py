"""The source documents and the modules with their rows, in the order of the table."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DOCUMENTS", "Document"]


class Document(NamedTuple):
    """A source document: its title, the package of its rows, and the section of each module."""

    title: str
    package: str
    sections: dict[str, str]


#: The source documents by the symbol that their ids start with.
DOCUMENTS = {
    "U": Document(
        "Udwadia, Constrained motion of Hamiltonian systems",
        "udwadia",
        {
            "explicit_equations": "1, 2",
            "constrained_motion": "3",
            "explicit_equation_properties": "3, 5",
            "particle_examples": "4.1, 4.2",
            "incline_example": "4.3",
            "double_pendulum_example": "4.4",
            "control_requirements": "5",
        },
    ),
    "G": Document(
        "Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints",
        "gavin",
        {
            "lagrange_equations": "1 to 5",
            "hamilton_principle": "6 to 8",
            "elastic_pendulum_sections": "9 to 11",
            "holonomic_constraints": "12.1",
            "velocity_constraints": "12.2",
            "gauss_principle": "12, 13",
        },
    ),
    "M": Document(
        "Moreau and van der Schaft, Implicit Lagrangian equations",
        "moreau_van_der_schaft",
        {
            "pontryagin_extremals": "II",
            "costate_elimination": "II",
            "homomorphism": "III",
            "dirac_on_bundles": "III",
            "linked_particles_example": "IV",
            "bar_example": "V",
            "generalised_dirac": "appendix",
        },
    ),
    "R": Document(
        "Rumyantsev, Forms of Hamilton's principle for nonholonomic systems",
        "rumyantsev",
        {
            "transitivity_equations": "1.1",
            "quasi_coordinates": "1.2",
            "hamilton_principle_forms": "2",
            "hamel_equations": "3",
            "voronets_in_quasi_coordinates": "3",
            "canonical_voronets_section": "3",
            "lagrange_problem": "4",
            "examples_4": "4",
            "hamilton_jacobi_section": "5",
        },
    ),
    "B": Document(
        "Bloch and others, Nonholonomic Mechanics and Control, Internet Supplement",
        "bloch",
        {
            "section_2_1_existence": "2.1",
            "section_2_9_connections": "2.9",
            "section_3_7_momentum": "3.7",
            "section_3_7_convexity": "3.7",
            "section_3_13_planar_bodies": "3.13",
            "section_3_13_planar_bodies_stability": "3.13",
            "section_3_13_planar_bodies_chain": "3.13",
            "section_3_13_planar_bodies_three": "3.13",
            "section_3_13_orbits": "3.13",
            "section_4_7_control_systems": "4.7",
            "section_4_7_inverse_problem": "4.7",
            "section_5_2_constrained_lagrangian": "5.2",
            "section_5_3_invariant": "5.3",
            "section_5_3_invariant_constraints": "5.3",
            "section_5_5_nonholonomic_connection": "5.5",
            "section_5_8_reduced_equations": "5.8",
            "section_5_9_hamiltonian_side": "5.9",
            "section_5_9_snakeboard": "5.9",
            "section_5_9_hamiltonian_reduction": "5.9",
            "section_5_9_reduction_proof": "5.9",
            "section_5_9_reduced_structure": "5.9",
            "section_5_9_snakeboard_reduced": "5.9",
            "section_5_9_snakeboard_shape": "5.9",
            "section_5_9_bicycle": "5.9",
            "section_5_9_bicycle_motion": "5.9",
            "section_6_3_so_stabilisation": "6.3",
            "section_6_6_knife_edge": "6.6",
            "section_7_7_orbits": "7.7",
            "section_7_7_orbit_geodesics": "7.7",
            "section_7_7_symmetric_spaces": "7.7",
            "section_7_7_two_sided": "7.7",
            "section_7_7_spheres": "7.7",
            "section_7_7_rigid_bodies": "7.7",
            "section_7_7_rotation_pairs": "7.7",
            "section_7_7_discrete_bodies": "7.7",
            "section_7_7_discrete_control": "7.7",
            "section_7_7_toda": "7.7",
            "section_7_7_toda_motion": "7.7",
            "section_7_7_root_systems": "7.7",
            "section_9_4_routhian": "9.4",
            "section_9_4_matching": "9.4",
            "section_9_4_controlled_routhian": "9.4",
        },
    ),
}
