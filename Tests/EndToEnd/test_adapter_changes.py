"""Every origin of an adapter meets every cause of a change: the same way, and no request fails by it."""

import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time
import unittest

from harness import Callers, ROOT
from test_adapter_packages import PARTS, PackageTest
from test_adapters_while_serving import FAILED, NAMES, connection

QUICK = True


class ChangeTest(PackageTest):
    """Four adapters, each of another origin: `odata` is compiled in, `staff` a connection file, `plugged` a program below
    `plugins`, `tasks` an installed package. Both programs work beside their calls."""

    PATHS = {
        "odata": "/odata/v4/reference/Products", "staff": "/api/v1/staff/people", "plugged": "/api/v1/plugged/plugs",
        "tasks": "/api/v1/tasks/tasks",
    }

    def setUp(self):
        super().setUp()
        # A program reads nothing in the configuration's folder but itself.
        self.program = pathlib.Path(tempfile.mkdtemp(prefix="portico-program-"))
        self.addCleanup(shutil.rmtree, self.program, True)
        shutil.copy(PARTS / "packages/tasks_worker.py", self.program / "plugged-worker")
        (self.program / "plugged-worker").chmod(0o755)
        shutil.copy(PARTS / "cbor.py", self.program / "cbor.py")
        self.behave("1.0.0")
        self.options = {"odata": {"services": {"reference": {
            "model": str(ROOT / "Config/odata/reference.csdl.xml"), "pageSize": 3,
            "seed": str(ROOT / "Config/odata/reference.seed.json")}}, "access": "public-read"},
            "staff": {"connect": "staff.yaml"}, "plugged": {}, "tasks": {}}
        self.fields = NAMES
        self.plugins = [{"path": str(self.program / "plugged-worker")}]

    def behave(self, version, **behaviour):
        (self.program / "behaviour.json").write_text(json.dumps({
            "version": version, "fields": self.FIELDS, "adapter": "plugged", "entity": "plugs", "works": True, **behaviour}))

    def save(self):
        (self.folder / "staff.yaml").write_text(connection(self.fields))
        self.write(adapters=self.options, plugins=self.plugins, packages={"probation": "30s"})

    def begin(self):
        self.save()
        self.start()
        self.adapters("install", self.package("1.0.0", works=True))
        self.until(lambda: all(self.gateway.get(path).status == 200 for path in self.PATHS.values()))

    def caller(self, done, outcomes, paths):
        kept, number = None, 0
        while not done.is_set():
            number += 1
            path = paths[number % len(paths)]
            try:
                kept = kept or http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=60)
                kept.request("GET", path)
                answer = kept.getresponse()
                body = answer.read()
                outcomes.append(200 if answer.status == 200 else (answer.status, path, body))
            except Exception as error:  # noqa: BLE001  Every failure of a caller is one of the test.
                outcomes.append((path, repr(error)))
                kept = None

    def starts(self, name):
        """How often a generation of an adapter has started."""
        return len(re.findall(rf"adapter runs.*\b{name}\b|\b{name}\b.*adapter runs", self.gateway.log()))

    def turns(self, name):
        """What its processes have said of their work, in order: (begins or ends, process)."""
        return re.findall(rf"{name} (begins|ends) its work.*?pid[^0-9]*([0-9]+)", self.gateway.log())

    def check_turns(self, name):
        """Each begins after the one before has ended, and the last one works."""
        turns = self.turns(name)
        for (what, process), (next_one, other) in zip(turns, turns[1:]):
            self.assertEqual((what, next_one), ("begins", "ends") if process == other else ("ends", "begins"), turns)
        self.assertEqual(turns[-1][0], "begins", turns)


class Origins(ChangeTest):
    def option(self, name):
        if name == "odata":
            self.options[name]["services"]["reference"]["pageSize"] += 1
        elif name == "staff":
            # A connection file has no options: another text of it is the same thing.
            (self.folder / "staff.yaml").write_text(connection(self.fields, title="Others"))
            return self.apply()
        else:
            self.options[name]["worker"] = {"limits": {"descriptors": 100}}
        self.save()
        return self.apply()

    def access(self, name):
        if name == "staff":
            self.options[name]["entities"] = {"people": {"access": {"write": "none"}}}
        else:
            self.options[name]["access"] = {"read": "public", "write": "none"}
        self.save()
        self.apply()

    def declaration(self, name):
        if name == "odata":
            self.options[name]["services"]["reference"]["search"] = ["Products/Name"]
        elif name == "staff":
            self.fields = {**NAMES, "rank": "integer"}
        else:
            self.options[name]["extra"] = True
        self.save()
        # Of an index there is nothing to say.
        self.assertEqual(self.apply()["data"] == [], name == "odata", name)

    def restart(self, name):
        self.adapters("restart", name)

    def release(self, name):
        self.adapters("upgrade", self.package("1.1.0", works=True))

    def roll_back(self, name):
        self.adapters("rollback", name, "--yes")

    def crash(self, name):
        """A program that ends by itself is started again, and goes on with its work."""
        process = self.gateway.workers()[name]
        os.kill(process, 9)
        self.until(lambda: self.gateway.workers().get(name, process) != process)
        self.until(lambda: self.turns(name)[-1] == ("begins", str(self.gateway.workers()[name])))

    def crash_after_upgrade(self, name):
        """A version whose program ends by itself soon after it was installed gives way to the one before."""
        before = self.version()
        self.adapters("upgrade", self.package("1.2.0", works=True))
        os.kill(self.gateway.workers()[name], 9)
        self.until(lambda: self.version() == before)

    def go_and_come(self, name):
        for enabled in (False, True):
            if name == "plugged":
                # The list of programs reloads.
                self.plugins, kept = ([], self.plugins) if not enabled else (kept, None)
                options = self.options.pop(name) if not enabled else options
                if enabled:
                    self.options[name] = options
            else:
                self.options[name]["enabled"] = enabled
            self.save()
            self.apply()
            self.assertEqual(self.gateway.get(self.PATHS[name]).status, 200 if enabled else 404)

    COMMON = (option, access, declaration, restart, go_and_come)
    TABLE = {"odata": COMMON, "staff": COMMON, "plugged": (*COMMON, crash), "tasks": (*COMMON, crash, release, roll_back, crash_after_upgrade)}
    # How often another generation starts, where that is not once: one whose program is started again is the same one.
    STARTS = {crash: 0, crash_after_upgrade: 2}

    def test_each_origin_meets_each_cause(self):
        self.begin()
        for name, causes in self.TABLE.items():
            for cause in causes:
                with self.subTest(f"{name}: {cause.__name__}"):
                    goes = cause in (Origins.go_and_come, Origins.crash, Origins.crash_after_upgrade)
                    paths = [path for other, path in self.PATHS.items() if other != name or not goes]
                    before, others = self.starts(name), {other: self.starts(other) for other in self.PATHS if other != name}
                    with Callers(4, lambda done, outcomes: self.caller(done, outcomes, paths)) as callers:
                        callers.wait_for(20)
                        cause(self, name)
                        callers.wait_for(20)
                    self.assertEqual(set(callers.outcomes), {200})
                    self.assertEqual(self.gateway.get(self.PATHS[name]).status, 200)
                    self.until(lambda: self.starts(name) == before + self.STARTS.get(cause, 1))
                    self.assertEqual({other: self.starts(other) for other in others}, others)
        for name in ("plugged", "tasks"):
            with self.subTest(name):
                turns = [turn for turn in self.turns(name)]
                self.assertGreater(len(turns), 8)

    def test_a_reload_of_everything_changes_every_origin_at_once(self):
        self.begin()
        before = {name: self.starts(name) for name in self.PATHS}
        with Callers(4, lambda done, outcomes: self.caller(done, outcomes, list(self.PATHS.values()))) as callers:
            callers.wait_for(20)
            self.options["odata"]["services"]["reference"]["pageSize"] += 1
            self.fields = {**NAMES, "rank": "integer"}
            for name in ("plugged", "tasks"):
                self.options[name]["extra"] = True
            self.save()
            os.kill(self.gateway.process.pid, signal.SIGHUP)
            self.until(lambda: {name: self.starts(name) - count for name, count in before.items()} == dict.fromkeys(before, 1))
            self.until(lambda: all(len(self.turns(name)) >= 3 for name in ("plugged", "tasks")))
            callers.wait_for(20)
        self.assertEqual(set(callers.outcomes), {200})
        for name in ("plugged", "tasks"):
            self.check_turns(name)

    def test_an_absent_program_meets_each_cause_and_returns_as_any_other_generation(self):
        del self.options["tasks"]
        self.save()
        gateway = self.start()
        self.assertEqual(gateway.get(self.PATHS["plugged"]).status, 200)
        gateway.stop()
        (self.program / "silent").touch()
        gateway = self.start()
        self.assertEqual(gateway.get(self.PATHS["plugged"]).status, 503)
        # What stands for it meets each cause as any other does, and the others go on.
        paths = [self.PATHS["odata"], self.PATHS["staff"]]
        for cause in (Origins.option, Origins.access):
            with self.subTest(cause.__name__):
                others = {name: self.starts(name) for name in ("odata", "staff")}
                with Callers(4, lambda done, outcomes: self.caller(done, outcomes, paths)) as callers:
                    callers.wait_for(20)
                    cause(self, "plugged")
                    callers.wait_for(20)
                self.assertEqual(set(callers.outcomes), {200})
                self.assertEqual(gateway.get(self.PATHS["plugged"]).status, 503)
                self.assertEqual({name: self.starts(name) for name in others}, others)
        self.assertIn("plugged", self.adapters("restart", "plugged", status=FAILED))
        with Callers(4, lambda done, outcomes: self.caller(done, outcomes, paths)) as callers:
            callers.wait_for(20)
            (self.program / "silent").unlink()
            self.until(lambda: gateway.get(self.PATHS["plugged"]).status == 200, 90)
            callers.wait_for(20)
        self.assertEqual(set(callers.outcomes), {200})
        self.until(lambda: self.turns("plugged"))
        self.check_turns("plugged")
        # It goes while it is absent, and does not come so: nothing is known of what the configuration says of it.
        gateway.stop()
        (self.program / "silent").touch()
        gateway = self.start()
        self.plugins, kept, options = [], self.plugins, self.options.pop("plugged")
        self.save()
        self.apply()
        self.assertEqual(gateway.get(self.PATHS["plugged"]).status, 404)
        self.plugins, self.options["plugged"] = kept, options
        self.save()
        self.assertIn("plugged-worker: it ended", str(self.control("config", "apply", status=FAILED)["errors"]))
        (self.program / "silent").unlink()
        self.apply()
        self.assertEqual(gateway.get(self.PATHS["plugged"]).status, 200)

    def test_a_failure_before_the_exchange_leaves_everything_as_it_was(self):
        self.begin()
        before = self.turns("tasks")
        self.assertIn("does not start", self.adapters(
            "upgrade", self.package("1.1.0", {**self.FIELDS, "rank": "number"}, works=True, start="refuse"), status=FAILED))
        self.options["tasks"]["extra"] = True
        self.plugins.append({"path": str(self.program / "nothing")})
        self.save()
        self.control("config", "apply", status=FAILED)
        self.assertEqual((self.version(), self.turns("tasks")), ("1.0.0", before))
        self.plugins.pop()
        self.save()
        self.apply()
        self.until(lambda: len(self.turns("tasks")) == len(before) + 2)
        self.check_turns("tasks")

    def test_one_that_does_not_end_its_work_in_time_is_followed_when_it_has_ended(self):
        self.write(limits={"adapterStop": "300ms"})
        self.start()
        self.adapters("install", self.package("1.0.0", works=True, drainSeconds=60))
        self.until(lambda: self.turns("tasks"))
        self.adapters("upgrade", self.package("1.1.0", works=True))
        self.assertEqual(self.version(), "1.1.0")
        self.until(lambda: len(self.turns("tasks")) == 3)
        (first, one), (second, two), (third, three) = self.turns("tasks")
        self.assertEqual((first, second, third, one), ("begins", "ends", "begins", two))
        self.assertNotEqual(two, three)
        self.assertFalse(os.path.exists(f"/proc/{two}"))


class UnderLoad(ChangeTest):
    CALLERS, ROUNDS, REQUESTS = 8, 50, 10_000

    def test_ten_thousand_requests_during_fifty_changes(self):
        self.begin()
        paths = list(self.PATHS.values())
        releases = iter([("upgrade", self.package(f"1.{number}.0", works=True)) for number in range(1, 6)])
        with Callers(self.CALLERS, lambda done, outcomes: self.caller(done, outcomes, paths)) as callers:
            for number in range(1, self.ROUNDS + 1):
                self.options["odata"]["services"]["reference"]["pageSize"] = 3 + number % 5
                self.options["plugged"]["access"] = "public" if number % 2 else "public-read"
                self.fields = {**NAMES, **({"rank": "integer"} if number % 4 < 2 else {})}
                self.save()
                self.apply()
                if number % 10 == 0:
                    self.adapters(*next(releases))
                elif number % 10 == 3 and number > 10:
                    self.adapters("rollback", "tasks", "--yes")
                elif number % 10 == 5:
                    self.adapters("restart", "plugged")
                elif number % 10 == 7:
                    self.adapters("install", self.package("1.0.0", name="others", adapter="others", entity="others"))
                elif number % 10 == 9:
                    self.adapters("remove", "others", "--yes")
            callers.wait_for(max(1, self.REQUESTS - len(callers.outcomes)))
        print(f"{len(callers.outcomes)} requests, {self.ROUNDS} configurations")
        self.assertEqual(set(callers.outcomes), {200})
        self.check_turns("plugged")
        self.check_turns("tasks")


class Level(ChangeTest):
    BEFORE, ROUNDS = 20, int(os.environ.get("PORTICO_RELOADS", 60))

    def used(self):
        """(descriptors, threads, resident KiB) once what was replaced is stopped."""
        process = pathlib.Path(f"/proc/{self.gateway.process.pid}")
        time.sleep(1)
        status = (process / "status").read_text()
        return (len(list((process / "fd").iterdir())), int(re.search(r"Threads:\s+(\d+)", status)[1]),
                int(re.search(r"VmRSS:\s+(\d+)", status)[1]))

    def test_descriptors_threads_and_memory_stay_level(self):
        self.begin()

        def change(rounds):
            for number in rounds:
                self.options["odata"]["services"]["reference"]["pageSize"] = 3 + number % 2
                self.options["plugged"]["access"] = "public" if number % 2 else "public-read"
                self.fields = {**NAMES, **({"rank": "integer"} if number % 2 else {})}
                self.save()
                self.apply()

        change(range(self.BEFORE))
        before = self.used()
        change(range(self.BEFORE, self.BEFORE + self.ROUNDS))
        after = self.used()
        print(f"descriptors, threads, KiB: {before} before, {after} after {self.ROUNDS} configurations")
        self.assertLessEqual(after[0], before[0] + 4)
        self.assertLessEqual(after[1], before[1] + 4)
        self.assertLessEqual(after[2], before[2] * 1.25)
        self.assertEqual(len(self.gateway.workers()), 2)


if __name__ == "__main__":
    unittest.main()
