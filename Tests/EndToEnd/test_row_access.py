"""Records of others: an id that the caller may not see is answered like one that nobody has, a deleted record's id gives
nothing of it to anybody, and what an operation limits is limited however a record is written."""

import hashlib
import itertools
import os
import re
import unittest
import uuid

from sync_device import Device
from harness import GatewayTest

NOTES, ROOMS, MESSAGES = (f"/api/v1/{name}" for name in ("notes/notes", "chat/rooms", "chat/messages"))
PRECONDITIONS = (
    {}, {"If-Match": "*"}, {"If-Match": '"1"'}, {"If-Match": 'W/"1"'}, {"If-Match": '"1", "2"'}, {"If-None-Match": "*"},
    {"If-None-Match": '"1"'}, {"If-Modified-Since": "Thu, 01 Jan 2015 00:00:00 GMT"},
    {"If-Unmodified-Since": "Thu, 01 Jan 2015 00:00:00 GMT"}, {"If-Match": "*", "If-None-Match": "*"})


class Private(GatewayTest):
    def make(self, method, path, value, user="alice", status=None):
        answer = self.gateway.send(method, path, value, user=user)
        self.assertIn(answer.status, (status,) if status else (200, 201), answer)
        return answer.json()

    @staticmethod
    def received(answer, *ids):
        """Without what names the request: its id, its time and the record that it asks for."""
        text = re.sub(r'"requestId":"[^"]*"', "", answer.body.decode())
        for id in ids:
            text = text.replace(id, "ID")
        return answer.status, text, {
            name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id", "server-timing")}


class InvisibleRecords(Private):
    def setUp(self):
        note, room, message = (str(uuid.uuid4()) for _ in range(3))
        self.make("POST", NOTES, {"id": note, "title": "t"})
        self.make("POST", "/chat/v1/rooms", {"id": room, "name": "r"})
        self.make("POST", f"/chat/v1/rooms/{room}/messages", {"id": message, "text": "t"})
        self.own = str(uuid.uuid4())
        self.make("POST", "/chat/v1/rooms", {"id": self.own, "name": "r"}, user="carol")
        self.resources = (
            (NOTES, "notes", note, {"title": "x"}), (ROOMS, "rooms", room, {"name": "x", "members": ["carol"]}),
            (MESSAGES, "messages", message, {"room": self.own, "text": "x"}))

    def pairs(self, invisible):
        yield invisible, str(uuid.uuid4())

    def test_every_method_with_every_precondition_answers_an_invisible_id_as_an_absent_one(self):
        bodies = lambda fields: (fields, {"unknown": 1}, [], {})
        for (path, _, id, fields), condition in itertools.product(self.resources, PRECONDITIONS):
            calls = [("GET", None), ("HEAD", None), ("DELETE", None), *(("PATCH", body) for body in bodies(fields))]
            # Creating a record under an id that is taken is refused, which is the one difference.
            calls += [("PUT", body) for body in bodies(fields) if body != fields or set(condition) == {"If-Match"}]
            for method, body in calls:
                absent = str(uuid.uuid4())
                with self.subTest(f"{method} {path} {condition} {body}"):
                    answers = [
                        self.gateway.request(method, f"{path}/{name}", headers=condition, user="carol") if body is None
                        else self.gateway.send(method, f"{path}/{name}", body, headers=condition, user="carol")
                        for name in (id, absent)]
                    self.assertEqual(self.received(answers[0], id, absent), self.received(answers[1], id, absent))
                    self.assertGreaterEqual(answers[0].status, 400)

    def test_a_taken_id_is_a_bare_conflict_for_any_owner(self):
        for path, _, id, fields in self.resources:
            own = str(uuid.uuid4())
            self.make("POST", path, {"id": own, **fields}, user="carol")
            for method, place in (("POST", lambda name: path), ("PUT", lambda name: f"{path}/{name}")):
                answer = self.gateway.send(method, place(id), {"id": id, **fields}, user="carol")
                self.assertEqual(self.expect(answer, 409, "record.exists").json()["error"].keys(),
                                 {"code", "message", "requestId", "target"}, path)
            answers = [self.gateway.send("POST", path, {"id": name, **fields}, user="carol") for name in (id, own)]
            self.assertEqual(self.received(answers[0], id, own), self.received(answers[1], id, own))

    def test_a_push_learns_nothing_of_it(self):
        for _, collection, id, fields in self.resources:
            for operation, base in itertools.product(("update", "delete"), (None, 1, 10**6)):
                outcomes = []
                for name in (id, str(uuid.uuid4())):
                    sent = None if operation == "delete" else {key: value for key, value in fields.items() if key != "room"}
                    device = Device(self.gateway, "carol")
                    mutation = device.mutation(operation, name, sent, base, collection)
                    outcome = device.call("/sync/v1/push", {"clientId": device.client, "mutations": [mutation]})["outcomes"][0]
                    outcomes.append(str(outcome).replace(name, "ID"))
                self.assertEqual(*outcomes, (collection, operation, base))

    def test_an_operation_learns_nothing_of_it(self):
        note = self.resources[0][2]
        answers = [
            self.gateway.send("POST", "/api/v1/notes/operations/share", {"id": id, "with": ["bob"]}, user="carol")
            for id in (note, str(uuid.uuid4()))]
        self.assertEqual(self.received(answers[0]), self.received(answers[1]))


class DeletedChatRooms(Private):
    def ways(self):
        """Each makes a room of that id with the caller in it, and tells whether it was taken."""
        def fields(user, others=()):
            return {"name": "mine", "members": [user, *others]}

        def pushed(id, user):
            outcome = Device(self.gateway, user).change("create", id, fields(user), collection="rooms")
            return outcome["outcome"], outcome.get("reason")

        def received(answer):
            return ("applied", None) if answer.status < 300 else ("rejected", answer.json()["error"]["code"])

        return {
            "resource POST": lambda id, user: received(self.gateway.send("POST", ROOMS, {"id": id, **fields(user)}, user=user)),
            "resource PUT": lambda id, user: received(self.gateway.send("PUT", f"{ROOMS}/{id}", fields(user), user=user)),
            "push": pushed,
            "chat": lambda id, user: received(
                self.gateway.send("POST", "/chat/v1/rooms", {"id": id, "name": "mine"}, user=user)),
            "Twaddle": lambda id, user: received(
                self.gateway.send("POST", "/chat", {"function": "createchatroom", "id": id, "name": "mine"}, user=user)),
        }

    def removals(self):
        def pushed(id):
            outcome = Device(self.gateway, "alice").change("delete", id, None, collection="rooms")
            self.assertEqual(outcome["outcome"], "applied", outcome)

        return {
            "resource": lambda id: self.expect(self.gateway.request("DELETE", f"{ROOMS}/{id}", user="alice"), 204),
            "push": pushed,
        }

    def test_no_interface_makes_a_record_that_no_path_can_name(self):
        """Clients and proxies take `.` and `..` out of a path, escaped too: a request for it would be one for the folder above."""
        for (way, create), id in itertools.product(self.ways().items(), (".", "..")):
            # Such a path is not the record's.
            if way != "resource PUT":
                with self.subTest(way, id=id):
                    self.assertEqual(create(id, "alice"), ("rejected", "request.invalid"))
        rooms = self.gateway.get(ROOMS, user="alice").json()["items"]
        self.assertEqual([room["id"] for room in rooms if room["id"].strip(".") == ""], [])

    def test_messages_of_a_deleted_room_are_not_readable(self):
        for (way, create), (how, remove) in itertools.product(self.ways().items(), self.removals().items()):
            with self.subTest(f"{way} after {how}"):
                room, data = str(uuid.uuid4()), os.urandom(100)
                place = f"/sync/v1/attachments/{hashlib.sha256(data).hexdigest()}"
                self.expect(self.gateway.request("PUT", place, data, user="bob"), 201)
                self.make("POST", "/chat/v1/rooms", {"id": room, "name": "r", "members": ["bob"]})
                output = {"text": f"secret {room}", "attachments": [place.rsplit("/", 1)[1]]}
                message = self.make("POST", f"/chat/v1/rooms/{room}/messages", output, "bob")["message"]["id"]
                self.make("POST", f"/chat/v1/rooms/{room}/read", {"message": message})
                device = Device(self.gateway, "bob", collections=["messages", "rooms"])
                device.pull()
                self.assertIn(("messages", message), device.rows)
                remove(room)
                self.assertEqual(device.pull(), [])
                self.assertNotIn(("messages", message), device.rows)
                self.assertEqual(create(room, "carol"), ("rejected", "record.exists"))
                self.assertEqual(create(room, "bob"), ("rejected", "record.exists"))
                self.assertEqual(create(room, "alice"), ("applied", None))
                self.make("PUT", f"/chat/v1/rooms/{room}/members/carol", {})
                for user in ("alice", "carol"):
                    found = self.gateway.get(f"/chat/v1/rooms/{room}/messages", user=user).json()["messages"]
                    self.assertEqual(found, [])
                    self.expect(self.gateway.get(f"{MESSAGES}/{message}", user=user), 404)
                    words = self.gateway.get(f"/chat/v1/search?words={room}", user=user).json()["messages"]
                    self.assertEqual(words, [])
                    self.expect(self.gateway.get(place, user=user), 404)
                    unread = self.gateway.get("/chat/v1/unread", user=user).json()["rooms"]
                    self.assertEqual([entry for entry in unread if entry["room"] == room], [{"room": room, "seq": 0, "unread": 0}])
                # A message's id is not another's either.
                again = self.gateway.send(
                    "POST", f"/chat/v1/rooms/{room}/messages", {"id": message, "text": "x"}, user="carol")
                self.expect(again, 409, "record.exists")


class Limits(Private):
    settings = ("--set", "adapters.chat.limits.members=5", "--set", "adapters.chat.limits.rooms=3")

    def refused(self, path, collection, fields, user="alice"):
        """However such a record is written: made, set and changed."""
        listed = {name: value for name, value in fields.items() if isinstance(value, list)}
        base = {name: [user] if name == "members" else value for name, value in fields.items() if name not in listed or name == "members"}
        own = self.make("POST", path, base, user)["id"]
        for method, place, body in (
                ("POST", path, fields), ("PUT", f"{path}/{uuid.uuid4()}", fields), ("PUT", f"{path}/{own}", fields),
                ("PATCH", f"{path}/{own}", listed)):
            self.expect(self.gateway.send(method, place, body, user=user), 400, "request.limitExceeded")
        device = Device(self.gateway, user)
        for operation, id, sent in (("create", str(uuid.uuid4()), fields), ("update", own, listed)):
            outcome = device.change(operation, id, sent, collection=collection)
            self.assertEqual((outcome["outcome"], outcome["reason"]), ("rejected", "request.limitExceeded"), operation)
        return own

    def test_the_members_of_a_room_are_counted(self):
        self.refused(ROOMS, "rooms", {"name": "r", "members": ["alice", *(f"user{n}" for n in range(5))]})

    def test_the_readers_of_a_note_are_counted(self):
        self.refused(NOTES, "notes", {"title": "t", "sharedWith": [f"user{n}" for n in range(101)]})

    def test_the_attachments_of_a_message_are_counted(self):
        room = self.make("POST", "/chat/v1/rooms", {"name": "r"}, "bob")["room"]["id"]
        digests = []
        for _ in range(21):
            data = os.urandom(8)
            digests.append(hashlib.sha256(data).hexdigest())
            self.expect(self.gateway.request("PUT", f"/sync/v1/attachments/{digests[-1]}", data, user="bob"), 201)
        self.refused(MESSAGES, "messages", {"room": room, "text": "t", "attachments": digests}, "bob")

    def test_the_rooms_of_an_account_are_counted(self):
        def fields():
            return {"id": str(uuid.uuid4()), "name": "r", "members": ["carol"]}

        while len(self.gateway.get("/chat/v1/rooms", user="carol").json()["rooms"]) < 3:
            self.make("POST", ROOMS, fields(), "carol")
        one = fields()
        self.expect(self.gateway.send("POST", ROOMS, one, user="carol"), 400, "request.limitExceeded")
        self.expect(self.gateway.send("PUT", f"{ROOMS}/{one['id']}", one, user="carol"), 400, "request.limitExceeded")
        self.expect(self.gateway.send("POST", "/chat/v1/rooms", {"name": "r"}, user="carol"), 400, "request.limitExceeded")
        outcome = Device(self.gateway, "carol").change("create", one["id"], one, collection="rooms")
        self.assertEqual((outcome["outcome"], outcome["reason"]), ("rejected", "request.limitExceeded"))


class Invitations(Private):
    """Whom others bring into rooms, however they write it."""

    settings = ("--set", "adapters.chat.limits.rooms=8")

    def invited(self, name, user="alice", others=()):
        """Every way to add a member to a room, and its answer's code."""
        own = self.make("POST", "/chat/v1/rooms", {"name": "r"}, user)["room"]["id"]
        members = [user, name, *others]
        fields, device = {"name": "r", "members": members}, Device(self.gateway, user)
        send = self.gateway.send
        for method, place, body in (
                ("PATCH", f"{ROOMS}/{own}", {"members": members}), ("PUT", f"{ROOMS}/{own}", fields),
                ("POST", ROOMS, fields), ("PUT", f"{ROOMS}/{uuid.uuid4()}", fields)):
            answer = send(method, place, body, user=user)
            yield f"{method} {place}", answer.json()["error"]["code"] if answer.status >= 400 else "applied"
        for operation, id in (("update", own), ("create", str(uuid.uuid4()))):
            outcome = device.change(operation, id, fields if operation == "create" else {"members": members}, collection="rooms")
            yield f"push {operation}", outcome.get("reason") or outcome["outcome"]
        if not others:
            answer = send("PUT", f"/chat/v1/rooms/{own}/members/{name}", {}, user=user)
            yield "invite", answer.json()["error"]["code"] if answer.status >= 400 else "applied"
            answer = send("POST", "/chat/v1/rooms", {"name": "r", "members": [name]}, user=user)
            yield "create", answer.json()["error"]["code"] if answer.status >= 400 else "applied"

    def test_invitations_leave_an_account_room_capacity_of_its_own(self):
        for n in range(6):
            self.make("POST", "/chat/v1/rooms", {"name": "r", "members": ["carol"]}, ("alice", "bob")[n % 2])
        for way, received in self.invited("carol"):
            self.assertEqual(received, "request.limitExceeded", way)
        for _ in range(2):
            self.make("POST", ROOMS, {"name": "own", "members": ["carol"]}, "carol")
        self.expect(self.gateway.send("POST", ROOMS, {"name": "own", "members": ["carol"]}, user="carol"), 400)
        self.assertEqual(len(self.gateway.get("/chat/v1/rooms", user="carol").json()["rooms"]), 8)

    def test_a_hundred_are_brought_in_at_once(self):
        for way, received in self.invited("nobody", others=[f"user{n}" for n in range(100)]):
            self.assertEqual(received, "request.limitExceeded", way)

    def test_a_banned_account_cannot_return(self):
        room = self.make("POST", "/chat/v1/rooms", {"name": "r"}, "bob")["room"]["id"]
        self.expect(self.gateway.send("PUT", f"/chat/v1/rooms/{room}/bans/alice", {}, user="bob"), 200)
        members = {"members": ["bob", "alice"]}
        self.expect(self.gateway.send("PATCH", f"{ROOMS}/{room}", members, user="bob"), 403, "access.denied")
        outcome = Device(self.gateway, "bob").change("update", room, members, collection="rooms")
        self.assertEqual((outcome["outcome"], outcome["reason"]), ("rejected", "access.denied"))
        self.expect(
            self.gateway.send("PATCH", f"{ROOMS}/{room}", {"banned": ["alice"], **members}, user="bob"), 400,
            "request.invalid")
        self.make("PATCH", f"{ROOMS}/{room}", {"banned": [], **members}, "bob")


if __name__ == "__main__":
    unittest.main()
