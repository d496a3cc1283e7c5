from . import draw as draw
