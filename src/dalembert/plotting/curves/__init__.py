"""Quantities of a motion as curves: plots, portraits, sections, spectra, returns."""
