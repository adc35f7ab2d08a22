"""A web site on this machine that serves fixed pages and remembers what was asked for."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator


class Site:
    """`pages` maps paths to a content type and a body; anything else is not found."""

    def __init__(self, port: int, pages: dict[str, tuple[str, str]]) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.pages = pages
        self.asked: list[str] = []


@contextlib.contextmanager
def serving(pages: dict[str, tuple[str, str]]) -> Iterator[Site]:
    """Serve pages on a free port until the end of the block."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            kind, body = pages.get(self.path, ("text/plain", "not here"))
            data = body.encode("utf-8")
            self.send_response(200 if self.path in pages else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    site = Site(server.server_address[1], pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
