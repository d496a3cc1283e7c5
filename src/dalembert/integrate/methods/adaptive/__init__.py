"""Methods that choose their steps: Dormand-Prince and Taylor."""
