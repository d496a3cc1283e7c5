"""From a graph of expressions to native code: straight-line programs, passes and backends."""
