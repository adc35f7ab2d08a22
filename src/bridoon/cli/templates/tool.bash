#!/usr/bin/env bash
# @NAME@: a tool that the model can call. It answers three flags: --schema, --describe, --exec.
set -euo pipefail

case "${1:-}" in
  --schema)
    cat <<'JSON'
{"name": "@NAME@",
 "description": "Count the lines, words and bytes of a text.",
 "input_schema": {"type": "object",
                  "properties": {"text": {"type": "string", "description": "the text to count"}},
                  "required": ["text"]}}
JSON
    ;;
  --describe) echo "count lines, words and bytes" ;;
  --exec)
    # The input comes as JSON on standard input. With jq installed this is: text="$(jq -r .text)"
    text="$("${HARNESS_PYTHON:-python3}" -c 'import json, sys; print(json.load(sys.stdin)["text"])')"
    # What is printed is the result. Standard error goes to the log; a non-zero exit marks the result as failed.
    printf '%s\n' "$text" | wc
    ;;
  *)
    echo "usage: @NAME@ --schema | --describe | --exec < input.json" >&2
    exit 2
    ;;
esac
