"""`porticoctl adapter dev`: what is saved is served, what does not build changes nothing, and the calls are shown."""

import signal
import subprocess
import time
import unittest

from generated_adapter import GeneratedAdapter
from harness import BUILD, ROOT

LONGEST_SECONDS = 300


class DevelopedAdapter(GeneratedAdapter):
    def test_what_is_saved_is_built_and_served(self):
        folder = self.generate("counter", "operation")
        # In its own folder: what the gateway runs is what the next build writes.
        built = subprocess.run(["swift", "build", "--package-path", folder], capture_output=True, text=True, timeout=1100)
        self.assertEqual(built.returncode, 0, built.stdout[-4000:])
        gateway = self.serve(folder)
        shown = open(folder / ".shown", "w+")
        self.addCleanup(shown.close)
        process = subprocess.Popen(
            [BUILD / "porticoctl", "adapter", "dev", folder, "--data", gateway.data], cwd=ROOT, stdout=shown, stderr=shown)
        self.addCleanup(self.end, process)

        def until(holds):
            end = time.monotonic() + LONGEST_SECONDS
            while not holds():
                self.assertIsNone(process.poll(), (folder / ".shown").read_text())
                self.assertLess(time.monotonic(), end, (folder / ".shown").read_text())
                time.sleep(0.2)

        def says(text, times=1):
            return (folder / ".shown").read_text().count(text) >= times

        def mean():
            answer = gateway.send("POST", "/api/v1/counter/operations/summarize", {"numbers": [1, 2]}, user="alice")
            self.assertEqual(answer.status, 200, answer)  # Also while one takes the place of the other.
            return answer.json()["mean"]

        until(lambda: says("counter was restarted"))
        source = folder / "Sources" / "CounterAdapter" / "Summarize.swift"
        text = source.read_text()
        source.write_text(text.replace("sum / Double(numbers.count)", "sum / Double(numbers.count) + 40"))
        until(lambda: mean() == 41.5)
        source.write_text(text + "nonsense")
        until(lambda: says("swift build ended with 1"))
        self.assertEqual(mean(), 41.5)
        until(lambda: says("/operations/summarize"))

    def end(self, process):
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


del GeneratedAdapter

if __name__ == "__main__":
    unittest.main()
