"""A receiver as one may write it in Python, with nothing but its standard library. Prints its port."""
import hashlib
import hmac
import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
FORM = re.compile(r"sha256=[0-9a-fA-F]{64}\Z")


class Server(ThreadingHTTPServer):
    request_queue_size = 128


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.read_body()
        signatures = self.headers.get_all("X-Service-Signature", [])
        digest = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        if len(signatures) != 1 or not FORM.match(signatures[0]):
            return self.answer(401)
        if not hmac.compare_digest(signatures[0][7:].lower(), digest):
            return self.answer(401)
        try:
            event = json.loads(body)
        except ValueError:
            return self.answer(400)
        self.answer(200 if isinstance(event, dict) and "id" in event else 400)

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while True:
            size = int(self.rfile.readline(), 16)
            parts.append(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                return b"".join(parts)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
