"""What the bundled provider packs share: HTTP, the protocols of model APIs, credentials."""
