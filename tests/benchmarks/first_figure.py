"""How long a reader on a slow line waits for the first figure that moves: 1.6 Mbit/s, 150 ms, a cold cache.

`make bench` runs this where the book is built and a browser is there. The site is served compressed, as hosts
serve it; the browser slows its own line down. Printed, not asserted: the clock is the machine's.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import sys
import threading
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
import browser as browsers  # noqa: E402  (the path is set just above)

SITE = TESTS.parent / "_build" / "html"
PAGES = ("index", "03-barriers", "10-reduction")
LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}
TEXT = {".html", ".js", ".css", ".svg", ".json"}
AWAKE = ".ab-explorable [data-model][data-awake], .ab-module[data-awake=drawn]"


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Files of the site, text compressed."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if path.suffix not in TEXT or not path.is_file():
            super().do_GET()
            return
        body = gzip.compress(path.read_bytes(), compresslevel=6)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> int:
    program = browsers.find()
    if program is None or not (SITE / "index.html").is_file():
        print("The wait for the first figure is measured where the book is built and a browser is there.")
        return 0
    handler = functools.partial(Compressing, directory=SITE)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        print("Seconds until the first figure can be moved, at 1.6 Mbit/s and 150 ms, nothing cached:")
        for page in PAGES:
            print(f"  {page:16} {wait(browser, f'http://127.0.0.1:{server.server_port}/{page}.html'):.1f}")
        browser.close()
        server.shutdown()
    return 0


def wait(browser: Browser, address: str) -> float:
    """Seconds from the request for a page until one of its figures is awake, by the page's own clock."""
    context = browser.new_context()
    page = context.new_page()
    context.new_cdp_session(page).send("Network.emulateNetworkConditions", LINE)
    page.goto(address, wait_until="commit")
    page.wait_for_selector(AWAKE, state="attached", timeout=60_000)
    waited: float = page.evaluate("performance.now()") / 1000
    context.close()
    return waited


if __name__ == "__main__":
    sys.exit(main())
