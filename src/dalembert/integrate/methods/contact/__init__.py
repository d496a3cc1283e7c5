"""Time steps with contacts: Moreau's sweeping process."""
