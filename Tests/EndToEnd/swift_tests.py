"""Runs those of the client package's tests that ask a running gateway."""

import os
import subprocess

from harness import BUILD

SWIFT_TESTS = BUILD / "PorticoPackageTests.xctest"


def run_swift_tests(test, suite):
    """What the run says; the tests must be built. The program is started itself: `swift test` would plan a build first
    and wait for other builds to end."""
    ran = subprocess.run(
        [SWIFT_TESTS, "--testing-library", "swift-testing", "--filter", f"ClientTests.{suite}"],
        env={**os.environ, "PORTICO_GATEWAY": f"http://127.0.0.1:{test.gateway.port}"},
        capture_output=True, text=True, timeout=600)
    test.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
    return ran.stdout + ran.stderr
