"""Inputs as tables, which `simulate` takes and `optimise` returns."""

from ..integrate.input_table import InputTable as InputTable
from ..integrate.input_table import input_table as input_table
