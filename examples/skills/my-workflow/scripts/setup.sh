#!/usr/bin/env bash
# Says whether the working tree is clean, and the version that was tagged last.
set -euo pipefail
if [[ -n "$(git status --porcelain)" ]]; then echo "tree: has changes"; else echo "tree: clean"; fi
echo "version: $(git describe --tags --abbrev=0 2>/dev/null || echo none)"
