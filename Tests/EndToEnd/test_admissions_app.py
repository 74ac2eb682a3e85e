"""What a counselor's app does in a day, as one script: the scenario of the University of Mississippi's account of its app
(2011), against a gateway that passes the portal's sign-in on."""

import pathlib
import tempfile
import threading
import time
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from harness import ROOT, START_SECONDS, Gateway
from provider_stand_in import PASSWORD, Portal

SERVICE = "/sap/opu/sdata/sap/ADMISSIONSCOUNSELOR/"
ATOM = "{http://www.w3.org/2005/Atom}"
META = "{http://schemas.microsoft.com/ado/2007/08/dataservices/metadata}"
DATA = "{http://schemas.microsoft.com/ado/2007/08/dataservices}"

CONFIGURATION = """
store: {{ path: portico.sqlite, sampleData: true }}
upstreams:
  corp: {{ url: {portal}, networks: [127.0.0.0/8], deadline: 2s, limits: {{ tries: 1 }} }}
identity:
  session: {{ lifetime: {lifetime}, cookie: {{ name: MYSAPSSO2 }} }}
  providers:
    corp:
      kind: portal
      upstream: corp
      page: {portal}/irj/portal
      form: {portal}/irj/login
      userAgent: "Mozilla/4.0 (compatible; MSIE 7.0)"
      roles: [member]
adapters:
  odata:
    services:
      admissions: {{ model: {root}/Config/odata/admissions.csdl.xml, access: login, samples: 300 }}
"""


class SlowPortal(Portal):
    """Keeps everybody waiting while it is told to."""

    def __init__(self):
        self.may_answer = threading.Event()
        self.may_answer.set()
        super().__init__()
        # Those who waited have hung up.
        self.server.handle_error = lambda *_: None

    def answer(self, *request):
        self.may_answer.wait(START_SECONDS)
        return super().answer(*request)


class Failure(Exception):
    def __init__(self, answer):
        self.status, self.code = answer.status, ElementTree.fromstring(answer.body).findtext(f"{META}code")
        super().__init__(f"{self.status} {self.code}")


class TimedOut(Failure):
    """Of a system behind the gateway: later it may work."""


class Refused(Failure):
    """Of the question itself: asking again does not help."""


class CounselorApp:
    """Keeps the portal's cookie as the app of 2011 did, in one header field together with its attributes, and signs in
    again with what the device stores when the session has ended."""

    def __init__(self, gateway, user, password):
        self.gateway, self.user, self.password = gateway, user, password
        self.cookie, self.sign_ins = None, 0

    def sign_in(self):
        form = urllib.parse.urlencode({"j_user": self.user, "j_password": self.password})
        answer = self.gateway.request("POST", "/irj/portal", form, {
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/xml"})
        if answer.status == 504:
            raise TimedOutAtSignIn(answer)
        if answer.status != 200:
            raise RefusedAtSignIn(answer)
        assert "HttpOnly" in answer.headers["set-cookie"]
        value = answer.headers["set-cookie"].split(";")[0]
        self.cookie, self.sign_ins = f"{value}; Domain=portal.example; Path=/", self.sign_ins + 1

    def get(self, path):
        if not self.cookie:
            self.sign_in()
        answer = self._ask(path)
        if answer.status == 401:
            self.sign_in()
            answer = self._ask(path)
        if answer.status != 200:
            raise (TimedOut if answer.status == 504 else Refused)(answer)
        return answer

    def _ask(self, path):
        return self.gateway.get(path.replace(" ", "%20").replace("'", "%27"), headers={"Cookie": self.cookie})

    def rows(self, query):
        feed = ElementTree.fromstring(self.get(SERVICE + query).body)
        return [
            {field.tag.removeprefix(DATA): field.text for field in entry.find(f"{ATOM}content/{META}properties")}
            for entry in feed.findall(f"{ATOM}entry")]


class AtSignIn(Exception):
    def __init__(self, answer):
        self.status = answer.status
        super().__init__(repr(answer))


class TimedOutAtSignIn(AtSignIn):
    pass


class RefusedAtSignIn(AtSignIn):
    pass


class AppTest(unittest.TestCase):
    LIFETIME = "8h"

    @classmethod
    def setUpClass(cls):
        cls.portal = SlowPortal()
        cls.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(cls.folder.name) / "portico.yaml"
        config.write_text(CONFIGURATION.format(portal=cls.portal.address, root=ROOT, lifetime=cls.LIFETIME))
        cls.gateway = Gateway(config=str(config))

    @classmethod
    def tearDownClass(cls):
        cls.portal.may_answer.set()
        cls.gateway.remove()
        cls.portal.stop()
        cls.folder.cleanup()

    def app(self, password=PASSWORD):
        return CounselorApp(self.gateway, "jdoe", password)


class ADayWithTheApp(AppTest):
    def test_from_the_sign_in_over_states_to_a_students_school(self):
        app = self.app()
        states = app.rows("StateCollection?$orderby=Name")
        self.assertEqual((len(states), states[0]["Name"]), (51, "Alabama"))
        # By attributes.
        found = app.rows(
            "StudentCollection?$filter=substringof('a',LastName) and GPA ge 3.0M and GraduationYear gt 2000"
            "&$orderby=LastName,StudentID&$top=20")
        self.assertTrue(found)
        self.assertTrue(all("a" in s["LastName"] and float(s["GPA"]) >= 3 for s in found))
        # By school: first the schools of a city, then who goes there.
        school = app.rows(f"SchoolCollection?$filter=SchoolID eq {found[0]['SchoolID']}")[0]
        self.assertIn(school, app.rows(f"SchoolCollection?$filter=startswith(City,'{school['City'][:3]}') eq true"))
        students = app.rows(f"SchoolCollection({school['SchoolID']})/Students")
        self.assertIn(found[0]["StudentID"], [s["StudentID"] for s in students])
        self.assertEqual({s["SchoolID"] for s in students}, {school["SchoolID"]})
        self.assertEqual(app.sign_ins, 1)

    def test_a_page_within_the_app_shares_the_session(self):
        app = self.app()
        app.rows("StateCollection?$top=1")
        page = app.get("/auth/login")
        self.assertIn("text/html", page.headers["content-type"])
        self.assertIn("jdoe", page.text())
        self.assertNotIn("j_password", page.text())
        self.assertNotIn("jdoe", self.gateway.get("/auth/login").text())
        self.assertEqual(app.sign_ins, 1)

    def test_an_error_is_distinct_from_a_timeout(self):
        app = self.app()
        with self.assertRaises(Refused) as refused:
            app.rows("StudentCollection?$filter=Nope eq 1")
        self.assertEqual((refused.exception.status, refused.exception.code), (400, "request.invalid"))
        with self.assertRaises(RefusedAtSignIn) as wrong:
            self.app(password="wrong").sign_in()
        self.assertEqual(wrong.exception.status, 401)
        self.portal.may_answer.clear()
        try:
            with self.assertRaises(TimedOutAtSignIn):
                self.app().sign_in()
            # Existing sessions continue meanwhile.
            self.assertTrue(app.rows("StateCollection?$top=1"))
        finally:
            self.portal.may_answer.set()
        self.assertEqual(app.sign_ins, 1)


class AShortSession(AppTest):
    LIFETIME = "3s"

    def test_the_app_signs_in_again_after_its_session_ends(self):
        app = self.app()
        self.assertEqual(len(app.rows("StateCollection")), 51)
        before, end = app.sign_ins, time.monotonic() + START_SECONDS
        while app._ask(SERVICE + "StateCollection").status == 200 and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual(len(app.rows("StateCollection")), 51)
        self.assertGreater(app.sign_ins, before)


if __name__ == "__main__":
    unittest.main()
