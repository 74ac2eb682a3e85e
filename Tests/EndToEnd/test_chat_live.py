"""`GET /chat/v1/live`: the events of the caller's rooms, as server-sent events."""

import json
import threading
import time
import unittest
import uuid

from server_sent_events import Stream
from harness import Gateway
from test_chat import TwaddleTest as Twaddler

EVENTS = ("message", "edit", "removal", "membership", "room", "read")


class ChatLive(Twaddler):
    settings = ("--set", "sync.live.heartbeat=1s", "--set", "live.presenceGrace=1s")

    def setUp(self):
        self.streams = []

    def tearDown(self):
        for stream in self.streams:
            stream.close()

    def follow(self, user="alice", ready=True, **named):
        stream = Stream(self.gateway, user, path="/chat/v1/live", **named)
        self.streams.append(stream)
        self.assertEqual(stream.status, 200)
        if ready:
            self.assertEqual(stream.next("ready", "reset"), ("ready", {}))
        return stream

    def say(self, room, text, user="alice"):
        return self.twaddle("postmessage", user, room=room, text=text)["message"]

    def wait_for_listeners(self, room, names):
        """Streams of other tests end a little later than their connections."""
        end = time.monotonic() + 30
        while self.twaddle("getpresence", room=room)["online"] != names:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)

    def test_messages_edits_and_removals_come_to_every_member(self):
        room = self.room("bob")
        alice, bob = self.follow(), self.follow("bob")
        message = self.say(room, "hello")
        for stream in (alice, bob):
            name, received = stream.next(*EVENTS)
            self.assertEqual(name, "message")
            self.assertEqual({k: received[k] for k in message}, message)
        self.twaddle("editmessage", message=message["id"], text="hullo")
        self.twaddle("deletemessage", message=message["id"])
        for stream in (alice, bob):
            name, received = stream.next(*EVENTS)
            self.assertEqual((name, received["id"], received["seq"], received["text"]), ("edit", message["id"], message["seq"], "hullo"))
            self.assertEqual(stream.next(*EVENTS), ("removal", {"id": message["id"], "room": room}))

    def test_the_log_has_a_streams_bytes_when_it_has_ended(self):
        room = self.room("bob")
        stream = self.follow()
        for number in range(3):
            self.say(room, f"{number}" * 500)
            self.assertEqual(stream.next(*EVENTS)[0], "message")
        stream.close()
        end = time.monotonic() + 30
        while not (lines := [line for line in self.gateway.log().splitlines() if stream.response.headers["x-request-id"] + '"' in line]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertGreater(int(json.loads(lines[0])["bytes"]), 1_500)

    def test_a_non_member_gets_no_events_and_a_new_member_gets_them_at_once(self):
        room = self.room()
        carol = self.follow("carol")
        secret = self.say(room, "secret")
        self.twaddle("invite", room=room, member="carol")
        name, received = carol.next()
        self.assertEqual((name, received["id"], received["joined"], received["left"]), ("membership", room, ["carol"], []))
        self.say(room, "welcome")
        name, received = carol.next(*EVENTS)
        self.assertEqual((name, received["text"]), ("message", "welcome"))
        self.assertNotEqual(received["id"], secret["id"])

    def test_who_is_sent_away_is_cut_off_at_once(self):
        room, other = self.room("bob"), self.room("bob")
        bob = self.follow("bob")
        self.say(room, "before")
        self.twaddle("removemember", room=room, member="bob")
        self.say(room, "after")
        self.say(other, "elsewhere")
        received = [bob.next(*EVENTS) for _ in range(3)]
        self.assertEqual([name for name, _ in received], ["message", "membership", "message"])
        self.assertEqual(received[1][1], {"id": room, "joined": [], "left": ["bob"]})
        self.assertEqual(received[2][1]["text"], "elsewhere")

    def test_a_cut_stream_goes_on_without_gap_or_repetition(self):
        room = self.room("bob")
        first = self.follow()
        self.say(room, "one")
        first.next("message")
        first.close()
        missed = [self.say(room, f"missed {n}")["id"] for n in range(20)]
        self.twaddle("markread", "bob", room=room, message=missed[-1])
        again = self.follow(last=first.last, ready=False)
        received = [again.next() for _ in range(22)]
        self.assertEqual([data.get("id") for name, data in received if name == "message"], missed)
        self.assertEqual(received[20][0], "read")
        self.assertEqual(received[21], ("ready", {}))
        later = self.say(room, "later")
        self.assertEqual(again.next(*EVENTS)[1]["id"], later["id"])

    def test_silence_moves_the_place_to_go_on_from(self):
        alice = self.follow()
        before = alice.last
        for _ in range(3):
            self.say(self.room(user="bob"), "not for alice", "bob")
        end = time.monotonic() + 30
        while alice.last == before and time.monotonic() < end:
            line = alice.response.readline().decode()
            if line.startswith("id: "):
                alice.last = line[4:].strip()
        self.assertNotEqual(alice.last, before)

    def test_an_id_of_nowhere_or_too_far_back_says_to_begin_again(self):
        for last in ("nonsense", "other.5", "x.-1"):
            stream = self.follow(last=last, ready=False)
            self.assertEqual(stream.next(), ("reset", {}))
        room = self.room()
        self.say(room, "x")
        self.assertEqual(stream.next(*EVENTS)[1]["id"], room)
        gateway = Gateway("--set", "live.limits.replay=100")
        try:
            stream = Stream(gateway, "alice", path="/chat/v1/live")
            stream.next("ready")
            stream.close()
            for n in range(101):
                gateway.send("POST", "/chat/v1/rooms", {"name": f"r{n}"}, user="bob")
            again = Stream(gateway, "alice", path="/chat/v1/live", last=stream.last)
            self.assertEqual(again.next(), ("reset", {}))
            again.close()
        finally:
            gateway.remove()

    def test_read_marks_typing_and_presence_reach_the_others(self):
        room = self.room("bob")
        alice = self.follow()
        self.wait_for_listeners(room, ["alice"])
        time.sleep(2)  # The grace of an earlier test's stream.
        bob = self.follow("bob")
        while alice.next("presence") != ("presence", {"user": "bob", "online": True}):
            pass  # Of an earlier test's stream.
        self.assertEqual(self.twaddle("getpresence", room=room)["online"], ["alice", "bob"])
        self.twaddle("typing", "bob", room=room)
        self.assertEqual(alice.next("typing"), ("typing", {"room": room, "user": "bob"}))
        message = self.say(room, "x")
        self.twaddle("markread", "bob", room=room, message=message["id"])
        self.assertEqual(alice.next("read"), ("read", {"room": room, "user": "bob", "seq": message["seq"]}))
        self.assertEqual(bob.next("typing", "message")[0], "message")
        bob.close()
        self.assertEqual(alice.next("presence"), ("presence", {"user": "bob", "online": False}))
        self.assertEqual(self.twaddle("getpresence", room=room)["online"], ["alice"])

    def test_signals_of_other_rooms_stay_there(self):
        room, mine = self.room("bob"), self.room("carol")
        carol = self.follow("carol")
        self.twaddle("typing", "carol", room=room, status=404, code="record.notFound")
        self.twaddle("getpresence", "carol", room=room, status=404, code="record.notFound")
        self.twaddle("typing", room=room)
        self.twaddle("typing", room=mine)
        self.assertEqual(carol.next("typing"), ("typing", {"room": mine, "user": "alice"}))

    def test_streams_that_come_and_go_miss_nothing_while_many_post(self):
        room = self.room("bob", "carol")
        watcher = self.follow("bob")
        posted, heard = {}, {"alice": [], "bob": [], "carol": []}
        def speak(user):
            for n in range(40):
                message = self.say(room, f"{user} {n}", user)
                posted[message["id"]] = message["seq"]
        ready, streams = {user: threading.Event() for user in ("alice", "carol")}, {}
        def hear(user):
            stream = streams[user] = self.follow(user)
            ready[user].set()
            while len(heard[user]) < 120:
                name, received = stream.next("message")
                heard[user].append(received["id"])
                if len(heard[user]) % 7 == 0:
                    stream.close()
                    stream = self.follow(user, last=stream.last, ready=False)
        listeners = [threading.Thread(target=hear, args=(user,)) for user in ("alice", "carol")]
        for listener in listeners:
            listener.start()
        for stream in (watcher, *[event.wait(60) and streams[user] for user, event in ready.items()]):
            self.assertTrue(stream)  # All listen before the first word.
        speakers = [threading.Thread(target=speak, args=(user,)) for user in heard]
        for thread in speakers:
            thread.start()
        for thread in speakers:
            thread.join()
        for thread in listeners:
            thread.join(60)
        while len(heard["bob"]) < 120:
            heard["bob"].append(watcher.next("message")[1]["id"])
        order = sorted(posted, key=posted.get)
        for user in heard:
            self.assertEqual(heard[user], order, user)

    def test_who_reads_slowly_costs_no_memory_and_still_gets_everything(self):
        room = self.room("bob")
        slow = self.follow("bob")
        calls = [{"id": str(n), "method": "POST", "path": f"/chat/v1/rooms/{room}/messages", "body": {"text": "x" * 16_000}}
                 for n in range(100)]
        def say_much(times):
            messages = []
            for _ in range(times):
                answers = self.gateway.send("POST", "/batch", {"calls": calls}, user="alice").json()["answers"]
                messages += [answer["body"]["message"] for answer in answers]
            return [message["id"] for message in sorted(messages, key=lambda message: message["seq"])]
        ids = say_much(6)  # What the process needs for such messages at all: the store's caches fill up.
        before = self.gateway.resident()
        ids += say_much(20)
        # Had they waited: 32 MB.
        self.assertLess(self.gateway.resident() - before, 19 << 20, "what was not read waits somewhere")
        self.assertEqual([slow.next("message")[1]["id"] for _ in ids], ids)

    def test_without_a_login_there_is_no_stream(self):
        self.expect(self.gateway.get("/chat/v1/live"), 401, "auth.required")

    def test_signing_out_ends_the_stream(self):
        token = self.gateway.login("admin").json()["accessToken"]
        stream = Stream(self.gateway, token=token, path="/chat/v1/live")
        self.streams.append(stream)
        stream.next("ready")
        self.gateway.send("POST", "/auth/logout", {}, token=token)
        self.assertIsNone(stream.next())

    def test_a_batch_carries_no_stream(self):
        batch = {"calls": [{"id": "1", "method": "GET", "path": "/chat/v1/live"}]}
        answer = self.expect(self.gateway.send("POST", "/batch", batch, user="alice"), 200).json()
        self.assertEqual(answer["answers"][0]["status"], 400)


class Restarted(unittest.TestCase):
    def test_a_restart_loses_no_event(self):
        gateway = Gateway()
        try:
            room = gateway.send("POST", "/chat/v1/rooms", {"name": "r"}, user="alice").json()["room"]["id"]
            stream = Stream(gateway, "alice", path="/chat/v1/live")
            stream.next("ready")
            self.assertEqual(gateway.stop(), 0)
            self.assertEqual(stream.event()["event"], "reconnect")
            again = Gateway(data=gateway.data)
            try:
                sent = again.send("POST", f"/chat/v1/rooms/{room}/messages", {"text": "after"}, user="alice").json()
                resumed = Stream(again, "alice", path="/chat/v1/live", last=stream.last)
                self.assertEqual(resumed.next()[1]["id"], sent["message"]["id"])
                resumed.close()
            finally:
                again.kill()
        finally:
            gateway.remove()


if __name__ == "__main__":
    unittest.main()
