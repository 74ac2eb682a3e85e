"""A gateway whose machine is lost while it writes, and the gateway that is restored elsewhere from its backup target."""

import json
import pathlib
import shutil
import tempfile
import threading
import time

from harness import DEMO, Gateway, run_portico
from sync_device import Device, Refused

# What may be lost at most, in seconds.
LOSS = 10
START_SECONDS = 90


class LostMachine:
    """`place`: where to restore from; `settings`, `config` and `environment` lead the gateway there; `reading` leads porticoctl."""

    config = DEMO

    def __init__(self, place, settings=(), environment=None, reading=()):
        self.place, self.settings, self.environment, self.reading = place, settings, environment or {}, reading
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-lost-"))
        self.acknowledged = []
        self.lock = threading.Lock()
        self.gateway = None

    def close(self):
        if self.gateway:
            self.gateway.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name):
        data = self.folder / name
        data.mkdir(exist_ok=True)
        self.gateway = Gateway(*self.settings, config=self.config, data=str(data), environment=self.environment)
        return self.gateway

    def control(self, *arguments, data=None, status=0):
        done = run_portico(
            *arguments, "--data", str(data or self.gateway.data), "--output", "json", program="porticoctl",
            environment=self.environment, timeout=300)
        assert done.returncode == status, done
        return json.loads(done.stdout) if status == 0 else done.stderr

    def wait_for_copy(self):
        """Until the target has a verified copy, and the state of now."""
        begin, end = time.time(), time.monotonic() + START_SECONDS
        while True:
            status = self.control("status")["backups"]
            if status["state"] and status["copies"] > 0:
                return status
            assert time.monotonic() < end, (status, self.gateway.log()[-3000:])
            time.sleep(0.3)

    def write(self, done, user):
        count = 0
        while not done.is_set():
            title = f"{user} {count}"
            try:
                answer = self.gateway.send("POST", "/api/v1/notes/notes", {"title": title, "text": "x" * 500}, user=user)
            except OSError:
                return
            if answer.status == 201:
                with self.lock:
                    self.acknowledged.append((time.monotonic(), user, answer.json()["id"], title))
            count += 1

    def run(self, seconds):
        """Loses the machine under write load after `seconds`, and restores it. Returns how many changes had to be there, and how
        long the restore took."""
        self.start("lost")
        devices = [Device(self.gateway, user) for user in ("alice", "bob", "carol")]
        for device in devices:
            assert device.pull() == []
        self.wait_for_copy()
        done = threading.Event()
        writers = [threading.Thread(target=self.write, args=(done, user)) for user in ("alice", "bob", "carol")]
        for writer in writers:
            writer.start()
        for device in devices:
            time.sleep(seconds / 3)
            device.pull()
        lost = time.monotonic()
        self.gateway.kill()
        done.set()
        for writer in writers:
            writer.join()
        shutil.rmtree(self.gateway.data)
        begin = time.monotonic()
        restored = self.control("restore", self.place, "--yes", *self.reading, data=self.folder / "found")
        took = time.monotonic() - begin
        assert restored["warnings"], restored
        gateway = self.start("found")
        needed = [entry for entry in self.acknowledged if entry[0] < lost - LOSS]
        for user in ("alice", "bob", "carol"):
            mine = {identifier: title for _, owner, identifier, title in needed if owner == user}
            found = self.notes(user)
            missing = {identifier: title for identifier, title in mine.items() if found.get(identifier) != title}
            assert not missing, f"{len(missing)} of {len(mine)} changes of {user} are lost: {sorted(missing.values())[:3]}"
        self.check_adapters(gateway)
        self.check_devices(gateway, devices)
        return len(needed), took

    def notes(self, user):
        found, cursor = {}, ""
        while True:
            page = self.gateway.get(f"/api/v1/notes/notes?limit=500{cursor}", user=user).json()
            found.update({record["id"]: record["title"] for record in page["items"]})
            if not page.get("next"):
                return found
            cursor = f"&cursor={page['next']}"

    @staticmethod
    def check_adapters(gateway):
        for path in ("/api/v1/notes/notes", "/api/v1/employees/employees?limit=1", "/odata/v4/admissions/Students?$top=1",
                     "/v1/list", "/plists/sonnets"):
            answer = gateway.get(path, user="alice")
            assert answer.status == 200, (path, answer)

    def check_devices(self, gateway, devices):
        """They start over at the restored gateway, push what they have, and all of them have what it has."""
        for device in devices:
            device.gateway = gateway
            try:
                device.pull()
                raise AssertionError("a device goes on in a store of another epoch")
            except Refused as refusal:
                assert refusal.code == "sync.fetchAgain", refusal
            device.forget()
            assert device.pull() == []
            outcome = device.change("create", f"after-{device.user}", {"title": f"after {device.user}", "text": ""})
            assert outcome["outcome"] == "applied", outcome
        for device in devices:
            assert device.pull() == []
            assert device.ids() == set(self.notes(device.user)), device.user
