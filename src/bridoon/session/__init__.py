"""A session is a directory: its configuration, its messages, its event stream."""
