"""A receiver by the standard library of Python alone.

WEBHOOK_SECRET is the signing secret, PORT the port of 127.0.0.1 (0: any, it is printed), DATABASE a file of SQLite. With PROBE=1 it
also answers the probe of `postern check`, which an app that is deployed must not.
"""
import hashlib
import hmac
import json
import os
import re
import sqlite3
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_WR
from urllib.parse import parse_qs, urlsplit

SECRET = os.environ["WEBHOOK_SECRET"].encode()
DATABASE = os.environ.get("DATABASE", "events.db")
HAS_PROBE = os.environ.get("PROBE") == "1"
MAX_BODY_BYTES = 1024 * 1024
RETENTION_S = 7 * 24 * 3600
SIGNATURE = re.compile(r"sha256=([0-9a-fA-F]{64})")
failing = set()  # ids whose next run the probe wants to fail


def is_genuine(body, signatures):
    """Exactly one header, of the right form, with the digest of these very bytes."""
    match = SIGNATURE.fullmatch(signatures[0]) if len(signatures) == 1 else None
    digest = hmac.new(SECRET, body, hashlib.sha256).digest()
    return match is not None and hmac.compare_digest(bytes.fromhex(match[1]), digest)


def parse(body):
    """Return the event, or None if the body contains none."""
    try:
        event = json.loads(body)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("id"), str) else None


def receive(event):
    """Does the work once. Its writes and the id of the event are committed together, or not at all."""
    with closing(sqlite3.connect(DATABASE, timeout=9)) as db, db:
        # A duplicate waits here until the first delivery is committed or rolled back.
        row = db.execute("INSERT OR IGNORE INTO handled VALUES (?, ?)", [event["id"], time.time()])
        if row.rowcount == 1:
            work(event, db)
            db.execute("DELETE FROM handled WHERE at < ?", [time.time() - RETENTION_S])


def work(event, db):
    """Put your own code here. Raise an error to have the event delivered again."""
    if event["id"] in failing:
        failing.discard(event["id"])
        raise RuntimeError("the probe asked for it")
    db.execute("INSERT INTO runs VALUES (?, 1) ON CONFLICT (id) DO UPDATE SET runs = runs + 1", [event["id"]])


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds that a sender may be silent

    def do_POST(self):
        path, _, query = self.path.partition("?")
        if HAS_PROBE and path == "/probe":
            return self.answer_probe(parse_qs(query))
        if path != "/webhooks":
            return self.refuse_unread(404)
        if self.headers.get("Content-Encoding", "identity").lower() != "identity":
            return self.refuse_unread(415)
        try:
            body = self.read_body()
        except ValueError:
            return self.refuse_unread(400)
        if body is None:
            return self.refuse_unread(413)
        if not is_genuine(body, self.headers.get_all("X-Service-Signature", [])):
            return self.answer(401)
        event = parse(body)
        if event is None:
            return self.answer(400)
        try:
            receive(event)
        except Exception as error:
            self.log_error("event %s: %r", event["id"], error)
            return self.answer(500)
        self.answer(200)

    def do_GET(self):
        url = urlsplit(self.path)
        if HAS_PROBE and url.path == "/probe":
            return self.answer_probe(parse_qs(url.query))
        self.answer(405 if url.path == "/webhooks" else 404)

    def read_body(self):
        """The exact bytes; None if they are too many."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            length = int(self.headers.get("Content-Length", "0"))
            return self.rfile.read(length) if 0 <= length <= MAX_BODY_BYTES else None
        body = b""
        while True:
            size = int(self.rfile.readline(32).split(b";")[0], 16)
            if size < 0 or len(body) + size > MAX_BODY_BYTES:
                return None
            body += self.rfile.read(size)
            self.rfile.readline(32)
            if size == 0:
                return body

    def refuse_unread(self, status):
        self.close_connection = True
        self.answer(status)
        self.connection.shutdown(SHUT_WR)
        for _ in range(100):  # unread bytes would reset the connection, and the answer could be lost
            if not self.rfile.read1(65536):
                break

    def answer(self, status, text=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def answer_probe(self, query):
        [event_id] = query["id"]
        if "fail" in query:
            failing.add(event_id)
        with closing(sqlite3.connect(DATABASE, timeout=9)) as db:
            row = db.execute("SELECT runs FROM runs WHERE id = ?", [event_id]).fetchone()
        self.answer(200, json.dumps({"runs": row[0] if row else 0}).encode())

    def log_request(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128


with closing(sqlite3.connect(DATABASE)) as db:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY, at REAL NOT NULL)")
    db.execute("CREATE INDEX IF NOT EXISTS handled_at ON handled (at)")
    db.execute("CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, runs INTEGER NOT NULL)")
server = Server(("127.0.0.1", int(os.environ.get("PORT", "0"))), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
