"""The guide of docs/connect.md: its commands, run as they stand, show what it says, up to the list without a network."""

import functools
import http.server
import pathlib
import shutil
import tempfile
import threading
import time
import unittest

import browser
from documented_session import blocks, unshown
from harness import Gateway
from stand_in import PROGRAM, StandIn

FOLDER = ".portico-hr"


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@unittest.skipUnless(PROGRAM.exists(), "the stand-in is not built")
class Guide(unittest.TestCase):
    def setUp(self):
        self.started = time.monotonic()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-guide-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.system = StandIn("--employees", "500")
        self.addCleanup(self.system.stop)
        app = self.folder / FOLDER / "app"
        app.mkdir(parents=True)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Pages, directory=str(app)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.pages = f"http://127.0.0.1:{server.server_address[1]}"

    def test_its_commands_show_what_they_say_and_the_list_is_there_without_a_network(self):
        _, files, checks, serve, session, page = blocks("docs/connect.md", "## From nothing to a list that works offline")
        system = {"127.0.0.1:9091": f"127.0.0.1:{self.system.port}"}
        setup = files.replace("http://127.0.0.1:8000", self.pages)
        self.assertEqual(unshown(setup + checks, system, self.system.port, self.folder), [])
        data = self.folder / FOLDER / "data"
        data.mkdir()
        self.assertEqual(serve, f"portico serve --config {FOLDER}/portico.yaml --data {FOLDER}/data\n")
        gateway = Gateway(config=str(self.folder / FOLDER / "portico.yaml"), data=data)
        self.addCleanup(gateway.remove)
        served = {"127.0.0.1:8083": f"127.0.0.1:{gateway.port}"}
        self.assertEqual(unshown(session, {**system, **served}, self.system.port, self.folder), [])
        if not browser.program():
            self.skipTest("this machine has no Chromium: the page is not tried")
        self.assertEqual(
            unshown(page + "ls .portico-hr/app  # shows: portico.js\n", served, 0,
                    self.folder), [])
        chromium = browser.Browser()
        self.addCleanup(chromium.close)
        app = chromium.person().page(f"{self.pages}/index.html")
        app.until("document.querySelectorAll('li').length === 500 && document.getElementById('state').textContent === 'live'")
        self.system.order("fault", "hang")
        gateway.stop()
        app.reload()
        app.until("document.querySelectorAll('li').length === 500 && document.getElementById('state').textContent === 'offline'")
        self.assertIn("Doe, John", app.run("document.getElementById('list').textContent"))
        print(f"the guide, without reading and building: {time.monotonic() - self.started:.0f} s")


if __name__ == "__main__":
    unittest.main()
