#!/usr/bin/env python3
"""schemathesis against a gateway with the demo configuration, as a signed-in user: what /openapi.json says is
what is answered: no 5xx, no status, type or body that is not declared. Who may call is test_authorization_matrix.py's matter.

    Tests/Description/run.py [--seconds N] [--seed N]

Needs .build/schema-venv (`make .build/schema-venv/done`) and the debug build.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))

from harness import Gateway

# Left out: what judges whether an input that the schema takes must succeed (names and ids that are made up do not), and
# the other way round (forms and XML carry every number as text, so what is wrong for JSON is right there).
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "allow_header_conformance"]
# A password's hash takes its time, in a debug build above all: these are called less often.
DEAR = ["/auth/login", "/auth/password", "/irj/portal"]
# OData 2 changes entities by MERGE, which `Allow` names and OpenAPI 3.1 has no word for.
MERGING = "^/(odata/v2|sap/opu)/"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--seed", type=int, default=20261121)
    options = options.parse_args()
    # Made-up passwords must not lock the tester out.
    gateway = Gateway("--set", "identity.login.backoff=1ms")
    try:
        paths = [("--exclude-path", path) for path in DEAR], [("--include-path", path) for path in DEAR]
        most = [*paths[0], ("--exclude-path-regex", MERGING)]
        cheap = [run(gateway, options, options.seconds * 5 / 16, most, formats=formats) for formats in ("json", "all")]
        dear = run(gateway, options, options.seconds / 4, paths[1])
        merging = run(
            gateway, options, options.seconds / 8, [("--include-path-regex", MERGING)], but="allow_header_conformance")
        return any(cheap) or dear or merging or verdict(gateway.log()) or gateway.stop()
    finally:
        gateway.remove()


def verdict(log):
    """1 where something failed inside, or where so little was let in that the run showed nothing."""
    failed = [line for line in log.splitlines() if '"request failed"' in line]
    statuses = collections.Counter(re.findall(r'"status":"?(\d)', log))
    print("\n".join(failed[:20]))
    print("answers by class of status:", ", ".join(f"{first}xx {count}" for first, count in sorted(statuses.items())))
    return int(bool(failed) or statuses["2"] * 20 < sum(statuses.values()))


def run(gateway, options, seconds, paths, but=None, formats="json"):
    return subprocess.run([
        ROOT / ".build" / "schema-venv" / "bin" / "schemathesis", "run",
        f"http://127.0.0.1:{gateway.port}/openapi.json?formats={formats}",
        "--auth", "alice:portico-demo", "--checks", ",".join(check for check in CHECKS if check != but),
        "--phases", "coverage,fuzzing", "--continue-on-failure",
        "--no-color", "--suppress-health-check", "all", "--warnings", "off", "--request-timeout", "60", "--no-shrink",
        "--max-time", str(max(1, round(seconds))), "--seed", str(options.seed), *(part for pair in paths for part in pair),
    ], cwd=gateway.data, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
