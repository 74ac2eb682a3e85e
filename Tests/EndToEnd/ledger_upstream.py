"""An HR system of XML users that keeps a ledger of what it made, and answers as a test plans."""

import json
import re
import socketserver
import threading
import time

NAMESPACE = 'xmlns="http://captechventures.com/schema"'


class LedgerUpstream:
    """`made` has every change that took effect: method, number, name and Idempotency-Key.

    `plan` says what becomes of the next changes, one word each: `lose` (made, the answer is lost), `drop` (not made, the
    connection ends), `refuse` (422), `explain` (422 with a reason in JSON), `babble` (422 with a long text of controls), `break` (500),
    `busy` (503), `hang` (not made, no answer). Without a plan they are made.
    """

    def __init__(self, honours_keys, users=()):
        self.honours_keys = honours_keys
        self.users = {number: f"Fake {number}" for number in users}
        self.made, self.asked, self.plan, self.delay = [], [], [], 0
        self.is_down = False
        self._keys, self._lock, self._ending = {}, threading.Lock(), threading.Event()
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                try:
                    outer._serve(self)
                except OSError:
                    pass  # The gateway has gone.

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads = True, True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, handler):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = handler.rfile.readline()
            if not line:
                return
            head += line
        head = head.decode("latin-1")
        length = re.search(r"(?i)content-length: *(\d+)", head)
        body = handler.rfile.read(int(length[1])) if length else b""
        if length and len(body) < int(length[1]):
            return  # The gateway was killed in the middle of a request, which is none then.
        body = body.decode()
        method, target, _ = head.split(" ", 2)
        key = re.search(r"(?i)\r\nidempotency-key: *(.*)\r\n", head)
        answer = self._answer(method, target, body, key[1].strip() if key else None)
        if answer is not None:
            status, text = answer
            kind = "json" if text.startswith("{") else "xml"
            handler.wfile.write(
                f"HTTP/1.1 {status} X\r\nContent-Type: application/{kind}\r\nContent-Length: {len(text.encode())}\r\n"
                f"Connection: close\r\n\r\n{text}".encode())

    def _answer(self, method, target, body, key):
        """None: the connection ends without an answer."""
        if self.is_down:
            return None
        if target.endswith("/v1/list"):
            with self._lock:
                entries = "".join(f"<entry>{self._user(number)}</entry>" for number in sorted(self.users))
            return 200, f"<UserList {NAMESPACE}>{entries}</UserList>"
        number = int(target.rsplit("/", 1)[1])
        if method == "GET":
            with self._lock:
                return self._shown(number)
        with self._lock:
            self.asked.append((method, number, key))
            plan = self.plan.pop(0) if self.plan else "make"
        if plan == "hang":
            self._ending.wait(30)
            return None
        if plan == "drop":
            return None
        if plan == "refuse":
            return 422, ""
        if plan == "explain":
            return 422, json.dumps({"error": {"code": "taken", "message": "The name is taken."}})
        if plan == "babble":
            return 422, json.dumps({"detail": "No\r\n\u001b[2J\u202e" * 1_000})
        if plan == "break":
            return 500, ""
        if plan == "busy":
            return 503, ""
        time.sleep(self.delay / 2)
        with self._lock:
            self._make(method, number, body, key)
            answer = (200, "") if method == "DELETE" else self._shown(number)
        time.sleep(self.delay / 2)
        return None if plan == "lose" else answer

    def _make(self, method, number, body, key):
        if self.honours_keys and key in self._keys:
            return
        self._keys[key] = True
        name = re.search("<UserName>(.*?)</UserName>", body)
        name = name[1] if name else None
        self.made.append((method, number, name, key))
        if method == "DELETE":
            self.users.pop(number, None)
        else:
            self.users[number] = name

    def _shown(self, number):
        if number not in self.users:
            return 404, ""
        return 200, f"<user {NAMESPACE}>{self._user(number)}</user>"

    def _user(self, number):
        return f"<UserId>{number}</UserId><UserName>{self.users[number]}</UserName><ShoeSize>8.5M</ShoeSize>"
