"""Laws that are sampled, which `simulate` takes as inputs."""

from ..integrate.sampling.loop import SampledLoop as SampledLoop
from ..integrate.sampling.loop import sampled as sampled
