"""The base of the ratios: the smallest loop on httpx that does the same work. Needs `pip install httpx`."""

import json
import os
import subprocess
import sys

import httpx

PARAMETERS = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOL = {
    "type": "function",
    "function": {"name": "bash", "description": "Run a command", "parameters": PARAMETERS},
}


def answer(client: httpx.Client, messages: list[dict]) -> tuple[str, dict[int, dict]]:
    """One streamed completion: its text and its calls by index."""
    text, calls = "", {}
    request = {"model": "bench", "stream": True, "messages": messages, "tools": [TOOL]}
    with client.stream("POST", "chat/completions", json=request) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if not line.startswith("data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                text += choice["delta"].get("content") or ""
                for piece in choice["delta"].get("tool_calls", ()):
                    call = calls.setdefault(piece["index"], {"id": piece.get("id"), "name": "", "arguments": ""})
                    call["name"] += piece["function"].get("name", "")
                    call["arguments"] += piece["function"].get("arguments", "")
    return text, calls


def main() -> None:
    messages: list[dict] = [{"role": "user", "content": sys.argv[1]}]
    with httpx.Client(base_url=os.environ["OPENAI_BASE_URL"], trust_env=False) as client:
        while True:
            text, calls = answer(client, messages)
            if not calls:
                print(text)
                return
            asked = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                }
                for c in calls.values()
            ]
            messages.append({"role": "assistant", "content": text or None, "tool_calls": asked})
            for call in calls.values():
                command = json.loads(call["arguments"])["command"]
                done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout.decode()})


main()
