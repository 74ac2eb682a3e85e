"""A short run of the requests' fuzzer (Tests/RequestFuzzing); `make fuzz-requests` is the long one."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from harness import BUILD, ROOT


class RequestFuzz(unittest.TestCase):
    def test_damaged_requests_end_nothing_and_none_fails_inside(self):
        seconds = os.environ.get("TEST_SECONDS", "20")
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-B", ROOT / "Tests" / "RequestFuzzing", "--seconds", seconds, "--seed", "20", "--keep", folder],
                cwd=ROOT, env={**os.environ, "PORTICO_BUILD": str(BUILD)}, capture_output=True, text=True, timeout=600)
            kept = [path.read_text()[:2000] for path in pathlib.Path(folder).iterdir()]
        self.assertEqual((done.returncode, kept), (0, []), done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^[1-9]\d* requests, ")
