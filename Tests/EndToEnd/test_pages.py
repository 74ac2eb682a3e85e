"""What a person with a browser meets: the front page, records as tables, a sign-in that comes back, errors as pages."""

import hashlib
import html
import html.parser
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest
import urllib.parse

import browser
from harness import BUILD, CHEAP_PASSWORDS, DEMO, JSON, ROOT, SAMPLES, START_SECONDS, XML, Gateway, GatewayTest

# What Chrome, Firefox and Safari send when somebody goes to an address.
CHROME = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
FORM = "application/x-www-form-urlencoded"
NOTES = "/api/v1/notes/notes"


class Page(html.parser.HTMLParser):
    def __init__(self, answer):
        super().__init__()
        self.tags, self.links, self.cells, self.inputs, self.text = [], {}, [], {}, ""
        self.feed(answer.text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "a":
            self.links.setdefault(attributes["href"], "")
        if tag == "input" and "name" in attributes:
            self.inputs[attributes["name"]] = attributes.get("value")

    def handle_data(self, data):
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag != "style":
            self.text += data
        if tag == "a" and not self.links[attributes["href"]]:
            self.links[attributes["href"]] = data
        is_in_cell = tag in ("td", "th") or tag in ("a", "time") and self.tags[-2][0] in ("td", "th")
        if (is_in_cell or attributes.get("class") == "text") and data.strip():
            self.cells.append(data.strip())

    def names(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


class Pages(GatewayTest):
    def page(self, path, status=200, accept=CHROME, **rest):
        answer = self.expect(self.gateway.get(path, accept, **rest), status)
        self.assertEqual(answer.headers["content-type"], "text/html; charset=utf-8", answer)
        return Page(answer)

    def cookie(self, user="alice"):
        return {"Cookie": self.gateway.login(user).headers["set-cookie"].split(";")[0]}

    def test_the_front_page_leads_to_the_pages_that_work_in_a_browser(self):
        page = self.page("/")
        for path in ("/chat/", "/client/", "/auth/login", "/openapi.json", "/plists/sonnets", NOTES):
            self.assertIn(path, page.links)
        for path in ("/chat/", "/client/"):
            self.assertEqual(self.gateway.get(path, CHROME).status, 200)
        self.assertEqual(page.names("script"), [{"type": "module", "src": "/pages/elements.js"}])
        for path in ("/account/", "/docs/", "/errors"):
            self.assertIn(path, page.links)
        self.assertIn("width=device-width", str(page.names("meta")))

    def test_the_front_page_names_the_signed_in_account_and_is_not_cached_then(self):
        answer = self.gateway.get("/", CHROME, headers=self.cookie())
        self.assertEqual(Page(answer).links["/account/"], "alice")
        self.assertEqual(Page(answer).names("form"), [{"method": "post", "action": "/auth/logout"}])
        self.assertIn("curl -u alice", answer.text())
        self.assertEqual(answer.headers["cache-control"], "no-store")
        page = self.page("/")
        self.assertNotIn("alice", page.text)
        self.assertEqual((page.links["/auth/login"], page.names("form")), ("Sign in", []))

    def test_the_first_calls_of_the_front_page_work_as_they_stand(self):
        answer = self.gateway.get("/", CHROME, headers=self.cookie())
        calls = [html.unescape(code) for code in re.findall(r"<pre[^>]*><code>(.*?)</code>", answer.text(), re.S)]
        self.assertEqual(len(calls), 2)
        for call in calls:
            command = call.replace("-u alice", "-u alice:portico-demo")
            done = subprocess.run(["bash", "-c", f"{command} -s"], capture_output=True, text=True, timeout=60)
            self.assertLessEqual(len(json.loads(done.stdout)["items"]), 3, call)
        self.assertIn(f"'http://127.0.0.1:{self.gateway.port}/api/", calls[0])

    def test_the_front_page_folds_each_adapter_with_what_can_be_opened_of_it(self):
        page = self.page("/")
        self.assertGreater(len(page.names("details")), 4)
        self.assertEqual([one for one in page.names("details") if "open" in one], [])
        for path in ("/odata/v4/admissions/", "/v2/list", "/api/v1/employees/employees"):
            self.assertIn(path, page.links)

    def test_every_page_has_an_icon_that_is_there(self):
        for path in ("/", "/auth/login", "/chat/", "/client/", "/plists/sonnets", "/nothing"):
            links = Page(self.gateway.get(path, CHROME)).names("link")
            self.assertIn("/favicon.svg", [link["href"] for link in links if link["rel"] == "icon"], path)
        for path in ("/favicon.svg", "/favicon.ico"):
            answer = self.expect(self.gateway.get(path, "image/avif,image/webp,image/*,*/*;q=0.8"), 200)
            self.assertEqual(answer.headers["content-type"], "image/svg+xml")

    def test_records_are_a_table_for_browsers_and_unchanged_for_programs(self):
        for text in ("first", "second"):
            self.expect(self.gateway.send("POST", NOTES, {"title": f"{text} <b>&", "text": text}, user="bob"), 201)
        for accept in (CHROME, FIREFOX, "text/html"):
            answer = self.expect(self.gateway.get(NOTES + "?limit=1&order=title", accept, user="bob"), 200)
            page = Page(answer)
            self.assertEqual(len(page.names("table")), 1)
            self.assertIn("title ↑", page.cells)
            self.assertIn("first <b>&", page.cells)
            self.assertNotIn("b", [tag for tag, _ in page.tags])
            self.assertNotIn("second <b>&", page.cells)
            self.assertIn("Accept", answer.headers["vary"])
        following = next(path for path, title in page.links.items() if title == "Next page")
        self.assertIn("second <b>&", self.page(following, user="bob").cells)
        formats = {title: path for path, title in page.links.items() if "format=" in path}
        self.assertEqual(json.loads(self.gateway.get(formats["json"], CHROME, user="bob").body)["items"][0]["text"], "first")
        for accept, expected in ((None, JSON), ("*/*", JSON), (JSON, JSON), (XML, XML), (f"{JSON}, text/html", JSON), ("text/html;q=0.5, */*", JSON), ("text/html;q=0, */*", JSON)):
            self.assertEqual(self.gateway.get(NOTES, accept, user="bob").headers["content-type"], expected, accept)

    def test_one_record_a_feed_and_the_users_are_tables_too(self):
        self.assertIn("UserName", self.page("/v2/101", user="alice").cells)
        self.assertIn("UserName", self.page("/v2/list", user="alice").cells)
        self.assertIn("William Shakespeare", self.page("/plists/sonnets").cells)
        again = self.gateway.get("/plists/sonnets", CHROME)
        unchanged = self.gateway.get("/plists/sonnets", CHROME, headers={"If-None-Match": again.headers["etag"]})
        self.assertEqual(unchanged.status, 304)
        for accept in (JSON, XML):
            self.assertNotEqual(self.gateway.get("/plists/sonnets", accept).headers["etag"], again.headers["etag"])

    def test_nothing_that_is_stored_runs_on_a_page(self):
        hostile = "</td><script>alert(1)</script><img src=x onerror=alert(1)>\"'"
        note = self.expect(self.gateway.send("POST", NOTES, {"title": hostile, "text": "x"}, user="alice"), 201).json()
        for path in (f"{NOTES}/{note['id']}", NOTES + "?limit=1000", "/nothing/%3Cscript%3E", NOTES + "?filter=%3Cscript%3E"):
            answer = self.gateway.get(path, CHROME, user="alice")
            tags = [tag for tag, _ in Page(answer).tags]
            self.assertNotIn("script", tags, path)
            self.assertNotIn("img", tags, path)
            policy = answer.headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("script-src", policy)
            self.assertNotIn("unsafe", policy)

    def test_a_vocabulary_of_xml_that_is_asked_for_is_not_generic_xml(self):
        for accept in ("application/xhtml+xml", "application/atom+xml", "image/svg+xml"):
            self.expect(self.gateway.get("/plists/sonnets", accept), 406)
            self.assertEqual(self.gateway.get(NOTES, f"{accept}, {JSON};q=0.1", user="alice").headers["content-type"], JSON)

    def test_what_needs_a_sign_in_leads_to_it_and_back(self):
        for path in (NOTES + "?order=title&limit=3", "/v2/list", "/odata/v4/admissions/Students?$top=1", "/auth/me"):
            led = self.expect(self.gateway.get(path, CHROME), 303)
            self.assertEqual(led.headers["cache-control"], "no-store")
            form = self.gateway.get(led.headers["location"], CHROME)
            fields = {name: value or "" for name, value in Page(form).inputs.items()}
            self.assertEqual(fields["next"], path)
            sent = urllib.parse.urlencode(fields | {"username": "alice", "password": "portico-demo"})
            headers = {"Content-Type": FORM, "Accept": CHROME, "Cookie": form.headers["set-cookie"].split(";")[0]}
            back = self.expect(self.gateway.request("POST", "/auth/login", sent, headers), 303)
            self.assertEqual(back.headers["location"], path)
            cookie = {"Cookie": back.headers["set-cookie"].split(";")[0]}
            self.expect(self.gateway.get(back.headers["location"], CHROME, headers=cookie), 200)

    def test_a_program_that_names_pages_as_browsers_do_gets_what_programs_get(self):
        java = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
        self.assertEqual(self.expect(self.gateway.get(NOTES, java, user="alice"), 200).headers["content-type"], JSON)
        self.expect(self.gateway.get(NOTES, java), 401)
        for mode, expected in (("cors", XML), ("navigate", "text/html; charset=utf-8")):
            answer = self.gateway.get(NOTES, CHROME, user="alice", headers={"Sec-Fetch-Mode": mode})
            self.assertEqual(answer.headers["content-type"], expected, mode)
        # Over HTTP without TLS browsers send no Fetch Metadata.
        plain = self.gateway.get(NOTES, "text/html, */*;q=0.8", user="alice", headers={"Upgrade-Insecure-Requests": "1"})
        self.assertEqual(plain.headers["content-type"], "text/html; charset=utf-8")
        sent = urllib.parse.urlencode({"username": "alice", "password": "wrong"})
        answer = self.gateway.request("POST", "/auth/login", sent, {"Content-Type": FORM, "Accept": java})
        self.assertEqual(self.expect(answer, 401).headers["content-type"], JSON)

    def test_programs_get_401_as_before(self):
        for headers in ({"Accept": JSON}, {"Accept": "*/*"}, {}, {"Accept": XML}, {"Accept": f"{JSON}, text/html"}):
            self.expect(self.gateway.request("GET", NOTES, None, headers), 401)
        self.expect(self.gateway.request("POST", NOTES, "{}", {"Accept": CHROME, "Content-Type": JSON}), 401)
        self.expect(self.gateway.get(NOTES, CHROME, headers={"Authorization": "Bearer x"}), 401)
        batch = {"calls": [{"id": "a", "method": "GET", "path": NOTES, "headers": {"Accept": CHROME}}]}
        self.assertEqual(self.gateway.send("POST", "/batch", batch).json()["answers"][0]["status"], 401)

    def test_the_sign_in_page_redirects_a_signed_in_user(self):
        self.assertIn("/chat/", self.page("/auth/login?next=/chat/", headers=self.cookie()).links)
        self.assertNotIn("//evil.example", self.page("/auth/login?next=//evil.example", headers=self.cookie()).links)

    def test_a_failure_is_a_page_with_its_code_and_request(self):
        answer = self.expect(self.gateway.get("/nothing", CHROME), 404)
        self.assertIn("route.notFound", answer.text())
        self.assertIn(answer.headers["x-request-id"], answer.text())
        self.assertIn("role=\"alert\"", answer.text())

    def test_the_description_has_the_operations_and_not_the_files_of_pages(self):
        document = self.gateway.get("/openapi.json").json()
        files = [path for path in document["paths"] if path.startswith(("/chat/", "/client/", "/favicon"))]
        self.assertEqual([path for path in files if not path.startswith("/chat/v1/")], [])
        self.assertIn("/chat/v1/rooms", document["paths"])

    def test_a_long_list_goes_on_on_the_next_page_and_none_is_left_out(self):
        employees = "/api/v1/employees/employees"
        ids, path = [], f"{employees}?limit=1000&filter=lastName eq 'Doe' or startsWith(lastName, 'S')&order=-lastName"
        path = urllib.parse.quote(path, safe="/?&=,")
        wanted = [one["id"] for one in self.gateway.get(path, JSON, user="alice").json()["items"]]
        while path:
            page = self.page(path, user="alice")
            self.assertIn(f"{len(wanted):,} records", page.text)
            rows = [link.rsplit("/", 1)[1] for link in page.links if link.startswith(f"{employees}/")]
            self.assertLessEqual(len(rows), 200)
            ids += rows
            path = next((link for link, title in page.links.items() if title == "Next page"), None)
        self.assertGreater(len(wanted), 400)
        self.assertEqual(ids, wanted)

    def test_the_form_of_a_list_filters_searches_and_orders(self):
        for title, text in (("Milk's", "oat"), ("Milk", "rye"), ("Bread", "rye")):
            self.expect(self.gateway.send("POST", NOTES, {"title": title, "text": text}, user="carol"), 201)

        def sent(**fields):
            answer = self.expect(self.gateway.get(f"{NOTES}?{urllib.parse.urlencode(fields)}", CHROME, user="carol"), 303)
            return answer.headers["location"], self.page(answer.headers["location"], user="carol")

        _, page = sent(field="title", comparison="contains", value="Milk's", search="", order="")
        self.assertEqual(([cell for cell in page.cells if cell in ("Milk's", "Milk", "Bread")]), ["Milk's"])
        self.assertIn("title, 'Milk''s'", page.text)
        location, page = sent(field="title", comparison="startsWith", value="Milk", search="rye", order="-title")
        self.assertEqual([cell for cell in page.cells if cell in ("Milk's", "Milk", "Bread")], ["Milk"])
        self.assertIn("-title", location)
        self.assertIn("1 record", page.text)
        without = next(link for link, title in page.links.items() if title == "remove" and "search=" not in link)
        self.assertEqual([c for c in self.page(without, user="carol").cells if c in ("Milk's", "Milk")], ["Milk's", "Milk"])
        _, page = sent(field="text", comparison="eq", value="rye", filter="title eq 'Bread'")
        self.assertEqual([cell for cell in page.cells if cell in ("Milk's", "Milk", "Bread")], ["Bread"])
        # A second condition narrows the first; one for a list looks for an element.
        _, page = sent(field="sharedWith", comparison="contains", value="bob", filter="title eq 'Bread'")
        self.assertIn("No record fits.", page.text)
        # Programs have the parameters of the resource alone.
        self.expect(self.gateway.get(f"{NOTES}?comparison=eq&field=title&value=x", JSON, user="carol"), 400, "request.invalid")

    def test_columns_order_by_their_heads_and_say_how(self):
        page = self.page("/api/v1/odata/admissions-Students?order=LastName", user="alice")
        heads = [head for head in page.names("th") if head.get("scope") == "col"]
        self.assertEqual([head["aria-sort"] for head in heads if "aria-sort" in head], ["ascending"])
        self.assertIn("/api/v1/odata/admissions-Students?order=-LastName", page.links)
        self.assertIn("/api/v1/odata/admissions-Students?order=GPA", page.links)

    def test_a_record_is_opened_from_its_list_and_leads_to_others(self):
        room = self.gateway.send("POST", "/chat/v1/rooms", {"name": "r"}, user="alice").json()["room"]["id"]
        sent = self.gateway.send("POST", f"/chat/v1/rooms/{room}/messages", {"text": "x"}, user="alice").json()["message"]
        path = f"/api/v1/chat/messages/{sent['id']}"
        self.assertIn(path, self.page("/api/v1/chat/messages?limit=200", user="alice").links)
        page = self.page(path, user="alice")
        self.assertIn(f"/api/v1/chat/rooms/{room}", page.links)
        self.assertIn("/api/v1/chat/messages", page.links)
        self.assertTrue(all(re.fullmatch(r"[-\d]{10}T[\d:.]+Z", time["datetime"]) for time in page.names("time")))
        self.assertEqual(len(page.names("time")), 2)

    def test_a_page_that_was_kept_with_another_style_is_not_taken_for_current(self):
        """The policy allows the style by its hash, so that the tag has to know it too."""
        answer = self.gateway.get("/plists/sonnets", CHROME)
        style = answer.text().split("<style>")[1].split("</style>")[0]
        self.assertIn(hashlib.sha256(style.encode()).hexdigest()[:8], answer.headers["etag"])


@unittest.skipUnless(browser.program(), "there is no Chromium here")
class Screens(GatewayTest):
    """The pages as a browser lays them out, on a phone and on a desk, in light and in dark."""

    PAGES = (
        "/", "/auth/login?next=/chat/", "/account/", "/chat/", "/client/", "/plists/sonnets", "/nothing",
        "/api/v1/odata/reference-Products")
    # By the formula of WCAG 2.2 (relative luminance): every text against the nearest background behind it.
    CONTRAST = """(() => {
        const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((x) => x / 255).map((x) => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4)
            .reduce((sum, x, i) => sum + x * [.2126, .7152, .0722][i], 0);
        const behind = (element) => {
            for (let one = element; one; one = one.parentElement) {
                const color = parse(getComputedStyle(one).backgroundColor);
                if (color.length === 3 || color[3] === 1) return color;
            }
            return [255, 255, 255];
        };
        const shown = [...document.body.querySelectorAll("*")].filter((one) => one.offsetParent
            && [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
        return Math.min(...shown.map((one) => {
            const [a, b] = [light(parse(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
            return (a + .05) / (b + .05);
        }));
    })()"""

    def test_no_page_is_wider_than_its_screen_and_every_text_can_be_read(self):
        opened = browser.Browser()
        self.addCleanup(opened.close)
        page = opened.person().page()
        grounds = set()
        for width in (390, 1280):
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 400)
            for scheme in ("light", "dark"):
                page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                for path in self.PAGES:
                    with self.subTest(path=path, width=width, scheme=scheme):
                        page.go(f"http://127.0.0.1:{self.gateway.port}{path}")
                        page.until("[...document.body.querySelectorAll('form, section, table, [role=alert], main button')].some((one) => one.offsetParent)")
                        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                        self.assertGreaterEqual(page.run(self.CONTRAST), 4.5)
                        grounds.add((scheme, page.run("getComputedStyle(document.body).backgroundColor")))
        self.assertEqual(len(grounds), 2, "the pages have one look")


class LogForm(unittest.TestCase):
    """The log of a start and one request, as standard error gets it."""

    def lines(self, *settings):
        gateway = Gateway(*settings)
        self.addCleanup(gateway.remove)
        gateway.get("/plists/sonnets")
        gateway.stop()
        return gateway.log().splitlines()

    def test_what_is_no_terminal_gets_json(self):
        lines = self.lines()
        events = [json.loads(line) for line in lines]
        self.assertIn("/plists/sonnets", [event.get("path") for event in events])
        loaded = next(event for event in events if event["message"] == "starting")
        self.assertEqual((loaded["configuration"], "chat" in loaded["adapters"], "notes-worker" in loaded["plugins"]), (DEMO, True, True))

    def test_people_get_lines_they_can_read_when_asked_for(self):
        lines = self.lines("--set", "log.format=text")
        self.assertEqual([line for line in lines if line.startswith("{") or re.search(r',"\w+":', line)], [])
        self.assertRegex(next(line for line in lines if "adapter runs" in line), r" attempts=1\b")
        request = next(line for line in lines if "path=/plists/sonnets" in line)
        self.assertRegex(request, r"^\d\d:\d\d:\d\d\.\d{3}Z info +request method=GET path=/plists/sonnets status=200 ")

    def test_nothing_a_caller_sends_commands_the_terminal(self):
        """Notes to devices of the platform `log` are what a caller wrote, in the log."""
        gateway = Gateway("--set", "log.format=text", "--set", "push.log=true")
        self.addCleanup(gateway.remove)
        alice, bob = (gateway.login(name).json()["accessToken"] for name in ("alice", "bob"))
        gateway.send("POST", "/chat/v1/devices", {"token": "a" * 64, "platform": "log"}, token=bob)
        room = gateway.send("POST", "/chat/v1/rooms", {"name": "r", "members": ["bob"]}, token=alice).json()["room"]["id"]
        output = "\u009b2J\n00:00:00.000Z info forged\x7f \"quoted\" \\ \u00e9"
        self.assertEqual(gateway.send("POST", f"/chat/v1/rooms/{room}/messages", {"text": output}, token=alice).status // 100, 2)
        end = time.monotonic() + START_SECONDS
        while "forged" not in gateway.log():
            self.assertLess(time.monotonic(), end, gateway.log())
            time.sleep(0.05)
        gateway.stop()
        log = gateway.log_path.read_bytes()
        self.assertIn('body="alice: \\u{9b}2J\\n00:00:00.000Z info forged\\u{7f} \\"quoted\\" \\\\ \u00e9"'.encode(), log)
        self.assertEqual(re.findall(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", log), [])

    def test_a_terminal_gets_text_and_a_first_start_says_what_it_loads(self):
        """In a pseudo-terminal, with a new data directory."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with tempfile.TemporaryDirectory(prefix="portico-") as data:
            kept = {name: value for name, value in os.environ.items() if not name.startswith("PORTICO_")}
            process = subprocess.Popen(
                [BUILD / "portico", "serve", "--config", DEMO, "--data", data, "--set", "http.port=0", *SAMPLES, *CHEAP_PASSWORDS],
                cwd=ROOT, env=kept, stdout=subprocess.DEVNULL, stderr=slave)
            os.close(slave)
            self.addCleanup(lambda: process.poll() is None and process.kill())
            text = b""
            while b"seed loaded" not in text:
                self.assertTrue(select.select([master], [], [], START_SECONDS)[0], text)
                text += os.read(master, 65536)
            process.send_signal(signal.SIGTERM)
            process.wait(START_SECONDS)
        text = text.decode()
        self.assertNotIn('{"time"', text)
        for part in ("starting", "demo account created account=alice", "loading sample records entities=",
                     "Students 400", "sample records loaded", "seed loaded"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
