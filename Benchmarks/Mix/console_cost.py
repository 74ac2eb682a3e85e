#!/usr/bin/env python3
"""Measures what open pages of the console cost the gateway: one page at rest in percent of a core, and fifty pages that somebody
touches beside the mix in percent of the mix's processor time. Fails where one of them is more than asked.

    python3 -B Benchmarks/Mix/console_cost.py [--pages 50] [--rounds 3] [--seconds 4] [--watch 130]

A page in headless Chromium is watched for `--watch` seconds after it has come to rest: what it asks, and how often. What a look
costs is measured by looks that are sent after each other, as the page sends them. Fifty browsers do not fit beside the mix: threads
send what fifty touched pages send, and the first page shows that these are its requests.
"""

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
# Behind this folder, which has a bench.py too.
sys.path += [str(HERE.parent / "Gateway"), str(HERE.parents[1] / "Tests" / "EndToEnd")]

import mix  # noqa: E402
from bench import CONNECTIONS, MEMORY, WARM_UP  # noqa: E402
from closed_loop import ClosedLoop  # noqa: E402
from portico import BUILD  # noqa: E402
from servers import MixPortico, configuration, recorded  # noqa: E402

import browser  # noqa: E402

ASKED_AT_REST, ASKED_BESIDE_THE_MIX = 0.1, 5
#: How long nobody touches a page until it is at rest (view.js), with a margin.
QUIET = 65
LOOKS = 300
#: The demo's students are no part of the mix.
SETTINGS = ("--set=admin.port=0", "--set=adapters.odata.services.admissions.samples=400")


class View:
    """A view of the console as its page repeats it: `seconds` between looks while somebody touches the page."""

    def __init__(self, name, place, seconds, look):
        self.name, self.place, self.seconds, self.look = name, place, seconds, look


def overview(page):
    page.ask("GET", "/admin/v1/status")
    points = page.ask("GET", f"/admin/v1/figures?after={page.last}")["points"]
    page.last = points[-1]["number"] if points else page.last


def logs(page):
    body = {"level": "info", "operators": False, "after": page.last, "limit": 100 if page.last else 500}
    page.last = page.ask("POST", "/admin/v1/logs/search", body)["last"]


def systems(page):
    for part in ("upstreams", "mirrors", "writes"):
        page.ask("GET", f"/admin/v1/{part}")


VIEWS = [View("overview", "#/", 5, overview), View("logs", "#/logs", 2, logs), View("other systems", "#/systems", 5, systems)]


class Page:
    """What a page asks, on a connection of its own."""

    def __init__(self, address, cookie):
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        self.cookie, self.last, self.asked = cookie, 0, 0

    def ask(self, method, path, body=None):
        headers = {
            "Accept": "application/json", "Cookie": self.cookie, "Sec-Fetch-Site": "same-origin", "X-Portico-Background": "1",
            **({} if body is None else {"Content-Type": "application/json"})}
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        value = json.loads(answer.read())
        if answer.status != 200:
            raise SystemExit(f"{method} {path}: {answer.status} {value}")
        self.asked += 1
        return value


class Pages:
    """Threads that look as `count` touched pages of a view do, for as long as the block lasts."""

    def __init__(self, gateway, view, count):
        self.done, self.looks = threading.Event(), 0
        self.threads = [threading.Thread(target=self._repeat, args=(gateway, view, number / count)) for number in range(count)]

    def _repeat(self, gateway, view, share):
        page = gateway.page()
        # As somebody finds it who has had it open for a while; and not all at once.
        view.look(page)
        self.done.wait(view.seconds * share)
        while not self.done.is_set():
            view.look(page)
            self.looks += 1
            self.done.wait(view.seconds)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        time.sleep(WARM_UP)
        return self

    def __exit__(self, *error):
        self.done.set()
        for thread in self.threads:
            thread.join()


class ConsolePortico(MixPortico):
    """With a console, and an operator who is signed in there."""

    def open(self):
        link = self.control("console", "link")
        self.console, code = re.search(r"(http://\S+?)/console/#link=([\w-]+)", link).groups()
        connection = http.client.HTTPConnection(urlsplit(self.console).netloc, timeout=60)
        connection.request("POST", "/console/session", json.dumps({"link": code}), {
            "Content-Type": "application/json", "Accept": "application/json", "Sec-Fetch-Site": "same-origin"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"the console's link does not sign in: {answer.status}")
        self.cookie = answer.getheader("Set-Cookie").split(";")[0]

    def page(self):
        return Page(self.console, self.cookie)

    def control(self, *arguments):
        # The gateway's program is porticoctl as well, by that name.
        program = Path(self.folder, "porticoctl")
        if not program.exists():
            os.symlink(BUILD / "portico", program)
        done = subprocess.run([program, *arguments, "--data", self.data], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise SystemExit(f"porticoctl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def processor_seconds(self):
        """Of all threads, to the nanosecond."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def settle(gateway):
    """Until the first start's work on its sample data is done."""
    for _ in range(60):
        before = gateway.processor_seconds()
        time.sleep(1)
        if gateway.processor_seconds() - before < 0.02:
            return
    raise SystemExit("the gateway does not come to rest")


def cost_of_a_look(gateway, view):
    """Processor seconds, without what the gateway does meanwhile in any case."""
    page = gateway.page()
    view.look(page)
    start, used = time.monotonic(), gateway.processor_seconds()
    for _ in range(LOOKS):
        view.look(page)
    took, used = time.monotonic() - start, gateway.processor_seconds() - used
    before = gateway.processor_seconds()
    time.sleep(took)
    return max(0, used - (gateway.processor_seconds() - before)) / LOOKS


def requests_of(gateway, file):
    tokens = gateway.sign_in()
    divisions = sorted({row["division"] for row in gateway.records("/api/v1/employees/employees", tokens[0])})
    [feed] = recorded(gateway, [mix.Request("GET", mix.FEED, {})])
    tag = {name.lower(): value for name, value in feed.fields}["etag"]
    requests = mix.requests(divisions, tag, tokens, True)
    mix.write_file(file, requests, recorded(gateway, requests))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of one run of the mix")
    parser.add_argument("--views", default=",".join(view.name for view in VIEWS))
    parser.add_argument("--watch", type=int, default=130, help="seconds for which a page at rest is watched; 0: none is")
    options = parser.parse_args()
    faults = []
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder, ExitStack() as running:
        folder = Path(folder)
        loop = ClosedLoop(folder)
        gateway = running.enter_context(ConsolePortico(folder / "run", folder / "data", configuration(folder), None, *SETTINGS))
        gateway.open()
        file = folder / "requests"
        requests_of(gateway, file)
        print("| view | a look, ms | looks a minute at rest | one page at rest, % of a core |")
        print("|---|---:|---:|---:|")
        settle(gateway)
        costs = {view.name: cost_of_a_look(gateway, view) for view in VIEWS}
        if browser.program() and options.watch:
            window = browser.Browser()
            running.callback(window.close)
            for view, asked in zip(VIEWS, at_rest(gateway, window, options.watch), strict=True):
                page = gateway.page()
                view.look(page)
                looks = len(asked) / page.asked
                share = looks * costs[view.name] / options.watch * 100
                print(f"| {view.name} | {costs[view.name] * 1000:.2f} | {looks * 60 / options.watch:.1f} | {share:.4f} |", flush=True)
                if share > ASKED_AT_REST:
                    faults.append(f"{view.name}: {share:.3f} % of a core at rest is more than {ASKED_AT_REST}")
        print(f"\n| {options.pages} touched pages | mix alone, µs a request | beside the pages | more | looks a second |")
        print("|---|---:|---:|---:|---:|")
        for view in [one for one in VIEWS if one.name in options.views.split(",")]:
            alone, beside, rates = [], [], []
            for number in range(options.rounds):
                alone.append(loop.run(gateway, "http1", file, CONNECTIONS, options.seconds, seed=number + 2))
                with Pages(gateway, view, options.pages) as pages:
                    begin, looks = time.monotonic(), pages.looks
                    beside.append(loop.run(gateway, "http1", file, CONNECTIONS, options.seconds, seed=number + 2))
                    rates.append((pages.looks - looks) / (time.monotonic() - begin))
            before, after = (statistics.median(run.server for run in runs) for runs in (alone, beside))
            more = (after / before - 1) * 100
            print(f"| {view.name} | {before:.1f} | {after:.1f} | {more:+.1f} % | {statistics.median(rates):.0f} |", flush=True)
            if more > ASKED_BESIDE_THE_MIX:
                faults.append(f"{options.pages} pages of {view.name}: {more:.1f} % is more than {ASKED_BESIDE_THE_MIX} %")
    if faults:
        raise SystemExit("\n".join(faults))


def at_rest(gateway, window, seconds):
    """The paths that a page of each view asks at rest in so many seconds; the pages are open side by side."""
    pages = [window.person().page(gateway.control("console", "link").split()[-1]) for _ in VIEWS]
    for page, view in zip(pages, VIEWS, strict=True):
        page.until("document.querySelector('main h1')?.textContent === 'Overview'")
        page.run(f"void (location.hash = {json.dumps(view.place)})")
    time.sleep(QUIET)
    while not window.events.empty():
        window.events.get_nowait()
    time.sleep(seconds)
    found = {page.session: [] for page in pages}
    while not window.events.empty():
        message = window.events.get_nowait()
        if message.get("method") == "Network.requestWillBeSent":
            found[message["sessionId"]].append(urlsplit(message["params"]["request"]["url"]).path)
    for page in pages:
        page.close()
    return found.values()


if __name__ == "__main__":
    main()
