"""The database and its changesets: the only way in which a row of the ledger changes."""
