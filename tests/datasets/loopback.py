"""A loopback web server that misbehaves on demand, and small data sets to serve from it."""

import hashlib
import io
import threading
import zipfile
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from dams.datasets.uci.origins import RawFile

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """Answers per path, in the order they were added; the last one is repeated."""

    def __init__(self):
        self.answers: dict[str, list[Answer]] = defaultdict(list)
        self.requests: list[str] = []
        self.closing = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        # A client that hangs up early is part of the tests, not worth a traceback.
        self.server.handle_error = lambda request, address: None
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def _handler(site):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.requests.append(self.path)
                answers = site.answers.get(self.path, [status(404)])
                (answers.pop(0) if len(answers) > 1 else answers[0])(self)

            def log_message(self, *args):
                pass

        return Handler

    def silent(self, handler):
        self.closing.wait()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


def send(content, *, claimed=None, content_type="application/octet-stream") -> Answer:
    """Send `content`; `claimed` is the length it pretends to have."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(content) if claimed is None else claimed))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def status(code, **headers) -> Answer:
    def answer(handler):
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def raw_file(name, content, member=None, **kwargs) -> RawFile:
    return RawFile(name, hashlib.sha256(content).hexdigest(), member or (name,), **kwargs)
