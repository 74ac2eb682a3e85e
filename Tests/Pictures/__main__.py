"""Takes a picture of every view of the public pages and of the console: on a phone and on a desk, in light and in dark, with much,
little and no data, with a system that fails, and while the gateway is away: `make pictures`.

    python3 -B Tests/Pictures [--only EXPRESSION] [--tree] [--into FOLDER]

`--tree` shows the style sheets and modules of the tree rather than those of the build, so that a change is seen without one.
Prints what is wider than its window, and what a page's script threw.
"""

import argparse
import base64
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))

import browser
from harness import BUILD, DEMO, SAMPLES, START_SECONDS, Gateway, run_portico
from hostile_upstream import MirroredSystem
from sync_device import Device

#: The pages whose text is a file.
PAGES = {
    "/console/": "Console/Files/console.html", "/docs/": "Explorer/Files/explorer.html", "/chat/": "ChatPage/Files/chat.html",
    "/client/": "BrowserClient/Demonstration/index.html",
}
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
TALLEST = 2400
PASSWORD = "a password of operators"
SETTINGS = ("--set", "admin.port=0", "--set", "admin.roles.admin=[chief]")
UPSTREAM = """
upstreams:
  hr:
    url: '{url}'
    networks: [127.0.0.1/32]
    deadline: 2s
    limits: {{ connect: 500ms, firstByte: 1s, answer: 1MiB, tries: 1, failures: 3 }}
"""
MIRRORED = """  employees: {{ upstream: hr, protocol: json, access: login, freshFor: 1h, waitFor: 5s }}
  users: {{ upstream: hr, path: users/, access: login, freshFor: 1h, waitFor: 5s }}
"""
NOTHING = """
http: { host: 127.0.0.1 }
identity:
  demoAccounts:
    - { name: carol, password: portico-demo, roles: [member] }
plugins:
  - { path: notes-worker }
adapters: { chat: {} }
"""
STUDENTS = "/api/v1/odata/admissions-Students"
TABLE, HEADING = "!!document.querySelector('table')", "!!document.querySelector('main h1')"
# Name of the picture: path, what is waited for.
VISITOR = {
    "front": ("/", "!!document.querySelector('.copy')"),
    "sign-in": ("/auth/login?next=/chat/", "!!document.querySelector('form')"),
    "account": ("/account/", "!!document.querySelector('main button')"),
    "chat": ("/chat/", "!document.querySelector('#welcome').hidden"),
    "notes": ("/client/", "!document.querySelector('#welcome').hidden"),
    "explorer": ("/docs/", "document.querySelector('main h1')?.textContent === 'What is served here'"),
    "error": ("/nothing", "!!document.querySelector('[role=alert]')"),
    "errors": ("/errors", "!!document.querySelector('main li')"),
    "feed": ("/plists/sonnets", TABLE),
}
MUCH = {
    "front": ("/", "!!document.querySelector('.who')"),
    "account": ("/account/", TABLE),
    "table": (f"{STUDENTS}?order=-LastName&search=a", TABLE),
    "table-notes": ("/api/v1/notes/notes", TABLE),
    "table-filtered-empty": ("/api/v1/notes/notes?filter=title%20eq%20'no%20such'", "!!document.querySelector('.nothing')"),
    "record": (f"{STUDENTS}/1", TABLE),
    "user": ("/v2/101", TABLE),
    "chat": ("/chat/", "document.querySelector('#messages li') ? true : document.querySelector('#rooms button:not([aria-current])')?.click()"),
    "notes": ("/client/", "document.querySelector('portico-note:not([hidden])') ? true : document.querySelector('portico-notes button')?.click()"),
    "explorer-entity": ("/docs/#/notes/entities/notes", "document.querySelector('main h1')?.textContent === 'notes'"),
    "explorer-operation": ("/docs/#/operations/notes_notes_create", "!!document.querySelector('portico-operation form')"),
}
LITTLE = {
    "account": ("/account/", "!!document.querySelector('main button')"),
    "table-notes": ("/api/v1/notes/notes", HEADING),
    "notes": ("/client/", "!document.querySelector('#work').hidden && !!document.querySelector('portico-notes .nothing')"),
    "chat": ("/chat/", "!document.querySelector('#work').hidden"),
    "front": ("/", "!!document.querySelector('.who')"),
}
AWAY = {
    "notes": ("/client/", "!document.querySelector('#work').hidden"), "chat": ("/chat/", "!document.querySelector('#work').hidden"),
    "explorer": ("/docs/#/operations/notes_notes_create", "!!document.querySelector('portico-operation form')"),
}
CONSOLE = {
    "overview": "#/", "records": "#/records", "entity": "#/records/odata/admissions-Students", "record": "#/records/odata/admissions-Students/1",
    "notes": "#/records/notes/notes", "systems": "#/systems", "people": "#/people", "person": "#/people/alice", "adapters": "#/adapters",
    "adapter": "#/adapters/notes", "logs": "#/logs", "audit": "#/audit", "devices": "#/devices", "configuration": "#/configuration",
    "no-such": "#/nothing", "no-such-record": "#/records/notes/notes/nothing",
}
FAILING = {
    "overview": "#/", "systems": "#/systems", "upstream": "#/systems/upstreams/hr", "mirror-held": "#/systems/mirrors/employees/employees",
    "mirror-failed": "#/systems/mirrors/users/users", "logs": "#/logs?level=warning", "entity": "#/records/users/users",
}
FAILING_PUBLIC = {"front": MUCH["front"], "table": ("/api/v1/users/users", HEADING)}
EMPTY = {name: CONSOLE[name] for name in ("overview", "records", "systems", "people", "logs", "audit", "devices", "configuration")}
LOADED = "!!document.querySelector('main h1') && !/Loading/.test(document.querySelector('main').innerText)"
WIDER = """[...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1
    && !one.closest('.scroll, pre, .log, .skip, .unseen')).map((one) => one.outerHTML.slice(0, 80)).slice(0, 3)"""


class Pictures:
    def __init__(self, arguments):
        self.only, self.folder, self.faults = re.compile(arguments.only), arguments.into, []
        self.folder.mkdir(parents=True, exist_ok=True)
        self.window = browser.Browser()
        self.files = tree_files() if arguments.tree else None
        if self.files:
            threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        """Answers what a page asks for with the tree's file of that name."""
        while True:
            message = self.window.events.get()
            if message.get("method") != "Fetch.requestPaused":
                continue
            asked, session = message["params"], message["sessionId"]
            path = urllib.parse.urlsplit(asked["request"]["url"]).path
            file = self.files.get(path) or self.files.get(path.rsplit("/", 1)[1])
            try:
                if file is None:
                    self.window.call("Fetch.continueRequest", session, requestId=asked["requestId"])
                else:
                    kind = {".css": "text/css", ".js": "text/javascript", ".html": "text/html; charset=utf-8"}[file.suffix]
                    self.window.call(
                        "Fetch.fulfillRequest", session, requestId=asked["requestId"], responseCode=200,
                        responseHeaders=[{"name": "Content-Type", "value": kind}], body=base64.b64encode(file.read_bytes()).decode())
            except AssertionError:
                pass

    def page(self, address):
        page = self.window.person().page()
        if self.files:
            page.call("Fetch.enable", patterns=[{"urlPattern": one} for one in ("*.css", "*.js", *(f"*{path}" for path in PAGES))])
        page.go(address)
        return page

    def is_wanted(self, group, name):
        return self.only.search(f"{group}-{name}")

    def wants(self, groups):
        return any(self.is_wanted(group, name) for group, views in groups.items() for name in views)

    def take(self, page, group, name, width, scheme):
        time.sleep(0.3)
        title = f"{group}-{name}-{width}-{scheme}"
        if wider := page.run(WIDER):
            self.faults.append(f"{title}: wider than its window: {wider}")
        height = min(TALLEST, max(844 if width < 600 else 800, page.run("document.documentElement.scrollHeight")))
        data = page.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"]
        (self.folder / f"{title}.png").write_bytes(base64.b64decode(data))

    def each(self, page, group, views, show):
        """Each of some views, in every size and scheme; `show` brings a view there."""
        for name, view in views.items():
            if not self.is_wanted(group, name):
                continue
            for width in WIDTHS:
                page.call("Emulation.setDeviceMetricsOverride", width=width, height=844 if width < 600 else 800, deviceScaleFactor=1, mobile=width < 600)
                for scheme in SCHEMES:
                    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    try:
                        if scheme == SCHEMES[0]:
                            show(page, view)
                        self.take(page, group, name, width, scheme)
                    except AssertionError as error:
                        self.faults.append(f"{group}-{name}-{width}-{scheme}: {str(error)[:300]}")
        print(f"{group}: {len(list(self.folder.glob(f'{group}-*')))} pictures", flush=True)

    def public(self, gateway, group, views, user=None):
        address = f"http://127.0.0.1:{gateway.port}"
        page = self.page(f"{address}/pages/base.css")
        if user:
            page.run(f"await (await import('{address}/client/portico.js')).connect().signIn('{user}', 'portico-demo')")

        def show(page, view):
            page.go("about:blank")
            page.go(address + view[0])
            page.until(view[1])

        self.each(page, group, views, show)
        return page, show

    def public_away(self, gateway, user):
        page, show = self.public(gateway, "away", {}, user)

        def leave(page, view):
            page.has_network(True)
            show(page, view)
            page.has_network(False)
            time.sleep(1.5)

        self.each(page, "away", AWAY, leave)
        page.has_network(True)

    def console(self, gateway, group, views, is_away=False):
        page = self.page(console_link(gateway))
        page.until("document.querySelector('main h1')?.textContent === 'Overview'")

        def show(page, view):
            page.has_network(True)
            page.until(f"(location.hash = {json.dumps(view)}, location.hash === {json.dumps(view)})")
            time.sleep(0.2)
            page.until(LOADED)
            if is_away:
                page.has_network(False)
                page.until("document.getElementById('notice')?.innerText.includes('does not answer')")

        self.each(page, group, views, show)
        page.has_network(True)

    def console_sign_in(self, gateway):
        page = self.page(console_link(gateway).split("#")[0])
        self.each(page, "console", {"sign-in": ""}, lambda page, _: page.until("!!document.querySelector('portico-sign-in form')"))


def tree_files():
    """By path, or by name where a file has but one."""
    named = {path.name: path for path in ROOT.glob("Sources/**/*.*") if path.suffix in (".css", ".js")}
    return named | {path: ROOT / "Sources" / file for path, file in PAGES.items()}


def console_link(gateway):
    end = time.monotonic() + START_SECONDS
    while (done := run_portico("console", "link", "--data", gateway.data, program="porticoctl")).returncode:
        assert time.monotonic() < end, done
        time.sleep(0.2)
    return re.search(r"http://\S+", done.stdout)[0]


def control(gateway, *arguments, stdin=None):
    return run_portico(*arguments, "--data", gateway.data, "--output", "json", program="porticoctl", stdin=stdin)


def configured(folder, name, text):
    file = folder / f"{name}.yaml"
    file.write_text(text)
    return str(file)


def failing_configuration(system):
    """The demo with a mirror of another system in the place of employees and of users."""
    lines = [line for line in (ROOT / DEMO).read_text().splitlines(keepends=True) if not re.match(r"  (employees|users): ", line)]
    place = next(index for index, line in enumerate(lines) if line.startswith("adapters:")) + 1
    made = "".join([*lines[:place], MIRRORED.format(), *lines[place:]]) + UPSTREAM.format(url=system.address)
    return re.sub(r"model: odata/", f"model: {ROOT}/Config/odata/", re.sub(r"seed: odata/", f"seed: {ROOT}/Config/odata/", made))


def fill(gateway):
    """People, rooms, notes, devices, changes that were refused, and requests that failed."""
    subprocess.run([ROOT / ".ci" / "demo-people", f"http://127.0.0.1:{gateway.port}"], check=True)
    for number in range(24):
        gateway.send("POST", "/api/v1/notes/notes", {"title": f"Note {number}: a visit to a school with a long name", "text": "Milk\nBread"}, user="alice")
    for account in ("alice", "bob"):
        device = Device(gateway, account)
        for number in range(3):
            device.change("create", f"{account}-{number}", {"title": f"From the train {number}", "text": "No signal"})
        device.change("update", "nothing-there", {"title": "x"})
    control(gateway, "accounts", "add", "someone.with.a.long.name", "--display-name", "Someone With A Rather Long Name", stdin=PASSWORD + "\n")
    control(gateway, "keys", "create", "alice", "--title", "A nightly report")
    for _ in range(15):
        for path in ("/v2/list", "/api/v1/employees/employees?limit=20", "/odata/v4/admissions/Students?$top=5", "/plists/sonnets", "/api/v1/notes/nothing"):
            gateway.get(path, user="alice")
        time.sleep(0.4)


def with_much(pictures, gateway):
    fill(gateway)
    pictures.public(gateway, "visitor", VISITOR)
    pictures.public(gateway, "much", MUCH, "alice")
    pictures.console_sign_in(gateway)
    pictures.console(gateway, "console", CONSOLE)
    pictures.console(gateway, "console-away", {name: CONSOLE[name] for name in ("overview", "people")}, is_away=True)
    pictures.public_away(gateway, "alice")


def with_a_failing_system(pictures, gateway, system):
    """A mirror whose refresh is held back, and one whose system answers no more."""
    for name in ("employees/employees", "users/users"):
        control(gateway, "mirrors", "refresh", name)
    del system.employees[20:]
    control(gateway, "mirrors", "refresh", "employees/employees")
    system.is_down = True
    for _ in range(4):
        control(gateway, "mirrors", "refresh", "users/users")
    pictures.console(gateway, "console-failing", FAILING)
    pictures.public(gateway, "failing", FAILING_PUBLIC, "alice")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression for names of pictures, such as console-overview")
    parser.add_argument("--tree", action="store_true")
    parser.add_argument("--into", type=pathlib.Path, default=ROOT / ".build" / "pictures")
    pictures = Pictures(parser.parse_args())
    folder = tempfile.TemporaryDirectory(prefix="portico-pictures-")
    gateways, system = [], MirroredSystem()

    def started(*settings, **options):
        gateways.append(Gateway(*SETTINGS, *settings, **options))
        return gateways[-1]

    try:
        if pictures.wants({"visitor": VISITOR, "much": MUCH, "away": AWAY, "console": {**CONSOLE, "sign-in": ""}, "console-away": CONSOLE}):
            with_much(pictures, started())
        if pictures.wants({"nothing": LITTLE, "console-nothing": EMPTY}):
            nothing = started(config=configured(pathlib.Path(folder.name), "nothing", NOTHING))
            pictures.public(nothing, "nothing", LITTLE, "carol")
            pictures.console(nothing, "console-nothing", EMPTY)
        if pictures.wants({"failing": FAILING_PUBLIC, "console-failing": FAILING}):
            config = configured(pathlib.Path(folder.name), "failing", failing_configuration(system))
            with_a_failing_system(pictures, started(*SAMPLES, config=config), system)
    finally:
        pictures.window.close()
        for gateway in gateways:
            gateway.remove()
        system.stop()
        folder.cleanup()
    print("\n".join(pictures.faults) or "Nothing is wider than its window.")
    return bool(pictures.faults)


if __name__ == "__main__":
    sys.exit(main())
