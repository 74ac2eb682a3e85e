"""A server in front of a stand-in: it issues tokens in callers' names, keeps what was asked, and gives answers that no order does."""

import base64
import http.client
import http.server
import json
import threading
import urllib.parse


class Front:
    """Forwards what it is asked, byte by byte. `intervene` may answer in the stand-in's place: it gets the request and returns
    `(status, fields, body)`, or nil to forward it."""

    def __init__(self, system):
        front = self
        self.intervene = lambda request: None
        self.lock = threading.Lock()
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with front.lock:
                    front.requests.append((self.command, self.path, dict(self.headers.items())))
                answer = front.token(body) if self.path == "/token" else front.intervene(self)
                if answer is not None:
                    status, fields, content = answer
                    self.send_response(status)
                    for name, value in {**fields, "Content-Length": str(len(content))}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(content)
                    return
                self.forward(body)

            def forward(self, body):
                self.close_connection = True
                connection = http.client.HTTPConnection("127.0.0.1", system.port, timeout=120)
                try:
                    connection.request(self.command, self.path, body, dict(self.headers.items()))
                    answer = connection.getresponse()
                    self.send_response(answer.status)
                    for name, value in answer.getheaders():
                        if name.lower() not in ("transfer-encoding", "connection", "server", "date"):
                            self.send_header(name, value)
                    self.send_header("Connection", "close")
                    self.end_headers()
                    while piece := answer.read1(65536):
                        self.wfile.write(piece)
                except (OSError, http.client.HTTPException):
                    pass  # The connection ends as the stand-in's has.
                finally:
                    connection.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass  # Clients that have gone.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @staticmethod
    def token(body):
        """RFC 8693: a token that names the caller."""
        form = dict(urllib.parse.parse_qsl(body.decode()))
        claims = form["subject_token"].split(".")[1]
        subject = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        name = str(subject.get("name") or subject["sub"])
        content = {"access_token": f"of-{name}", "token_type": "Bearer", "expires_in": 3600}
        return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()

    def asked(self, method=None):
        with self.lock:
            return [one for one in self.requests if one[1] != "/token" and method in (None, one[0])]

    def forget(self):
        with self.lock:
            self.requests.clear()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
