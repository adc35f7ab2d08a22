"""The command line of `harness-cli`, declared once: parser, help, manifest and reference derive from it."""
