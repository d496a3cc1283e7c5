"""Mechanics on the tangent bundle."""

from ..analysis.variational.tangent_bundle import tangent_bundle as tangent_bundle
