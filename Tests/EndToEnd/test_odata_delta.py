"""OData's change tracking: delta links of version 4, followed from outside."""

import random
import tempfile
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from odata_delta_client import ATOM, TOMBSTONE, Follower, OldFollower, plain
from sync_device import Device
from harness import Gateway, GatewayTest, run_portico

ROOT = "/odata/v4/admissions/"
OLD = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/"
TRACK = {"Prefer": "track-changes"}


def quoted(path):
    return path.replace(" ", "%20").replace("'", "%27")


class DeltaTest(GatewayTest):
    identifier = 900_000

    def get(self, target, status=200, user="alice", **headers):
        parts = urllib.parse.urlsplit(target)
        target = quoted(parts.path + (f"?{parts.query}" if parts.query else ""))
        if not target.startswith("/"):
            target = ROOT + target
        return self.expect(self.gateway.request("GET", target, user=user, headers=headers), status)

    def send(self, method, path, body=None, status=None):
        answer = self.gateway.send(method, ROOT + quoted(path), body, user="alice")
        return self.expect(answer, status or {"POST": 201}.get(method, 204))

    def student(self, **properties):
        DeltaTest.identifier += 1
        fields = {"StudentID": DeltaTest.identifier, "FirstName": "Test", "LastName": "Person", **properties}
        self.send("POST", "Students", fields)
        return DeltaTest.identifier

    def track(self, path, **headers):
        """The delta link of a collection of one page."""
        return self.get(path, **{**TRACK, **headers}).json()["@odata.deltaLink"]


class Tracking(DeltaTest):
    def test_the_last_page_alone_has_the_delta_link_and_the_preference_is_applied(self):
        answer = self.get("Students?$select=LastName", Prefer="odata.track-changes,maxpagesize=150")
        self.assertIn("odata.track-changes", answer.headers["preference-applied"])
        pages = [answer.json()]
        while "@odata.nextLink" in pages[-1]:
            self.assertNotIn("@odata.deltaLink", pages[-1])
            pages.append(self.get(pages[-1]["@odata.nextLink"]).json())
        self.assertGreater(len(pages), 2)
        self.assertIn("$deltatoken=", pages[-1]["@odata.deltaLink"])
        self.assertNotIn("@odata.deltaLink", self.get("Students").json())

    def test_additions_changes_and_removals_are_delivered_once_with_a_new_link(self):
        changed, leaving, deleted = (self.student(GPA=3.5) for _ in range(3))
        page = self.get(self.track("Students?$filter=GPA gt 3 and LastName eq 'Person'")).json()
        self.assertEqual(page["value"], [])
        link = page["@odata.deltaLink"]
        self.send("PATCH", f"Students({changed})", {"FirstName": "Other"})
        self.send("PATCH", f"Students({leaving})", {"GPA": 2})
        self.send("DELETE", f"Students({deleted})")
        self.send("PATCH", f"Students({changed})", {"FirstName": "Another"})
        added = self.student(GPA=3.9)
        page = self.get(link).json()
        received = {change["StudentID"]: change for change in page["value"]}
        self.assertEqual(set(received), {changed, leaving, deleted, added})
        self.assertEqual(len(page["value"]), 4)
        self.assertEqual(received[changed]["FirstName"], "Another")
        self.assertEqual(received[leaving]["@odata.removed"], {"reason": "changed"})
        self.assertEqual(received[deleted]["@odata.removed"], {"reason": "deleted"})
        self.assertTrue(received[deleted]["@odata.id"].endswith(f"/odata/v4/admissions/Students({deleted})"))
        self.assertEqual(self.get(page["@odata.deltaLink"]).json()["value"], [])
        self.assertEqual(len(self.get(link).json()["value"]), 4, "a link may be followed again")

    def test_a_delta_has_pages_and_counts(self):
        link = self.track("Students?$filter=Email eq 'paged@x'&$count=true")
        added = {self.student(Email="paged@x") for _ in range(5)}
        count = link.replace("?", "/$count?")
        self.assertEqual(int(self.get(count).body), 5)
        found, pages = [], 0
        while link:
            page = self.get(link, Prefer="maxpagesize=2").json()
            self.assertEqual(page["@odata.count"], 5 - len(found))
            found += [change["StudentID"] for change in page["value"]]
            pages += 1
            link = page.get("@odata.nextLink")
            self.assertNotEqual(bool(link), "@odata.deltaLink" in page)
        self.assertEqual((set(found), pages), (added, 3))

    def test_what_changes_while_pages_are_read_is_in_the_delta(self):
        first = self.get("Students?$orderby=StudentID", Prefer="track-changes,maxpagesize=200").json()
        self.send("PATCH", f"Students({first['value'][0]['StudentID']})", {"Email": "late@x"})
        page = first
        while "@odata.nextLink" in page:
            page = self.get(page["@odata.nextLink"]).json()
        received = self.get(page["@odata.deltaLink"]).json()["value"]
        self.assertIn("late@x", [change.get("Email") for change in received])

    def test_the_order_is_ignored_and_what_a_school_has_is_followed(self):
        link = self.track("Schools(1)/Students?$orderby=GPA desc&$select=LastName")
        one, other = self.student(SchoolID=1), self.student(SchoolID=2)
        changes = self.get(link).json()["value"]
        self.assertEqual([change["StudentID"] for change in changes if "@odata.removed" not in change], [one])
        link = self.get(link).json()["@odata.deltaLink"]
        self.send("PATCH", f"Students({one})", {"SchoolID": 2})
        self.send("PATCH", f"Students({other})", {"SchoolID": 1})
        changes = self.get(link).json()["value"]
        self.assertEqual([change["@odata.removed"]["reason"] for change in changes if "@odata.removed" in change], ["changed"])
        self.assertEqual([change["StudentID"] for change in changes if "@odata.removed" not in change], [other])

    def test_contexts_and_metadata_levels(self):
        link = self.track("Students?$filter=Email eq 'levels@x'&$select=LastName")
        student = self.student(Email="levels@x")
        page = self.get(link).json()
        self.assertTrue(page["@odata.context"].endswith("$metadata#Students(LastName)/$delta"), page)
        full = self.get(link, Accept="application/json;odata.metadata=full").json()
        self.assertTrue(full["value"][0]["@odata.id"].endswith(f"Students({student})"))
        self.send("DELETE", f"Students({student})")
        none = self.get(page["@odata.deltaLink"], Accept="application/json;odata.metadata=none").json()
        self.assertNotIn("@odata.context", none)
        self.assertIn("@odata.deltaLink", none)
        self.assertEqual(none["value"][0]["@odata.removed"]["reason"], "deleted")

    def test_what_cannot_be_followed_has_no_delta_link(self):
        for path in ["Students?$top=3", "Students?$skip=3", "Students?$apply=groupby((Status))",
                "Students?$filter=School/Name eq 'x'", "Students?$filter=Registered lt now()", "Schools?$expand=Students($top=1)"]:
            answer = self.get(path, **TRACK)
            self.assertNotIn("@odata.deltaLink", answer.json())
            self.assertNotIn("track-changes", answer.headers.get("preference-applied", ""))

    def test_a_link_belongs_to_its_query_and_its_reader(self):
        link = self.track("Students?$filter=GPA gt 3.99")
        token = link.rsplit("$deltatoken=", 1)[1]
        self.get(f"Students?$filter=GPA gt 3&$deltatoken={token}", status=400)
        self.get(f"Schools?$deltatoken={token}", status=400)
        self.get("Students?$filter=GPA gt 3.99&$deltatoken=bm9uc2Vuc2U", status=400)
        answer = self.get(link, status=410, user="bob")
        self.assertTrue(answer.headers["location"].endswith("Students?$filter=GPA%20gt%203.99"))
        self.assertEqual(answer.json()["error"]["code"], "sync.fetchAgain")


class Nested(DeltaTest):
    def changes_of(self, link, **headers):
        return self.get(link, **headers).json()["value"]

    def test_changes_of_expanded_entities_are_nested(self):
        path = "Schools?$filter=SchoolID le 2&$expand=Students($filter=Status eq 'Nested')"
        stays, moves, goes = (self.student(SchoolID=1, Status="Nested") for _ in range(3))
        link = self.track(path)
        self.send("PATCH", f"Students({stays})", {"FirstName": "New"})
        self.send("PATCH", f"Students({moves})", {"SchoolID": 2})
        self.send("DELETE", f"Students({goes})")
        received = {change["SchoolID"]: change for change in self.changes_of(link)}
        self.assertEqual(set(received), {1, 2})
        self.assertEqual({name for name in received[1] if "@" not in name}, {"SchoolID"})
        first = {change["StudentID"]: change for change in received[1]["Students@delta"]}
        self.assertEqual(first[stays]["FirstName"], "New")
        self.assertEqual(first[moves]["@odata.removed"]["reason"], "changed")
        self.assertEqual(first[goes]["@odata.removed"]["reason"], "deleted")
        self.assertEqual([change["StudentID"] for change in received[2]["Students@delta"]], [moves])
        link = self.get(link).json()["@odata.deltaLink"]
        self.send("PATCH", "Schools(1)", {"City": "Elsewhere"})
        school, = self.changes_of(link)
        self.assertEqual([row["StudentID"] for row in school["Students"]], [stays])

    def test_version_4_0_tells_them_in_one_list_with_links(self):
        path = "Schools?$filter=SchoolID le 2&$expand=Students($filter=Status eq 'Flat')"
        old = {"OData-MaxVersion": "4.0"}
        moves, goes = (self.student(SchoolID=1, Status="Flat") for _ in range(2))
        link = self.track(path, **old)
        self.send("PATCH", f"Students({moves})", {"SchoolID": 2})
        self.send("DELETE", f"Students({goes})")
        received = self.changes_of(link, **old)
        kinds = [change.get("@odata.context", "").rsplit("#", 1)[-1] for change in received]
        self.assertEqual(sorted(kinds), ["Schools/$deletedLink", "Schools/$link", "Students/$deletedEntity", "Students/$entity"])
        by_kind = dict(zip(kinds, received))
        self.assertTrue(by_kind["Students/$deletedEntity"]["id"].endswith(f"Students({goes})"))
        self.assertEqual(by_kind["Students/$deletedEntity"]["reason"], "deleted")
        self.assertEqual(by_kind["Schools/$link"]["relationship"], "Students")
        self.assertTrue(by_kind["Schools/$link"]["source"].endswith("Schools(2)"))
        self.assertTrue(by_kind["Schools/$deletedLink"]["source"].endswith("Schools(1)"))
        self.assertTrue(by_kind["Schools/$deletedLink"]["target"].endswith(f"Students({moves})"))

    def test_one_related_entity_comes_with_all_that_it_belongs_to(self):
        student = self.student(SchoolID=3, Status="Single")
        link = self.track("Students?$filter=Status eq 'Single'&$expand=School($select=City)")
        self.send("PATCH", "Schools(3)", {"City": "Moved"})
        change, = self.changes_of(link)
        self.assertEqual((change["StudentID"], change["School"]["City"]), (student, "Moved"))


class Version2(DeltaTest):
    """`!deltatoken`, as SAP's services have it."""

    def old(self, target, status=200, **headers):
        parts = urllib.parse.urlsplit(target)
        return self.expect(self.gateway.request(
            "GET", quoted(f"{parts.path}?{parts.query}"), user="alice", headers=headers), status)

    def test_a_feed_ends_with_its_delta_link_and_the_delta_has_entries_and_tombstones(self):
        feed = ElementTree.fromstring(self.old(OLD + "Students?$filter=Email eq 'old@x'").body)
        link, = (link.get("href") for link in feed.iter(ATOM + "link") if link.get("rel") == "delta")
        self.assertIn("!deltatoken=", link)
        stays, goes, leaves = (self.student(Email="old@x") for _ in range(3))
        feed = ElementTree.fromstring(self.old(link).body)
        self.assertEqual(len(feed.findall(ATOM + "entry")), 3)
        link, = (link.get("href") for link in feed.iter(ATOM + "link") if link.get("rel") == "delta")
        self.send("DELETE", f"Students({goes})")
        self.send("PATCH", f"Students({leaves})", {"Email": "else@x"})
        self.send("PATCH", f"Students({stays})", {"GPA": 3})
        feed = ElementTree.fromstring(self.old(link).body)
        entry, = feed.findall(ATOM + "entry")
        self.assertTrue(entry.find(ATOM + "id").text.endswith(f"Students({stays})"))
        gone = {element.get("ref").rsplit("/", 1)[1] for element in feed.iter(TOMBSTONE)}
        self.assertEqual(gone, {f"Students({goes})", f"Students({leaves})"})
        self.assertTrue(all(element.get("when") for element in feed.iter(TOMBSTONE)))
        results = self.old(link, Accept="application/json").json()["d"]["results"]
        removed = [row for row in results if "__metadata" not in row]
        self.assertEqual({row["@odata.context"] for row in removed}, {"$metadata#Students/$deletedEntity"})
        self.assertEqual({row["id"].rsplit("/", 1)[1] for row in removed}, gone)
        count = link.replace("?", "/$count?")
        self.assertEqual(int(self.old(count).body), 3)

    def test_what_cannot_be_followed_has_no_link_and_what_is_not_known_is_410(self):
        feed = self.old(OLD + "Students?$top=2", Accept="application/json").json()["d"]
        self.assertNotIn("__delta", feed)
        feed = self.old(OLD + "Students?$filter=GPA gt 3.99", Accept="application/json").json()["d"]
        token = feed["__delta"].rsplit("!deltatoken=", 1)[1]
        self.old(OLD + f"Students?!deltatoken={token}", status=400)
        parts = urllib.parse.urlsplit(feed["__delta"])
        answer = self.gateway.request("GET", f"{parts.path}?{parts.query}", user="bob")
        self.expect(answer, 410)
        self.assertIn("location", answer.headers)


class TenThousandChanges(DeltaTest):
    """Random changes through sync, by several devices' worth of them; the delta must lead to what is there."""

    def push(self, device, seed, count):
        chance, mutations = random.Random(seed), []
        for _ in range(count):
            key = chance.randrange(1, 700)
            fields = {"GPA": chance.randrange(200, 400) / 100, "Status": chance.choice(["Prospect", "Applied", "Admitted"]),
                "SchoolID": chance.randrange(1, 4)}
            kind = chance.choice(["create", "delete", "update", "update", "update"])
            if kind == "create":
                fields |= {"StudentID": key, "FirstName": "F", "LastName": chance.choice("ABCDE")}
            mutations.append(device.mutation(
                kind, str(key), None if kind == "delete" else fields, collection="admissions-Students"))
        outcomes = device.push(*mutations)["outcomes"]
        return sum(outcome["outcome"] in ("applied", "merged") for outcome in outcomes)

    def test_the_delta_of_a_filtered_set_is_the_difference_of_two_full_reads(self):
        targets = [ROOT + quoted("Students?$filter=GPA ge 3 and Status eq 'Applied'&$select=StudentID,LastName,GPA"),
            ROOT + quoted("Schools?$filter=SchoolID le 3&$expand=Students($filter=Status eq 'Admitted';$orderby=StudentID)")]
        old_targets = [OLD + quoted("Students?$filter=GPA ge 3 and Status eq 'Applied'&$select=StudentID,LastName,GPA"),
            OLD + quoted("Schools?$filter=SchoolID le 3&$expand=Students")]
        followers = [Follower(self, "StudentID").read(targets[0]), Follower(self, "SchoolID").read(targets[1])]
        old_followers = [OldFollower(self).read(target) for target in old_targets]
        device, applied, received = Device(self.gateway, "alice"), 0, 0
        for seed in range(10):
            applied += self.push(device, seed, 1_000)
            if seed % 3 == 2 or seed == 9:
                for follower, target in zip(followers, targets):
                    received += len(follower.follow(page_size=120))
                    whole = Follower(self, follower.key).read(target)
                    self.assertEqual(follower.rows, whole.rows)
                for follower, target in zip(old_followers, old_targets):
                    received += follower.follow()
                    self.assertEqual(follower.rows, OldFollower(self).read(target).rows)
        self.assertGreater(applied, 5_000)
        self.assertGreater(received, 500)


class Windows(unittest.TestCase):
    """What a client is told that was away for too long, or is ahead of a restored store."""

    expect, get, send, student, track = (
        DeltaTest.expect, DeltaTest.get, DeltaTest.send, DeltaTest.student, DeltaTest.track)

    def control(self, *arguments):
        done = run_portico(*arguments, "--data", self.gateway.data, program="porticoctl")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_delta_link_beyond_the_window_is_410(self):
        self.gateway = Gateway("--set", "sync.offlineWindow=1s")
        self.addCleanup(self.gateway.remove)
        link = self.track("Students?$filter=GPA gt 3.9")
        student = self.student(GPA=4)
        self.assertEqual([row["StudentID"] for row in self.get(link).json()["value"]], [student])
        while True:
            self.control("sync", "compact", "--yes")
            answer = self.gateway.request("GET", urllib.parse.urlsplit(link).path + "?" + urllib.parse.urlsplit(link).query, user="alice")
            if answer.status != 200:
                break
        self.expect(answer, 410, "sync.fetchAgain")
        again = self.get(answer.headers["location"], **{"Prefer": "track-changes"}).json()
        self.assertIn(student, [row["StudentID"] for row in again["value"]])
        self.assertEqual(self.get(again["@odata.deltaLink"]).json()["value"], [])

    def test_a_delta_link_from_before_a_restore_is_410(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.gateway = Gateway(data=folder.name)
        link = self.track("Students?$filter=GPA gt 3.9")
        self.control("backup", f"{folder.name}/backup")
        self.control("restore", f"{folder.name}/backup", "--yes")
        self.assertEqual(self.gateway.stop(), 0)
        self.gateway = Gateway(data=folder.name)
        self.addCleanup(self.gateway.remove)
        self.get(link, status=410)


if __name__ == "__main__":
    unittest.main()
