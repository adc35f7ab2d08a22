#!/usr/bin/env bash
# @NAME@: a command, run as `hs @NAME@`.
set -euo pipefail

case "${1:-}" in
  --describe) echo "say where this project's sessions and drop-ins are"; exit 0 ;;
esac

echo "sessions: $HARNESS_SESSIONS"
echo "drop-ins come from:"
tr ':' '\n' <<< "$HARNESS_SOURCES" | sed 's/^/  /'
