"""Constrained analytical mechanics: state a system once, then derive, compile and simulate it.

The names that a first model needs are here; the others are in `analysis`, `bodies`, `control`,
`dirac`, `gallery`, `lie`, `plotting`, `symmetry` and `variational`. Modules load when a name is
first used.
"""

import importlib
import warnings

import lazy_loader

from ._version import __version__ as __version__

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

#: Namespace -> names that stood at the top before; they go in version 0.3.
_MOVED = {
    "analysis": (
        "bifurcation_diagram existence_bound find_zeros fit floquet gradient gridded_input "
        "linearise_along lyapunov sensitivities separatrices"
    ),
    "control": (
        "brockett_form brockett_law controllability controllable_part energy_balance feedback "
        "fibration hamiltonian_control holonomy holonomy_loop input_output interconnect "
        "is_hamiltonian_impulse_response kinematic_flow lqr match match_routhian optimal "
        "optimal_on_group place_poles port_form rest_to_rest servo stabilise_by_loops "
        "stabilise_so torque_flow variational_skew_form"
    ),
    "dirac": "DiracStructure dirac_residual dirac_structure lc_circuit",
    "lie": (
        "Action LieGroup PoissonStructure discrete_rigid_body double_bracket energy_casimir "
        "exact_free_body grassmannian_flow orbit_flow rigid_body second_variation sphere_flow "
        "symmetric_partner time_scale toda"
    ),
    "plotting": "phase_portrait",
    "symmetry": (
        "GroupAction area_rule connection discover_symmetries energy_momentum follow_shape "
        "gait_displacement height_function invariance momentum_map nonholonomic_routhian phases "
        "reconstruct recover_cyclic reduce reduced_coefficients reduced_two_form "
        "relative_equilibria restricted_two_form routh"
    ),
    "variational": "hamilton_jacobi helmholtz principle_integrands stationarity transitivity",
}
#: What stood at the top and is called otherwise now: module, name there, and what to write.
_REPLACED = {
    "pictures": ("plotting", "", "da.plotting"),
    "plot_balance": (
        "plotting.studies.balance_plot",
        "plot_balance",
        "the method plot of da.control.energy_balance(...)",
    ),
    "plot_height": (
        "plotting.studies.height_plot",
        "plot_height",
        "the method plot of da.symmetry.height_function(...)",
    ),
    "simulate_many": (
        "integrate.ensemble.ensemble",
        "ensemble_of",
        "da.simulate, with arrays of starts or parameters",
    ),
}


def __getattr__(name):  # type: ignore[no-untyped-def]  # the stub has the types
    space = next((space for space, names in _MOVED.items() if name in names.split()), None)
    if space is None and name not in _REPLACED:
        return _load(name)
    module, attribute, now = _REPLACED.get(name, (space, name, f"da.{space}.{name}"))
    warnings.warn(
        f"da.{name} is now {now}; the old name goes with version 0.3",
        DeprecationWarning,
        stacklevel=2,
    )
    found = importlib.import_module(f"{__name__}.{module}")
    return getattr(found, attribute) if attribute else found
