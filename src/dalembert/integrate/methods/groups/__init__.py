"""Methods for matrices that a group moves."""
