"""The store's files under a running gateway: deleted, replaced, on a full disk; and the next start."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from harness import START_SECONDS, Gateway, run_portico, started_data

NOTES = "/api/v1/notes/notes"
PRODUCTS = "/odata/v4/reference/Products"


class StoreFiles(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-files-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.data = self.folder / "data"
        shutil.copytree(started_data(), self.data, ignore=shutil.ignore_patterns("*.sock", "*.log"))

    def start(self, *settings):
        gateway = Gateway("--set", "store.probe=200ms", *settings, data=str(self.data))
        self.addCleanup(gateway.remove)
        return gateway

    def note(self, gateway, title):
        return gateway.send("POST", NOTES, {"title": title}, user="alice")

    def eventually(self, holds):
        end = time.monotonic() + START_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def serve(self, *settings):
        """A start that is expected to fail."""
        return run_portico("serve", "--config", "Config/demo.yaml", "--data", str(self.data), *settings,
                           "--set", "http.port=0")

    def test_a_deleted_database_acknowledges_nothing_and_is_not_replaced_by_an_empty_one(self):
        gateway = self.start()
        self.assertEqual(self.note(gateway, "kept").status, 201)
        (self.data / "portico.sqlite").unlink()
        answer = self.note(gateway, "lost")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (503, "store.unavailable"), answer)
        self.assertIn("retry-after", answer.headers)
        odata = gateway.get(PRODUCTS)
        self.assertEqual(odata.status, 503, odata)
        self.assertEqual(odata.json()["error"]["code"], "store.unavailable", odata)
        ready = gateway.get("/health/ready")
        self.assertEqual((ready.status, ready.json()["store"]), (503, "misplaced"), ready)
        self.assertEqual(gateway.get("/health/live").status, 200)
        self.eventually(lambda: "store cannot be written" in gateway.log())
        time.sleep(1)
        self.assertEqual(gateway.log().count("store cannot be written"), 1)
        os.kill(gateway.process.pid, signal.SIGUSR2)
        self.eventually(lambda: "not restarted" in gateway.log())
        self.assertEqual(gateway.stop(), 1)
        last = [json.loads(line) for line in gateway.log().splitlines() if "lost file is gone" in line]
        self.assertEqual([line["level"] for line in last], ["error"])
        refused = self.serve()
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("--accept-store", refused.stderr)
        self.assertFalse((self.data / "portico.sqlite").exists())
        again = self.start("--accept-store")
        self.assertEqual(self.note(again, "new").status, 201)
        self.assertEqual(again.stop(), 0)

    def test_without_a_request_the_gateway_finds_out_too(self):
        gateway = self.start()
        (self.data / "portico.sqlite").rename(self.data / "elsewhere")
        self.eventually(lambda: gateway.get("/health/ready").status == 503)
        (self.data / "elsewhere").rename(self.data / "portico.sqlite")
        self.eventually(lambda: gateway.get("/health/ready").status == 200)
        self.assertEqual(self.note(gateway, "goes on").status, 201)
        self.assertEqual(gateway.stop(), 0)

    def test_a_killed_gateway_starts_again_without_a_word(self):
        gateway = self.start()
        self.assertEqual(self.note(gateway, "kept").status, 201)
        gateway.kill()
        again = self.start()
        titles = [each["title"] for each in again.get(f"{NOTES}?limit=1000", user="alice").json()["items"]]
        self.assertIn("kept", titles)
        self.assertEqual(again.stop(), 0)

    def test_attachments_whose_folder_is_gone_are_refused(self):
        gateway = self.start()
        (self.data / "attachments").rename(self.data / "aside")
        digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
        answer = gateway.request("PUT", f"/sync/v1/attachments/{digest}", body=b"foo", user="alice")
        self.assertEqual(answer.status, 503, answer)
        ready = gateway.get("/health/ready")
        self.assertEqual((ready.status, ready.json()["store"]), (503, "attachmentsMisplaced"), ready)
        (self.data / "aside").rename(self.data / "attachments")
        answer = gateway.request("PUT", f"/sync/v1/attachments/{digest}", body=b"foo", user="alice")
        self.assertEqual(answer.status, 201, answer)
        self.assertEqual(gateway.get("/health/ready").status, 200)
        gateway.stop()
        (self.data / "portico.sqlite").unlink()
        (self.data / "store.marker").unlink()
        refused = self.serve()
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("attachments", refused.stderr)

    def test_a_restore_that_is_refused_changes_nothing(self):
        gateway = self.start()
        self.assertEqual(self.note(gateway, "kept").status, 201)
        backup = self.folder / "backup"
        done = run_portico("backup", str(backup), "--data", str(self.data), program="porticoctl")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=backup).returncode, 0)
        outside = self.folder / "outside.sqlite"
        (backup / "portico.sqlite").rename(outside)
        outside.chmod(0o666)
        (backup / "portico.sqlite").symlink_to(outside)
        before = sorted(path.name for path in self.data.iterdir())
        done = run_portico("restore", str(backup), "--yes", "--data", str(self.data), program="porticoctl")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("portico.sqlite", done.stderr)
        self.assertEqual(sorted(path.name for path in self.data.iterdir()), before)
        (backup / "portico.sqlite").unlink()
        outside.rename(backup / "portico.sqlite")
        self.assertEqual(
            run_portico("restore", str(backup), "--yes", "--data", str(self.data), program="porticoctl").returncode, 0)
        self.assertEqual(gateway.stop(), 0)
        again = self.start()
        file = (self.data / "portico.sqlite").lstat()
        self.assertEqual((file.st_mode & 0o7777, file.st_nlink), (0o600, 1))
        self.assertEqual(again.stop(), 0)


class FullDisk(unittest.TestCase):
    """The store on a small file system of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-full-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", self.disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("a file system cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def fill(self):
        """All but less than the gateway looks for."""
        with open(self.disk / "filler", "wb") as filler:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        os.write(filler.fileno(), bytes(size))
                except OSError:
                    pass

    def test_a_full_disk_stops_writes_only_and_loses_nothing_acknowledged(self):
        data = self.folder / "data"
        data.mkdir()
        gateway = Gateway(
            "--set", "store.probe=200ms", f"store.path={self.disk}/portico.sqlite", data=str(data))
        self.addCleanup(gateway.remove)
        acknowledged = []

        def write(number):
            answer = gateway.send("POST", NOTES, {"title": f"n{number}", "text": "x" * 60_000}, user="alice")
            if answer.status == 201:
                acknowledged.append(f"n{number}")
            return answer

        self.assertEqual(write(0).status, 201)
        self.fill()
        answers = [write(number) for number in range(1, 40)]
        self.assertEqual({answer.status for answer in answers} - {201, 507, 503}, set())
        full = [answer for answer in answers if answer.status == 507]
        self.assertTrue(full, answers)
        self.assertEqual(full[0].json()["error"]["code"], "store.full")
        ready = gateway.get("/health/ready")
        self.assertEqual((ready.status, ready.json()["store"]), (503, "full"), ready)
        self.assertEqual(gateway.get(PRODUCTS).status, 200)
        # Nobody has asked as bob yet, so this is verified now.
        self.assertEqual(gateway.get(NOTES, user="bob").status, 200)
        wrong = base64.b64encode(b"bob:wrong password").decode()
        self.assertEqual(gateway.get(NOTES, headers={"Authorization": f"Basic {wrong}"}).status, 401)
        self.assertEqual(self.titles(gateway), set(acknowledged))
        (self.disk / "filler").unlink()
        end = time.monotonic() + START_SECONDS
        while gateway.get("/health/ready").status != 200 or "store can be written again" not in gateway.log():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(write(100).status, 201)
        gateway.kill()
        again = Gateway(f"--set", f"store.path={self.disk}/portico.sqlite", data=str(data))
        self.addCleanup(again.remove)
        self.assertEqual(self.titles(again), set(acknowledged))

    def titles(self, gateway):
        answer = gateway.get(f"{NOTES}?limit=1000&select=title", user="alice")
        self.assertEqual(answer.status, 200, answer)
        return {each["title"] for each in answer.json()["items"]}


if __name__ == "__main__":
    unittest.main()
