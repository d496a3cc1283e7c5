"""Brockett's form on so(n), which `stabilise_so` steers."""

from ..model.builders.brockett_form import brockett_form as brockett_form
from ..model.builders.brockett_form import brockett_law as brockett_law
