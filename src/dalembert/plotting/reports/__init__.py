"""Pages and notebooks: reports, what notebooks show, formulas as HTML."""
