"""The shared vocabulary: frozen values without behaviour."""
