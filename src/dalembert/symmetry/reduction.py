"""Equations on the quotient, and back."""

from ..analysis.symmetry.reconstruction import reconstruct as reconstruct
from ..analysis.symmetry.reduced_coefficients import reduced_coefficients as reduced_coefficients
from ..analysis.symmetry.reduced_two_form import reduced_two_form as reduced_two_form
from ..analysis.symmetry.restricted_two_form import restricted_two_form as restricted_two_form
from ..analysis.symmetry.two_form_formulas import two_form_formulas as two_form_formulas
from ..formulations.reduction.bundle_equations import reduce as reduce
from ..formulations.reduction.gait import follow_shape as follow_shape
