"""Bytes to values and back. Standard library only, no input or output."""
