"""Changes of mirrored records: made in the other system at once or later, once, and never lost.

PORTICO_KILLS says how often the gateway is killed with pending writes (30 where it is not set).
"""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import tempfile
import time
import unittest

from harness import Gateway, run_portico
from ledger_upstream import LedgerUpstream
from sync_device import Device

USERS = "/api/v1/users/users"
WRITES = "/api/v1/portico/writes"
KILLS = int(os.environ.get("PORTICO_KILLS", "30"))
SECONDS = float(os.environ.get("TEST_SECONDS", "100000"))
SEED = 20261123
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
identity: {{ basic: {{ enabled: true }}, demoAccounts: [
  {{ name: alice, password: portico-demo, roles: [member] }}, {{ name: bob, password: portico-demo, roles: [member] }}] }}
limits: {{ requestsPerMinute: 1000000 }}
upstreams:
  hr: {{ url: '{url}', networks: [127.0.0.1/32], deadline: 2s, limits: {{ failures: 1000 }} }}
adapters:
  users: {{ access: {access}, upstream: hr, write: {write}, idempotencyKeys: {keys}, freshFor: 1d }}
"""


class MirrorWriteTest(unittest.TestCase):
    def start(self, write, honours_keys=True, users=range(100, 105)):
        self.upstream = LedgerUpstream(honours_keys, users)
        self.addCleanup(self.upstream.stop)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="portico-writes-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        (self.folder / "data").mkdir()
        self.config = self.folder / "portico.yaml"
        self.config.write_text(CONFIGURATION.format(
            url=self.upstream.address, write=write,
            access="login" if write == "none" else "{ read: login, write: login }", keys=str(honours_keys).lower()))
        self.gateway = None
        self.serve()
        self.addCleanup(lambda: self.gateway.remove())
        if users:
            self.until(lambda: self.gateway.get(USERS, user="alice").status == 200)

    def serve(self):
        self.gateway = Gateway(config=str(self.config), data=self.folder / "data")

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "it does not come to that")
            time.sleep(0.02)

    def change(self, number, name, **headers):
        return self.gateway.request(
            "PATCH", f"{USERS}/{number}", body=json.dumps({"UserName": name}).encode(), user="alice",
            headers={"Content-Type": "application/json", **headers})

    def create(self, number, name, user="alice"):
        return self.gateway.send(
            "POST", USERS, {"UserId": number, "UserName": name, "ShoeSize": "8.5M"}, user=user)

    def name(self, number):
        answer = self.gateway.get(f"{USERS}/{number}", user="alice")
        return answer.json()["UserName"] if answer.status == 200 else None

    def writes(self, user="alice"):
        answer = self.gateway.get(WRITES, user=user)
        self.assertEqual(answer.status, 200, answer)
        return answer.json()["items"]

    def listed(self, *selection):
        return self.control("writes", "list", *selection)[1]["writes"]

    def control(self, *arguments):
        done = run_portico(
            *arguments, "--data", str(self.folder / "data"), "--output", "json", program="porticoctl")
        return done, json.loads(done.stdout or "null")


class Through(MirrorWriteTest):
    def test_a_change_is_made_there_first_and_stored_as_it_is_answered(self):
        self.start("through")
        answer = self.change(100, "Ann", **{"Idempotency-Key": "mine-1"})
        self.assertEqual((answer.status, answer.json()["UserName"]), (200, "Ann"))
        # The key that is sent names the account, the mirror and the record too.
        self.assertEqual([made[:3] for made in self.upstream.made], [("PUT", 100, "Ann")])
        self.assertRegex(self.upstream.made[0][3], "^[0-9a-f]{64}$")
        self.assertEqual(self.create(200, "Bea").status, 201)
        self.assertEqual(self.gateway.request("DELETE", f"{USERS}/101", user="alice").status, 204)
        self.assertEqual(self.upstream.users[200], "Bea")
        self.assertNotIn(101, self.upstream.users)
        self.assertIsNone(self.name(101))
        self.assertEqual(self.writes(), [])

    def test_what_is_refused_or_cannot_be_sent_changes_nothing(self):
        # With keys the client would send a change that was not taken again by itself.
        self.start("through", honours_keys=False)
        before = self.name(100)
        self.upstream.plan = ["refuse"]
        answer = self.change(100, "Ann")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, "request.invalid"))
        self.assertIn("hr", answer.json()["error"]["message"])
        self.upstream.plan = ["busy"]
        answer = self.change(100, "Ann")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (502, "upstream.failed"))
        self.assertEqual((self.name(100), self.writes(), self.upstream.made), (before, [], []))

    def test_the_systems_own_words_reach_the_caller_in_one_bounded_line(self):
        self.start("through")
        self.upstream.plan = ["explain", "babble"]
        answer = self.change(100, "Ann")
        self.assertEqual(answer.status, 400)
        self.assertIn("It says: The name is taken.", answer.json()["error"]["message"])
        message = self.change(100, "Ann").json()["error"]["message"]
        self.assertLess(len(message), 400)
        self.assertNotRegex(message, "[\x00-\x1f\u202e]")

    def test_a_key_that_came_with_another_change_is_refused_and_locks_nothing(self):
        self.start("through")
        key = {"Idempotency-Key": "mine"}
        self.assertEqual(self.change(100, "Ann", **key).status, 200)
        for number, name in [(100, "Bea"), (101, "Ann")]:
            answer = self.change(number, name, **key)
            self.assertEqual((answer.status, answer.json()["error"]["code"]), (422, "request.keyReused"))
        # The same change comes again, and is made once.
        self.assertEqual(self.change(100, "Ann", **key).status, 200)
        self.assertEqual(self.change(100, "Bea").status, 200)
        # Another's key of the same text is another one.
        answer = self.gateway.request(
            "PATCH", f"{USERS}/101", body=json.dumps({"UserName": "Cyd"}).encode(), user="bob",
            headers={"Content-Type": "application/json", **key})
        self.assertEqual(answer.status, 200)
        self.assertEqual([made[1:3] for made in self.upstream.made], [(100, "Ann"), (100, "Bea"), (101, "Cyd")])

    def test_an_error_without_end_makes_the_write_unknown_whatever_the_system_honours(self):
        self.start("queued")
        # The tenth is the last; the pauses between them are about eight minutes.
        self.upstream.plan = ["break"] * 1_000
        self.assertEqual(self.change(100, "Ann").status, 200)
        self.until(lambda: self.listed()[0].get("losses", 0) >= 2)
        (write,) = self.listed()
        self.assertEqual(write["state"], "pending")
        self.assertIn("500", write["answer"])

    def test_rules_are_checked_before_anything_leaves(self):
        self.start("through")
        self.assertEqual(self.change(100, "").status, 400)
        self.assertEqual(self.change(999, "x").status, 404)
        self.assertEqual(self.change(100, "x", **{"If-Match": '"1"'}).status, 412)
        self.assertEqual(self.create(100, "x").status, 409)
        for key in ["a:1", "x" * 201, ""]:
            self.assertEqual(self.change(100, "x", **{"Idempotency-Key": key}).status, 400, key)
        self.assertEqual(self.upstream.asked, [])

    def test_a_state_that_the_system_has_no_more_is_not_written_over(self):
        for write in ("through", "queued"):
            with self.subTest(write):
                self.start(write)
                place = f"{USERS}/100"
                known = self.gateway.get(place, user="alice").headers["etag"]
                # Another program changes it there; the mirror is fresh for a day.
                self.upstream.users[100] = "Theirs"
                answer = self.change(100, "Ann", **{"If-Match": known})
                if write == "through":
                    self.assertEqual((answer.status, answer.json()["error"]["code"]), (412, "record.preconditionFailed"))
                    self.assertEqual(self.writes(), [])
                else:
                    self.assertEqual(answer.status, 200)
                    self.until(lambda: [(one["state"], one["reason"]) for one in self.writes()]
                               == [("refused", "record.preconditionFailed")])
                self.assertEqual(self.upstream.made, [])
                # The state that is there is read, and may be named.
                self.assertEqual(self.name(100), "Theirs")
                known = self.gateway.get(place, user="alice").headers["etag"]
                self.assertEqual(self.change(100, "Ann", **{"If-Match": known}).status, 200)
                self.until(lambda: self.upstream.users[100] == "Ann")
                # Who names no state changes the fields that are sent.
                self.upstream.users[101] = "Theirs"
                self.assertEqual(self.change(101, "Bea").status, 200)
                self.until(lambda: self.upstream.users[101] == "Bea")

    def test_a_lost_answer_is_read_back_and_an_unknown_outcome_is_not_repeated(self):
        self.start("through", honours_keys=False)
        self.upstream.plan = ["lose"]
        self.assertEqual(self.change(100, "Ann").status, 200)
        self.upstream.plan = ["hang"]
        answer = self.change(101, "Bea")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (504, "upstream.outcomeUnknown"))
        self.assertEqual([write["state"] for write in self.writes()], ["unknown"])
        self.assertEqual(len(self.upstream.asked), 2)
        self.assertEqual(self.change(101, "Cyd").status, 409)
        _, status = self.control("status")
        self.assertEqual((status["pendingWrites"], status["unknownWrites"]), (0, 1))
        _, listed = self.control("writes", "list")
        identifier = listed["writes"][0]["id"]
        _, shown = self.control("writes", "show", identifier)
        self.assertEqual((shown["operation"], shown["sent"], shown["author"]), ("update", True, "alice"))
        self.assertEqual(self.control("writes", "retry", identifier)[0].returncode, 0)
        self.until(lambda: not self.writes())
        self.assertEqual((self.upstream.users[101], self.name(101)), ("Bea", "Bea"))
        self.assertEqual(self.control("writes", "drop", identifier, "--yes")[0].returncode, 1)
        self.assertEqual(self.gateway.log().count("outcome of a write is unknown"), 1)

    def test_a_value_that_the_system_answers_with_500_locks_the_record_until_an_operator_drops_the_write(self):
        self.start("through", honours_keys=False)
        self.upstream.plan = ["break"]
        answer = self.change(100, "Ann")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (504, "upstream.outcomeUnknown"))

        def others():
            return self.gateway.request(
                "PATCH", f"{USERS}/100", body=json.dumps({"UserName": "Cyd"}).encode(), user="bob",
                headers={"Content-Type": "application/json"}).status

        self.assertEqual(others(), 409)
        identifier = self.control("writes", "list", "--record", "100")[1]["writes"][0]["id"]
        self.assertEqual(self.control("writes", "drop", identifier, "--yes")[0].returncode, 0)
        self.assertEqual(others(), 200)
        self.assertEqual(self.upstream.users[100], "Cyd")

    def test_a_deadline_in_the_middle_says_that_the_outcome_is_unknown(self):
        self.start("through")
        self.gateway.stop()
        self.gateway = Gateway(
            "--set", "http.deadlines.request=3s", config=str(self.config), data=self.folder / "data")
        self.upstream.plan = ["hang", "hang", "hang"]
        answer = self.change(100, "Ann")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (504, "upstream.outcomeUnknown"))
        self.until(lambda: not self.writes())
        self.assertEqual([change[:3] for change in self.upstream.made], [("PUT", 100, "Ann")])
        self.assertEqual(self.name(100), "Ann")


class Queued(MirrorWriteTest):
    def test_a_change_is_stored_at_once_and_made_later(self):
        self.start("queued")
        self.upstream.is_down = True
        self.assertEqual(self.change(100, "Ann").status, 200)
        self.assertEqual(self.create(200, "Bea").status, 201)
        self.assertEqual((self.name(100), self.name(200)), ("Ann", "Bea"))
        writes = self.writes()
        self.assertEqual([write["state"] for write in writes], ["pending", "pending"])
        self.assertEqual({write["collection"] for write in writes}, {"users/users"})
        self.assertEqual(self.writes(user="bob"), [])
        self.upstream.is_down = False
        self.until(lambda: not self.writes())
        self.assertEqual((self.upstream.users[100], self.upstream.users[200]), ("Ann", "Bea"))

    def test_what_is_refused_returns_and_its_device_learns_of_it(self):
        self.start("queued")
        device = Device(self.gateway, "alice")
        self.assertEqual(device.pull(), [])
        self.upstream.plan = ["refuse"]
        outcome = device.change("update", "100", {"UserName": "Ann"}, collection="users")
        self.assertEqual(outcome["outcome"], "applied", outcome)
        self.until(lambda: [write["state"] for write in self.writes()] == ["refused"])
        self.assertEqual(device.pull(), [])
        self.assertEqual(device.rows["users", "100"][1]["UserName"], "Fake 100")
        (write,) = [fields for (name, _), (_, fields) in device.rows.items() if name == "writes"]
        self.assertEqual((write["state"], write["record"], write["reason"]), ("refused", "100", "request.invalid"))
        self.assertEqual(write["fields"], {"UserName": "Ann"})
        other = Device(self.gateway, "bob")
        self.assertEqual(other.pull(), [])
        self.assertEqual([name for name, _ in other.rows if name == "writes"], [])
        self.assertEqual(self.gateway.log().count("write refused by another system"), 1)
        identifier = self.writes()[0]["id"]
        self.assertEqual(self.control("writes", "drop", identifier, "--yes")[0].returncode, 0)
        self.assertEqual(self.writes(), [])

    def test_a_push_never_waits_for_the_other_system_and_its_keys_name_the_mutation(self):
        self.start("through")
        self.upstream.delay = 1
        device = Device(self.gateway, "alice")
        device.pull()
        outcomes = device.push(
            device.mutation("update", "100", {"UserName": "Ann"}, collection="users"),
            device.mutation("create", "300", {"UserId": 300, "UserName": "Cyd", "ShoeSize": "5M"}, collection="users"),
            device.mutation("delete", "101", collection="users"))["outcomes"]
        self.assertEqual([one["outcome"] for one in outcomes], ["applied"] * 3, outcomes)
        self.assertEqual(self.upstream.made, [])
        self.until(lambda: not self.writes())
        self.assertEqual(len({key for _, _, _, key in self.upstream.made}), 3)

    def test_updates_that_wait_are_joined_and_each_is_acknowledged(self):
        self.start("queued")
        self.upstream.is_down = True
        device = Device(self.gateway, "alice")
        device.pull()
        # One is on its way, and is left as it is.
        self.change(100, "First")
        self.until(lambda: self.listed()[0].get("tries"))
        for round in range(3):
            outcomes = device.push(*[
                device.mutation("update", "100", {"UserName": f"Name {round}.{number}"}, collection="users")
                for number in range(100)])["outcomes"]
            self.assertEqual({one["outcome"] for one in outcomes}, {"applied"}, outcomes)
        self.assertEqual(sorted(write["fields"]["UserName"] for write in self.writes()), ["First", "Name 2.99"])
        self.assertEqual(self.name(100), "Name 2.99")
        self.upstream.is_down = False
        self.until(lambda: not self.writes())
        self.assertEqual([made[2] for made in self.upstream.made], ["First", "Name 2.99"])
        self.assertEqual(device.pull(), [])

    def test_what_cannot_be_made_says_so_and_operators_find_it(self):
        # With keys the client would send it again by itself.
        self.start("queued", honours_keys=False)
        self.upstream.plan = ["busy"] * 4
        self.assertEqual(self.change(100, "Ann").status, 200)
        self.until(lambda: self.listed() and self.listed()[0].get("tries", 0) >= 2)
        (write,) = self.listed()
        self.assertEqual((write["state"], write["reason"], write["author"]), ("pending", "upstream.failed", "alice"))
        self.assertIn("503", write["answer"])
        (own,) = self.writes()
        self.assertEqual((own["state"], own["reason"]), ("pending", "upstream.failed"))
        self.assertNotIn("answer", own)
        for selection, count in [
            (["--author", "alice"], 1), (["--author", "bob"], 0), (["--record", "100"], 1), (["--record", "101"], 0),
            (["--mirror", "users/users"], 1), (["--mirror", "users/others"], 0),
            (["--author", "alice", "--record", "101"], 0),
        ]:
            self.assertEqual(len(self.listed(*selection)), count, selection)
        self.until(lambda: not self.writes())
        self.assertEqual(self.name(100), "Ann")

    def test_a_refusal_has_the_systems_own_words_and_is_sent_again_under_another_key(self):
        self.start("queued")
        self.upstream.plan = ["explain"]
        device = Device(self.gateway, "alice")
        device.pull()
        self.assertEqual(device.change("update", "100", {"UserName": "Ann"}, collection="users")["outcome"], "applied")
        self.until(lambda: [write["state"] for write in self.writes()] == ["refused"])
        (write,) = self.writes()
        self.assertIn("It says: The name is taken.", write["message"])
        self.assertEqual(device.pull(), [])
        (seen,) = [fields for (name, _), (_, fields) in device.rows.items() if name == "writes"]
        self.assertEqual(seen["message"], write["message"])
        self.assertEqual((self.listed()[0]["message"], self.listed()[0]["answer"]), (write["message"], write["message"]))
        self.assertEqual(self.control("status")[1]["refusedWrites"], 1)
        # That an attempt could not be made does not take the place of why it was refused.
        self.upstream.plan = ["busy"] * 1_000
        self.assertEqual(self.control("writes", "retry", write["id"])[0].returncode, 0)
        self.until(lambda: self.listed()[0]["tries"] >= 2 and self.listed()[0]["message"])
        self.assertEqual((self.listed()[0]["state"], self.listed()[0]["answer"]), ("pending", write["message"]))
        self.upstream.plan = ["explain"]
        self.until(lambda: [one["state"] for one in self.writes()] == ["refused"])
        self.assertEqual(self.control("writes", "retry", write["id"])[0].returncode, 0)
        self.until(lambda: not self.writes())
        self.assertEqual(self.name(100), "Ann")
        self.assertEqual(len({key for _, _, key in self.upstream.asked}), 3)

    def test_a_refresh_leaves_a_pending_change(self):
        self.start("queued")
        self.upstream.plan = ["busy"] * 3
        self.assertEqual(self.change(100, "Ann").status, 200)
        self.upstream.users[102] = "Changed there"
        self.assertEqual(self.control("mirrors", "refresh", "users/users")[0].returncode, 0)
        self.assertEqual((self.name(100), self.name(102)), ("Ann", "Changed there"))
        self.until(lambda: not self.writes())
        self.assertEqual(self.upstream.users[100], "Ann")

    def test_without_write_callers_change_nothing(self):
        self.start("none")
        self.assertEqual(self.change(100, "Ann").status, 403)
        self.assertEqual(self.gateway.get(WRITES, user="alice").status, 404)
        self.assertEqual(self.upstream.asked, [])


class Configured(unittest.TestCase):
    CASES = [
        ("adapters: {employees: {upstream: hr, protocol: json, write: queued}}", "can only be read"),
        ("adapters: {users: {upstream: hr, write: queued}}", "in its callers' names"),
        ("adapters: {users: {upstream: hr, refresh: 5m}}", "in its callers' names"),
        ("adapters: {users: {upstream: hr, write: sometimes}}", "none, through, queued"),
    ]
    UPSTREAM = """
upstreams: {hr: {url: 'https://hr.example/', credentials: {kind: exchange, tokenURL: 'https://id.example/token',
  clientID: portico, clientSecret: {env: HR_SECRET}, audience: hr}}}
"""

    def test_settings_that_contradict_each_other_are_named(self):
        for text, problem in self.CASES:
            with self.subTest(text), tempfile.TemporaryDirectory() as folder:
                config = pathlib.Path(folder, "portico.yaml")
                config.write_text(self.UPSTREAM + text)
                done = run_portico("check", "--config", str(config), environment={"HR_SECRET": "x" * 20})
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(problem, done.stdout + done.stderr)


class Killed(MirrorWriteTest):
    """`kill -9` with pending writes: each record is changed once, to a name of its own."""

    def test_with_keys_none_is_lost_and_none_is_made_twice(self):
        acknowledged = self.kill_often(honours_keys=True)
        self.until(lambda: not self.writes(), seconds=300)
        made = {}
        for _, number, name, _ in self.upstream.made:
            self.assertNotIn(number, made, "a write was made twice")
            made[number] = name
        lost = {number for number, name in acknowledged.items() if made.get(number) != name}
        self.assertEqual(lost, set(), "a write was lost")
        print(f"{self.kills} kills with keys, {len(acknowledged)} writes acknowledged, {len(made)} made once")

    def test_without_keys_none_is_made_twice_and_each_lost_outcome_is_unknown(self):
        acknowledged = self.kill_often(honours_keys=False)
        self.until(lambda: all(write["state"] == "unknown" for write in self.all_writes()), seconds=300)
        made = {}
        for _, number, name, _ in self.upstream.made:
            self.assertNotIn(number, made, "a write was made twice")
            made[number] = name
        unknown = {int(write["record"]) for write in self.all_writes()}
        lost = {number for number in acknowledged if made.get(number) != acknowledged[number]} - unknown
        self.assertEqual(lost, set(), "a write was lost and is not known to be")
        print(
            f"{self.kills} kills without keys, {len(acknowledged)} writes acknowledged, {len(made)} made once, "
            f"{len(unknown)} unknown")

    def all_writes(self):
        _, listed = self.control("writes", "list")
        return listed["writes"]

    def kill_often(self, honours_keys):
        self.start("queued", honours_keys, users=[])
        self.upstream.delay = 0.02
        generator, acknowledged, self.kills, next_number = random.Random(SEED), {}, 0, 1000
        token = self.gateway.login("alice").json()["accessToken"]
        end = time.monotonic() + SECONDS
        while self.kills < KILLS and time.monotonic() < end:
            token = token or self.gateway.login("alice").json()["accessToken"]
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                numbers = range(next_number, next_number + 12)
                next_number += 12
                waiting = {number: pool.submit(self.attempt, number, token) for number in numbers}
                time.sleep(generator.uniform(0.02, 0.25))
                self.gateway.kill()
                for number, attempt in waiting.items():
                    if attempt.result() == 201:
                        acknowledged[number] = f"User {number}"
            self.kills += 1
            self.serve()
        return acknowledged

    def attempt(self, number, token):
        """The status; None where there was no answer."""
        user = {"UserId": number, "UserName": f"User {number}", "ShoeSize": "8.5M"}
        try:
            return self.gateway.send("POST", USERS, user, token=token).status
        except OSError:
            return None
        except Exception as error:  # http.client reports a connection that ended in several ways.
            if type(error).__module__ != "http.client":
                raise
            return None
