"""What a model demands of its entities holds for every interface that writes their records: OData, the generic
resource, a batch and a device's push."""

import json
import unittest
import uuid

from harness import ROOT, GatewayTest

QUICK = True

MODEL = ROOT / "Tests/EndToEnd/models/rules.csdl.xml"
SERVICE = "/odata/v4/rules/"
RECORDS = "/api/v1/odata/rules-"


class WriteInterface:
    """One interface. `create`, `change` and `delete` return None where the write was done, else the error code."""

    def __init__(self, gateway):
        self.gateway = gateway

    def send(self, method, path, value=None):
        body = None if value is None else json.dumps(value)
        answer = self.gateway.request(method, path, body, {"Content-Type": "application/json"}, user="alice")
        return answer.status, answer.json() if answer.body else None

    @staticmethod
    def code(status, value):
        return None if status < 400 else value["error"]["code"]

    def __repr__(self):
        return type(self).__name__


class OData(WriteInterface):
    """Keys stand in the address as OData spells them."""

    def key(self, table, key):
        if table == "Parts":
            thing, number = key.split(",")
            return f"Parts(ThingID={thing},Number={number})"
        if table == "Chosen":
            return table
        return f"{table}({key})" if table in ("Owners", "Things") else f"{table}('{key}')"

    def create(self, table, key, fields):
        fields = {("@odata.type" if name == "type__" else name): value for name, value in fields.items() if name != "key__"}
        if "@odata.type" in fields:
            fields["@odata.type"] = "#" + fields["@odata.type"]
        return self.code(*self.send("POST", SERVICE + table, fields))

    def change(self, table, key, fields):
        return self.code(*self.send("PATCH", SERVICE + self.key(table, key), fields))

    def delete(self, table, key):
        return self.code(*self.send("DELETE", SERVICE + self.key(table, key)))


class Resource(WriteInterface):
    def call(self, method, path, value=None):
        return self.code(*self.send(method, path, value))

    def create(self, table, key, fields):
        return self.call("POST", RECORDS + table, fields)

    def change(self, table, key, fields):
        return self.call("PATCH", f"{RECORDS}{table}/{key}", fields)

    def delete(self, table, key):
        return self.call("DELETE", f"{RECORDS}{table}/{key}")


class Batch(Resource):
    def call(self, method, path, value=None):
        call = {"id": "1", "method": method, "path": path} | ({} if value is None else {"body": value})
        status, answers = self.send("POST", "/batch", {"calls": [call]})
        assert status == 200, answers
        return self.code(answers["answers"][0]["status"], answers["answers"][0]["body"])


class Push(WriteInterface):
    def __init__(self, gateway):
        super().__init__(gateway)
        self.client, self.sequence = str(uuid.uuid4()), 0

    def push(self, operation, table, key, fields=None):
        self.sequence += 1
        mutation = {"sequence": self.sequence, "operation": operation, "collection": f"rules-{table}", "id": key}
        status, answer = self.send("POST", "/sync/v1/push", {
            "clientId": self.client, "mutations": [mutation | ({} if fields is None else {"fields": fields})]})
        assert status == 200, answer
        outcome, = answer["outcomes"]
        return None if outcome["outcome"] == "applied" else outcome["reason"]

    def create(self, table, key, fields):
        return self.push("create", table, key, fields)

    def change(self, table, key, fields):
        return self.push("update", table, key, fields)

    def delete(self, table, key):
        return self.push("delete", table, key)


class Rules(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.rules.model={MODEL}", "--set", "adapters.odata.services.rules.access=public")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.interfaces = [kind(cls.gateway) for kind in (OData, Resource, Batch, Push)]
        cls.owner = str(uuid.uuid4())
        assert cls.interfaces[1].create("Owners", cls.owner, {"ID": cls.owner, "Name": "Owner"}) is None

    def record(self, table, key):
        answer = self.gateway.get(f"{RECORDS}{table}/{key}", user="alice")
        return answer.json() if answer.status == 200 else None

    def thing(self, interface=None, **fields):
        key = str(uuid.uuid4())
        self.assertIsNone((interface or self.interfaces[1]).create("Things", key, self.whole(key, **fields)))
        return key

    def whole(self, key, **fields):
        return {"ID": key, "Name": "A thing", "OwnerID": self.owner} | fields

    def at_every_interface(self):
        for interface in self.interfaces:
            with self.subTest(interface=interface):
                yield interface


# Values that a property is not of, and which: the same at creation and at a change.
WRONG = {
    "a text that is no day": {"Born": "2026-02-30"},
    "a text that is no time": {"Opens": "25:00:00"},
    "a text that is no GUID": {"Tag": "not-a-guid"},
    "a text that is too long": {"Name": "x" * 21},
    "more digits than the precision": {"Price": 12345.5},
    "more places than the scale": {"Price": 1.234},
    "a null where there must be a value": {"Name": None},
    "a null where there is a default": {"Size": None},
    "a number that is no member": {"Colour": 7},
    "a complex value that lacks a part": {"Place": {"Since": "2026-01-01"}},
    "a complex value with a text that is too long": {"Place": {"Street": "x" * 11}},
    "a complex value with a text that is no day": {"Place": {"Street": "x", "Since": "yesterday"}},
    "a complex value with what it does not have": {"Place": {"Street": "x", "Nope": 1}},
    "a list with a text that is too long": {"Tags": ["fine", "not fine"]},
    "a list with a null": {"Tags": [None]},
    "a reference to nothing": {"PeerID": "00000000-0000-0000-0000-000000000001"},
    "a needed reference to nothing": {"OwnerID": "00000000-0000-0000-0000-000000000001"},
    "no needed reference": {"OwnerID": None},
    "what only a derived type has": {"Extra": "x"},
}


class Values(Rules):
    def test_wrong_values_are_refused_at_creation(self):
        for what, fields in WRONG.items():
            for interface in self.at_every_interface():
                with self.subTest(what=what):
                    key = str(uuid.uuid4())
                    self.assertEqual(interface.create("Things", key, self.whole(key, **fields)), "request.invalid")
                    self.assertIsNone(self.record("Things", key))

    def test_wrong_values_are_refused_at_a_change(self):
        for interface in self.at_every_interface():
            key = self.thing(Price=1.25)
            before = self.record("Things", key)
            for what, fields in WRONG.items():
                with self.subTest(what=what):
                    self.assertEqual(interface.change("Things", key, fields), "request.invalid")
                    self.assertEqual(self.record("Things", key), before)

    def test_right_values_are_kept_as_the_model_spells_them(self):
        tag = "ABCDEF01-2345-6789-ABCD-EF0123456789"
        for interface in self.at_every_interface():
            key = self.thing(interface, Tag=tag, Opens="09:30:00.500", Born="2026-02-28", Price=999.99, Place={"Street": "Main"})
            record = self.record("Things", key)
            self.assertEqual((record["Tag"], record["Opens"], record["Price"]), (tag.lower(), "09:30:00.5", 999.99))
            read = self.gateway.get(f"{SERVICE}Things({key})", user="alice").json()
            self.assertEqual((read["Tag"], read["Place"]), (tag.lower(), {"Street": "Main", "Since": None}))

    def test_what_must_be_given_is_missed(self):
        for interface in self.at_every_interface():
            key = str(uuid.uuid4())
            self.assertEqual(interface.create("Things", key, {"ID": key, "OwnerID": self.owner}), "request.invalid")
            special = self.whole(key, type__="Rules.SpecialThing")
            self.assertEqual(interface.create("Things", key, special), "request.invalid")
            self.assertIsNone(interface.create("Things", key, special | {"Extra": "e"}))
            self.assertEqual(self.record("Things", key)["type__"], "Rules.SpecialThing")

    def test_what_the_server_computes_is_the_servers(self):
        for interface in self.at_every_interface():
            key = self.thing(interface, Version=77, CreatedAt="2001-01-01T00:00:00Z", Serial="S1")
            made = self.record("Things", key)
            self.assertEqual(made["Version"], 1)
            self.assertGreater(made["CreatedAt"], "2026")
            self.assertIsNone(interface.change("Things", key, {"Name": "Changed", "Version": 77}))
            changed = self.record("Things", key)
            self.assertEqual((changed["Version"], changed["CreatedAt"]), (2, made["CreatedAt"]))

    def test_what_is_immutable_stays(self):
        for interface in self.at_every_interface():
            key = self.thing(interface, Serial="S1")
            # OData ignores it, the others refuse it; nobody changes it.
            self.assertIn(interface.change("Things", key, {"Serial": "S2"}), (None, "request.invalid"))
            self.assertEqual(self.record("Things", key)["Serial"], "S1")

    def test_an_entitys_type_stays(self):
        for interface in self.interfaces[1:]:
            with self.subTest(interface=interface):
                key = self.thing(interface)
                self.assertEqual(interface.change("Things", key, {"type__": "Rules.SpecialThing"}), "request.invalid")


class Keys(Rules):
    def test_a_key_is_spelt_in_one_way(self):
        for interface in self.interfaces[1:]:
            with self.subTest(interface=interface):
                for key in ("nothing-like-a-guid", str(uuid.uuid4()).upper()):
                    outcome = interface.create("Things", key, self.whole(key))
                    if outcome is None:
                        # The resource takes the value and spells it.
                        self.assertIsNone(self.record("Things", key))
                        self.assertIsNotNone(self.record("Things", key.lower()))
                    else:
                        self.assertEqual(outcome, "request.invalid")

    def test_a_key_of_parts_is_what_the_parts_say(self):
        for interface in self.at_every_interface():
            thing = self.thing()
            fields = {"ThingID": thing, "Number": 1, "Text": "one"}
            if interface is not self.interfaces[0]:
                self.assertEqual(interface.create("Parts", "other", fields | {"key__": "other"}), "request.invalid")
            self.assertIsNone(interface.create("Parts", f"{thing},1", fields | {"key__": f"{thing},1"}))
            outcome = interface.change("Parts", f"{thing},1", {"Number": 2})
            self.assertIn(outcome, (None, "request.invalid"))
            self.assertEqual(self.record("Parts", f"{thing},1")["Number"], 1)

    def test_a_singleton_has_no_second_row_and_stays(self):
        for interface in self.interfaces[1:]:
            with self.subTest(interface=interface):
                self.assertEqual(
                    interface.create("Chosen", "second", {"key__": "second", "Code": "b"}), "access.denied")
        self.assertIsNone(self.interfaces[1].create("Chosen", "Chosen", {"key__": "Chosen", "Code": "a"}))
        for interface in self.at_every_interface():
            self.assertIsNone(interface.change("Chosen", "Chosen", {"Theme": f"{interface}"}))
            self.assertIsNotNone(interface.delete("Chosen", "Chosen"))
            self.assertEqual(self.record("Chosen", "Chosen")["Theme"], f"{interface}")


class References(Rules):
    def test_what_cascades_goes_too(self):
        for interface in self.at_every_interface():
            thing = self.thing()
            part = f"{thing},1"
            self.assertIsNone(self.interfaces[1].create("Parts", part, {"ThingID": thing, "Number": 1, "Text": "t"}))
            peer = self.thing(PeerID=thing)
            self.assertIsNone(interface.delete("Things", thing))
            self.assertIsNone(self.record("Parts", part))
            self.assertIsNone(self.record("Things", peer)["PeerID"])

    def test_what_is_needed_stays(self):
        for interface in self.at_every_interface():
            owner = str(uuid.uuid4())
            self.assertIsNone(self.interfaces[1].create("Owners", owner, {"ID": owner, "Name": "Needed"}))
            thing = self.thing(OwnerID=owner)
            self.assertEqual(interface.delete("Owners", owner), "record.conflict")
            self.assertIsNone(self.interfaces[1].delete("Things", thing))
            self.assertIsNone(interface.delete("Owners", owner))

    def test_a_link_joins_what_is_there_and_gives_way_to_the_next(self):
        for interface in self.interfaces[1:]:
            with self.subTest(interface=interface):
                thing, other = self.thing(), str(uuid.uuid4())
                self.assertIsNone(self.interfaces[1].create("Owners", other, {"ID": other, "Name": "Other"}))
                link = lambda owner: f"{len(thing)}:{thing}{owner}"
                body = lambda owner: {"pair": link(owner), "fromKey": thing, "toKey": owner}
                absent = str(uuid.uuid4())
                self.assertEqual(interface.create("Things-Best", link(absent), body(absent)), "request.invalid")
                wrong = body(self.owner) | {"pair": "wrong"}
                self.assertEqual(interface.create("Things-Best", "wrong", wrong), "request.invalid")
                self.assertIsNone(interface.create("Things-Best", link(self.owner), body(self.owner)))
                self.assertIsNone(interface.create("Things-Best", link(other), body(other)))
                self.assertIsNone(self.record("Things-Best", link(self.owner)))
                best = self.gateway.get(f"{SERVICE}Things({thing})/Best", user="alice").json()
                self.assertEqual(best["ID"], other)
                self.assertIsNone(interface.delete("Owners", other))
                self.assertIsNone(self.record("Things-Best", link(other)))

    def test_a_change_set_may_refer_to_what_comes_later_in_it(self):
        first, second = str(uuid.uuid4()), str(uuid.uuid4())
        requests = [
            {"id": "1", "method": "POST", "url": "Things", "body": self.whole(first, PeerID=second), "atomicityGroup": "g"},
            {"id": "2", "method": "POST", "url": "Things", "body": self.whole(second, PeerID=first), "atomicityGroup": "g"}]
        for request in requests:
            request["headers"] = {"content-type": "application/json"}
        status, answers = self.interfaces[0].send("POST", SERVICE + "$batch", {"requests": requests})
        self.assertEqual((status, [answer["status"] for answer in answers["responses"]]), (200, [201, 201]))


class Capabilities(Rules):
    """Each restriction counts by itself."""

    def test_a_set_that_takes_no_new_entities(self):
        for interface in self.at_every_interface():
            self.assertIn(
                interface.create("Closed", "a", {"Code": "a"}), ("access.denied", "route.methodNotAllowed"))
            self.assertIsNone(self.record("Closed", "a"))

    def test_a_set_whose_entities_do_not_change(self):
        for number, interface in enumerate(self.at_every_interface()):
            key = f"c{number}"
            self.assertIsNone(interface.create("Carved", key, {"Code": key, "Text": "stone"}))
            self.assertIn(
                interface.change("Carved", key, {"Text": "sand"}), ("access.denied", "route.methodNotAllowed"))
            self.assertEqual(self.record("Carved", key)["Text"], "stone")
            self.assertIsNone(interface.delete("Carved", key))

    def test_a_set_whose_entities_stay(self):
        for number, interface in enumerate(self.at_every_interface()):
            key = f"k{number}"
            self.assertIsNone(interface.create("Kept", key, {"Code": key}))
            self.assertIsNone(interface.change("Kept", key, {"Text": "changed"}))
            self.assertIn(interface.delete("Kept", key), ("access.denied", "route.methodNotAllowed"))
            self.assertEqual(self.record("Kept", key)["Text"], "changed")


if __name__ == "__main__":
    unittest.main()
