"""The adapter against a host that this file plays, and the codec against RFC 8949."""

import datetime
import decimal
import pathlib
import socket
import struct
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "program"))

import cbor
import worker
from tasks import Tasks

NOW = datetime.datetime(2026, 11, 23, 9, tzinfo=datetime.timezone.utc)
ALICE = {"kind": "user", "id": "1", "name": "alice"}


class Host:
    """Sends what a test says, and answers the worker's requests by `answers`, a function of method and parameters."""

    def __init__(self, test, answers=None):
        self._end, other = socket.socketpair()
        self._end.settimeout(30)
        self._answers, self._number, self.asked, self.events = answers, 0, [], []
        thread = threading.Thread(target=worker.serve, args=(Tasks(lambda: NOW), other))
        thread.start()
        test.addCleanup(self._end.close)
        test.addCleanup(other.close)
        test.addCleanup(thread.join, 30)
        test.addCleanup(self._end.shutdown, socket.SHUT_RDWR)

    def send(self, *messages):
        frames = [cbor.dumps(message) for message in messages]
        self._end.sendall(b"".join(struct.pack(">I", len(frame)) + frame for frame in frames))

    def receive(self):
        (length,) = struct.unpack(">I", self._end.recv(4, socket.MSG_WAITALL))
        return cbor.loads(self._end.recv(length, socket.MSG_WAITALL))

    def request(self, method, params=None):
        """The response's result or error; the worker's own requests are answered in between."""
        self._number += 1
        self.send({"request": self._number, "method": method, "params": params or {}})
        while (message := self.receive()).get("response") != self._number:
            if "event" in message:
                self.events.append(message)
                continue
            self.asked.append(message)
            kind, answer = self._answers(message["method"], message["params"])
            self.send({"response": message["request"], kind: answer})
        return message

    def call(self, operation, **input):
        return self.request("call", {
            "operation": operation, "input": input, "caller": ALICE, "requestID": "r", "left": 10**10})


class Conversation(unittest.TestCase):
    def test_the_handshake(self):
        host = Host(self)
        hello = host.request("hello", {"versions": [1, 2]})["result"]
        self.assertEqual((hello["version"], hello["name"]), (2, "python-tasks"))
        configuration = {"configuration": {"values": {"dueSoon": 60}, "directory": "/"}}
        declaration = host.request("declare", configuration)["result"]["declaration"]
        self.assertEqual([entity["name"] for entity in declaration["entities"]], ["tasks"])
        self.assertEqual(host.request("make", configuration)["result"], {"services": []})
        self.assertIsNone(host.request("start", {"upstreams": [], "platforms": []})["result"])
        self.assertEqual(len(host.request("frontPage")["result"]), 1)
        self.assertIsNone(host.request("stop")["result"])

    def test_a_version_that_is_not_known_is_refused_by_name(self):
        error = Host(self).request("hello", {"versions": [1, 3]})["error"]["error"]
        self.assertEqual(error["code"], "request.versionUnsupported")
        self.assertIn("version 2", error["message"])

    def test_what_is_not_known_is_refused_and_ends_nothing(self):
        host = Host(self)
        self.assertEqual(host.request("dance")["error"]["error"]["code"], "adapter.unavailable")
        self.assertEqual(host.call("dance")["error"]["error"]["code"], "route.notFound")
        host.send({"cancel": 1}, {"event": "weather", "params": {}})
        self.assertIsNone(host.request("ping")["result"])

    def test_a_fault_of_the_adapter_is_no_end_of_it(self):
        host = Host(self)
        error = host.call("finish")["error"]["error"]  # Without its member, which a host never sends.
        self.assertEqual((error["code"], "KeyError" in error["logDetail"]), ("server.internal", True))
        self.assertIsNone(host.request("ping")["result"])

    def test_a_ping_is_answered_while_a_call_waits(self):
        host = Host(self)
        host.send({"request": 1, "method": "call", "params": {
            "operation": "overview", "input": {}, "caller": ALICE, "requestID": "r", "left": 10**10}})
        self.assertEqual(host.receive()["method"], "count")
        host.send({"request": 2, "method": "ping"})
        self.assertEqual(host.receive(), {"response": 2, "result": None})


class Finishing(unittest.TestCase):
    def test_a_task_is_finished_with_the_rights_of_the_caller_if_it_has_not_changed(self):
        host = Host(self, lambda method, _: ("result", {
            "record": {"id": "a", "revision": 7, "fields": {"id": "a", "done": False}},
            "apply": {"position": 8, "records": [None]}}[method]))
        self.assertEqual(host.call("finish", id="a")["result"], {"content": {"value": {"id": "a", "done": True}}})
        self.assertEqual([(m["method"], m["for"], m["params"]["as"]) for m in host.asked], [
            ("record", 1, "caller"), ("apply", 1, "caller")])
        self.assertEqual(host.asked[1]["params"]["changes"], [{
            "entity": "tasks", "action": {"update": {"id": "a", "fields": {"done": True}}}, "condition": {"revision": 7}}])
        self.assertEqual(host.events[0]["params"]["message"]["values"], [["task", "a"]])

    def test_a_task_that_changed_is_read_again_a_bounded_number_of_times(self):
        failed = {"error": {"code": "record.preconditionFailed", "message": "It has changed."}}
        host = Host(self, lambda method, _: ("error", failed) if method == "apply" else (
            "result", {"id": "a", "revision": 7, "fields": {"done": False}}))
        self.assertEqual(host.call("finish", id="a")["error"]["error"]["code"], "record.conflict")
        self.assertEqual(len(host.asked), 10)

    def test_no_task_is_not_found_and_other_errors_are_passed_on(self):
        host = Host(self, lambda *_: ("result", None))
        error = host.call("finish", id="a")["error"]["error"]
        self.assertEqual((error["code"], error["target"]), ("record.notFound", "id"))
        denied = {"error": {"code": "access.denied", "message": "You may not do this."}}
        host = Host(self, lambda *_: ("error", denied))
        self.assertEqual(host.call("finish", id="a")["error"], denied)


class Overview(unittest.TestCase):
    def test_tasks_are_counted_by_when_they_are_due(self):
        host = Host(self, lambda _, params: ("result", len(cbor.dumps(params))))
        host.request("make", {"configuration": {"values": {"dueSoon": 3600}, "directory": "/"}})
        value = host.call("overview")["result"]["content"]["value"]
        self.assertEqual(sorted(value), ["dueSoon", "open", "overdue"])
        soon = host.asked[2]["params"]["filter"]["all"]
        self.assertEqual(soon[1], {"compare": ["due", "lt", NOW + datetime.timedelta(hours=1)]})


class Codec(unittest.TestCase):
    # RFC 8949, appendix A.
    VECTORS = [
        (0, "00"), (23, "17"), (24, "1818"), (1000, "1903e8"), (1000000, "1a000f4240"), (18446744073709551615, "1bffffffffffffffff"),
        (18446744073709551616, "c249010000000000000000"), (-1, "20"), (-1000, "3903e7"), (-18446744073709551617, "c349010000000000000000"),
        (1.1, "fb3ff199999999999a"), (False, "f4"), (True, "f5"), (None, "f6"), ("IETF", "6449455446"), ("\u6c34", "63e6b0b4"),
        (b"\1\2\3\4", "4401020304"), ([1, [2, 3], [4, 5]], "8301820203820405"), ({"a": 1, "b": [2, 3]}, "a26161016162820203"),
        (datetime.datetime(2013, 3, 21, 20, 4, tzinfo=datetime.timezone.utc), "c11a514b67b0"), (decimal.Decimal("273.15"), "c48221196ab3"),
    ]
    MALFORMED = ["", "18", "62c328", "9f01ff", "f7", "f0", "c074323031332d30332d3231", "d82001", "a2616101616102", "a10102", "0000", "c1f97e00", "c1f97c00", "81" * 600 + "00"]

    def test_values_are_written_and_read_as_the_standard_says(self):
        for value, text in self.VECTORS:
            self.assertEqual(cbor.dumps(value).hex(), text)
            read = cbor.loads(bytes.fromhex(text))
            self.assertEqual((read, type(read)), (value, type(value)))
        self.assertEqual(cbor.loads(bytes.fromhex("f93c00")), 1.0)
        self.assertEqual(
            cbor.loads(bytes.fromhex("c074323031332d30332d32315432303a30343a30305a")),
            datetime.datetime(2013, 3, 21, 20, 4, tzinfo=datetime.timezone.utc))

    def test_a_date_of_more_digits_is_sent_back_as_it_came(self):
        data = bytes.fromhex("c0781c323032362d30362d32345431323a35373a34342e373537303837345a")
        date = cbor.loads(data)
        self.assertEqual(date, datetime.datetime(2026, 6, 24, 12, 57, 44, 757087, tzinfo=datetime.timezone.utc))
        self.assertEqual(cbor.dumps(date), data)

    def test_a_date_that_python_has_no_year_for_is_the_nearest_and_is_sent_back_as_it_came(self):
        first, last = datetime.datetime.min, datetime.datetime.max
        # -62135596801 seconds, which are in the year 0, 253402300800 in the year 10000, and 0000-12-30T00:00:00.5Z.
        for text, nearest in [
                ("c13b0000000e7791f700", first), ("c11b0000003afff44180", last),
                ("c076303030302d31322d33305430303a30303a30302e355a", first)]:
            date = cbor.loads(bytes.fromhex(text))
            self.assertEqual(date, nearest.replace(tzinfo=datetime.timezone.utc))
            self.assertEqual(cbor.dumps(date).hex(), text)

    def test_as_many_levels_as_a_frame_may_have_are_read(self):
        levels = bytes.fromhex("a16161" * 256 + "81" * 256 + "00")
        self.assertEqual(cbor.dumps(cbor.loads(levels)), levels)

    def test_what_the_protocol_does_not_have_is_refused(self):
        for text in self.MALFORMED:
            with self.assertRaises(cbor.Malformed, msg=text):
                cbor.loads(bytes.fromhex(text))


if __name__ == "__main__":
    unittest.main()
