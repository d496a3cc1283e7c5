"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems."""
