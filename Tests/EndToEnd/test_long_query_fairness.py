"""Long queries, long responses and asynchronous requests are shared fairly between callers."""

import concurrent.futures
import json
import pathlib
import select
import time
import unittest
import urllib.parse

from harness import START_SECONDS, GatewayTest
from long_queries import ENDLESS, LONG, SEARCHES, escaped

V4 = "/odata/v4/admissions/"


class SignedIn(GatewayTest):
    settings = SEARCHES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tokens = {user: cls.gateway.login(user).json()["accessToken"] for user in ["alice", "bob", "carol"]}
        cls.pool = concurrent.futures.ThreadPoolExecutor(64)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.pool.shutdown()

    def setUp(self):
        # What an earlier test has left may still have places.
        self.gateway.wait_until_idle()

    def ask(self, user, path, method="GET", **headers):
        return self.gateway.request(method, V4 + path, headers=headers, token=self.tokens[user])

    def flood(self, user, count, path=ENDLESS):
        used, connections = self.gateway.processor_seconds(), []
        for _ in range(count):
            connection = self.gateway.connect()
            self.addCleanup(connection.close)
            connection.sendall(
                f"GET {V4}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self.tokens[user]}\r\n\r\n".encode())
            connections.append(connection)
        self.gateway.wait_until_it_works(used, *connections)
        return connections

    def started(self, user, path):
        answer = self.expect(self.ask(user, path, Prefer="respond-async"), 202)
        return urllib.parse.urlsplit(answer.headers["location"]).path

    def forget(self, user, monitor):
        self.expect(self.gateway.request("DELETE", monitor, token=self.tokens[user]), 204)


class Shares(SignedIn):
    def test_one_callers_searches_do_not_keep_anothers_waiting(self):
        flood = self.flood("alice", 30)
        for _ in range(3):
            self.expect(self.ask("bob", LONG), 200)
        # Not because hers had ended.
        for connection in flood:
            connection.setblocking(False)
            self.assertRaises(BlockingIOError, connection.recv, 1)

    def test_two_callers_searches_end_when_a_third_ones_wait(self):
        self.flood("alice", 4)
        self.flood("bob", 4)
        answers = list(self.pool.map(lambda _: self.ask("carol", LONG), range(3)))
        self.assertEqual([answer.status for answer in answers], [200] * 3, answers)

    def test_a_preempted_query_gets_503_with_retry_after(self):
        both = self.flood("alice", 1) + self.flood("bob", 1)
        # The first may find a place: one of theirs has perhaps not begun.
        end, ended = time.monotonic() + START_SECONDS, []
        while not ended:
            self.assertLess(time.monotonic(), end)
            self.expect(self.ask("carol", LONG), 200)
            ended = select.select(both, [], [], 0.1)[0]
        answer = ended[0].recv(1 << 16)
        self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
        self.assertIn(b"\r\nRetry-After: 1\r\n", answer)
        self.assertIn(b"server.overloaded", answer)

    def test_a_full_queue_of_one_caller_does_not_block_another(self):
        self.flood("alice", 70)
        self.expect(self.ask("bob", LONG), 200)

    def test_asynchronous_requests_are_shared_fairly_too(self):
        monitors, answers = [], []
        while not answers or answers[-1].status == 202:
            answers.append(self.ask("alice", ENDLESS, Prefer="respond-async"))
            self.assertLess(len(answers), 64)
            if answers[-1].status == 202:
                monitors.append(urllib.parse.urlsplit(answers[-1].headers["location"]).path)
        self.assertGreaterEqual(len(monitors), 8)
        self.expect(answers[-1], 503, "server.overloaded")
        self.assertIn("retry-after", answers[-1].headers)
        self.expect(self.ask("bob", LONG), 200)
        bobs = self.started("bob", "Schools?$top=1")
        for monitor in monitors:
            self.forget("alice", monitor)
        self.forget("bob", bobs)
        # All of it is free again.
        self.forget("alice", self.started("alice", ENDLESS))

    def test_one_callers_long_responses_leave_a_permit_to_others(self):
        slow = self.flood("alice", 3, escaped("Students?$expand=Visits,School($expand=Students($top=8))"))
        answer = self.ask("bob", escaped("Students?$expand=Visits,School($expand=Students($top=8))"))
        self.assertEqual(len(self.expect(answer, 200).json()["value"]), 1500)
        for connection in slow:
            connection.close()


class Fetching(SignedIn):
    # About half a megabyte.
    LARGE = escaped("Students?$top=1400")

    def finished(self, user, monitor):
        end = time.monotonic() + START_SECONDS
        while (answer := self.gateway.request("GET", monitor, token=self.tokens[user])).status == 202:
            self.assertLess(time.monotonic(), end, answer)
            time.sleep(0.05)
        return answer

    def files(self):
        return sorted(path for path in (self.gateway.data / "scratch").iterdir())


class Later(Fetching):
    """Answers that are fetched later lie in files, in bounds."""

    settings = (
        *SEARCHES,
        "--set", "adapters.odata.limits.asyncAnswerBytes=700000",
        "--set", "adapters.odata.limits.asyncCallerBytes=1500000",
        "--set", "adapters.odata.limits.asyncBytes=2500000",
    )

    def test_an_answer_is_a_file_of_its_owner_until_it_is_forgotten(self):
        direct, before = self.ask("alice", self.LARGE).json(), self.files()
        monitor = self.started("alice", self.LARGE)
        for _ in range(2):
            answer = self.expect(self.finished("alice", monitor), 200)
            self.assertEqual(answer.headers["asyncresult"], "200")
            self.assertEqual(answer.json(), direct)
        [file] = [file for file in self.files() if file not in before]
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertEqual(file.parent.stat().st_mode & 0o777, 0o700)
        self.assertEqual(json.loads(file.read_bytes()), direct)
        # Nobody else sees it or ends it.
        for method in ["GET", "DELETE"]:
            self.expect(self.gateway.request(method, monitor, token=self.tokens["bob"]), 404)
        self.forget("alice", monitor)
        self.expect(self.gateway.request("GET", monitor, token=self.tokens["alice"]), 404)
        self.assertNotIn(file, self.files())

    def test_an_answer_as_an_http_message_has_its_length(self):
        monitor = self.started("alice", self.LARGE)
        self.finished("alice", monitor)
        answer = self.gateway.request(
            "GET", monitor, headers={"Accept": "application/http"}, token=self.tokens["alice"])
        head, body = answer.body.split(b"\r\n\r\n", 1)
        self.assertTrue(head.startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assertIn(f"Content-Length: {len(body)}".encode(), head)
        self.forget("alice", monitor)

    def test_an_answer_is_not_larger_than_it_may_be(self):
        before = self.files()
        monitor = self.started("alice", escaped("Students?$expand=School($expand=Students($top=8))"))
        answer = self.expect(self.finished("alice", monitor), 200)
        self.assertEqual(answer.headers["asyncresult"], "400")
        self.assertEqual(answer.json()["error"]["code"], "request.limitExceeded")
        self.assertEqual([file for file in self.files() if file not in before], [])
        self.forget("alice", monitor)

    def test_a_callers_own_oldest_results_are_evicted_first(self):
        first = self.started("bob", self.LARGE)
        self.expect(self.finished("bob", first), 200)
        monitors = []
        for _ in range(5):
            monitors.append(self.started("alice", self.LARGE))
            self.expect(self.finished("alice", monitors[-1]), 200)
        self.assertLess(sum(file.stat().st_size for file in self.files()), 2_500_000)
        self.expect(self.gateway.request("GET", monitors[0], token=self.tokens["alice"]), 404)
        self.expect(self.gateway.request("GET", monitors[-1], token=self.tokens["alice"]), 200)
        self.expect(self.gateway.request("GET", first, token=self.tokens["bob"]), 200)


class InTime(Fetching):
    """They are made and kept for a time."""

    settings = (
        *SEARCHES,
        "--set", "adapters.odata.limits.asyncSeconds=3",
        "--set", "adapters.odata.limits.asyncKeptSeconds=4",
    )

    def test_work_ends_in_time(self):
        monitor = self.started("alice", ENDLESS)
        answer = self.expect(self.finished("alice", monitor), 200)
        self.assertEqual(answer.headers["asyncresult"], "504")
        self.forget("alice", monitor)

    def test_unfetched_results_expire(self):
        monitor = self.started("carol", self.LARGE)
        self.expect(self.finished("carol", monitor), 200)
        self.assertNotEqual(self.files(), [])
        end = time.monotonic() + START_SECONDS
        while self.files():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)
        self.expect(self.gateway.request("GET", monitor, token=self.tokens["carol"]), 404)


class Stopped(GatewayTest):
    settings = SEARCHES

    def test_a_start_removes_what_another_process_left(self):
        scratch = self.gateway.data / "scratch"
        self.gateway.stop()
        (scratch / "left").write_text("secret")
        again = type(self.gateway)(*self.settings, data=self.gateway.data)
        self.addCleanup(again.remove)
        self.assertEqual(list(scratch.iterdir()), [])
        token = again.login("alice").json()["accessToken"]
        answer = again.request("GET", V4 + escaped("Students?$top=1400"), headers={"Prefer": "respond-async"}, token=token)
        self.expect(answer, 202)
        again.request("GET", V4 + ENDLESS, headers={"Prefer": "respond-async"}, token=token)
        # It waits for nothing that is answered later.
        began = time.monotonic()
        self.assertEqual(again.stop(), 0)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(list(pathlib.Path(scratch).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
