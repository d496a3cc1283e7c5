"""Bodies that roll, or slide along a blade."""
