"""Stands for a model: answers chat-completions requests at once with N shell calls, then a text.

    python model_server.py            prints its port, then one JSON line per request on standard output

The number of turns is in the path: http://127.0.0.1:PORT/<turns>x<calls per turn>/v1. Times: s of CLOCK_MONOTONIC.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chunks(turn: int, turns: int, calls: int, command: str) -> list[dict]:
    """The SSE objects of one answer."""
    head = {"id": f"c{turn}", "object": "chat.completion.chunk", "created": 0, "model": "bench"}

    def delta(change: dict, finish: str | None = None) -> dict:
        return {**head, "choices": [{"index": 0, "delta": change, "finish_reason": finish}]}

    if turn >= turns:
        words = ["All scripted", " commands", " ran."]
        said = [delta({"content": word}) for word in words] + [delta({}, "stop")]
    else:
        said = []
        for index in range(calls):
            line = command.replace("{i}", str(turn + 1))
            function = {"name": "bash", "arguments": ""}
            said.append(
                delta(
                    {
                        "tool_calls": [
                            {
                                "index": index,
                                "id": f"call_{turn}_{index}",
                                "type": "function",
                                "function": function,
                            }
                        ]
                    }
                )
            )
            arguments = json.dumps({"command": line})
            for at in range(0, len(arguments), 16):
                part = {"index": index, "function": {"arguments": arguments[at : at + 16]}}
                said.append(delta({"tool_calls": [part]}))
        said.append(delta({}, "tool_calls"))
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    return [*said, {**head, "choices": [], "usage": usage}]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        received = time.monotonic()
        turns, calls = map(int, self.path.split("/")[1].split("x"))
        request = json.loads(body)
        turn = sum(message["role"] == "tool" for message in request["messages"]) // max(calls, 1)
        command = self.server.command  # type: ignore[attr-defined]
        lines = [b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in chunks(turn, turns, calls, command)]
        data = b"".join([*lines, b"data: [DONE]\n\n"])
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for at in range(0, len(data), 1200):
            piece = data[at : at + 1200]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()
        done = time.monotonic()
        print(json.dumps({"turn": turn, "received": received, "done": done, "bytes": len(body)}), flush=True)

    def log_message(self, *args: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.command = sys.argv[1] if len(sys.argv) > 1 else "echo turn-{i}"  # type: ignore[attr-defined]
    print(server.server_port, flush=True)
    server.serve_forever()
