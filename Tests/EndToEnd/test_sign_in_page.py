"""The sign-in page with a browser and by keyboard, and cross-site pages that abuse it."""

import base64
import hashlib
import html.parser
import unittest
import urllib.parse

from harness import JSON, GatewayTest

FORM = "application/x-www-form-urlencoded"
HTML = "text/html,application/xhtml+xml;q=0.9"
APP = "https://app.example"


class Page(html.parser.HTMLParser):
    """What of a page matters here: its fields and labels, its style, what its alert says."""

    def __init__(self, text):
        super().__init__()
        self.inputs, self.labels, self.tags, self.forms, self.texts = [], set(), [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "input":
            self.inputs.append(attributes)
        if tag == "label":
            self.labels.add(attributes["for"])
        if tag == "form":
            self.forms.append(attributes)

    def handle_data(self, data):
        self.texts.setdefault(self.tags[-1][0] if self.tags else "", []).append(data)

    def value(self, name):
        return next(field["value"] for field in self.inputs if field["name"] == name)

    @property
    def alert(self):
        return any(attributes.get("role") == "alert" for _, attributes in self.tags)


class SignInPage(GatewayTest):
    settings = ("--set", f"http.cors.origins=[{APP}]")

    def open(self, query=""):
        answer = self.expect(self.gateway.get("/auth/login" + query, HTML), 200)
        return Page(answer.text()), answer.headers["set-cookie"].split(";")[0], answer

    def send(self, page, cookie, headers=None, **changes):
        fields = {field["name"]: field.get("value", "") for field in page.inputs} | changes
        fields = {name: value for name, value in fields.items() if value is not None}
        sent = {"Content-Type": FORM, "Accept": HTML, **({"Cookie": cookie} if cookie else {}), **(headers or {})}
        return self.gateway.request("POST", page.forms[0]["action"], urllib.parse.urlencode(fields), sent)

    def session(self, **changes):
        page, cookie, _ = self.open()
        answer = self.send(page, cookie, username="alice", password="portico-demo", **changes)
        return answer, answer.headers["set-cookie"].split(";")[0]

    def test_a_person_signs_in_and_goes_on(self):
        page, cookie, _ = self.open("?next=/plists/sonnets%3Fformat=json")
        answer = self.send(page, cookie, username="alice", password="portico-demo")
        self.assertEqual((answer.status, answer.headers["location"]), (303, "/plists/sonnets?format=json"))
        self.assertIn("HttpOnly", answer.headers["set-cookie"])
        session = answer.headers["set-cookie"].split(";")[0]
        self.assertEqual(self.gateway.get("/auth/me", headers={"Cookie": session}).json()["name"], "alice")

    def test_every_field_has_a_label_and_an_autocomplete_type(self):
        page, _, answer = self.open()
        shown = [field for field in page.inputs if field["type"] != "hidden"]
        self.assertEqual([field["autocomplete"] for field in shown], ["username", "current-password"])
        self.assertTrue({field["id"] for field in shown} <= page.labels)
        self.assertEqual([field["name"] for field in shown if "autofocus" in field], ["username"])
        self.assertIn("submit", [attributes.get("type") for name, attributes in page.tags if name == "button"])
        self.assertIn('lang="en"', answer.text())

    def test_the_page_has_no_scripts_and_is_not_framed_or_cached(self):
        page, _, answer = self.open()
        policy = answer.headers["content-security-policy"]
        style = answer.text().split("<style>")[1].split("</style>")[0]
        self.assertIn(base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(), policy)
        for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn("script", [tag for tag, _ in page.tags])
        self.assertFalse([name for _, attributes in page.tags for name in attributes if name.startswith("on") or name == "style"])
        expected = {
            "cache-control": "no-store", "x-content-type-options": "nosniff", "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin", "referrer-policy": "same-origin"}
        self.assertEqual({name: answer.headers.get(name) for name in expected}, expected)

    def test_a_wrong_password_says_so_on_the_page_and_keeps_the_name(self):
        page, cookie, _ = self.open("?next=/v2/list")
        hostile = '"><script>alert(1)</script>'
        for name in ("alice", hostile):
            answer = self.send(page, cookie, username=name, password="wrong")
            again = Page(answer.text())
            self.assertEqual((answer.status, again.alert, again.value("username")), (401, True, name))
            self.assertEqual(again.value("next"), "/v2/list")
            self.assertEqual([field["name"] for field in again.inputs if "autofocus" in field], ["password"])
            self.assertNotIn("script", [tag for tag, _ in again.tags])
            self.assertNotIn("wrong", answer.text())

    def test_only_the_page_itself_can_be_sent(self):
        page, cookie, _ = self.open()
        _, other, _ = self.open()
        for broken in ({"csrf": None}, {"csrf": "x"}, {"cookie": None}, {"cookie": other}):
            changed = {"cookie": cookie} | broken
            cookie_sent = changed.pop("cookie")
            answer = self.send(page, cookie_sent, username="alice", password="portico-demo", **changed)
            self.assertEqual((answer.status, Page(answer.text()).alert), (403, True), broken)
            self.assertNotIn("portico_session", answer.headers.get("set-cookie", ""))

    def test_a_cross_site_form_cannot_sign_in(self):
        fields = urllib.parse.urlencode({"username": "alice", "password": "portico-demo"})
        portal = urllib.parse.urlencode({"j_user": "alice", "j_password": "portico-demo"})
        for path, body in (("/auth/login", fields), ("/irj/portal", portal)):
            for site in ("cross-site", "same-site"):
                headers = {"Content-Type": FORM, "Accept": JSON, "Sec-Fetch-Site": site, "Origin": "https://evil.example"}
                self.expect(self.gateway.request("POST", path, body, headers), 403, "access.csrfRequired")
            headers["Origin"] = APP
            self.expect(self.gateway.request("POST", path, body, headers), 200)

    def test_a_browser_without_fetch_metadata_says_whose_page_it_was_by_its_origin(self):
        own = f"http://127.0.0.1:{self.gateway.port}"
        login = self.gateway.login("alice")
        cookie = login.headers["set-cookie"].split(";")[0]
        bodies = {
            "/auth/login": lambda: {"username": "alice", "password": "portico-demo"},
            "/irj/portal": lambda: {"j_user": "alice", "j_password": "portico-demo"},
            "/auth/refresh": lambda: {"refreshToken": self.gateway.login("alice").json()["refreshToken"]},
            "/auth/password": lambda: {"old": "portico-demo", "new": "portico-demo"},
        }
        for path, body in bodies.items():
            def status(**headers):
                sent = {"Cookie": cookie, "X-Requested-With": "x"} if path == "/auth/password" else {}
                return self.gateway.send("POST", path, body(), headers={**sent, **{k.replace("_", "-"): v for k, v in headers.items()}})

            for origin in ("https://evil.example", "null", own.replace("127.0.0.1", "localhost"), own + "0", "", "http://", "evil"):
                self.expect(status(Origin=origin), 403, "access.csrfRequired")
            for headers in ({"Origin": own}, {"Origin": own.replace("http", "https")}, {"Origin": APP}, {},
                            {"Origin": "null", "Sec_Fetch_Site": "same-origin"}):
                self.assertNotEqual(status(**headers).status, 403, (path, headers))
        logout = self.gateway.send(
            "POST", "/auth/logout", {}, headers={"Cookie": cookie, "X-Requested-With": "x", "Origin": "https://evil.example"})
        self.expect(logout, 403, "access.csrfRequired")

    def test_a_sign_in_ends_the_previous_session_of_the_browser(self):
        def named(cookie):
            answer = self.gateway.get("/auth/me", headers={"Cookie": cookie})
            return answer.json()["name"] if answer.status == 200 else None

        def form(old):
            page, cookie, _ = self.open()
            return self.send(page, f"{cookie}; {old}", username="carol", password="portico-demo")

        login, portal = {"username": "carol", "password": "portico-demo"}, {"j_user": "carol", "j_password": "portico-demo"}
        stranger = {"Authorization": f"Bearer {self.gateway.login('bob').json()['accessToken']}"}
        ways = {
            "login": lambda old: self.gateway.send("POST", "/auth/login", login, headers={"Cookie": old}),
            "portal": lambda old: self.gateway.send("POST", "/irj/portal", portal, headers={"Cookie": old}),
            "form": form,
            "with another credential": lambda old: self.gateway.send(
                "POST", "/auth/login", login, headers={"Cookie": old, **stranger}),
        }
        for way, sign_in in ways.items():
            with self.subTest(way):
                first = self.gateway.login("alice")
                old = first.headers["set-cookie"].split(";")[0]
                new = sign_in(old).headers["set-cookie"].split(";")[0]
                self.assertEqual((named(old), named(new)), (None, "carol"))
                token = {"Authorization": f"Bearer {first.json()['accessToken']}"}
                self.expect(self.gateway.get("/auth/me", headers=token), 401, "auth.invalid")
                refreshed = self.gateway.send("POST", "/auth/refresh", {"refreshToken": first.json()["refreshToken"]})
                self.expect(refreshed, 401, "auth.invalid")

    def test_a_sign_in_does_not_redirect_to_another_server(self):
        foreign = [
            "https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "",
            "evil", "/\t/evil.example", "/\n/evil.example", " //evil.example", "/" + "x" * 5000, "/\u2215evil"]
        for next in foreign:
            page, _, _ = self.open("?" + urllib.parse.urlencode({"next": next}))
            self.assertEqual(page.value("next"), "/", next)
        answer, _ = self.session(next="//evil.example")
        self.assertEqual((answer.status, answer.headers["location"]), (303, "/"))

    def test_sign_out_works_by_keyboard(self):
        answer, cookie = self.session()
        page = Page(self.gateway.get("/auth/login", HTML, headers={"Cookie": cookie}).text())
        self.assertIn("everywhere", page.labels)
        refused = self.send(page, cookie, everywhere=None)
        self.assertEqual(refused.status, 403)
        done = self.send(page, cookie, {"Sec-Fetch-Site": "same-origin"}, everywhere=None)
        self.assertEqual((done.status, done.headers["location"]), (303, "/auth/login"))
        self.assertIn("Max-Age=0", done.headers["set-cookie"])
        self.expect(self.gateway.get("/auth/me", headers={"Cookie": cookie}), 401)

    def test_signing_out_everywhere_ends_every_sign_in_at_once(self):
        other = self.gateway.login("alice").json()["accessToken"]
        _, cookie = self.session()
        page = Page(self.gateway.get("/auth/login", HTML, headers={"Cookie": cookie}).text())
        self.assertEqual(self.send(page, cookie, {"Sec-Fetch-Site": "same-origin"}, everywhere="true").status, 303)
        self.expect(self.gateway.get("/auth/me", token=other), 401)


class OwnCredentials(GatewayTest):
    def test_one_sees_where_one_is_signed_in_and_ends_one_of_them(self):
        here, there = (self.gateway.login("bob").json()["accessToken"] for _ in range(2))
        sessions = self.expect(self.gateway.get("/auth/sessions", JSON, token=here), 200).json()["sessions"]
        self.assertEqual(len([one for one in sessions if one["current"]]), 1)
        app = self.gateway.login("bob", agent="Expenses/4.1 (iPhone)").json()["accessToken"]
        listed = self.expect(self.gateway.get("/auth/sessions", JSON, token=app), 200).json()["sessions"]
        self.assertEqual([one["agent"] for one in listed if one["current"]], ["Expenses/4.1 (iPhone)"])
        other = [one["id"] for one in sessions if not one["current"]][-1]
        carols = self.gateway.login("carol").json()["accessToken"]
        self.expect(self.gateway.request("DELETE", f"/auth/sessions/{other}", token=carols), 404, "record.notFound")
        self.assertEqual(self.gateway.request("DELETE", f"/auth/sessions/{other}", token=here).status, 204)
        self.expect(self.gateway.get("/auth/me", token=there), 401)
        self.expect(self.gateway.get("/auth/me", token=here), 200)

    def test_one_makes_a_key_for_a_program_and_revokes_it(self):
        token = self.gateway.login("bob").json()["accessToken"]
        wanted = {"title": "backup", "adapters": ["notes"], "readOnly": True, "days": 7}
        made = self.expect(self.gateway.send("POST", "/auth/keys", wanted, token=token), 201)
        self.assertEqual(made.headers["cache-control"], "no-store")
        key = made.json()
        self.expect(self.gateway.get("/api/v1/notes/notes", token=key["key"]), 200)
        listed = self.gateway.get("/auth/keys", JSON, token=token).json()["keys"]
        self.assertEqual([one["title"] for one in listed], ["backup"])
        self.assertNotIn("key", listed[0])
        for method, path, body in [
            ("POST", "/auth/keys", {"title": "wider"}), ("GET", "/auth/keys", None), ("POST", "/auth/logout", {"everywhere": True}),
            ("DELETE", f"/auth/keys/{key['id']}", None), ("POST", "/auth/password", {"old": "portico-demo", "new": "another-one"})]:
            self.expect(self.gateway.send(method, path, body, token=key["key"]), 403, "access.denied")
        carols = self.gateway.login("carol").json()["accessToken"]
        self.expect(self.gateway.request("DELETE", f"/auth/keys/{key['id']}", token=carols), 404, "record.notFound")
        self.assertEqual(self.gateway.request("DELETE", f"/auth/keys/{key['id']}", token=token).status, 204)
        self.expect(self.gateway.get("/api/v1/notes/notes", token=key["key"]), 401)
        for wrong in ({"title": ""}, {"title": "x", "days": 0}, {"title": "x", "roles": ["no role"]}, {"title": "x", "days": 10**6}):
            self.expect(self.gateway.send("POST", "/auth/keys", wrong, token=token), 400, "request.invalid")


class CrossOrigin(GatewayTest):
    settings = ("--set", f"http.cors.origins=[{APP}]", "--set", "http.corsMaxAge=5m")

    def test_a_preflight_is_kept_and_answers_differ_by_origin(self):
        asked = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "x-csrf-token, if-match"}
        answer = self.gateway.request("OPTIONS", "/api/v1/notes/notes/x", headers={"Origin": APP, **asked})
        self.assertEqual((answer.status, answer.headers["access-control-max-age"]), (204, "300"))
        self.assertEqual(answer.headers["access-control-allow-credentials"], "true")
        self.assertIn("PATCH", answer.headers["access-control-allow-methods"])
        for field in ("x-csrf-token", "if-match"):
            self.assertIn(field, answer.headers["access-control-allow-headers"].lower())
        for origin in ("https://evil.example", "https://app.example.evil.example", "null", "http://app.example", APP + ":444"):
            refused = self.gateway.request("OPTIONS", "/api/v1/notes/notes/x", headers={"Origin": origin, **asked})
            self.assertFalse([name for name in refused.headers if name.startswith("access-control-")], origin)
            self.assertIn("origin", refused.headers["vary"].lower())

    def test_a_listed_origin_reads_answers_and_errors_and_still_needs_the_token_to_write(self):
        cookie = self.gateway.login("alice").headers["set-cookie"].split(";")[0]
        headers = {"Origin": APP, "Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
        fetched = self.gateway.get("/auth/me", headers={**headers, "X-CSRF-Token": "Fetch"})
        self.assertEqual(fetched.headers["access-control-allow-origin"], APP)
        self.assertIn("X-CSRF-Token", fetched.headers["access-control-expose-headers"])
        refused = self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t"}, headers=headers)
        self.expect(refused, 403, "access.csrfRequired")
        self.assertEqual(refused.headers["access-control-allow-origin"], APP)
        headers["X-CSRF-Token"] = fetched.headers["x-csrf-token"]
        self.expect(self.gateway.send("POST", "/api/v1/notes/notes", {"title": "t"}, headers=headers), 201)

    def test_a_batchs_calls_cannot_say_which_page_sent_them(self):
        cookie = self.gateway.login("alice").headers["set-cookie"].split(";")[0]
        for field in ("X-Requested-With", "Sec-Fetch-Site", "Origin"):
            call = {"id": "1", "method": "POST", "path": "/api/v1/notes/notes", "headers": {field: "same-origin"}, "body": {"title": "t"}}
            self.expect(self.gateway.send("POST", "/batch", {"calls": [call]}, headers={"Cookie": cookie}), 400)
        token = self.gateway.get("/auth/me", headers={"Cookie": cookie, "X-CSRF-Token": "Fetch"}).headers["x-csrf-token"]
        call = {"id": "1", "method": "POST", "path": "/api/v1/notes/notes", "headers": {"X-CSRF-Token": token}, "body": {"title": "t"}}
        answers = self.gateway.send("POST", "/batch", {"calls": [call]}, headers={"Cookie": cookie}).json()["answers"]
        self.assertEqual(answers[0]["status"], 201)


if __name__ == "__main__":
    unittest.main()
