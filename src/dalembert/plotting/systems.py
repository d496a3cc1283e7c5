"""Pictures of systems."""

from ..pictures.portrait import phase_portrait as phase_portrait
