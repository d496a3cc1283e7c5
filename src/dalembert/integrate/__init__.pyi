from .ensemble.ensemble import ensemble_of as ensemble_of
from .input_table import with_constants as with_constants
from .options import RunOptions as RunOptions
from .task import read_task as read_task
from .task import run_task as run_task
