"""Where inputs can lead: brackets, holonomy, loops, and the laws that bring systems to rest by
them.
"""
