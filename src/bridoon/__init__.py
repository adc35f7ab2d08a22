"""An agent harness that you extend by dropping in files."""

__version__ = "0.2.0"
