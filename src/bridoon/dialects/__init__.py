"""Foreign spellings of the model's events and messages, one file each, pure functions."""
