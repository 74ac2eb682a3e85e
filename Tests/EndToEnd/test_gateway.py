"""What every route has in common: methods, formats, errors, limits, conditions."""

import gzip
import json
import plistlib
import socket
import unittest
import xml.etree.ElementTree as ElementTree
import zlib

from harness import BPLIST, JSON, PLIST, XML, GatewayTest

QUICK = True

NOTES = "/api/v1/notes/notes"


class GatewayRules(GatewayTest):
    def test_the_front_page_health_and_description_need_no_login(self):
        self.assertIn("text/html", self.expect(self.gateway.get("/", "text/html"), 200).headers["content-type"])
        for path in ["/health/live", "/health/ready"]:
            self.expect(self.gateway.get(path), 200)
        document = self.expect(self.gateway.get("/openapi.json"), 200).json()
        self.assertTrue(document["openapi"].startswith("3.1"))
        for path in ["/v2/list", "/plists/{name}", "/auth/login", NOTES, NOTES + "/{id}", "/batch"]:
            self.assertIn(path, document["paths"])

    def test_a_program_that_names_a_format_gets_the_front_page_as_a_value(self):
        for accept in ("application/json", "application/json, text/plain, */*", "application/xml", "application/cbor", PLIST):
            answer = self.expect(self.gateway.get("/", accept), 200)
            self.assertIn(answer.headers["content-type"].split(";")[0], (*accept.split(", "), "application/x-plist"))
            self.assertIn("Accept", answer.headers["vary"])
        value = self.gateway.get("/", JSON).json()
        paths = [link["path"] for link in value["links"]]
        paths += [entity["path"] for adapter in value["adapters"] for entity in adapter["entities"]]
        self.assertIn(NOTES, paths)
        for path in paths:
            self.assertNotEqual(self.gateway.get(path, "*/*", user="alice").status, 404, path)
        for accept in ("*/*", "text/html", "text/html, application/json;q=0.9", "image/png"):
            page = self.expect(self.gateway.get("/", accept), 200)
            self.assertIn("text/html", page.headers["content-type"], accept)
        self.expect(self.gateway.get("/?format=nonsense", JSON), 406)

    def test_the_description_is_revalidated_by_its_etag(self):
        full = self.expect(self.gateway.get("/openapi.json"), 200)
        tag = full.headers["etag"]
        for method in ("GET", "HEAD"):
            again = self.gateway.request(method, "/openapi.json", None, {"If-None-Match": f'"other", {tag}'})
            self.assertEqual((again.status, again.body, again.headers["etag"]), (304, b"", tag))
        other = self.expect(self.gateway.request("GET", "/openapi.json", None, {"If-None-Match": '"other"'}), 200)
        self.assertEqual((other.body, other.headers["etag"]), (full.body, tag))

    def test_an_unknown_path_is_404_in_the_callers_format(self):
        answer = self.expect(self.gateway.get("/nothing", JSON), 404)
        self.assertEqual(answer.json()["error"]["code"], "route.notFound")
        self.assertEqual(answer.json()["error"]["requestId"], answer.headers["x-request-id"])
        self.assertEqual(self.gateway.get("/nothing", PLIST).plist()["error"]["code"], "route.notFound")
        self.assertEqual(self.gateway.get("/nothing", BPLIST).plist()["error"]["code"], "route.notFound")
        self.assertEqual(
            ElementTree.fromstring(self.gateway.get("/nothing", XML).body).find("error/code").text, "route.notFound")

    def test_a_known_path_with_another_method_is_405_with_allow(self):
        answer = self.expect(self.gateway.request("DELETE", "/v2/list", user="alice"), 405)
        self.assertEqual(answer.headers["allow"], "GET, HEAD, OPTIONS")

    def test_head_is_answered_like_get_without_the_body(self):
        full = self.gateway.get("/v2/101", user="alice")
        head = self.gateway.request("HEAD", "/v2/101", user="alice")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["content-length"], str(len(full.body)))

    def test_options_tells_the_methods(self):
        answer = self.gateway.request("OPTIONS", NOTES)
        self.assertEqual(answer.status, 204)
        self.assertIn("POST", answer.headers["allow"])

    def test_what_cannot_be_accepted_is_406_and_lists_what_can(self):
        answer = self.gateway.get("/v2/101", "image/png", user="alice")
        self.assertEqual(answer.status, 406)
        self.assertIn(b"application/json", answer.body)

    def test_the_query_may_name_the_format(self):
        self.assertEqual(self.gateway.get("/v2/101?format=bplist", user="alice").plist()["UserId"], 101)
        self.assertIn("Accept", self.gateway.get("/v2/101", user="alice").headers["vary"])

    def test_an_unknown_body_type_is_415_and_lists_what_is_taken(self):
        answer = self.gateway.request("POST", NOTES, b"x", {"Content-Type": "image/png"}, user="alice")
        self.assertEqual(answer.status, 415)
        self.assertIn("application/json", answer.headers["accept"])
        for charset in ["utf-16", "latin1"]:
            headers = {"Content-Type": f"application/json; charset={charset}"}
            self.assertEqual(self.gateway.request("POST", NOTES, b"{}", headers, user="alice").status, 415)

    def test_bad_bodies_are_400_with_the_location(self):
        cases = [(JSON, b'{"title": }'), (JSON, b""), (JSON, b'{"a":1,"a":2}'), (PLIST, b"<plist><dict>"), (BPLIST, b"bplist00xx"), (XML, b"<a><b></a>"), (JSON, b"\xff\xfe\x00")]
        for content_type, body in cases:
            answer = self.gateway.request("POST", NOTES, body, {"Content-Type": content_type, "Accept": JSON}, user="alice")
            self.assertEqual(answer.status, 400, (content_type, body, answer))
        message = self.gateway.request(
            "POST", NOTES, b'{\n  "title": }', {"Content-Type": JSON, "Accept": JSON}, user="alice").json()["error"]["message"]
        self.assertIn("line 2", message)

    def test_answers_are_compressed_on_demand(self):
        plain = self.gateway.get("/plists/sonnets")
        for coding, decode in [("gzip", gzip.decompress), ("deflate", zlib.decompress)]:
            answer = self.gateway.get("/plists/sonnets", headers={"Accept-Encoding": coding})
            self.assertEqual(answer.headers["content-encoding"], coding)
            self.assertEqual(decode(answer.body), plain.body)

    def test_bodies_may_be_compressed(self):
        body = gzip.compress(json.dumps({"title": "compressed", "text": "x" * 2000}).encode())
        headers = {"Content-Type": JSON, "Content-Encoding": "gzip"}
        self.expect(self.gateway.request("POST", NOTES, body, headers, user="alice"), 201)
        headers["Content-Encoding"] = "br"
        self.assertEqual(self.gateway.request("POST", NOTES, body, headers, user="alice").status, 415)

    def test_a_compressed_bomb_is_stopped(self):
        bomb = gzip.compress(b" " * (64 << 20))
        answer = self.gateway.request(
            "POST", NOTES, bomb, {"Content-Type": JSON, "Content-Encoding": "gzip", "Accept": JSON}, user="alice")
        self.expect(answer, 413, "request.tooLarge")

    def test_a_body_beyond_the_limit_is_413_and_ends_the_connection(self):
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=30) as connection:
            connection.sendall(
                b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Content-Length: 104857600\r\n\r\n")
            sent = 0
            try:
                while sent < 100 << 20:
                    sent += connection.send(b" " * 65536)
            except OSError:
                pass
            self.assertLess(sent, 32 << 20)

    def test_a_request_names_its_host_once(self):
        for fields in [b"", b"Host: a\r\nHost: b\r\n"]:
            with self.gateway.connect() as connection:
                connection.sendall(b"GET /health/live HTTP/1.1\r\n" + fields + b"Connection: close\r\n\r\n")
                self.assertRegex(connection.recv(65536), rb"^HTTP/1.1 400 ")

    def test_a_chunked_body_beyond_the_limit_is_413(self):
        with socket.create_connection(("127.0.0.1", self.gateway.port), timeout=30) as connection:
            connection.sendall(
                b"POST /auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n")
            sent = 0
            try:
                while sent < 100 << 20:
                    connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                    sent += 65536
            except OSError:
                pass
            self.assertLess(sent, 40 << 20)

    def test_a_batch_answers_each_call_by_itself(self):
        calls = {
            "calls": [
                {"id": "a", "method": "GET", "path": "/v2/101"},
                {"id": "b", "method": "GET", "path": "/v2/abc"},
                {"id": "c", "method": "POST", "path": NOTES, "body": {"title": "from a batch"}},
            ]
        }
        answers = self.expect(self.gateway.send("POST", "/batch", calls, user="alice"), 200).json()["answers"]
        self.assertEqual([(a["id"], a["status"]) for a in answers], [("a", 200), ("b", 400), ("c", 201)])
        self.assertEqual(answers[0]["body"]["UserName"], "Fake 2")
        self.assertEqual(answers[2]["body"]["title"], "from a batch")
        as_plist = self.gateway.request(
            "POST", "/batch", plistlib.dumps({"calls": calls["calls"][:1]}), {"Content-Type": PLIST, "Accept": PLIST}, user="alice")
        self.assertEqual(as_plist.plist()["answers"][0]["body"]["UserName"], "Fake 2")

    def test_a_batch_cannot_contain_a_batch(self):
        inner = {"calls": [{"id": "x", "method": "POST", "path": "/batch", "body": {"calls": []}}]}
        self.assertEqual(self.gateway.send("POST", "/batch", inner).json()["answers"][0]["status"], 400)

    def test_paths_are_decoded_once_and_strictly(self):
        self.assertEqual(self.gateway.get("/v2/%31%30%31", user="alice").status, 200)
        self.assertEqual(self.gateway.get("/v2/%zz", user="alice").status, 400)
        self.assertEqual(self.gateway.get("/v2/%2531", user="alice").status, 400)


class CrossOriginRules(GatewayTest):
    settings = ("--set", "http.cors.origins=[https://app.example]")

    def preflight(self, origin):
        return self.gateway.request(
            "OPTIONS", NOTES, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})

    def test_a_listed_origin_is_let_through_and_no_other(self):
        allowed = self.preflight("https://app.example")
        self.assertEqual(allowed.headers["access-control-allow-origin"], "https://app.example")
        self.assertNotIn("access-control-allow-origin", self.preflight("https://evil.example").headers)


if __name__ == "__main__":
    unittest.main()
