"""A running gateway for black-box tests, and a client that knows nothing of Portico.

Only Python's standard library: its json, plistlib and xml.etree are independent implementations of what is tested.
"""

import atexit
import base64
import functools
import http.client
import json
import os
import pathlib
import plistlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PORTICO_BUILD", ROOT / ".build" / "debug"))
START_SECONDS = 60
# Taken out of the environment: to a gateway, what begins like this is configuration.
# Set: each gateway that a test starts waits for the Return key before the first request.
PAUSE = os.environ.pop("PORTICO_TEST_PAUSE", None)
# A folder that gets the log of each gateway; the runner names one for each module.
LOGS = os.environ.pop("PORTICO_TEST_LOGS", None)
# What `started_data` returns; the runner makes it once for all modules.
STARTED = os.environ.pop("PORTICO_TEST_DATA", None)
DEMO = "Config/demo.yaml"
# The demo has a hundred thousand; a debug build would write them for a minute.
STUDENTS = 400
SAMPLES = ("--set", f"adapters.odata.services.admissions.samples={STUDENTS}")
# A debug build takes seconds for a hash of the default cost.
CHEAP_PASSWORDS = ("--set", "identity.passwords.cost=10")

JSON = "application/json"
PLIST = "application/x-plist"
BPLIST = "application/x-apple-binary-plist"
XML = "application/xml"


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def plist(self):
        return plistlib.loads(self.body)

    def text(self):
        return self.body.decode("utf-8")

    def __repr__(self):
        return f"{self.status} {self.headers.get('content-type')} {self.body[:400]!r}"


class Gateway:
    """One `portico serve` with the demo configuration, a free port and a data directory of its own; `program` is another host."""

    def __init__(self, *settings, config=DEMO, data=None, environment=None, program="portico"):
        self.owns_data = data is None
        self.data = pathlib.Path(data or tempfile.mkdtemp(prefix="portico-"))
        text = (ROOT / config).read_text()
        is_demo = (ROOT / DEMO).read_text() in text
        overrides = [*map(str, settings), *(environment or {})]
        if data is None and is_demo and not any("store." in part or part.startswith("PORTICO_") for part in overrides):
            shutil.copytree(started_data(), self.data, ignore=shutil.ignore_patterns("*.sock", "*.log"), dirs_exist_ok=True)
        self.log_path = self.data / "test.log"
        arguments = [BUILD / program, "serve", "--config", config, "--data", self.data, "--set", "http.port=0",
            # Debug builds on a busy machine hash passwords for longer than the usual deadline.
            "--set", "http.deadlines.request=120s",
        ]
        if not any("http.deadlines.request" in part or "queueTimeout" in part for part in overrides):
            # Nor is a sign-in refused because a machine stood still: half of the deadline is the most.
            arguments += ["--set", "identity.login.queueTimeout=60s"]
        if is_demo:
            arguments += SAMPLES
        if "demoAccounts:" in text:
            arguments += CHEAP_PASSWORDS
        log = open(self.log_path, "ab")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")}
        self.process = subprocess.Popen(
            [str(argument) for argument in [*arguments, *settings]],
            cwd=ROOT,
            env={**kept, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        log.close()
        self.port = self._wait_for_port()
        if PAUSE:
            input(f"\nportico serves at http://127.0.0.1:{self.port}; lldb -p {self.process.pid} attaches. Return goes on. ")

    def _wait_for_port(self):
        for line in self.process.stdout:
            if line.startswith("listening on http://"):
                return int(line.strip().rsplit(":", 1)[1])
        raise AssertionError(f"portico ended before it listened:\n{self.log()}")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def log_with(self, answer):
        """The log, once the line of the request that got this answer is in it: lines are written in batches."""
        end = time.monotonic() + START_SECONDS
        while answer.headers["x-request-id"] not in (log := self.log()):
            assert time.monotonic() < end, f"{answer} is not in the log"
            time.sleep(0.01)
        return log

    def stop(self):
        """SIGTERM; the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=START_SECONDS)
        self.process.stdout.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        if LOGS and self.log_path.exists():
            shutil.copy(self.log_path, pathlib.Path(LOGS, f"gateway-{self.process.pid}.log"))
        if self.owns_data:
            shutil.rmtree(self.data, ignore_errors=True)

    def resident(self, what="VmRSS"):
        """Bytes in memory now, or with `VmHWM` the most since the start or since ``forget_peak``."""
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return int(fields[what].split()[0]) * 1024

    def processor_seconds(self):
        """Used so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def workers(self):
        """The process ids of its workers, by the names of their adapters."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
                folder = pathlib.Path(os.readlink(process / "cwd")).parent
            except OSError:
                continue
            if parent == self.process.pid and folder.parent.name == "workers":
                found[folder.name] = int(process.name)
        return found

    def wait_until_it_works(self, used, *connections):
        """Until it has used some processor time more than `used`, or sends something on one of the connections."""
        end = time.monotonic() + START_SECONDS
        while self.processor_seconds() - used < 0.2 and not select.select(connections, [], [], 0)[0]:
            assert time.monotonic() < end, "nothing is worked on"
            time.sleep(0.02)

    def wait_until_idle(self):
        """Until a tenth of a processor would be more than it uses. Work that nobody ends fails it."""
        end, span = time.monotonic() + START_SECONDS, 0.3
        while True:
            before = self.processor_seconds()
            time.sleep(span)
            if self.processor_seconds() - before < span / 10:
                return
            assert time.monotonic() < end, "work goes on"

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def connect(self):
        """A bare socket, for what an HTTP client would not send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def request(self, method, path, body=None, headers=None, user=None, token=None):
        headers = dict(headers or {})
        # What browsers send beside such an `Accept`, and programs do not.
        if headers.get("Accept", "").startswith("text/html,application/xhtml+xml"):
            headers.setdefault("Sec-Fetch-Mode", "navigate")
        if user:
            credentials = f"{user}:portico-demo".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(credentials).decode()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            endless = fields.get("content-type", "").startswith("text/event-stream")
            return Answer(response.status, fields, b"" if endless else response.read())
        finally:
            connection.close()

    def get(self, path, accept=None, **rest):
        headers = rest.pop("headers", {})
        if accept:
            headers = {**headers, "Accept": accept}
        return self.request("GET", path, headers=headers, **rest)

    def send(self, method, path, value, **rest):
        """A JSON body."""
        headers = {"Content-Type": JSON, **rest.pop("headers", {})}
        return self.request(method, path, body=json.dumps(value), headers=headers, **rest)

    def login(self, user, agent=None):
        headers = {"User-Agent": agent} if agent else {}
        answer = self.send("POST", "/auth/login", {"username": user, "password": "portico-demo"}, headers=headers)
        assert answer.status == 200, answer
        return answer


@functools.cache
def started_data():
    """A data directory as the demo's first start leaves it. That start takes a debug build longer than most tests take:
    it loads the samples."""
    if STARTED:
        return STARTED
    folder = tempfile.mkdtemp(prefix="portico-started-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    status = Gateway(data=folder).stop()
    assert status == 0, f"the first start ended with {status}"
    return folder


class GatewayTest(unittest.TestCase):
    """Tests that share one gateway; `settings` are further arguments of `serve`."""

    settings = ()

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(*cls.settings)

    @classmethod
    def tearDownClass(cls):
        cls.gateway.remove()

    def expect(self, answer, status, code=None):
        self.assertEqual(answer.status, status, answer)
        if code:
            self.assertEqual(answer.json()["error"]["code"], code, answer)
        return answer


class Callers:
    """Threads that call for as long as the block lasts.

    Each runs `call(done, outcomes)`, which adds to `outcomes` until `done` is set.
    """

    def __init__(self, count, call):
        self.done, self.outcomes = threading.Event(), []
        self.threads = [threading.Thread(target=call, args=(self.done, self.outcomes)) for _ in range(count)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.done.set()
        for thread in self.threads:
            thread.join()

    def wait_for(self, count):
        """Until there are so many further outcomes. An AssertionError where they do not come."""
        wanted, end = len(self.outcomes) + count, time.monotonic() + START_SECONDS
        while len(self.outcomes) < wanted:
            if time.monotonic() > end:
                raise AssertionError(f"{len(self.outcomes)} outcomes of {wanted}")
            time.sleep(0.01)


def altered(text):
    """With another character: what was signed does not hold any more. At the very end, bits of base64url may mean nothing."""
    return text[:-10] + ("B" if text[-10] == "A" else "A") + text[-9:]


def run_portico(*arguments, program="portico", stdin=None, environment=None, timeout=120):
    """A command of `portico` or `porticoctl` to its end: its exit status and what it said, as text."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")}
    return subprocess.run(
        [str(part) for part in [BUILD / program, *arguments]],
        cwd=ROOT, env={**kept, **(environment or {})}, input=stdin, capture_output=True, text=True, timeout=timeout)


def run_tool(*arguments, stdin=None):
    """An external program's standard output; fails the test where the program does."""
    done = subprocess.run(arguments, input=stdin, capture_output=True, timeout=60)
    assert done.returncode == 0, (arguments, done.returncode, done.stderr[:2000])
    return done.stdout


def has_tool(name):
    return shutil.which(name) is not None
