"""The bodies of the commands, one file per noun: `ledger, given -> Answer`."""
