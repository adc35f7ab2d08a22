#!/usr/bin/env bash
# @NAME@: a gate. It is asked before every tool call: printing the call lets it pass, a non-zero exit refuses it.
# Its number must sort before 10-exec, the hook that runs the tool.
set -euo pipefail
payload="$(cat)"

# The payload is JSON: {"id", "name", "input", "tool_calls": [this call and those that wait]}.
# With jq installed this is: name="$(jq -r .name <<< "$payload")"
field() {
  "${HARNESS_PYTHON:-python3}" -c '
import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value.get(key, "") if isinstance(value, dict) else ""
print(value)' "$1" <<< "$payload"
}

name="$(field name)"
if [[ "$name" == bash ]]; then
  command="$(field input.command)"
  if [[ "$command" == *"rm -rf /"* ]]; then
    echo "that would remove everything" >&2 # the model is told the last line
    exit 1
  fi
fi
printf '%s\n' "$payload"
