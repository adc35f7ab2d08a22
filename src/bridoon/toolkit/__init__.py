"""What the bundled tools and the permission gate are made of."""
