#!/usr/bin/env python3
"""Two hundred sign-ins at once, and what they do to everybody else: the gateway's memory, and the p99 of other calls
against its value when nobody signs in. Asked: within twice that value or 30 ms, whichever is more.

    Benchmarks/Gateway/logins.py [--build DIR] [--logins N]
"""

import argparse
import http.client
import json
import os
import statistics
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_IDLE, CALLS_PER_SECOND, MOST_MILLISECONDS, MOST_MEGABYTES = 5, 100, 30, 200
JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--build", default=str(ROOT / ".build/release"), help="where portico is")
    arguments.add_argument("--logins", type=int, default=200)
    arguments = arguments.parse_args()
    os.environ["PORTICO_BUILD"] = arguments.build
    sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))
    from harness import Gateway  # reads PORTICO_BUILD

    # One address, one name: the backoff would answer instead of the hash.
    gateway = Gateway()
    try:
        token = gateway.login("alice").json()["accessToken"]
        gateway.forget_peak()
        idle = percentile(calls_until(gateway, token, after(SECONDS_IDLE)))
        statuses, busy = storm(gateway, token, arguments.logins)
        report(gateway, statuses, idle, busy)
    finally:
        gateway.remove()


def after(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def storm(gateway, token, count):
    """The statuses of the sign-ins, and the p99 of the calls made meanwhile."""
    statuses, start = [], threading.Barrier(count + 1)

    def sign_in():
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=300)
        connection.connect()
        start.wait()
        connection.request("POST", "/auth/login", json.dumps({"username": "bob", "password": "portico-demo"}), JSON)
        statuses.append(connection.getresponse().status)
        connection.close()

    threads = [threading.Thread(target=sign_in) for _ in range(count)]
    for thread in threads:
        thread.start()
    start.wait()
    took = calls_until(gateway, token, lambda: not any(thread.is_alive() for thread in threads))
    return statuses, percentile(took)


def calls_until(gateway, token, is_over):
    """Milliseconds of each call of one client that calls at a steady rate."""
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    headers, took = {**JSON, "Authorization": f"Bearer {token}"}, []
    while not is_over():
        began = time.monotonic()
        connection.request("GET", "/v2/101", headers=headers)
        response = connection.getresponse()
        response.read()
        assert response.status == 200, response.status
        took.append((time.monotonic() - began) * 1000)
        time.sleep(max(0, 1 / CALLS_PER_SECOND - (time.monotonic() - began)))
    return took


def percentile(took):
    return statistics.quantiles(took, n=100)[98] if len(took) > 1 else float("nan")


def report(gateway, statuses, idle, busy):
    megabytes = gateway.resident("VmHWM") / 2**20
    asked = max(2 * idle, MOST_MILLISECONDS)
    print(f"sign-ins: {len(statuses)}, accepted {statuses.count(200)}, put off {statuses.count(503)}, "
          f"others {len(statuses) - statuses.count(200) - statuses.count(503)}")
    print(f"p99 of other calls: {idle:.1f} ms idle, {busy:.1f} ms meanwhile, asked {asked:.1f} ms: "
          f"{'reached' if busy <= asked else 'NOT REACHED'}")
    print(f"most resident memory: {megabytes:.0f} MB, asked {MOST_MEGABYTES} MB: "
          f"{'reached' if megabytes <= MOST_MEGABYTES else 'NOT REACHED'}")


if __name__ == "__main__":
    main()
