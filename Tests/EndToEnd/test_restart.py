"""A restart fails nobody: the listener outlives the process, handed on by itself or kept by whoever started it."""

import http.client
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from harness import BUILD, ROOT, Gateway

WORKERS = 8
IN_FLIGHT = 200


class Callers:
    """Callers that ask again and again, each request on a connection of its own, until they are told to stop."""

    def __init__(self, port):
        self.port, self.going, self.answers, self.failures = port, True, 0, []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run) for _ in range(WORKERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while self.going:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                connection.request("GET", "/health/live")
                status = connection.getresponse().status
                connection.close()
                with self.lock:
                    self.answers += 1
                    if status != 200:
                        self.failures.append(status)
            except OSError as error:
                with self.lock:
                    self.failures.append(repr(error))

    def wait_for(self, more):
        goal, deadline = self.answers + more, time.monotonic() + 120
        while self.answers < goal:
            assert time.monotonic() < deadline, (self.answers, self.failures[:5])
            time.sleep(0.05)

    def stop(self):
        self.going = False
        for thread in self.threads:
            thread.join()


class HandingOver(unittest.TestCase):
    def test_a_restart_on_a_signal_fails_nobody(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        callers = Callers(gateway.port)
        self.addCleanup(callers.stop)
        for _ in range(2):
            callers.wait_for(50)
            os.kill(gateway.process.pid, signal.SIGUSR2)
            self.assertEqual(gateway._wait_for_port(), gateway.port)
            callers.wait_for(50)
        callers.stop()
        self.assertEqual(callers.failures, [])
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.assertEqual(gateway.stop(), 0)

    def test_requests_under_way_are_answered_by_the_one_that_took_them(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        token = gateway.login("alice").json()["accessToken"]
        body = b'{"title":"across a restart"}'
        head = (
            f"POST /api/v1/notes/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        waiting = [gateway.connect() for _ in range(IN_FLIGHT)]
        for connection in waiting:
            connection.sendall(head + body[:10])
        self.assertEqual(gateway.get("/health/ready").status, 200)
        os.kill(gateway.process.pid, signal.SIGUSR2)
        for connection in waiting:
            connection.sendall(body[10:])
        for connection in waiting:
            with connection:
                self.assertRegex(connection.recv(65536), rb"^HTTP/1.1 201 ")
        self.assertEqual(gateway._wait_for_port(), gateway.port)
        self.assertEqual(gateway.stop(), 0)


class Activation(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="portico-"))
        self.addCleanup(shutil.rmtree, self.data, True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(self.listener.close)

    def start(self):
        """As systemd does: the socket is descriptor 3, and the variables name the process itself."""
        command = [str(BUILD / "portico"), "serve", "--config", "Config/demo.yaml", "--data", str(self.data)]
        script = 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        kept = os.dup(self.listener.fileno())
        try:
            process = subprocess.Popen(
                ["bash", "-c", f'exec 3<&{kept}; {script}', "portico", *command], cwd=ROOT, pass_fds=[kept],
                stdout=subprocess.PIPE, stderr=open(self.data.parent / f"{self.data.name}.log", "ab"), text=True)
        finally:
            os.close(kept)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        line = process.stdout.readline()
        self.assertIn(f":{self.listener.getsockname()[1]}", line)
        return process

    def test_a_socket_that_somebody_else_keeps_is_served_and_survives(self):
        port = self.listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=60) as early:
            early.sendall(b"GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            first = self.start()
            self.assertRegex(early.recv(65536), rb"^HTTP/1.1 200 ")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(timeout=60), 0)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as between:
            between.sendall(b"GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            second = self.start()
            self.assertRegex(between.recv(65536), rb"^HTTP/1.1 200 ")
        second.send_signal(signal.SIGTERM)
        self.assertEqual(second.wait(timeout=60), 0)


if __name__ == "__main__":
    unittest.main()
