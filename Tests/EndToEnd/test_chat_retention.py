"""How long rooms keep their messages."""

import time
import unittest

from test_chat import TwaddleTest as Twaddler


class Retention(Twaddler):
    settings = ("--set", "adapters.chat.retention.interval=1")

    def test_old_messages_go_where_the_owner_says_so(self):
        short, kept = self.room("bob"), self.room("bob")
        for room in (short, kept):
            self.twaddle("postmessage", "bob", room=room, text="old")
        self.twaddle("setretention", "bob", room=short, seconds=1, status=403, code="access.denied")
        self.twaddle("setretention", "carol", room=short, seconds=1, status=404, code="record.notFound")
        self.twaddle("setretention", room=short, seconds=1)
        end = time.monotonic() + 60
        while self.texts(short):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertEqual(self.texts(kept), ["old"])
        self.assertEqual(self.twaddle("searchmessages", words="old", room=short)["messages"], [])
        self.twaddle("setretention", room=short, seconds=0)
        self.twaddle("postmessage", room=short, text="new")
        time.sleep(3)
        self.assertEqual(self.texts(short), ["new"])


if __name__ == "__main__":
    unittest.main()
