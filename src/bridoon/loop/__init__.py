"""The state follower: stages, chains of hooks, the gate, the turn."""
