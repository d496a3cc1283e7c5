"""Equations of motion as files for other programs: C99 source, and units of the Functional Mock-up
Interface.
"""
