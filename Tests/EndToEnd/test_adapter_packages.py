"""Packages of adapters: installed, upgraded, rolled back and removed while the gateway serves."""

import base64
import concurrent.futures
import hashlib
import io
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

from harness import Callers, run_portico
from test_adapters_while_serving import DONE, FAILED, ServingTest

QUICK = True
PARTS = pathlib.Path(__file__).parent


def package(folder, version, fields, key=None, damage=None, name="tasks", platform=None, **behaviour):
    """A file `tasks-VERSION.adapter`. `key`: the path of a private key that signs it; `damage` changes a file's bytes afterwards."""
    files = {
        "bin/tasks-worker": ((PARTS / "packages/tasks_worker.py").read_bytes(), True),
        "bin/cbor.py": ((PARTS / "cbor.py").read_bytes(), False),
        "bin/behaviour.json": (json.dumps({"version": version, "fields": fields, **behaviour}).encode(), False),
    }
    manifest = json.dumps({
        "format": 1, "name": name, "version": version, "protocol": 1, "entry": "bin/tasks-worker",
        **({"platform": platform} if platform else {}),
        "files": {path: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "executable": executable}
                  for path, (data, executable) in files.items()}}).encode()
    entries = [("adapter.json", manifest, False)]
    if key:
        (folder / "manifest").write_bytes(manifest)
        signature = subprocess.run(
            ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", folder / "manifest"], check=True,
            capture_output=True).stdout
        entries.append(("adapter.sig", json.dumps({
            "algorithm": "ed25519", "key": public_key(key), "signature": base64.b64encode(signature).decode()}).encode(), False))
    entries += [(path, (damage or bytes)(data) if damage and path == "bin/cbor.py" else data, executable)
                for path, (data, executable) in files.items()]
    path = folder / f"{name}-{version}.adapter"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, executable in entries:
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o755 if executable else 0o644
            archive.addfile(member, io.BytesIO(data))
    return path


def make_key(folder, name):
    path = folder / name
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True, capture_output=True)
    return path


def public_key(path):
    """Its 32 bytes in base64."""
    der = subprocess.run(
        ["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
    return base64.b64encode(der[-32:]).decode()


class PackageTest(ServingTest):
    FIELDS = {"title": "text"}
    OTHERS = {"users": {"access": "public"}}

    def adapters(self, verb, *arguments, status=DONE):
        done = run_portico("adapters", verb, *map(str, arguments), "--data", self.gateway.data, "--output", "json",
                           program="porticoctl")
        self.assertEqual(done.returncode, status, (verb, arguments, done, self.gateway.log()))
        return json.loads(done.stdout or "null") if status == DONE else done.stderr

    def package(self, version, fields=None, **rest):
        return package(self.folder, version, fields or self.FIELDS, **rest)

    def version(self):
        answer = self.gateway.request("POST", "/api/v1/tasks/operations/version")
        return answer.json()["version"] if answer.status == 200 else answer.status

    def installed(self):
        return self.control("adapters", "packages")["packages"]

    def create(self, **fields):
        answer = self.gateway.send("POST", "/api/v1/tasks/tasks", fields)
        self.assertEqual(answer.status, 201, answer)

    def tasks(self):
        return self.gateway.get("/api/v1/tasks/tasks").json()["items"]


class Settings(PackageTest):
    """What the configuration says of an adapter's program."""

    def settings(self, **worker):
        self.write(adapters={**self.OTHERS, "tasks": {"worker": worker}})

    def name_secret(self, path):
        """In what was written last."""
        configuration = json.loads(self.config.read_text())
        configuration["upstreams"] = {"hr": {
            "url": "https://hr.example/", "credentials": {"kind": "bearer", "token": {"file": str(path)}}}}
        self.config.write_text(json.dumps(configuration))

    def test_limits_are_the_kernels_and_another_value_restarts_the_one_adapter(self):
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        before = self.gateway.workers()["tasks"]
        folder = os.readlink(f"/proc/{before}/cwd")
        self.settings(limits={"descriptors": 64, "memory": "256MiB", "processorTime": "90s"}, supervision={"heartbeat": "50ms"})
        report = self.apply()
        self.assertEqual({change["key"].split(".worker.")[0] for change in report["changes"]}, {"adapters.tasks"})
        self.assertEqual(self.version(), "1.0.0")
        after = self.gateway.workers()["tasks"]
        self.assertNotEqual(before, after)
        limits = pathlib.Path(f"/proc/{after}/limits").read_text()
        for name, value in [("Max open files", 64), ("Max data size", 256 << 20), ("Max cpu time", 90)]:
            self.assertRegex(limits, rf"{name} +{value} ")
        # Each instance has a folder of its own, and the one before has gone.
        self.assertNotEqual(os.readlink(f"/proc/{after}/cwd"), folder)
        self.until(lambda: not os.path.exists(folder))
        gateway.stop()
        self.assertEqual(list((self.folder / "data/workers/tasks").iterdir()), [])
        # What a killed gateway leaves is removed by the next one.
        left = self.folder / "data/workers/tasks/left"
        left.mkdir()
        (left / "file").write_text("x")
        self.start()
        self.assertFalse(left.exists())
        self.assertEqual(self.version(), "1.0.0")

    def test_an_apply_takes_away_no_adapter_whose_program_does_not_answer_it(self):
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        gateway.stop()
        # One that was there at the start may be left out then, and only then.
        self.start()
        refuse = self.folder / "data/adapters/tasks/refuse"
        refuse.touch()
        self.write(adapters={**self.OTHERS, "tasks": {"extra": True}})
        report = self.control("config", "apply", status=FAILED)
        self.assertIn("It is out of order.", str(report))
        self.assertEqual(self.version(), "1.0.0")
        refuse.unlink()
        self.apply()
        self.create(id="a", title="One", extra="read")

    def test_the_settings_of_its_name_hold_from_the_first_question_on(self):
        elsewhere = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, elsewhere)
        (elsewhere / "needed").write_text("")
        needing = self.package("1.0.0", reads=str(elsewhere / "needed"))
        self.write()
        gateway = self.start()
        refused = self.adapters("install", needing, status=FAILED)
        self.assertRegex(refused, "Permission denied(.|\n)*it was run with the readable, sandbox and limits of adapters.tasks.worker")
        self.settings(readable=[str(elsewhere / "needed")])
        self.adapters("install", needing)
        self.assertEqual(self.version(), "1.0.0")
        gateway.stop()
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertEqual(checked.returncode, 0, checked)
        self.assertNotIn("is not served", checked.stderr)
        self.start()
        self.assertEqual(self.version(), "1.0.0")

    def test_a_path_that_the_configuration_names_later_is_closed_to_a_program_that_runs(self):
        elsewhere = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, elsewhere)
        (elsewhere / "key.pem").write_text("secret")
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.settings(readable=[str(elsewhere)])
        self.apply()
        before = self.gateway.workers()["tasks"]
        self.name_secret(elsewhere / "key.pem")
        self.apply()
        after = self.gateway.workers()["tasks"]
        self.assertNotEqual(before, after)
        self.assertEqual(self.version(), "1.0.0")

    def test_values_that_cannot_work_are_refused_with_their_place(self):
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        gateway.stop()
        data = self.folder / "data"
        link = self.folder / "link"
        link.symlink_to(data)
        certificates = self.folder / "certificates"
        certificates.mkdir()
        (certificates / "key.pem").write_text("secret")
        elsewhere = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, elsewhere)
        (elsewhere / "link").symlink_to(certificates / "key.pem")
        (elsewhere / "dangling").symlink_to(elsewhere / "later")
        for worker, sought in [
            ({"limits": {"memory": "1MiB"}}, "This is at least 16MiB."),
            ({"limits": {"descriptors": 3}}, "a whole number from 16 to"),
            ({"supervision": {"firstBackoff": "30d"}}, "This is at most 1d."),
            ({"sandbox": "perhaps"}, "one of require, warn, off"),
            ({"readable": ["relative"]}, "an absolute path"),
            ({"readable": ["/"]}, "the gateway's own files are there"),
            ({"readable": [str(data / "workers")]}, "the gateway's own files are there"),
            ({"readable": [str(link)]}, "the gateway's own files are there"),
            ({"readable": [f"{data}/../data"]}, "the gateway's own files are there"),
            ({"readable": [str(self.config)]}, "the configuration names it"),
            ({"readable": [str(self.folder)]}, "the gateway's own files are there"),
            ({"readable": [str(certificates / "key.pem")]}, "upstreams.hr.credentials.token names it"),
            ({"readable": [str(elsewhere / "link")]}, "upstreams.hr.credentials.token names it"),
            ({"readable": [str(self.folder.parent)]}, "the gateway's own files are there"),
            ({"readable": ["/proc/self"]}, "the kernel's files are there"),
            ({"readable": ["/usr/share"] * 33}, "at most 32 paths"),
            ({"heartbeats": "1s"}, "There is no key adapters.tasks.worker.heartbeats"),
            ({"calls": {"inFlight": 0}}, "1 to 100000"),
            ({"calls": {"queueTimeout": "2d"}}, "This is at most 1d."),
            ({"calls": {"underWay": 5}}, "There is no key adapters.tasks.worker.calls.underWay"),
            ({"calls": {"inFlght": 5}}, "worker.calls.inFlight?"),
        ]:
            with self.subTest(worker=worker):
                self.settings(**worker)
                self.name_secret(certificates / "key.pem")
                checked = run_portico("check", "--config", self.config, "--data", data)
                self.assertEqual(checked.returncode, 1, checked)
                self.assertIn(sought, checked.stderr)
        self.write(adapters={"users": {"worker": {"sandbox": "off"}}})
        self.assertIn("no key adapters.users.worker", run_portico("check", "--config", self.config, "--data", data).stderr)
        # What is not there, or not now, is no mistake: the others are served without it.
        for path in ["/later", "/dangling", "/later/../../etc"]:
            self.settings(readable=[f"{elsewhere}{path}"])
            checked = run_portico("check", "--config", self.config, "--data", data)
            self.assertEqual(checked.returncode, 0, checked)
            self.assertRegex(checked.stderr, "the adapter tasks is not served: .*readable: there is no such file")
        # What is named below a folder is closed to the worker, with a warning.
        self.settings(readable=[str(certificates)])
        self.name_secret(certificates / "key.pem")
        checked = run_portico("check", "--config", self.config, "--data", data)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertRegex(
            checked.stderr, rf"upstreams.hr.credentials.token names {re.escape(str(certificates))}/key.pem, which lies below "
            rf"{re.escape(str(certificates))}, a folder that the program of the adapter tasks reads")
        self.settings(sandbox="off", readable=["/usr/share"])
        checked = run_portico("check", "--config", self.config, "--data", data)
        self.assertEqual(checked.returncode, 0, checked)
        self.assertIn("adapter tasks is not restricted", checked.stderr)


class Deployment(PackageTest):
    def test_a_package_is_installed_upgraded_rolled_back_and_removed(self):
        self.write()
        gateway = self.start()
        self.assertEqual(self.version(), 404)
        report = self.adapters("install", self.package("1.0.0"), "--dry-run")
        self.assertEqual((report["applied"], report["data"]), (False, ["tasks/tasks: is added"]))
        self.assertEqual((self.version(), self.installed()), (404, []))
        report = self.adapters("install", self.package("1.0.0"))
        self.assertEqual((report["name"], report["version"], report["applied"]), ("tasks", "1.0.0", True))
        self.assertEqual(self.version(), "1.0.0")
        self.create(id="a", title="One")
        report = self.adapters("upgrade", self.package("1.1.0", {"title": "text", "rank": "number"}))
        self.assertEqual((report["previous"], report["data"]), ("1.0.0", ["tasks/tasks, field `rank`: is added"]))
        self.assertEqual(self.version(), "1.1.0")
        self.create(id="b", title="Two", rank=7)
        self.assertEqual([task.get("rank") for task in self.tasks()], [None, 7])
        # It would hide what the newer version has stored.
        said = self.adapters("rollback", "tasks", "--yes", status=FAILED)
        self.assertIn("field `rank`: is hidden; 1 record keeps its value", said)
        self.assertEqual(self.version(), "1.1.0")
        report = self.adapters("rollback", "tasks", "--yes", "--accept-loss")
        self.assertEqual((report["version"], report["previous"]), ("1.0.0", "1.1.0"))
        self.assertEqual((self.version(), self.tasks()), ("1.0.0", [{"id": "a", "title": "One"}, {"id": "b", "title": "Two"}]))
        # And forward again, with what was stored.
        self.adapters("rollback", "tasks", "--yes")
        self.assertEqual((self.version(), self.tasks()[1]["rank"]), ("1.1.0", 7))
        self.assertEqual(self.installed(), [
            {"name": "tasks", "version": "1.1.0", "previous": "1.0.0", "rollbackReason": None, "problem": None}])
        gateway.stop()
        gateway = self.start()
        self.assertEqual((self.version(), self.tasks()[1]["rank"]), ("1.1.0", 7))
        self.adapters("restart", "tasks")
        self.assertEqual(self.version(), "1.1.0")
        report = self.adapters("remove", "tasks", "--yes")
        self.assertEqual(report["data"], ["tasks/tasks: is not declared any more; its tables stay, with 2 records"])
        self.assertEqual((self.version(), self.installed()), (404, []))
        entries = self.control("audit", "list")["entries"]
        # Of an upload what began it, not each piece.
        self.assertNotIn("admin.packages.upload.piece", [entry["subject"] for entry in entries])
        kinds = [entry["detail"] for entry in entries if entry["kind"] == "adapter.deployed"]
        self.assertEqual(kinds, [
            "removed", "started anew", "rolled back to 1.1.0", "rolled back to 1.0.0", "upgraded to 1.1.0", "installed 1.0.0"])

    def test_a_change_that_cannot_be_made_to_last_has_an_entry_that_says_so(self):
        self.write()
        self.start()
        # No file can take its place.
        (self.folder / "data/adapters/tasks/state.json").mkdir(parents=True)
        self.adapters("install", self.package("1.0.0"), status=FAILED)
        self.assertEqual(self.version(), 404)
        (self.folder / "data/adapters/tasks/state.json").rmdir()
        self.adapters("install", self.package("1.0.0"))
        entries = self.control("audit", "list")["entries"]
        self.assertEqual([entry["detail"] for entry in entries if entry["kind"] == "adapter.deployed"], [
            "installed 1.0.0", "installed 1.0.0: failed, nothing has changed", "installed 1.0.0"])

    def test_what_is_shown_of_an_adapter_has_its_paths_and_what_its_entities_mirror(self):
        self.write({"id": "integer"}, adapters={**self.OTHERS, "chat": {}})
        self.start()
        self.adapters("install", self.package("1.0.0", binds=["/tasks/free"]))
        shown = self.control("adapters", "show", "tasks")
        self.assertEqual(
            {operation["name"]: operation["paths"] for operation in shown["operations"]},
            {"version": ["POST /api/v1/tasks/operations/version"], "bound0": ["GET /tasks/free"]})
        self.assertEqual([(entity["name"], entity["mirrorOf"]) for entity in shown["entities"]], [("tasks", None)])
        self.assertNotEqual(self.control("adapters", "show", "staff")["entities"][0]["mirrorOf"], None)
        self.assertIn("/chat/v1/live", [feed["path"] for feed in self.control("adapters", "show", "chat")["liveFeeds"]])

    def test_what_is_no_sound_package_is_refused_and_the_one_before_serves(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        for sought, verb, file in [
            ("is damaged", "upgrade", self.package("1.1.0", damage=lambda data: b"#" + data[1:])),
            ("already installed", "install", self.package("2.0.0")),
            ("not newer", "upgrade", self.package("1.0.0")),
            ("There is an adapter users already", "install", self.package("1.0.0", name="users")),
            ("names itself tasks", "install", self.package("1.0.0", name="other")),
            ("It does not start", "upgrade", self.package("1.2.0", start="refuse")),
            ("the declaration says integer", "upgrade", self.package("1.3.0", {"title": "number"})),
        ]:
            with self.subTest(sought):
                if "declaration" in sought:
                    self.create(id="a", title="One")
                said = self.adapters(verb, file, status=FAILED)
                self.assertIn(sought, said)
                self.assertEqual(self.version(), "1.0.0")
                self.assertEqual(self.installed()[0]["version"], "1.0.0")
        folder = self.folder / "data/adapters"
        self.assertEqual([path.name for path in folder.iterdir()], ["tasks"])
        self.assertEqual([path.name for path in (folder / "tasks/versions").iterdir()], ["1.0.0"])
        self.assertEqual(len(list((self.folder / "data/workers/tasks").iterdir())), 1)
        self.assertEqual(self.adapters("upgrade", self.folder / "nothing.adapter", status=2).strip()[-1], ".")

    def test_one_that_was_changed_on_the_disk_has_failed_at_the_next_start_and_the_others_serve(self):
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        gateway.stop()
        self.write(adapters={**self.OTHERS, "tasks": {"extra": False}})
        folder = self.folder / "data/adapters"
        (folder / "tasks/versions/1.0.0/bin/cbor.py").write_text("import evil")
        (folder / ".incoming-upload-1").write_text("a part")
        gateway = self.start()
        self.assertEqual((self.version(), gateway.get("/v2/list").status), (503, 200))
        self.assertIn("was changed: install it again", gateway.log())
        self.assertIn("The key adapters.tasks.extra is not read", gateway.log())
        self.assertIn("was changed", self.installed()[0]["problem"])
        self.assertFalse((folder / ".incoming-upload-1").exists())
        # An older one does not take its place, nor one for another machine.
        for verb in ("install", "upgrade"):
            self.assertIn("0.9.0 is older than 1.0.0", self.adapters(verb, self.package("0.9.0"), status=FAILED))
            said = self.adapters(verb, self.package("1.1.0", platform="linux-riscv64"), status=FAILED)
            self.assertIn("It is made for linux-riscv64", said)
        # The same package mends it.
        self.adapters("install", self.package("1.0.0"))
        self.assertEqual((self.version(), self.installed()[0]["problem"]), ("1.0.0", None))
        # What was changed is not run, and what runs goes on.
        (folder / "tasks/versions/1.0.0/bin/cbor.py").write_text("import evil")
        self.assertIn("was changed: install it again", self.adapters("restart", "tasks", status=FAILED))
        self.assertEqual(self.version(), "1.0.0")
        (folder / "tasks/state.json").write_text("{")
        self.adapters("upgrade", self.package("1.0.1"))
        self.assertEqual((self.version(), self.installed()[0]["version"]), ("1.0.1", "1.0.1"))
        (folder / "tasks/versions/1.0.1/adapter.json").write_text("{")
        # Without it there are no such keys.
        self.write()
        self.adapters("remove", "tasks", "--yes")
        self.assertEqual((self.installed(), self.version()), ([], 404))
        self.adapters("install", self.package("1.0.0"))
        self.assertEqual(self.version(), "1.0.0")

    def test_one_that_gives_what_devices_sync_another_name_is_installed_where_that_is_accepted(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        second = self.package("1.0.0", name="second", adapter="second")
        renamed = "tasks/tasks: devices sync it as tasks/tasks, no longer as tasks"
        self.assertIn(renamed, self.adapters("install", second, status=FAILED))
        self.assertIn(renamed, self.adapters("install", second, "--dry-run", "--accept-loss")["data"])
        self.assertEqual(len(self.installed()), 1)
        self.adapters("install", second, "--accept-loss")
        back = "tasks/tasks: devices sync it as tasks, no longer as tasks/tasks"
        self.assertIn(back, self.adapters("remove", "second", "--yes")["data"])

    def test_an_older_version_hides_what_is_stored_where_that_is_accepted_after_a_removal_too(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.1.0", {**self.FIELDS, "note": "text"}))
        self.create(id="a", title="One", note="Read")
        self.adapters("remove", "tasks", "--yes")
        self.assertIn("note", self.adapters("install", self.package("1.0.0"), status=FAILED))
        self.adapters("install", self.package("1.0.0"), "--accept-loss")
        self.assertEqual(self.version(), "1.0.0")

    def test_one_that_does_not_answer_at_a_start_has_failed_and_its_keys_are_read_when_it_answers(self):
        # One that says its options and nothing more is asked whether there are others.
        for fault, reason, others in [
            ("silent", "it ended (exit status 3)", {"unheard": {"of": 1}}), ("refuse", "It is out of order.", {})]:
            with self.subTest(fault):
                shutil.rmtree(self.folder / "data")
                (self.folder / "data").mkdir()
                # Attempts by the gateway itself come soon, however often it was asked before.
                soon = {"limits": {"adapterRetry": "2s"}}
                self.write()
                gateway = self.start()
                self.adapters("install", self.package("1.0.0"))
                gateway.stop()
                file = self.folder / "data/adapters/tasks" / fault
                file.touch()
                self.write(adapters={**self.OTHERS, "tasks": {"extra": True, "access": "login", **others}}, **soon)
                checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
                self.assertEqual(checked.returncode, 0, checked)
                gateway = self.start()
                # The paths that it declared last, with the access of this configuration.
                self.assertEqual((self.version(), gateway.get("/v2/list").status), (401, 200))
                self.assertEqual(gateway.request("GET", "/api/v1/tasks/tasks", user="alice").status, 503)
                for text in ["the adapter tasks is not served", reason] + [
                        f"The key adapters.tasks.{key} is not read" for key in ("extra", *others)]:
                    self.assertIn(text, gateway.log())
                shown = self.control("adapters", "show", "tasks")
                self.assertEqual(shown["state"], "failed", shown)
                self.assertRegex(self.adapters("restart", "tasks", status=FAILED), f"{re.escape(reason)}|is just asking")
                # It answers, but a key makes no sense: as at a start with it, that is an error.
                self.write(adapters={**self.OTHERS, "tasks": {"unheard": 1}}, **soon)
                file.unlink()
                self.until(lambda: "There is no key adapters.tasks.unheard" in self.adapters("restart", "tasks", status=FAILED))
                # Also for one that waits while another finds it out.
                with concurrent.futures.ThreadPoolExecutor(4) as pool:
                    for restart in [pool.submit(self.adapters, "restart", "tasks", status=FAILED) for _ in range(16)]:
                        self.assertRegex(restart.result(), "There is no key adapters.tasks.unheard|is just asking")
                self.write(adapters={**self.OTHERS, "tasks": {"extra": True}}, **soon)
                self.until(lambda: self.version() == "1.0.0")
                self.create(id="a", title="One", extra="read")
                gateway.stop()

    def test_one_that_claims_anothers_path_is_left_out_until_that_is_gone(self):
        taken = "Two endpoints claim GET /v2/list: one of the adapter users and one of the adapter tasks."
        colliding = self.package("1.0.0", binds=["/v2/list", "/tasks/free"])
        self.write()
        gateway = self.start()
        self.assertIn(taken, self.adapters("install", colliding, status=FAILED))
        self.assertEqual((self.version(), gateway.get("/v2/list").status), (404, 200))
        gateway.stop()
        # Both are there only where the gateway does not serve while one comes.
        self.write(adapters={"users": {"enabled": False}})
        gateway = self.start()
        self.adapters("install", colliding)
        self.create(id="a", title="One")
        gateway.stop()
        self.write()
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertEqual(checked.returncode, 0, checked)
        self.assertIn(f"the adapter tasks is not served: {taken}", checked.stdout + checked.stderr)
        gateway = self.start()
        self.assertEqual(
            [self.version(), *(gateway.get(path).status for path in ("/tasks/free", "/api/v1/tasks/tasks", "/v2/list"))],
            [503, 503, 503, 200])
        self.assertEqual(self.control("adapters", "show", "tasks")["state"], "failed")
        self.assertNotIn(b"1.0.0", gateway.get("/v2/list").body)
        self.assertIn(taken, self.adapters("restart", "tasks", status=FAILED))
        self.assertEqual((self.version(), gateway.get("/v2/list").status), (503, 200))
        self.write(adapters={"users": {"enabled": False}})
        self.apply()
        self.until(lambda: self.version() == "1.0.0")
        self.assertEqual((gateway.get("/v2/list").json()["version"], self.tasks()[0]["title"]), ("1.0.0", "One"))

    def test_an_absent_program_gives_way_to_the_next_version(self):
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        gateway.stop()
        (self.folder / "data/adapters/tasks/refuse").touch()
        gateway = self.start()
        self.assertEqual(self.version(), 503)
        (self.folder / "data/adapters/tasks/refuse").unlink()
        self.adapters("upgrade", self.package("1.1.0"))
        self.assertEqual(self.version(), "1.1.0")

    def test_a_plugin_that_has_served_and_does_not_answer_any_more_has_failed_until_it_answers(self):
        program = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, program)
        with tarfile.open(self.package("1.0.0")) as archive:
            archive.extractall(program, filter="data")
        (program / "bin/silent").touch()
        self.write(plugins=[{"path": str(program / "bin/tasks-worker")}])
        # Nothing is known of one that never answered.
        self.assertIn("exit status 3", run_portico("check", "--config", self.config, "--data", self.folder / "data").stderr)
        (program / "bin/silent").unlink()
        gateway = self.start()
        self.assertEqual(self.version(), "1.0.0")
        gateway.stop()
        (program / "bin/tasks-worker").rename(program / "bin/elsewhere")
        gateway = self.start()
        self.assertEqual((self.version(), gateway.get("/v2/list").status), (503, 200))
        (program / "bin/elsewhere").rename(program / "bin/tasks-worker")
        self.until(lambda: self.version() == "1.0.0")

    def test_a_name_that_is_installed_and_under_plugins_is_an_error_that_says_what_to_do(self):
        self.write()
        gateway = self.start()
        package = self.package("1.0.0")
        self.adapters("install", package)
        gateway.stop()
        program = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, program)
        with tarfile.open(package) as archive:
            archive.extractall(program, filter="data")
        self.write(plugins=[{"path": str(program / "bin/tasks-worker")}])
        for verb in ("check", "serve"):
            refused = run_portico(verb, "--config", self.config, "--data", self.folder / "data")
            self.assertEqual(refused.returncode, 1, refused)
            self.assertRegex(refused.stderr, "two adapters tasks.*Take that one out of `plugins`, or remove the package.*"
                             rf"porticoctl adapters remove tasks.*{re.escape(str(self.folder / 'data'))}/adapters/tasks")
        # Both ways lead out of it.
        shutil.rmtree(self.folder / "data/adapters/tasks")
        self.start()
        self.assertEqual(self.version(), "1.0.0")

    def test_a_program_in_the_configurations_folder_reads_nothing_that_lies_beside_it(self):
        program = self.folder / "tasks"
        # It says what it could read while it is asked what it is.
        program.write_text("""#!/usr/bin/python3 -IB
import os, sys
for name in "tasks", "portico.yaml", "libtasks.so", "liblink.so":
    path = os.path.join(os.path.dirname(sys.argv[0]), name)
    try:
        print("read", len(open(path).read()) > 0, flush=True)
    except OSError as error:
        print("refused", error.errno, flush=True)
sys.exit(3)
""")
        program.chmod(0o755)
        (self.folder / "libtasks.so").write_text("a library")
        (self.folder / "liblink.so").symlink_to("portico.yaml")
        self.write(plugins=[{"path": "./tasks"}])
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertIn("read True / refused 13 / refused 13 / refused 13", checked.stderr)
        # One that needs nothing beside it serves, and what it cannot read is a warning.
        source = (PARTS / "packages/tasks_worker.py").read_text()
        for old, new in [
            ("import cbor  # noqa: E402  It lies beside this file.",
             f"import types\ncbor = types.ModuleType('cbor')\nexec({(PARTS / 'cbor.py').read_text()!r}, cbor.__dict__)"),
            ('json.loads((FOLDER / "behaviour.json").read_text())', repr({"version": "1.0.0", "fields": self.FIELDS})),
        ]:
            self.assertIn(old, source)
            source = source.replace(old, new)
        program.write_text(source)
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertEqual(checked.returncode, 0, checked)
        self.assertIn("the program of the adapter tasks reads nothing of its folder", checked.stderr)
        self.start()
        self.assertEqual(self.version(), "1.0.0")

    def test_a_program_reads_nothing_that_the_configuration_names(self):
        folder = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, folder, True)
        (folder / "bin").mkdir()
        (folder / "lib/keys").mkdir(parents=True)
        for path in ["bin/www.notion.so", "bin/module.so", "lib/keys/gateway.example.pl", "lib/keys/public.py", "bin/key.pem"]:
            (folder / path).write_text("content")
        (self.folder / "key").symlink_to(folder / "bin/key.pem")
        program = folder / "bin/tasks"
        program.write_text(f"""#!/usr/bin/python3 -IB
import os, sys
for path in "bin/www.notion.so", "bin/module.so", "lib/keys/gateway.example.pl", "lib/keys/public.py", "bin/key.pem":
    try:
        print(path, len(open("{folder}/" + path).read()), flush=True)
    except OSError as error:
        print(path, "refused", flush=True)
sys.exit(3)
""")
        program.chmod(0o755)
        upstream = {"url": "https://hr.example/"}
        self.write(
            plugins=[{"path": str(program)}],
            upstreams={
                "hr": {**upstream, "credentials": {"kind": "bearer", "token": {"file": f"{folder}/bin/www.notion.so"}}},
                "pay": {**upstream, "credentials": {
                    "kind": "certificate", "certificate": "c.pem", "key": f"{folder}/lib/keys/gateway.example.pl"}},
                "old": {**upstream, "credentials": {"kind": "bearer", "token": {"file": str(self.folder / "key")}}}})
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertIn(
            "bin/www.notion.so refused / bin/module.so 7 / lib/keys/gateway.example.pl refused / lib/keys/public.py 7"
            " / bin/key.pem refused", checked.stderr)

    def test_only_packages_of_trusted_keys_are_taken_where_there_are_some(self):
        trusted, other = make_key(self.folder, "trusted"), make_key(self.folder, "other")
        self.write(packages={"trustedKeys": [public_key(trusted)]})
        self.start()
        self.assertIn("not signed", self.adapters("install", self.package("1.0.0"), status=FAILED))
        self.assertIn("not in packages.trustedKeys", self.adapters("install", self.package("1.0.0", key=other), status=FAILED))
        report = self.adapters("install", self.package("1.0.0", key=trusted))
        self.assertEqual(report["signer"], public_key(trusted))
        # The keys reload.
        self.write(packages={"trustedKeys": [public_key(other)]})
        self.apply()
        self.assertIn("not in packages.trustedKeys", self.adapters("upgrade", self.package("1.1.0", key=trusted), status=FAILED))
        self.adapters("upgrade", self.package("1.1.0", key=other))
        self.assertEqual(self.version(), "1.1.0")
        # What a key has signed that is not trusted any more is not executed by a roll-back.
        self.assertIn("signed by the key", self.adapters("rollback", "tasks", "--yes", status=FAILED))
        self.assertEqual((self.version(), self.installed()[0]["version"]), ("1.1.0", "1.1.0"))

    def test_what_no_trusted_key_has_signed_is_left_out_at_the_next_start_until_it_is_installed_again(self):
        trusted, other = make_key(self.folder, "trusted"), make_key(self.folder, "other")
        self.write()
        gateway = self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0", key=other))
        gateway.stop()
        self.write(packages={"trustedKeys": [public_key(trusted)]})
        gateway = self.start()
        self.assertEqual((self.version(), gateway.get("/v2/list").status), (503, 200))
        self.assertIn("tasks 1.1.0 is signed by the key", self.installed()[0]["problem"])
        self.assertIn("install it again, signed", gateway.log())
        said = self.adapters("rollback", "tasks", "--yes", status=FAILED)
        self.assertIn("tasks 1.0.0 was installed without a signature", said)
        # The same version, signed.
        self.adapters("install", self.package("1.1.0", key=trusted))
        self.assertEqual((self.version(), self.installed()[0]["problem"]), ("1.1.0", None))
        gateway.stop()
        self.start()
        self.assertEqual(self.version(), "1.1.0")
        # The keys may stand in the environment as well.
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data",
                              "--set", f"packages.trustedKeys=[{public_key(other)}]")
        self.assertIn("the adapter tasks is not served", checked.stdout + checked.stderr)

    def test_one_that_crashes_soon_after_its_upgrade_gives_way_to_the_version_before(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0"))
        self.adapters("upgrade", self.package("1.2.0", crashAt=2))
        self.assertEqual(self.version(), "1.2.0")
        self.version()
        self.until(lambda: "adapter rolled back" in self.gateway.log())
        self.until(lambda: self.version() == "1.1.0")
        [installed] = self.installed()
        self.assertEqual((installed["version"], installed["previous"]), ("1.1.0", "1.0.0"))
        self.assertIn("signal 9", installed["rollbackReason"])
        # It is there after a restart, and not where the operator has decided.
        self.gateway.stop()
        self.start()
        self.assertEqual(self.installed(), [installed])
        self.adapters("rollback", "tasks", "--yes")
        self.assertEqual((self.version(), self.installed()[0]["rollbackReason"]), ("1.0.0", None))

    def test_versions_with_other_options_follow_each_other_in_both_directions(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0", options=["extra", "colour"]))
        self.adapters("rollback", "tasks", "--yes")
        self.assertEqual(self.version(), "1.0.0")
        self.adapters("rollback", "tasks", "--yes")
        self.configure(colour=True)
        self.apply()
        said = self.adapters("rollback", "tasks", "--yes", status=FAILED)
        self.assertRegex(said, r"There is no key adapters\.tasks\.colour .*Take it out of the configuration")
        # One that drops an option that is set is refused the same way.
        self.assertIn("adapters.tasks.colour", self.adapters("upgrade", self.package("1.2.0"), status=FAILED))
        self.assertEqual(self.version(), "1.1.0")
        self.configure(extra=True)
        self.adapters("rollback", "tasks", "--yes")
        self.assertEqual(self.version(), "1.0.0")

    def test_a_crashed_version_gives_way_though_its_options_are_set_that_the_one_before_does_not_have(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.configure(colour=True)
        self.adapters("upgrade", self.package("1.1.0", options=["extra", "colour"], crashAt=2))
        self.version()
        self.version()
        self.until(lambda: "adapter rolled back" in self.gateway.log())
        self.until(lambda: self.version() == "1.0.0")
        self.assertIn("The key adapters.tasks.colour is not read", self.gateway.log())
        # It stays so after a restart, and is an error to those who look.
        self.gateway.stop()
        checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
        self.assertIn("There is no key adapters.tasks.colour", checked.stderr)
        self.start()
        self.assertEqual(self.version(), "1.0.0")
        self.assertIn("The key adapters.tasks.colour is not read", self.gateway.log())
        self.assertIn("There is no key adapters.tasks.colour", str(self.control("config", "apply", status=FAILED)))

    def test_a_roll_back_that_fails_is_shown(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0", crashAt=1))
        refuse = self.folder / "data/adapters/tasks/versions/1.0.0/bin/cbor.py"
        refuse.chmod(0o644)
        refuse.write_text("changed")
        self.version()
        self.until(lambda: "adapter not rolled back" in self.gateway.log())
        [installed] = self.installed()
        self.assertRegex(installed["problem"], "could not be rolled back: .*changed")

    def test_keys_of_adapters_that_are_not_there_keep_nothing_from_being_served(self):
        self.write(adapters={**self.OTHERS, "tasks": {"extra": True}, "invoices": {"limit": 3}})
        gateway = self.start()
        for name in ("tasks", "invoices"):
            self.assertRegex(gateway.log(), rf"The key adapters\.{name} is not read: there is no adapter of this name")
            checked = run_portico("check", "--config", self.config, "--data", self.folder / "data")
            self.assertIn(f"There is no key adapters.{name}", checked.stderr)
        self.assertIn("There is no key adapters.tasks", str(self.control("config", "apply", status=FAILED)))
        # The others' keys are no obstacle, and its own are read.
        self.adapters("install", self.package("1.0.0"))
        self.create(id="a", title="One", extra="read")
        gateway.stop()
        gateway = self.start()
        self.assertEqual(self.version(), "1.0.0")
        self.assertIn("There is no key adapters.tasks",
                      self.adapters("remove", "tasks", "--yes", status=FAILED))
        gateway.stop()
        # What is probably a misspelt name would leave what is there without what it says.
        for adapters, key in [({"usesr": {"access": "login"}}, "usesr"), ({"tasks": {"acces": "login"}}, "tasks.acces")]:
            self.write(adapters=adapters)
            refused = run_portico("serve", "--config", self.config, "--data", self.folder / "data")
            self.assertNotEqual(refused.returncode, 0)
            self.assertRegex(refused.stderr, rf"There is no key adapters\.{key}\. Did you mean")

    def configure(self, **options):
        self.write(adapters={**self.OTHERS, "tasks": options})

    def test_one_that_crashes_while_the_next_version_is_being_started_takes_that_one_nothing_away(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0", crashAt=1))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            upgrade = pool.submit(self.adapters, "upgrade", self.package("1.2.0", startSeconds=3))
            self.until(lambda: "starts slowly" in self.gateway.log())
            self.version()
            self.until(lambda: "adapter fails after its upgrade" in self.gateway.log())
            self.assertFalse(upgrade.done(), "the start did not last until the crash was seen")
            upgrade.result()
        self.until(lambda: "is not installed any more" in self.gateway.log())
        [installed] = self.installed()
        self.assertEqual((installed["version"], installed["previous"], self.version()), ("1.2.0", "1.1.0", "1.2.0"))

    def test_a_version_whose_files_were_changed_is_not_gone_back_to_and_not_executed(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.adapters("upgrade", self.package("1.1.0"))
        program = self.folder / "data/adapters/tasks/versions/1.0.0/bin/tasks-worker"
        program.chmod(0o755)
        program.write_text(program.read_text().replace("import json", "import json\nprint('executed', flush=True)", 1))
        self.assertIn("changed", self.adapters("rollback", "tasks", "--yes", status=FAILED))
        self.assertEqual((self.version(), self.installed()[0]["version"]), ("1.1.0", "1.1.0"))
        self.assertNotIn("executed", self.gateway.log())

    def test_a_change_of_an_adapter_waits_for_the_configuration_that_is_being_applied(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0", startSeconds=2))
        self.write(adapters={"tasks": {"extra": True}})
        starts = self.gateway.log().count("starts slowly")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            applied = pool.submit(self.apply)
            self.until(lambda: self.gateway.log().count("starts slowly") > starts)
            self.adapters("upgrade", self.package("1.1.0"))
            applied.result()
        self.assertEqual(self.version(), "1.1.0")
        self.create(id="a", title="One", extra="E")

    def test_an_option_that_changes_what_it_declares_takes_effect_by_apply(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        self.create(id="a", title="One")
        self.write(adapters={**self.OTHERS, "tasks": {"extra": True}})
        self.assertEqual(self.apply()["data"], ["tasks/tasks, field `extra`: is added"])
        self.create(id="b", extra="Two")
        # Its options are unknown keys without it.
        self.assertIn("adapters.tasks", self.adapters("remove", "tasks", "--yes", status=FAILED))
        self.write()
        self.apply()
        self.adapters("remove", "tasks", "--yes")


class UnderLoad(PackageTest):
    """500 requests a second in an open loop: each is sent at its time, whether the ones before were answered or not, as far as
    there are callers. A machine that is slower without changes is asked for what it answers then."""

    RATE, CALLERS, KEPT = 500, 16, 0.75

    def test_no_request_fails_while_others_are_installed_and_it_is_upgraded_and_rolled_back(self):
        self.write()
        self.start()
        self.adapters("install", self.package("1.0.0"))
        times, turn = itertools.count(), threading.Lock()
        begin = time.monotonic()

        def call(done, statuses):
            while not done.is_set():
                with turn:
                    number = next(times)
                time.sleep(max(0, begin + number / self.RATE - time.monotonic()))
                method, path = [("POST", "/api/v1/tasks/operations/version"), ("GET", "/api/v1/tasks/tasks")][number % 2]
                try:
                    answer = self.gateway.request(method, path)
                    found = answer.status if answer.status == 200 else (answer.status, path, answer.text())
                except Exception as error:  # noqa: BLE001  Every failure of a caller is one of the test.
                    found = repr(error)
                statuses.append(found)

        def rate(of, since, count):
            return (len(of) - count) / (time.monotonic() - since)

        second = self.package("1.0.0", {"note": "text"}, name="second", adapter="second", entity="notes")
        with Callers(self.CALLERS, call) as callers:
            callers.wait_for(3 * self.RATE)
            alone = min(self.RATE, rate(callers.outcomes, begin, 0))
            since, count = time.monotonic(), len(callers.outcomes)
            for step, arguments in [
                ("install", [second]),
                ("upgrade", [self.package("1.1.0", {"title": "text", "rank": "number"})]),
                ("rollback", ["tasks", "--yes"]), ("rollback", ["tasks", "--yes"]),
                ("upgrade", [self.package("1.2.0", {"rank": "number"})]), ("restart", ["tasks"]),
                ("remove", ["second", "--yes"]),
            ]:
                self.adapters(step, *arguments)
                callers.wait_for(self.RATE // 2)
            changing = rate(callers.outcomes, since, count)
        print(f"{len(callers.outcomes)} requests, {alone:.0f} a second without changes, {changing:.0f} during 7 of them")
        self.assertEqual(set(callers.outcomes), {200})
        self.assertGreaterEqual(changing, self.KEPT * alone)


if __name__ == "__main__":
    unittest.main()
