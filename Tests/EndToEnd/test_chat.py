"""The Twaddle contract (live streams apart) and the chat's resources, from outside."""

import json
import threading
import unittest
import urllib.parse
import uuid

from harness import BPLIST, JSON, PLIST, XML, Gateway, GatewayTest

QUICK = True

FORM = "application/x-www-form-urlencoded"
COMPLAINT = "Problems parsing request-string as JSON"


class TwaddleTest(GatewayTest):
    def post(self, body, user="alice", content_type=FORM, status=200, code=None):
        body = body if isinstance(body, bytes) else body.encode()
        headers = {"Content-Type": content_type} if content_type else {}
        return self.expect(self.gateway.request("POST", "/chat", body, headers, user=user), status, code)

    def twaddle(self, function, user="alice", status=200, code=None, **members):
        request = json.dumps({"function": function, **members})
        return self.post("post=" + urllib.parse.quote_plus(request), user, status=status, code=code).json()

    def room(self, *members, user="alice", **fields):
        return self.twaddle("createchatroom", user, name=f"Room {uuid.uuid4()}", members=members, **fields)["room"]["id"]

    def texts(self, room, user="alice", **page):
        return [m["text"] for m in self.twaddle("getmessages", user, room=room, **page)["messages"]]


class Contract(TwaddleTest):
    def test_1_the_others_are_listed_and_the_request_comes_back(self):
        answer = self.post('post={"function":"getusers","user":"Alice"}').json()
        names = [user["id"] for user in answer["users"]]
        self.assertNotIn("alice", names)
        self.assertLessEqual({"bob", "carol"}, set(names))
        self.assertEqual(answer["request"], {"function": "getusers", "user": "Alice"})

    def test_2_sql_in_a_name_or_a_text_is_plain_text(self):
        sql = "x' OR '1'='1"
        self.post('post={"function":"getusers","user":"%s"}' % sql, status=403, code="access.denied")
        self.twaddle("getmessages", room=sql, status=404, code="record.notFound")
        room = self.twaddle("createchatroom", name=sql)["room"]
        self.assertEqual(room["name"], sql)
        self.twaddle("postmessage", room=room["id"], text=sql)
        self.assertEqual(self.texts(room["id"]), [sql])

    def test_3_invalid_json_is_reported_in_the_contracts_words(self):
        for body, content_type in [
            ("post=not-json", FORM), ("post={", FORM), ("post={} trailing", FORM), ("post=", FORM), ("{", JSON),
            ("post=not-json", None),
        ]:
            error = self.post(body, content_type=content_type, status=400).json()["error"]
            self.assertEqual(error["message"], COMPLAINT, body)
            self.assertTrue(error["requestId"])

    def test_4_text_comes_back_as_it_was_sent_encoded_or_not(self):
        text = "a&b+c%20d"
        room = self.room()
        request = json.dumps({"function": "postmessage", "room": room, "text": text})
        self.post("post=" + request)
        self.post("post=" + urllib.parse.quote_plus(request))
        self.post("post=" + urllib.parse.quote(request))
        self.post(request, content_type=JSON)
        self.post(f"function=postmessage&room={room}&text={urllib.parse.quote_plus(text)}")
        self.assertEqual(self.texts(room), [text] * 5)

    def test_5_a_caller_cannot_post_as_others_or_enter_their_rooms(self):
        self.twaddle("getusers", user="bob", status=200)
        self.post('post={"function":"getusers","user":"alice"}', user="bob", status=403, code="access.denied")
        room = self.room()
        message = self.twaddle("postmessage", room=room, text="secret")["message"]["id"]
        for function, members in [
            ("getmessages", {}), ("getmembers", {}), ("postmessage", {"text": "x"}), ("joinchatroom", {}),
            ("leavechatroom", {}), ("invite", {"member": "bob"}), ("removemember", {"member": "alice"}),
            ("banmember", {"member": "alice"}), ("markread", {"message": message}),
        ]:
            own = self.twaddle(function, "bob", room=room, status=404, code="record.notFound", **members)
            none = self.twaddle(function, "bob", room="none", status=404, code="record.notFound", **members)
            for answer in (own, none):
                answer["error"].pop("requestId")
            self.assertEqual(own, none, function)
        for function in ("editmessage", "deletemessage"):
            self.twaddle(function, "bob", message=message, text="x", status=404, code="record.notFound")
        self.assertEqual(self.twaddle("searchmessages", "bob", words="secret")["messages"], [])
        self.assertEqual(self.texts(room), ["secret"])

    def test_6_browsers_of_allowed_origins_may_call(self):
        gateway = Gateway("--set", "http.cors.origins=[https://app.example]")
        try:
            for origin, allowed in [("https://app.example", "https://app.example"), ("https://evil.example", None)]:
                headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
                answer = gateway.request("OPTIONS", "/chat", headers=headers)
                self.assertEqual(answer.headers.get("access-control-allow-origin"), allowed)
        finally:
            gateway.remove()

    def test_a_login_is_required(self):
        self.post('post={"function":"getusers"}', user=None, status=401, code="auth.required")

    def test_a_function_that_is_not_there_and_members_that_make_no_sense(self):
        self.twaddle("getuser", status=400, code="request.invalid")
        self.post('post={"user":"alice"}', status=400, code="request.invalid")
        room = self.room()
        for members in [{"limit": 0}, {"limit": "ten"}, {"before": [1]}]:
            self.twaddle("getmessages", room=room, status=400, code="request.invalid", **members)
        self.twaddle("postmessage", room=room, status=400, code="request.invalid")
        self.twaddle("postmessage", room=room, text="", status=400, code="request.invalid")

    def test_the_echo_can_be_switched_off(self):
        gateway = Gateway("--set", "adapters.chat.echo=false")
        try:
            answer = gateway.request("POST", "/chat", b'post={"function":"getusers"}', {"Content-Type": FORM}, user="alice")
            self.assertEqual(list(self.expect(answer, 200).json()), ["users"])
        finally:
            gateway.remove()


class Rooms(TwaddleTest):
    def test_a_conversation(self):
        room = self.room("bob")
        self.assertIn(room, [r["id"] for r in self.twaddle("getchatrooms", "bob")["rooms"]])
        hello = self.twaddle("postmessage", room=room, text="hello")["message"]
        reply = self.twaddle("postmessage", "bob", room=room, text="hi")["message"]
        self.assertLess(hello["seq"], reply["seq"])
        self.assertEqual(self.texts(room, "bob"), ["hello", "hi"])
        self.assertEqual(self.texts(room, limit=1), ["hi"])
        self.assertEqual(self.texts(room, before=reply["seq"]), ["hello"])
        unread = {r["room"]: r["unread"] for r in self.twaddle("getunread")["rooms"]}
        self.assertEqual(unread[room], 1)
        self.twaddle("markread", room=room, message=reply["id"])
        unread = {r["room"]: r["unread"] for r in self.twaddle("getunread")["rooms"]}
        self.assertEqual(unread[room], 0)

    def test_who_is_sent_away_is_out_at_once(self):
        room = self.room("bob")
        self.twaddle("postmessage", room=room, text="before")
        self.assertEqual(self.texts(room, "bob"), ["before"])
        self.twaddle("removemember", "bob", room=room, member="alice", status=403, code="access.denied")
        self.twaddle("removemember", room=room, member="bob")
        self.twaddle("getmessages", "bob", room=room, status=404, code="record.notFound")
        self.twaddle("postmessage", "bob", room=room, text="x", status=404, code="record.notFound")

    def test_concurrent_posts_have_one_order_for_all(self):
        room = self.room("bob", "carol")
        def speak(user):
            for n in range(10):
                self.twaddle("postmessage", user, room=room, text=f"{user} {n}")
        speakers = [threading.Thread(target=speak, args=(user,)) for user in ("alice", "bob", "carol")]
        for speaker in speakers:
            speaker.start()
        for speaker in speakers:
            speaker.join()
        seen = {user: self.texts(room, user, limit=100) for user in ("alice", "bob", "carol")}
        self.assertEqual(len(seen["alice"]), 30)
        self.assertEqual(seen["alice"], seen["bob"])
        self.assertEqual(seen["alice"], seen["carol"])
        for user in seen:
            self.assertEqual([t for t in seen["alice"] if t.startswith(user)], [f"{user} {n}" for n in range(10)])

    def test_concurrent_invitations_all_succeed(self):
        room = self.room("bob")
        invited = [threading.Thread(target=self.twaddle, args=("invite", host), kwargs=dict(room=room, member=guest))
                   for host, guest in (("alice", "carol"), ("bob", "admin"))]
        for thread in invited:
            thread.start()
        for thread in invited:
            thread.join()
        self.assertEqual(set(self.twaddle("getmembers", room=room)["members"]), {"alice", "bob", "carol", "admin"})


class Resources(TwaddleTest):
    def test_the_same_chat_in_every_format(self):
        room = self.expect(
            self.gateway.send("POST", "/chat/v1/rooms", {"name": "r", "members": ["bob"]}, user="alice"), 200
        ).json()["room"]["id"]
        path = f"/chat/v1/rooms/{room}/messages"
        message = str(uuid.uuid4())
        for _ in range(2):
            posted = self.gateway.send("POST", path, {"text": "a & b", "id": message}, user="bob")
            self.assertEqual(self.expect(posted, 200).json()["message"]["id"], message)
        plain = self.expect(self.gateway.get(path, user="alice"), 200).json()
        self.assertEqual([m["text"] for m in plain["messages"]], ["a & b"])
        for accept in (PLIST, BPLIST):
            answer = self.expect(self.gateway.request("GET", path, headers={"Accept": accept}, user="alice"), 200)
            self.assertEqual([m["text"] for m in answer.plist()["messages"]], ["a & b"])
        answer = self.expect(self.gateway.request("GET", path, headers={"Accept": XML}, user="alice"), 200)
        self.assertIn("a &amp; b", answer.text())

    def test_the_entities_keep_to_the_rooms_members(self):
        room = self.room("bob")
        message = self.twaddle("postmessage", room=room, text="inside")["message"]["id"]
        for path in (f"/api/v1/chat/rooms/{room}", f"/api/v1/chat/messages/{message}"):
            self.expect(self.gateway.get(path, user="bob"), 200)
            self.expect(self.gateway.get(path, user="carol"), 404, "record.notFound")
        listed = self.expect(self.gateway.get("/api/v1/chat/messages?limit=1000", user="carol"), 200).json()
        self.assertNotIn(message, json.dumps(listed))
        forged = {"room": room, "text": "forged"}
        self.expect(self.gateway.send("POST", "/api/v1/chat/messages", forged, user="carol"), 403, "access.denied")
        for hidden in ("readMarks", "devices"):
            self.expect(self.gateway.get(f"/api/v1/chat/{hidden}", user="alice"), 404)


if __name__ == "__main__":
    unittest.main()
