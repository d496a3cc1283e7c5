"""What kind of system this is, and whether all forms of its equations agree."""
