"""Constrained analytical mechanics: state a system once, derive, compile, simulate and compare it in every form."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public name -> module that holds it. Modules are imported when a name is first used, so that importing dalembert is cheap.
_HOMES = {
    "Action": "model.flow",
    "Coordinate": "model.symbols",
    "DiracStructure": "geometry.dirac",
    "Equations": "formulations.equations",
    "Flow": "model.flow",
    "GroupAction": "geometry.actions",
    "Input": "model.symbols",
    "LieGroup": "geometry.lie",
    "Motion": "integrate.motion",
    "Outcome": "integrate.outcome",
    "Parameter": "model.symbols",
    "PoissonStructure": "geometry.poisson",
    "Scenario": "model.scenario",
    "Speed": "model.symbols",
    "System": "model.system",
    "area_rule": "analysis.height",
    "bifurcation_diagram": "analysis.bifurcation",
    "body": "model.forces",
    "compare": "analysis.comparison",
    "connection": "analysis.connections",
    "coordinates": "model.symbols",
    "damper": "model.forces",
    "derive": "formulations.registry",
    "describe": "analysis.description",
    "dirac_residual": "analysis.dirac_structures",
    "dirac_structure": "analysis.dirac_structures",
    "discover_symmetries": "analysis.symmetries",
    "discrete_rigid_body": "integrate.discrete_body",
    "double_bracket": "model.bracket_flows",
    "energy_casimir": "analysis.energy_casimir",
    "energy_momentum": "analysis.energy_momentum",
    "equilibria": "analysis.equilibria",
    "errors": "errors",
    "event": "integrate.events",
    "exact_free_body": "analysis.free_body",
    "existence_bound": "analysis.existence",
    "find_zeros": "analysis.zeros",
    "follow_shape": "formulations.gait",
    "force": "model.forces",
    "forms": "formulations.registry",
    "from_sympy": "model.from_sympy",
    "gait_displacement": "analysis.phases",
    "gallery": "gallery",
    "grassmannian_flow": "model.symmetric_spaces",
    "gravity": "model.forces",
    "hamilton_jacobi": "analysis.hamilton_jacobi",
    "height_function": "analysis.height",
    "helmholtz": "analysis.inverse_problem",
    "holonomic": "model.constraints",
    "image": "model.constraints",
    "inputs": "model.symbols",
    "invariance": "analysis.invariance",
    "lc_circuit": "model.circuits",
    "linearise": "analysis.stability",
    "load": "integrate.motion",
    "load_model": "model.files",
    "momentum": "model.constraints",
    "momentum_map": "analysis.momentum_maps",
    "nonholonomic_routhian": "analysis.routhian",
    "optimal": "control.optimal",
    "optimal_on_group": "control.on_group",
    "orbit_flow": "model.bracket_flows",
    "parameters": "model.symbols",
    "parse": "model.expressions",
    "particle": "model.forces",
    "phase_portrait": "pictures.portrait",
    "phases": "analysis.phases",
    "planar_chain": "model.planar_bodies",
    "planar_tree": "model.planar_bodies",
    "plot_height": "pictures.height",
    "principle_integrands": "analysis.principles",
    "rate": "model.forces",
    "reconstruct": "analysis.reconstruction",
    "recover_cyclic": "analysis.cyclic",
    "reduce": "formulations.reduction",
    "reduced_coefficients": "analysis.reduced_coefficients",
    "reduced_two_form": "analysis.reduced_two_form",
    "relative_equilibria": "analysis.planar_reduction",
    "rest_to_rest": "control.rest_to_rest",
    "restricted_two_form": "analysis.restricted_two_form",
    "rigid_body": "model.rigid_bodies",
    "routh": "formulations.routh",
    "save_model": "model.files",
    "second_variation": "analysis.stability",
    "separatrices": "analysis.separatrices",
    "simulate": "integrate.simulate",
    "speeds": "model.symbols",
    "sphere_flow": "model.symmetric_spaces",
    "spring": "model.forces",
    "stability": "analysis.stability",
    "stationarity": "analysis.variational",
    "symmetric_partner": "geometry.rigid_rotations",
    "t": "model.symbols",
    "time_scale": "geometry.rigid_rotations",
    "toda": "model.bracket_flows",
    "torque_flow": "control.rest_to_rest",
    "transitivity": "analysis.transitivity",
    "unilateral": "model.constraints",
    "velocity": "model.constraints",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dalembert' has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{home}")
    value = module if home == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
