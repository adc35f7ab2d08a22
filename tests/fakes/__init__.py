"""Stand-ins that are real processes, sockets and terminals."""
