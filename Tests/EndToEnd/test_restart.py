"""The listening socket outlives the process: handed over at a restart, or inherited by socket activation."""

import asyncio
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, CHEAP_PASSWORDS, ROOT, SAMPLES, START_SECONDS, Gateway


class HandingOver(unittest.TestCase):
    def test_a_restart_on_a_signal_serves_on_the_same_socket(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        os.kill(gateway.process.pid, signal.SIGUSR2)
        self.assertEqual(gateway._wait_for_port(), gateway.port)
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.assertEqual(gateway.stop(), 0)


class RefusedRestart(unittest.TestCase):
    """What the new start would refuse is found before anything stops."""

    GOOD = "log: {level: info}\n"
    MISTAKES = {
        "http: {prot: 8080}\n": "There is no key http.prot",
        "http: {tls: {certificate: none.pem, key: none.key}}\n": "http.tls",
        "plugins: [{path: none-worker}]\n": "none-worker",
        "adapters: {odata-reference: {seed: none.json}}\n": "none.json is no seed",
    }

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.config = self.folder / "portico.yaml"
        self.config.write_text(self.GOOD)
        self.gateway = Gateway(config=self.config, data=self.folder)
        self.addCleanup(self.gateway.remove)

    def problems(self):
        lines = [json.loads(line) for line in self.gateway.log().splitlines() if '"not restarted"' in line]
        self.assertEqual({line["level"] for line in lines} - {"error"}, set())
        return [json.dumps(line) for line in lines]

    def wait_for_problems(self, count):
        end = time.monotonic() + START_SECONDS
        while len(self.problems()) < count:
            self.assertIsNone(self.gateway.process.poll(), self.gateway.log())
            self.assertLess(time.monotonic(), end, self.gateway.log())
            time.sleep(0.05)
        return self.problems()[-1]

    def test_with_a_mistake_in_the_configuration_the_gateway_goes_on_serving(self):
        for count, (text, words) in enumerate(self.MISTAKES.items(), 1):
            with self.subTest(text):
                self.config.write_text(text)
                os.kill(self.gateway.process.pid, signal.SIGUSR2)
                self.assertIn(words, self.wait_for_problems(count))
                self.assertNotIn("Error: ", self.problems()[-1])
                self.assertEqual(self.gateway.get("/health/ready").status, 200)
        self.config.write_text(self.GOOD)
        os.kill(self.gateway.process.pid, signal.SIGUSR2)
        self.assertEqual(self.gateway._wait_for_port(), self.gateway.port)
        self.assertEqual(self.gateway.stop(), 0)

    def test_a_stop_does_not_wait_for_the_check(self):
        model = self.folder / "model"
        os.mkfifo(model)
        self.config.write_text(f"adapters: {{odata: {{services: {{reference: {{model: {model}}}}}}}}}\n")
        os.kill(self.gateway.process.pid, signal.SIGUSR2)
        time.sleep(1)
        self.assertEqual(self.gateway.get("/health/ready").status, 200)
        began = time.monotonic()
        self.assertEqual(self.gateway.stop(), 0)
        self.assertLess(time.monotonic() - began, 30)


class Restarting(unittest.TestCase):
    """Callers that go on asking while the gateway is replaced: a caller whose connection is closed opens another."""

    CALLS = [{"id": str(number), "method": "GET", "path": "/api/v1/users/users?limit=20"} for number in range(2)]

    def setUp(self):
        self.gateway = Gateway("--set", "http.deadlines.stop=120s")
        self.addCleanup(self.gateway.remove)

    def request(self, *fields):
        body = json.dumps({"calls": self.CALLS}).encode()
        head = ["POST /batch HTTP/1.1", "Host: a", "Content-Type: application/json", f"Content-Length: {len(body)}", *fields]
        return "\r\n".join(head).encode() + b"\r\n\r\n" + body

    async def answer(self, reader):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.I).group(1))
        await reader.readexactly(length)
        return int(head.split()[1]), b"connection: close" in head.lower()

    async def in_flight(self, count):
        connections = [await asyncio.open_connection("127.0.0.1", self.gateway.port) for _ in range(count)]
        for _, writer in connections:
            writer.write(self.request())
            await writer.drain()
        os.kill(self.gateway.process.pid, signal.SIGUSR2)
        answers = await asyncio.gather(*[self.answer(reader) for reader, _ in connections])
        for _, writer in connections:
            writer.close()
        return [status for status, _ in answers]

    def test_two_hundred_requests_under_way_are_all_answered(self):
        self.assertEqual(set(asyncio.run(self.in_flight(200))), {200})
        self.assertEqual(self.gateway._wait_for_port(), self.gateway.port)

    async def go_on(self, done, statuses):
        while not done.is_set():
            reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway.port)
            is_last = False
            while not is_last and not done.is_set():
                writer.write(self.request())
                status, is_last = await self.answer(reader)
                statuses.append(status)
            writer.close()

    async def across_a_restart(self, callers):
        done, statuses = asyncio.Event(), []
        asking = [asyncio.create_task(self.go_on(done, statuses)) for _ in range(callers)]
        while len(statuses) < 5 * callers:
            await asyncio.sleep(0.01)
        os.kill(self.gateway.process.pid, signal.SIGUSR2)
        await asyncio.to_thread(self.gateway._wait_for_port)
        before = len(statuses)
        while len(statuses) < before + 5 * callers:
            await asyncio.sleep(0.01)
        done.set()
        await asyncio.gather(*asking)
        return statuses

    def test_callers_that_keep_their_connections_notice_nothing(self):
        self.assertEqual(set(asyncio.run(self.across_a_restart(50))), {200})


class Activation(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="portico-"))
        self.addCleanup(shutil.rmtree, self.data, True)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(self.listener.close)

    def start(self):
        """As systemd does: the socket is descriptor 3, and the variables name the process itself."""
        command = [str(BUILD / "portico"), "serve", "--config", "Config/demo.yaml", "--data", str(self.data), *SAMPLES,
            *CHEAP_PASSWORDS]
        script = 'export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"'
        kept = os.dup(self.listener.fileno())
        try:
            process = subprocess.Popen(
                ["bash", "-c", f'exec 3<&{kept}; {script}', "portico", *command], cwd=ROOT, pass_fds=[kept],
                env={name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")},
                stdout=subprocess.PIPE, stderr=open(self.data.parent / f"{self.data.name}.log", "ab"), text=True)
        finally:
            os.close(kept)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        line = process.stdout.readline()
        self.assertIn(f":{self.listener.getsockname()[1]}", line)
        return process

    def test_an_inherited_socket_is_served_and_survives(self):
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
