"""What workers compute: models described, runs, scenes, portraits, equations, files."""
