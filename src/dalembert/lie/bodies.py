"""Rigid bodies on SO(n), in closed form and in discrete steps."""

from ..analysis.closed_forms.free_body import exact_free_body as exact_free_body
from ..formulations.groups.semisimple_bodies import mishchenko_fomenko as mishchenko_fomenko
from ..formulations.groups.semisimple_bodies import shifted_invariants as shifted_invariants
from ..geometry.rigid_rotations import symmetric_partner as symmetric_partner
from ..geometry.rigid_rotations import time_scale as time_scale
from ..integrate.methods.groups.discrete_body import discrete_rigid_body as discrete_rigid_body
from ..model.builders.rigid_bodies import rigid_body as rigid_body
