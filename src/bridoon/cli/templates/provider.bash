#!/usr/bin/env bash
# @NAME@: a provider. It reads the request as JSON on standard input and prints the API's answer as JSON.
# This one calls nobody and repeats a fixed sentence: put a call of your API in its place. A service that speaks
# the API of OpenAI or Anthropic needs no program: hs new provider NAME --lang conf
set -euo pipefail

case "${1:-}" in
  --describe) echo "an example that calls nobody"; exit 0 ;;
  --ready) exit 0 ;; # exit 1 when credentials are missing; be quick, and do not use the network
  --defaults) echo "model=none"; exit 0 ;;
esac

cat > /dev/null # {"model", "system", "messages", "tools"}
cat <<'JSON'
{"model": "none", "stop_reason": "end_turn", "usage": {"input_tokens": 0, "output_tokens": 0},
 "content": [{"type": "text", "text": "This is @NAME@. I call nobody yet."}]}
JSON
