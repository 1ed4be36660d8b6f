"""Serve the built book to this machine alone, on a free port, and say where."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parents[2] / "_build" / "html"


class QuietHandler(SimpleHTTPRequestHandler):
    """The standard handler, without a line for every request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> int:
    if not (SITE / "index.html").is_file():
        print("serve: there is no book yet; run `make book` first", file=sys.stderr)
        return 1
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(SITE)))
    print(f"The book is at http://127.0.0.1:{server.server_port}/ (Ctrl-C stops it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
