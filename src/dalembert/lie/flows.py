"""Flows of matrices that groups move."""

from ..formulations.groups.toda_lattices import toda_lax as toda_lax
from ..model.builders.bracket_flows import double_bracket as double_bracket
from ..model.builders.bracket_flows import orbit_flow as orbit_flow
from ..model.builders.bracket_flows import toda as toda
from ..model.builders.symmetric_spaces import grassmannian_flow as grassmannian_flow
from ..model.builders.symmetric_spaces import sphere_flow as sphere_flow
from ..model.flow_system import Action as Action
