"""What is in the `.harness` directories right now."""
