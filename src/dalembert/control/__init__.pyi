from .brockett import brockett_form as brockett_form
from .brockett import brockett_law as brockett_law
from .feedback.linear import controllable_part as controllable_part
from .feedback.linear import feedback as feedback
from .feedback.linear import lqr as lqr
from .feedback.linear import place_poles as place_poles
from .feedback.matching import match as match
from .feedback.routhian_matching import match_routhian as match_routhian
from .input_tables import InputTable as InputTable
from .input_tables import input_table as input_table
from .optimal.on_group import optimal_on_group as optimal_on_group
from .optimal.optimal import optimal as optimal
from .optimal.rest_to_rest import rest_to_rest as rest_to_rest
from .optimal.rest_to_rest import torque_flow as torque_flow
from .ports.energy_balance import energy_balance as energy_balance
from .ports.impulse_response import input_output as input_output
from .ports.impulse_response import (
    is_hamiltonian_impulse_response as is_hamiltonian_impulse_response,
)
from .ports.interconnection import interconnect as interconnect
from .ports.ports import hamiltonian_control as hamiltonian_control
from .ports.ports import port_form as port_form
from .ports.skew_form import variational_skew_form as variational_skew_form
from .servo.servo import servo as servo
from .steering.controllability import controllability as controllability
from .steering.fibration import fibration as fibration
from .steering.fibration import kinematic_flow as kinematic_flow
from .steering.holonomy import holonomy as holonomy
from .steering.holonomy_loops import holonomy_loop as holonomy_loop
from .steering.loop_feedback import stabilise_by_loops as stabilise_by_loops
from .steering.so_feedback import stabilise_so as stabilise_so
from .trajectory.answer import Trajectory as Trajectory
from .trajectory.optimise import optimise as optimise
from .trajectory.quantities import at_end as at_end
from .trajectory.quantities import at_start as at_start
from .trajectory.quantities import integral as integral
from .trajectory.quantities import multiplier as multiplier
from .trajectory.quantities import reaction as reaction
