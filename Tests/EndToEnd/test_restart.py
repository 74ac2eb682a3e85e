"""The listener outlives the process, handed on by itself or kept by whoever started it."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import BUILD, ROOT, Gateway


class HandingOver(unittest.TestCase):
    def test_a_restart_on_a_signal_serves_on_the_same_socket(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        os.kill(gateway.process.pid, signal.SIGUSR2)
        self.assertEqual(gateway._wait_for_port(), gateway.port)
        self.assertEqual(gateway.get("/health/ready").status, 200)
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
