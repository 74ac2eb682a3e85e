"""Signals end the gateway in order or are ignored."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import BUILD, DEMO, ROOT, Gateway, started_data
from test_tls import SecureGateway

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]
# They cannot be caught, or they tell of a fault of the program.
OTHERS = [
    signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGABRT,
    signal.SIGSYS, signal.SIGTRAP]
HARMLESS = sorted(
    {*range(1, 32), *range(signal.SIGRTMIN, signal.SIGRTMAX + 1)} - {*STOPS, *OTHERS, signal.SIGUSR2})
DELAYS = [0, 0.02, 0.1, 0.3]
START_SECONDS = 60


class Serving(unittest.TestCase):
    def check(self, gateway, answers):
        for number in [*HARMLESS, *HARMLESS]:
            os.kill(gateway.process.pid, number)
        time.sleep(0.2)
        self.assertIsNone(gateway.process.poll(), gateway.log())
        self.assertTrue(answers())
        for _ in range(20):
            for number in HARMLESS:
                os.kill(gateway.process.pid, number)
        self.assertTrue(answers())
        self.assertEqual(gateway.stop(), 0)

    def test_in_the_clear_no_signal_ends_it(self):
        gateway = Gateway()
        self.addCleanup(gateway.remove)
        self.check(gateway, lambda: gateway.get("/health/live").status == 200)
        self.assertIn("nothing to reload", gateway.log())

    def test_over_tls_no_signal_ends_it(self):
        gateway = SecureGateway()
        self.addCleanup(gateway.remove)
        self.check(gateway, lambda: gateway.call("GET", "/health/live")[0].status == 200)
        self.assertIn("certificate renewed", gateway.log())

    def test_each_signal_that_stops_it_stops_it_in_order(self):
        for number in STOPS:
            with self.subTest(signal.Signals(number).name):
                gateway = Gateway()
                self.addCleanup(gateway.remove)
                self.assertEqual(gateway.get("/health/live").status, 200)
                gateway.process.send_signal(number)
                self.assertEqual(gateway.process.wait(timeout=START_SECONDS), 0, gateway.log())
                gateway.process.stdout.close()


class Starting(unittest.TestCase):
    """From the start of the process. The program is given time to be loaded: before, no code of it has run."""

    def start(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-"))
        self.addCleanup(shutil.rmtree, folder, True)
        shutil.copytree(started_data(), folder, ignore=shutil.ignore_patterns("*.sock", "*.log"), dirs_exist_ok=True)
        log = open(folder / "test.log", "ab")
        process = subprocess.Popen(
            [str(BUILD / "portico"), "serve", "--config", DEMO, "--data", str(folder), "--set", "http.port=0",
                "--set", "adapters.odata.services.admissions.samples=400"],
            cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")})
        log.close()
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdout.close()))
        self.wait_until_signals_are_handled(process)
        return process, folder

    def wait_until_signals_are_handled(self, process):
        """It ignores this one last of all, and nothing has begun before that."""
        deadline = time.monotonic() + START_SECONDS
        while not self.ignores(process.pid, signal.SIGTTOU):
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(process.poll())

    def ignores(self, pid, number):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("SigIgn:"):
                return int(line.split()[1], 16) >> number - 1 & 1
        return False

    def test_no_signal_ends_a_start(self):
        for delay in DELAYS:
            with self.subTest(delay):
                process, folder = self.start()
                time.sleep(delay)
                for number in HARMLESS:
                    process.send_signal(number)
                line = process.stdout.readline()
                self.assertTrue(line.startswith("listening on"), (folder / "test.log").read_text())
                process.terminate()
                self.assertEqual(process.wait(timeout=START_SECONDS), 0)

    def test_a_stop_during_a_start_ends_in_order(self):
        for number in STOPS:
            for delay in DELAYS:
                with self.subTest(f"{signal.Signals(number).name} after {delay} s"):
                    process, folder = self.start()
                    time.sleep(delay)
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=START_SECONDS), 0, (folder / "test.log").read_text())
                    self.assertNotIn('"level":"error"', (folder / "test.log").read_text())
        gateway = Gateway(data=folder)
        self.assertEqual(gateway.get("/health/ready").status, 200)
        self.assertEqual(gateway.stop(), 0)


if __name__ == "__main__":
    unittest.main()
