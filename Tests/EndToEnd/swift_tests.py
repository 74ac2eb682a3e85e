"""Runs those of the client package's tests that ask a running gateway."""

import os
import subprocess

from harness import ROOT

CLIENT = ROOT / "Sources" / "Client"
SWIFT_TESTS = CLIENT / ".build" / "debug" / "ClientPackageTests.xctest"


def run_swift_tests(test, suite):
    """What the run says; the tests of the suite must be built."""
    ran = subprocess.run(
        ["swift", "test", "--package-path", str(CLIENT), "--skip-build", "--filter", suite],
        env={**os.environ, "PORTICO_GATEWAY": f"http://127.0.0.1:{test.gateway.port}"},
        capture_output=True, text=True, timeout=600)
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    return ran.stdout + ran.stderr
