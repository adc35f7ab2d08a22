"""The command line: the only package that may import all others."""
