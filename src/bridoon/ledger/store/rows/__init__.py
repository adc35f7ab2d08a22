"""What each operation does to the rows, one file per noun. Live writes and replays both come through here."""
