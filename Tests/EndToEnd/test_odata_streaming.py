"""Long OData responses are streamed: memory stays constant however slow the reader is."""

import base64
import concurrent.futures
import gzip
import http.client
import json
import time
import unittest
import xml.etree.ElementTree as ElementTree

from harness import GatewayTest

V4 = "/odata/v4/admissions/"
V2 = "/odata/v2/admissions/"
STUDENTS = 3_000
# A page of all students, each with a school and some of its students: some fourteen megabytes of JSON.
LARGE = V4 + "Students?$expand=School($expand=Students($top=16))"
# Ten thousand pairs, and ten thousand entities of all sets, with what belongs to them: more of it still.
PAIRS = V4 + "$crossjoin(Students,Schools)?$expand=Students($expand=Visits),Schools($expand=Students($top=8))"
EVERYTHING = V4 + "$all?$expand=*($expand=*($top=2))"
# Were one such answer held, it would be several times this.
MOST_GROWTH = 60 << 20
SLOW = 6


class Streaming(GatewayTest):
    settings = (
        "--set", f"adapters.odata.services.admissions.samples={STUDENTS}",
        "--set", "adapters.odata.services.admissions.pageSize=10000",
        "--set", "adapters.odata.limits.wholeBytes=65536",
        "--set", "store.streams=7",
    )

    def get(self, path, **headers):
        return self.expect(self.gateway.request("GET", path, user="alice", headers=headers), 200)

    def logged(self, answer):
        """The bytes that the access log has of a request, which is written once its body has ended."""
        for _ in range(100):
            lines = [json.loads(line) for line in self.gateway.log_path.read_text().splitlines() if line.startswith("{")]
            for line in lines:
                if line["message"] == "request" and line["requestId"] == answer.headers["x-request-id"]:
                    return int(line["bytes"])
            time.sleep(0.05)
        self.fail("the request has no line")

    def open(self, path):
        """A connection on which the request was sent and nothing is read."""
        credentials = base64.b64encode(b"alice:portico-demo").decode()
        connection = self.gateway.connect()
        self.addCleanup(connection.close)
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.gateway.port}\r\nAuthorization: Basic {credentials}\r\n\r\n".encode())
        return connection


class Sent(Streaming):
    def test_small_responses_are_buffered_and_large_ones_streamed(self):
        small = self.get(V4 + "Students?$top=10")
        self.assertIn("content-length", small.headers)
        large = self.get(V4 + "Students")
        self.assertNotIn("content-length", large.headers)
        self.assertEqual(large.headers["transfer-encoding"], "chunked")
        self.assertEqual(len(large.json()["value"]), STUDENTS)

    def test_pages_say_the_same_however_they_are_sent(self):
        query = "Students?$expand=Visits($select=VisitID),School($select=Name)&$orderby=LastName%20desc&$count=true"
        large = self.get(V4 + query).json()
        self.assertEqual(large["@odata.count"], STUDENTS)
        path, found = query + "&$top=3000", []
        while path:
            page = self.get(V4 + path, Prefer="maxpagesize=700").json()
            found += page["value"]
            path = page.get("@odata.nextLink", "").split("/admissions/")[-1]
        self.assertEqual(found, large["value"])

    def test_a_large_page_ends_with_the_address_of_the_next(self):
        page = self.get(V4 + "Students", Prefer="maxpagesize=2000").json()
        self.assertEqual(len(page["value"]), 2000)
        after = self.get(V4 + page["@odata.nextLink"].split("/admissions/")[-1], Prefer="maxpagesize=2000").json()
        self.assertNotEqual(page["value"][-1], after["value"][0])

    def test_a_large_answer_is_packed_while_it_is_sent(self):
        packed = self.get(V4 + "Students", **{"Accept-Encoding": "gzip"})
        self.assertEqual(packed.headers["content-encoding"], "gzip")
        plain = self.get(V4 + "Students").body
        self.assertEqual(gzip.decompress(packed.body), plain)
        self.assertLess(len(packed.body), len(plain) / 3)

    def test_version_2_in_both_formats(self):
        found = self.get(V2 + "Students?$format=json&$inlinecount=allpages")
        self.assertEqual(found.headers["transfer-encoding"], "chunked")
        self.assertEqual(len(found.json()["d"]["results"]), STUDENTS)
        self.assertEqual(found.json()["d"]["__count"], str(STUDENTS))
        atom = self.get(V2 + "Students?$expand=Visits")
        self.assertEqual(atom.headers["transfer-encoding"], "chunked")
        feed = ElementTree.fromstring(atom.body)
        self.assertEqual(len(feed.findall("{http://www.w3.org/2005/Atom}entry")), STUDENTS)

    def test_references_and_changes_that_are_followed(self):
        links = self.get(V4 + "Students/$ref")
        self.assertEqual(links.headers["transfer-encoding"], "chunked")
        self.assertIn("Students(", links.json()["value"][-1]["@odata.id"])
        tracked = self.get(V4 + "Students", Prefer="track-changes")
        self.assertEqual(tracked.headers["preference-applied"], "track-changes")
        self.assertIn("$deltatoken=", tracked.json()["@odata.deltaLink"])

    def test_what_is_of_several_sets_comes_in_pieces_that_make_the_same(self):
        for path in ["$crossjoin(Students,Schools)?$expand=Students,Schools($expand=Students($top=2))&$filter=Students/SchoolID eq Schools/SchoolID&$count=true",
                     "$all?$count=true&$top=6000"]:
            with self.subTest(path):
                path = path.replace(" ", "%20")
                large = self.get(V4 + path)
                self.assertEqual(large.headers["transfer-encoding"], "chunked")
                rest, found = path, []
                while rest:
                    page = self.get(V4 + rest, Prefer="maxpagesize=900").json()
                    found += page["value"]
                    rest = page.get("@odata.nextLink", "").split("/admissions/")[-1]
                self.assertEqual(large.json()["value"], found)
                self.assertGreaterEqual(len(found), STUDENTS)
                self.assertGreaterEqual(large.json()["@odata.count"], len(found))

    def test_the_log_says_how_many_bytes_were_sent(self):
        plain = self.get(V4 + "Students")
        packed = self.get(V4 + "Students", **{"Accept-Encoding": "gzip"})
        small = self.get(V4 + "Students?$top=1")
        for answer in (plain, packed, small):
            self.assertEqual(self.logged(answer), len(answer.body))

    def test_a_head_has_no_body(self):
        answer = self.gateway.request("HEAD", V4 + "Students", user="alice")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_a_batch_includes_a_large_response_completely(self):
        requests = {"requests": [{"id": "1", "method": "GET", "url": "Students"}]}
        answer = self.gateway.request(
            "POST", V4 + "$batch", json.dumps(requests), {"Content-Type": "application/json"}, user="alice")
        self.assertEqual(len(answer.json()["responses"][0]["body"]["value"]), STUDENTS)

    def test_what_fails_at_once_has_its_status(self):
        self.expect(self.gateway.request("GET", V4 + "Students?$orderby=Nothing", user="alice"), 400)


class Again(Streaming):
    settings = Streaming.settings + ("--set", "adapters.odata.limits.wholeBytes=600000")
    ROUNDS = 8

    def spent(self, paths):
        """Processor time of the gateway."""
        before = self.gateway.processor_seconds()
        for path in paths:
            answer = self.get(path)
            self.assertEqual(answer.headers["transfer-encoding"], "chunked")
            self.assertGreater(len(answer.body), 600_000)
        return self.gateway.processor_seconds() - before

    def test_a_long_response_is_not_buffered_first(self):
        path = V4 + f"Students?$top={STUDENTS}"
        self.get(path)
        again = self.spent([path] * self.ROUNDS)
        new = self.spent([f"{path}&round={number}" for number in range(self.ROUNDS)])
        self.assertLess(again * 1.25, new)

    def test_pages_of_what_was_long_are_known(self):
        first = self.get(V4 + "Students", Prefer="maxpagesize=2999")
        rest = self.get(V4 + first.json()["@odata.nextLink"].split("/admissions/")[-1])
        # What is small is whole even where it was taken for long.
        self.assertEqual(len(rest.json()["value"]), 1)
        self.assertIn("content-length", rest.headers)


class Slow(Streaming):
    def test_memory_is_bounded_while_many_read_slowly(self):
        for path, readers in [(LARGE, SLOW), (PAIRS, 3), (EVERYTHING, 3)]:
            with self.subTest(path):
                self.memory_is_bounded(path, readers)

    def memory_is_bounded(self, path, readers):
        length = len(self.get(path).body)
        self.assertGreater(length, 10 << 20)
        before = self.gateway.resident("VmRSS")
        slow = [self.open(path) for _ in range(readers)]
        for connection in slow:
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
        time.sleep(1)
        self.assertLess(self.gateway.resident("VmRSS") - before, MOST_GROWTH)
        # Others are served meanwhile.
        self.assertEqual(len(self.get(V4 + "Students?$top=5").json()["value"]), 5)
        with concurrent.futures.ThreadPoolExecutor(readers) as pool:
            for read in pool.map(self.rest, slow):
                self.assertGreater(read, length - 4096)
        self.assertLess(self.gateway.resident("VmHWM") - before, 2 * MOST_GROWTH)

    @staticmethod
    def rest(connection):
        """How many bytes come until the last piece."""
        read, end = 0, b""
        while piece := connection.recv(1 << 16):
            read, end = read + len(piece), (end + piece)[-7:]
            if end == b"\r\n0\r\n\r\n":
                break
        return read

    def test_a_closed_connection_frees_its_stream(self):
        for _ in range(30):
            connection = self.open(LARGE)
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
            connection.close()
        self.assertEqual(len(self.get(V4 + "Students").json()["value"]), STUDENTS)


class Batched(Streaming):
    """Reads of a batch are made while its answer is sent."""

    def batch(self, requests, **headers):
        return self.expect(self.gateway.request("POST", V4 + "$batch", *self.written(requests, **headers), user="alice"), 200)

    @staticmethod
    def written(requests, **headers):
        numbered = [{"id": str(number)} | request for number, request in enumerate(requests)]
        return json.dumps({"requests": numbered}), {"Content-Type": "application/json"} | headers

    @staticmethod
    def read(url):
        return {"method": "GET", "url": url.removeprefix(V4)}

    def patch(self, name):
        return {"method": "PATCH", "url": "Students(1)", "headers": {"content-type": "application/json"}, "body": {"LastName": name}}

    def test_its_parts_are_what_they_are_alone(self):
        paths = ["Students", "Students?$top=3", "Nothing", "Students?$orderby=LastName desc", "Students(1)", "Students/$count", "$metadata"]
        answer = self.batch(map(self.read, paths), Prefer="continue-on-error")
        self.assertEqual(answer.headers["transfer-encoding"], "chunked")
        parts = answer.json()["responses"]
        self.assertEqual([part["id"] for part in parts], [str(number) for number in range(len(paths))])
        for path, part in zip(paths, parts, strict=True):
            alone = self.gateway.request("GET", V4 + path.replace(" ", "%20"), user="alice")
            self.assertEqual(part["status"], alone.status, path)
            if alone.status == 200 and "json" in alone.headers["content-type"]:
                self.assertEqual(part["body"], alone.json(), path)
        self.assertIn("content-length", self.batch([self.read("Students?$top=3"), self.read("Students(1)")]).headers)

    def test_what_fails_ends_it_as_before(self):
        asked = [self.read("Students"), self.read("Nothing"), self.read("Students")]
        for wish, last in (("continue-on-error=false", 424), ("continue-on-error", 200)):
            parts = self.batch(asked, Prefer=wish).json()["responses"]
            self.assertEqual([part["status"] for part in parts], [200, 404, last])

    def test_multipart_of_both_versions(self):
        for root, status in ((V4, 200), (V2, 202)):
            head = "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
            text = "".join(
                f"{head}GET {path} HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n" for path in ("Students", "Students?$top=1", "Students"))
            answer = self.expect(self.gateway.request(
                "POST", root + "$batch", text + "--b--\r\n", {"Content-Type": "multipart/mixed; boundary=b", "X-Requested-With": "X"},
                user="alice"), status)
            self.assertEqual(answer.headers["transfer-encoding"], "chunked")
            boundary = answer.headers["content-type"].partition("boundary=")[2].encode()
            parts = answer.body.split(b"--" + boundary)
            self.assertEqual((parts[0], parts[-1]), (b"", b"--\r\n"))
            bodies = [json.loads(part.split(b"\r\n\r\n", 2)[2]) for part in parts[1:-1]]
            rows = [self.rows(body) for body in bodies]
            self.assertEqual([len(part) for part in rows], [STUDENTS, 1, STUDENTS])
            self.assertEqual(bodies[0], bodies[2])

    @staticmethod
    def rows(body):
        """Of a collection, as either version has it."""
        if "value" in body:
            return body["value"]
        return body["d"]["results"] if isinstance(body["d"], dict) else body["d"]

    def test_memory_is_bounded_however_many_are_long(self):
        self.batch([self.read(LARGE)])
        before = self.gateway.resident("VmRSS")
        answer = self.batch([self.read(LARGE)] * 6)
        self.assertGreater(len(answer.body), MOST_GROWTH)
        self.assertLess(self.gateway.resident("VmHWM") - before, MOST_GROWTH)

    def test_a_write_is_committed_though_the_response_is_not_read(self):
        for steps in (
            [self.patch("Before"), self.read(LARGE), self.read(LARGE)], [self.read("Students"), self.patch("Between"), self.read(LARGE)],
        ):
            body, headers = self.written(steps)
            credentials = base64.b64encode(b"alice:portico-demo").decode()
            connection = self.gateway.connect()
            connection.sendall((
                f"POST {V4}$batch HTTP/1.1\r\nHost: 127.0.0.1:{self.gateway.port}\r\nAuthorization: Basic {credentials}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
            self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200"))
            connection.close()
            name = next(step["body"]["LastName"] for step in steps if "body" in step)
            self.assertEqual(self.get(V4 + "Students(1)").json()["LastName"], name)


class Broken(Streaming):
    settings = Streaming.settings + ("--set", "adapters.odata.limits.streamSeconds=2")

    def test_an_answer_that_breaks_off_does_not_look_complete(self):
        connection = self.open(LARGE)
        response = http.client.HTTPResponse(connection)
        response.begin()
        self.assertEqual(response.status, 200)
        time.sleep(4)
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            response.read()
        self.assertGreater(self.logged(response), 0)
        # Nothing of it stays behind.
        self.assertEqual(len(self.get(V4 + "Students").json()["value"]), STUDENTS)
        self.assertIn("An answer broke off", self.gateway.log_path.read_text())


if __name__ == "__main__":
    unittest.main()
