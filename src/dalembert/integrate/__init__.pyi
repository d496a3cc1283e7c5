from .ensemble.ensemble import ensemble_of as ensemble_of
from .options import RunOptions as RunOptions
from .task import read_task as read_task
from .task import run_task as run_task
