"""Motions on disk: saved, loaded and made again."""
