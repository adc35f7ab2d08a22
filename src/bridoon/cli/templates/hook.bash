#!/usr/bin/env bash
# @NAME@: a hook of the stage @STAGE@. JSON comes in and must go out again: what is printed is what comes next.
set -euo pipefail
payload="$(cat)"

echo "$(date -Iseconds) @STAGE@ ${#payload} bytes" >> "${HARNESS_SESSION:-$HARNESS_HOME}/@LABEL@.log"

# To lead to another stage, print an object with "next_state"; to stop with an error, exit non-zero.
printf '%s\n' "$payload"
