"""Packages of the other kinds that `porticoctl adapter new` writes: each builds, passes its tests and serves."""

import functools
import http.server
import json
import subprocess
import tarfile
import threading
import time
import unittest

from adapter_build import SCRATCH, build_folder
from generated_adapter import GeneratedAdapter
from harness import run_portico, run_tool


class AdapterKinds(GeneratedAdapter):
    def test_a_package_with_records(self):
        folder = self.generate("notices", "entity")
        shown = self.adapter_test(folder, 2)
        self.assertIn("passed  POST /api/v1/notices/items of the fixtures: 201\n", shown)
        self.assertIn("passed  entity items\n", shown)
        self.assertIn("passed  notices: killed without calls that reach it\n", shown)

    def test_a_package_with_an_operation(self):
        folder = self.generate("sums", "operation")
        shown = self.adapter_test(folder, 3)
        self.assertIn("passed  POST /api/v1/sums/operations/summarize of the fixtures as bplist\n", shown)
        self.assertIn("passed  sums: stopped under calls\n", shown)
        gateway = self.serve(folder)
        call = functools.partial(gateway.send, "POST", "/api/v1/sums/operations/summarize", user="alice")
        self.assertEqual(call({"numbers": [1, 2.5]}).json(), {"count": 2, "sum": 3.5, "mean": 1.75})
        self.assertEqual(call({"numbers": []}).status, 400)

    def test_a_package_with_mounted_paths(self):
        folder = self.generate("greeter", "mount")
        shown = self.adapter_test(folder, 3)
        self.assertIn("passed  GET /greeter/hello/Ada of the fixtures: 200\n", shown)
        self.assertIn("passed  greeter: killed under calls\n", shown)
        gateway = self.serve(folder)
        self.assertEqual(gateway.get("/greeter/hello/Ada", user="alice").text(), "Hello, Ada!\n")
        self.assertEqual(gateway.get("/greeter/hello/Ada").status, 401)
        self.assertEqual(gateway.get("/greeter/nothing", user="alice").status, 404)

    def test_a_package_with_a_mirror_of_another_system(self):
        folder = self.generate("articles", "mirror")
        shown = self.adapter_test(folder, 3)
        self.assertIn("passed  mirror items: 2 records\n", shown)
        self.assertIn("passed  entity items\n", shown)
        self.assertIn("passed  articles: killed under calls\n", shown)
        self.assertIn("passed  articles: 10 rounds while its upstreams fail\n", shown)
        handler = functools.partial(Quiet, directory=str(folder / "stand-in"))
        system = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=system.serve_forever, daemon=True).start()
        self.addCleanup(system.server_close)
        self.addCleanup(system.shutdown)
        gateway = self.serve(
            folder, "--set", f"upstreams.other-system.url=http://127.0.0.1:{system.server_address[1]}/")
        end = time.monotonic() + 60
        while (answer := gateway.get("/api/v1/articles/items", user="alice")).status != 200:
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.1)
        self.assertEqual([item["name"] for item in answer.json()["items"]], ["Bolt", "Nut"])


    def test_a_packed_package_runs_with_its_own_libraries(self):
        folder = self.generate("packed", "operation")
        # So that the next run finds what this one has compiled.
        (folder / ".build").symlink_to(SCRATCH)
        with build_folder():
            done = run_portico(
                "adapter", "pack", folder, "--version", "1.0.0", "--into", folder, program="porticoctl", timeout=1100)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        with tarfile.open(done.stdout.strip()) as archive:
            archive.extractall(folder / "extracted", filter="data")
        manifest = json.loads((folder / "extracted" / "adapter.json").read_text())
        self.assertEqual((manifest["name"], manifest["entry"]), ("packed", "bin/packed-worker"))
        self.assertIn("lib/libswiftCore.so", manifest["files"])
        self.assertTrue(manifest["platform"].startswith("linux-"))
        program = folder / "extracted" / "bin" / "packed-worker"
        for line in run_tool("ldd", program).decode().splitlines():
            self.assertNotIn("not found", line)
            if "swift" in line or "AdapterKit" in line:
                self.assertIn(str(folder), line)
        # It finds its libraries and says that it is no program for people.
        started = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual((started.returncode, "an adapter of Portico" in started.stdout), (2, True), started.stderr)
        configuration = (folder / "gateway.yaml").read_text().replace(".build/debug/packed-worker", str(program))
        (folder / "packed.yaml").write_text(configuration)
        gateway = self.serve(folder, configuration="packed.yaml")
        call = gateway.send("POST", "/api/v1/packed/operations/summarize", {"numbers": [2, 4]}, user="alice")
        self.assertEqual(call.json(), {"count": 2, "sum": 6, "mean": 3})


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    unittest.main()
