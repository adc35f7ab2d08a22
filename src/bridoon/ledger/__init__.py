"""The ledger: a durable record in SQLite of what was intended, done and proven, and of the tools that are there."""
