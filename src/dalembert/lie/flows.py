"""Flows of matrices that groups move."""

from ..model.bracket_flows import double_bracket as double_bracket
from ..model.bracket_flows import orbit_flow as orbit_flow
from ..model.bracket_flows import toda as toda
from ..model.flow import Action as Action
from ..model.symmetric_spaces import grassmannian_flow as grassmannian_flow
from ..model.symmetric_spaces import sphere_flow as sphere_flow
