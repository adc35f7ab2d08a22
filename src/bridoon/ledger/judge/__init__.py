"""What the ledger concludes from its rows: presence, posture, scores, drift, proposals."""
