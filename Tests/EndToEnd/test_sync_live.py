"""Live sync: server-sent events, resuming, long polls, limits, and how streams end."""

import base64
import json
import plistlib
import threading
import time
import unittest
import uuid

from sync_device import Device
from server_sent_events import Stream
from harness import Gateway, GatewayTest

QUICK = True


class Live(GatewayTest):
    settings = ("--set", "limits.streamsPerPrincipal=3", "--set", "sync.live.heartbeat=1s")

    def setUp(self):
        self.alice = Device(self.gateway, "alice", collections=["notes"])
        self.alice.pull()
        self.streams = []

    def tearDown(self):
        for stream in self.streams:
            stream.close()

    def open(self, *parts, **named):
        stream = Stream(self.gateway, *parts, **named)
        self.streams.append(stream)
        return stream

    def follow(self, **named):
        return self.open("alice", query=f"?checkpoint={self.alice.checkpoint}", **named)

    def note(self, **fields):
        identifier = str(uuid.uuid4())
        self.assertEqual(self.alice.change("create", identifier, {"title": "t", **fields})["outcome"], "applied")
        return identifier

    def test_a_change_comes_and_the_stream_goes_on_where_it_was_cut(self):
        stream = self.follow()
        self.assertEqual(stream.status, 200)
        self.assertEqual(stream.response.getheader("Content-Type"), "text/event-stream")
        self.assertEqual(stream.page()[1]["operations"], [])
        first = self.note()
        last, page = stream.page()
        self.assertEqual([o["id"] for o in page["operations"]], [first])
        self.assertEqual(page["complete"]["checkpoint"], last)
        stream.close()
        missed = self.note()
        again = self.open("alice", last=last, query="?checkpoint=overruled")
        self.assertEqual([o["id"] for o in again.page()[1]["operations"]], [missed])

    def test_an_invisible_change_wakes_no_stream(self):
        bob = self.open("bob", query="?collections=notes")
        while "complete" not in bob.page()[1]:
            pass
        self.note(title="private")
        shared = self.note(sharedWith=["bob"])
        self.assertEqual([o["id"] for o in bob.page()[1]["operations"]], [shared])

    def ids(self, stream, count):
        """Of the next operations, in the order in which they came."""
        found = []
        while len(found) < count:
            found += [operation["id"] for operation in stream.page()[1]["operations"]]
        return found

    def test_changes_come_to_every_stream_in_their_order_and_once(self):
        streams = [self.follow(), self.follow(), self.open("alice", query=f"?checkpoint={self.alice.checkpoint}&limit=1")]
        for stream in streams:
            stream.page()
        notes = [self.note() for _ in range(40)]
        for stream in streams:
            self.assertEqual(self.ids(stream, len(notes)), notes)

    def test_streams_of_one_checkpoint_get_the_same_events_each_within_its_access(self):
        first, second = self.follow(), self.follow()
        other = self.open("alice", query=f"?checkpoint={self.alice.checkpoint}&format=plist")
        bob = self.open("bob", query="?collections=notes")
        for stream in (first, second, other):
            stream.event()
        while "complete" not in bob.page()[1]:
            pass
        for shared in ([], ["bob"], []):
            note = self.note(sharedWith=shared)
            event = first.event()
            self.assertEqual(second.event(), event)
            self.assertEqual(plistlib.loads(other.event()["data"].encode())["complete"]["checkpoint"], event["id"])
            if shared:
                identifier, page = bob.page()
                self.assertEqual([operation["id"] for operation in page["operations"]], [note])
                self.assertNotEqual(identifier, event["id"])

    def test_what_is_not_shared_any_more_is_taken_back(self):
        bob = self.open("bob", query="?collections=notes")
        while "complete" not in bob.page()[1]:
            pass
        note = self.note(sharedWith=["bob"])
        self.assertEqual([o["operation"] for o in bob.page()[1]["operations"]], ["put"])
        self.alice.pull()
        change = self.alice.change("update", note, {"sharedWith": []}, base=self.alice.rev(note))
        self.assertEqual(change["outcome"], "applied")
        self.assertEqual([(o["operation"], o["id"]) for o in bob.page()[1]["operations"]], [("remove", note)])
        self.alice.pull()
        self.alice.change("update", note, {"title": "private now"}, base=self.alice.rev(note))
        again = self.note(sharedWith=["bob"])
        self.assertEqual([o["id"] for o in bob.page()[1]["operations"]], [again])

    def test_a_paused_reader_gets_all_changes_when_it_reads_again(self):
        slow, quick = self.follow(), self.follow()
        quick.page()
        notes = [self.note(text="x" * 100_000) for _ in range(40)]
        self.assertEqual(self.ids(quick, len(notes)), notes)
        pages, found = 0, []
        while len(found) < len(notes):
            found += [operation["id"] for operation in slow.page()[1]["operations"]]
            pages += 1
        self.assertEqual(found, notes)
        self.assertLess(pages, len(notes), "it was written to while it did not read")

    def test_the_log_has_a_streams_bytes_when_it_has_ended(self):
        stream = self.follow()
        stream.page()
        for _ in range(3):
            note = self.note(text="x" * 5_000)
            self.assertEqual(self.ids(stream, 1), [note])
        stream.close()
        name, end = stream.response.headers["x-request-id"] + '"', time.monotonic() + 30
        while not (lines := [line for line in self.gateway.log().splitlines() if name in line]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertGreater(int(json.loads(lines[0])["bytes"]), 15_000)

    def test_data_comes_in_other_formats(self):
        for name, read in (("plist", lambda text: plistlib.loads(text.encode())),
                           ("bplist", lambda text: plistlib.loads(base64.b64decode(text)))):
            stream = self.open("alice", query=f"?collections=notes&format={name}&limit=1000")
            self.assertIn("complete", read(stream.event()["data"]))

    def test_an_invalid_checkpoint_is_refused_before_the_stream_begins(self):
        self.expect(self.gateway.get("/sync/v1/live?checkpoint=x", user="alice"), 410, "sync.fetchAgain")

    def test_streams_of_an_account_are_limited_and_released(self):
        streams = [self.open("carol", query="?collections=notes") for _ in range(3)]
        self.expect(self.gateway.get("/sync/v1/live?collections=notes", user="carol"), 429, "access.rateLimited")
        self.assertEqual(self.open("bob", query="?collections=notes").status, 200)
        streams[0].close()
        for _ in range(60):
            stream = self.open("carol", query="?collections=notes")
            if stream.status == 200:
                break
            stream.close()
            threading.Event().wait(0.5)
        self.assertEqual(stream.status, 200)

    def test_a_stream_is_released_when_its_connection_closes(self):
        gateway = Gateway("--set", "limits.streamsPerPrincipal=1", "--set", "sync.live.heartbeat=1h")
        try:
            for _ in range(5):
                end = time.monotonic() + 30
                while (stream := Stream(gateway, "alice", query="?collections=notes")).status != 200:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.05)
                stream.event()
                stream.close()
        finally:
            gateway.remove()

    def test_a_long_poll_answers_with_the_change(self):
        path = f"/sync/v1/live?wait=20&checkpoint={self.alice.checkpoint}"
        answers = []
        poll = threading.Thread(target=lambda: answers.append(self.gateway.get(path, user="alice")))
        poll.start()
        note = self.note()
        poll.join()
        self.assertEqual([o["id"] for o in self.expect(answers[0], 200).json()["operations"]], [note])
        self.alice.pull()
        empty = self.gateway.get(f"/sync/v1/live?wait=0&checkpoint={self.alice.checkpoint}", user="alice")
        self.assertEqual(self.expect(empty, 200).json()["operations"], [])

    def test_a_longer_wait_than_the_longest_is_the_longest(self):
        gateway = Gateway("--set", "sync.live.longestPoll=100ms", "--set", "sync.live.heartbeat=1h")
        self.addCleanup(gateway.remove)
        device = Device(gateway, "alice", collections=["notes"])
        device.pull()
        empty = gateway.get(f"/sync/v1/live?wait=1000000000000&checkpoint={device.checkpoint}", user="alice")
        self.assertEqual(self.expect(empty, 200).json()["operations"], [])

    def test_signing_out_ends_the_stream(self):
        token = self.gateway.login("admin").json()["accessToken"]
        stream = self.open(token=token, query="?collections=notes")
        stream.event()
        self.gateway.send("POST", "/auth/logout", {}, token=token)
        late = self.note(sharedWith=["admin"])
        while (event := stream.event()) is not None:
            self.assertNotIn(late, event["data"])

    def test_silence_is_broken_by_a_comment(self):
        stream = self.follow()
        stream.event()
        while not stream.response.readline().startswith(b":"):
            pass

    def test_head_opens_no_stream(self):
        self.assertEqual(self.gateway.request("HEAD", "/sync/v1/live?collections=notes", user="alice").status, 200)


class Stopping(unittest.TestCase):
    def test_a_stop_tells_streams_to_come_back_and_waits_for_none(self):
        gateway = Gateway()
        try:
            stream = Stream(gateway, "alice", query="?collections=notes")
            stream.event()
            status = []
            stop = threading.Thread(target=lambda: status.append(gateway.stop()))
            stop.start()
            event = stream.event()
            while event and event.get("event") != "reconnect":
                event = stream.event()
            self.assertEqual(event["event"], "reconnect")
            self.assertIsNone(stream.event())
            stop.join()
            self.assertEqual(status, [0])
        finally:
            gateway.remove()


if __name__ == "__main__":
    unittest.main()
