"""Everything that touches another process. Nobody else imports `subprocess`."""
