"""The version, for the parts of the library that record it."""

__version__ = "0.2.0"
