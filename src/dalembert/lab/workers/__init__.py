"""Worker processes: the pool, one process as the server sees it, and the process itself."""
