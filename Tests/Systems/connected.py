"""A system that other people wrote, connected to a live gateway by a connection file: created, changed and deleted on both sides,
refreshed, down and up again, each row compared with theirs."""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

from harness import Gateway, run_portico

HERE = pathlib.Path(__file__).resolve().parent
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity:
  basic: {{ enabled: true }}
  demoAccounts: [{{ name: alice, password: portico-demo, roles: [member] }}]
upstreams:
  {name}:
    url: 'http://127.0.0.1:{port}/'
    networks: [127.0.0.1/32]
    deadline: 5s
    limits: {{ tries: 1, failures: 1000 }}
adapters:
  {name}: {{ connect: '{file}', access: {{ read: login, write: login }} }}
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class ConnectedTest(unittest.TestCase):
    """`program`: the arguments behind the port, which serve at it and say `serving`. `entity` is the one that is compared."""

    name, entity, key = "", "", ""

    def program(self, port):
        raise NotImplementedError

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-systems-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.port, self.process = free_port(), None
        self.addCleanup(self.end)
        self.up()

    def up(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", *map(str, self.program(self.port))], stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.assertEqual(self.process.stdout.readline().strip(), "serving")

    def down(self):
        self.end()

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def call(self, method, path, value=None):
        """Theirs, without the gateway."""
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", body, {"Content-Type": "application/json", "Accept": "application/json"},
            method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def connect(self, text):
        """A gateway with the connection file."""
        file = self.folder / "connection.yaml"
        file.write_text(text)
        config = self.folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(name=self.name, port=self.port, file=file))
        checked = run_portico("check", "--config", config)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr + text)
        self.gateway = Gateway(config=str(config))
        self.addCleanup(self.gateway.remove)

    def control(self, *arguments):
        done = run_portico(*arguments, "--data", str(self.gateway.data), "--output", "json", program="porticoctl")
        self.assertEqual(done.returncode, 0, done)
        return json.loads(done.stdout or "null")

    def refresh(self):
        self.control("mirrors", "refresh", f"{self.name}/{self.entity}")

    def ours(self):
        rows, path = {}, f"/api/v1/{self.name}/{self.entity}?limit=500"
        answer = self.gateway.get(path, user="alice")
        self.assertEqual(answer.status, 200, answer)
        for row in answer.json()["items"]:
            rows[row[self.key]] = row
        return rows

    def theirs(self):
        """Their rows by key, as the fields of the entity spell them."""
        raise NotImplementedError

    def write(self, method, key=None, fields=None, status=None):
        path = f"/api/v1/{self.name}/{self.entity}" + (f"/{key}" if key else "")
        body = None if fields is None else json.dumps(fields)
        answer = self.gateway.request(method, path, body, {"Content-Type": "application/json"}, user="alice")
        self.assertIn(answer.status, [status] if status else [200, 201, 202, 204], answer)

    def arrives(self, holds, seconds=90):
        """Until their rows are so: a queued write takes a moment."""
        end = time.monotonic() + seconds
        while not holds(self.theirs()):
            self.assertLess(time.monotonic(), end, self.control("writes", "list"))
            time.sleep(0.2)

    def outlives_a_stop(self, count, field, changed, deleted):
        """While the system is down its rows are read and changed; what was changed is there when it is up again."""
        self.same()
        self.down()
        self.assertEqual(len(self.ours()), count)
        self.write("PATCH", changed, {field: "While it was down"})
        self.write("DELETE", deleted)
        self.write("POST", fields={self.key: "later", field: "Later"})
        self.assertEqual(self.ours()[changed][field], "While it was down")
        self.up()
        self.arrives(lambda rows: rows[changed][field] == "While it was down" and deleted not in rows and "later" in rows)
        self.refresh()
        self.same()

    def same(self, seconds=60):
        """Until both have the same rows, which a queued write takes a moment for."""
        end = time.monotonic() + seconds
        while True:
            ours, theirs = self.ours(), self.theirs()
            if ours == theirs or time.monotonic() > end:
                break
            time.sleep(0.2)
        self.assertEqual(sorted(ours), sorted(theirs))
        for key, row in theirs.items():
            self.assertEqual(ours[key], row)
