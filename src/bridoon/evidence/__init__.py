"""Joins loop and ledger: what a run did becomes a trace, what the ledger knows of tools becomes part of a run."""
