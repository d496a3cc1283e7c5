"""Equations on the quotient, and back."""

from ..analysis.reconstruction import reconstruct as reconstruct
from ..analysis.reduced_coefficients import reduced_coefficients as reduced_coefficients
from ..analysis.reduced_two_form import reduced_two_form as reduced_two_form
from ..analysis.restricted_two_form import restricted_two_form as restricted_two_form
from ..formulations.gait import follow_shape as follow_shape
from ..formulations.reduction import reduce as reduce
