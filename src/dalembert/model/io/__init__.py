"""Model files, and text to expressions and back."""
