"""A proxy on the loopback interface in front of another system, which passes on other answers than that gives."""

import http.client
import http.server
import threading


class LyingProxy:
    """`lie`: called with the path, the request's body and the genuine answer's status, fields and body, and returns what is
    answered instead. None: the genuine answer."""

    def __init__(self, port):
        self.lie = None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                sent = self.rfile.read(length)
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                fields = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                connection.request(self.command, self.path, sent or None, fields)
                response = connection.getresponse()
                status, told, body = response.status, dict(response.getheaders()), response.read()
                connection.close()
                if outer.lie:
                    status, told, body = outer.lie(self.path, sent, status, told, body)
                self.send_response(status)
                for name, value in told.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # The caller did not want the rest.

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
