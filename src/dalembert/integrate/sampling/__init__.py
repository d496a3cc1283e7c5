"""Laws that are sampled: measured, computed, delayed and held, as on a digital controller."""
