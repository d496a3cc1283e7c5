"""The forms of the equations of motion, one principle a file."""
