"""OData 2.0 and SAP's shapes over the demonstration's services, checked from outside."""

import datetime
import json
import re
import unittest
import urllib.parse
import xml.etree.ElementTree as ElementTree

from harness import JSON, ROOT as PROJECT, GatewayTest

QUICK = True

ROOT = "/odata/v2/admissions/"
REFERENCE = "/odata/v2/reference/"
SAP = "/sap/opu/odata/sap/ADMISSIONSCOUNSELOR/"
FORM = "application/x-www-form-urlencoded"
ATOM = "{http://www.w3.org/2005/Atom}"
METADATA = "{http://schemas.microsoft.com/ado/2007/08/dataservices/metadata}"


class Version2Test(GatewayTest):
    def ask(self, path, status=200, root=ROOT, user="alice", **headers):
        headers = {"Accept": JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
        return self.expect(self.gateway.request("GET", root + self.quoted(path), headers=headers, user=user), status)

    def d(self, path, root=ROOT):
        return self.ask(path, root=root).json()["d"]

    def rows(self, path, root=ROOT):
        return self.d(path, root)["results"]

    def send(self, method, path, body=None, status=None, root=ROOT, user="alice", **headers):
        # What every client that is no browser may say instead of fetching a token first.
        headers = {
            "Content-Type": JSON, "Accept": JSON, "X-Requested-With": "X",
            **{n.replace("_", "-"): v for n, v in headers.items()}}
        text = None if body is None else json.dumps(body)
        answer = self.gateway.request(method, root + self.quoted(path), text, headers, user=user)
        return self.expect(answer, status) if status else answer

    def create(self, **properties):
        answer = self.send("POST", "Students", {"FirstName": "Test", "LastName": "Person", **properties}, 201)
        student = answer.json()["d"]
        return answer, student, f"Students({student['StudentID']})"

    def failure(self, path, status, root=ROOT, **headers):
        error = self.ask(path, status, root, **headers).json()["error"]
        self.assertEqual(set(error), {"code", "message", "innererror"})
        self.assertEqual(set(error["message"]), {"lang", "value"})
        return error

    @staticmethod
    def quoted(path):
        return path.replace(" ", "%20").replace("'", "%27")


class TheContract(Version2Test):
    """The black-box checks of the Admissions Counselor app's contract. The app's names of sets are taken whatever the model has."""

    settings = ("--set", "identity.session.cookie.name=MYSAPSSO2")
    states = 51
    #: A student that every service takes.
    student = {"FirstName": "To", "LastName": "Ken"}

    def sign_in(self):
        form = urllib.parse.urlencode({"j_user": "alice", "j_password": "portico-demo"})
        return self.gateway.request("POST", "/irj/portal", form, {"Content-Type": FORM})

    def cookie(self):
        name, value = self.sign_in().headers["set-cookie"].split(";")[0].split("=", 1)
        self.assertEqual(name, "MYSAPSSO2")
        # As the app put it together: one field, with what belongs to Set-Cookie still in it.
        return {"Cookie": f"MYSAPSSO2={value}; Domain=127.0.0.1; Path=/", "Accept": JSON}

    def test_the_portals_form_gives_a_cookie_that_scripts_cannot_read(self):
        self.assertIn("HttpOnly", self.sign_in().headers["set-cookie"])

    def test_a_password_in_an_address_is_refused_and_not_logged(self):
        answer = self.gateway.get(f"{SAP}StudentCollection?j_user=alice&j_password=hunter2secret")
        self.assertGreaterEqual(answer.status, 400)
        self.assertNotIn("hunter2secret", self.gateway.log_with(answer))

    def test_a_query_needs_a_session_and_takes_the_apps_cookie_field(self):
        for root in (ROOT, SAP, "/sap/opu/sdata/sap/ADMISSIONSCOUNSELOR/"):
            self.expect(self.gateway.get(root + "StateCollection", accept=JSON), 401)
            answer = self.gateway.request("GET", root + "StateCollection", headers=self.cookie())
            self.assertEqual(len(self.expect(answer, 200).json()["d"]["results"]), self.states)

    def test_the_default_is_atom_and_json_is_had_both_ways(self):
        answer = self.gateway.get(ROOT + "StateCollection?$top=1", user="alice")
        self.assertTrue(answer.headers["content-type"].startswith("application/atom+xml"), answer)
        self.assertEqual(ElementTree.fromstring(answer.body).tag, ATOM + "feed")
        for path, accept in [("StateCollection?$top=1&$format=json", None), ("StateCollection?$top=1", JSON)]:
            answer = self.gateway.get(ROOT + path, accept=accept, user="alice")
            self.assertEqual(len(answer.json()["d"]["results"]), 1)
            self.assertEqual(answer.headers["dataserviceversion"], "2.0")

    def test_a_count_of_all_pages_is_a_text_with_the_filtered_number(self):
        filtered = "$filter=substringof('ar',FirstName)"
        page = self.d(f"StudentCollection?{filtered}&$inlinecount=allpages&$top=1")
        self.assertEqual(len(page["results"]), 1)
        self.assertEqual(page["__count"], self.ask(f"StudentCollection/$count?{filtered}").text())
        self.assertLess(int(page["__count"]), int(self.d("StudentCollection?$inlinecount=allpages&$top=0")["__count"]))
        self.assertNotIn("__count", self.d("StudentCollection?$inlinecount=none&$top=1"))

    def test_a_function_alone_is_the_function_that_is_true(self):
        for function in ["substringof('er',LastName)", "startswith(LastName,'S')", "endswith(LastName,'n')"]:
            plain = self.rows(f"StudentCollection?$select=StudentID&$orderby=StudentID&$filter={function}")
            self.assertTrue(plain)
            self.assertEqual(plain, self.rows(f"StudentCollection?$select=StudentID&$orderby=StudentID&$filter={function} eq true"))
            none = self.ask(f"StudentCollection/$count?$filter={function} eq false and {function}").text()
            self.assertEqual(none, "0")

    def test_a_bad_filter_is_reported_in_the_shape_of_the_version_and_format(self):
        for bad in ["LastName eq", "Nothing eq 1", "LastName eq 5", "contains(LastName,'a')"]:
            self.assertTrue(self.failure(f"StudentCollection?$filter={bad}", 400)["message"]["value"])
            answer = self.gateway.get(self.quoted(f"{ROOT}StudentCollection?$filter={bad}"), user="alice")
            error = ElementTree.fromstring(self.expect(answer, 400).body)
            self.assertEqual([child.tag for child in error], [METADATA + name for name in ("code", "message", "innererror")])
        bad = "StudentCollection?$filter=GPA gt 1x"
        position = self.quoted(bad).index("x")
        self.assertIn(f"position {position}", self.failure(bad, 400)["message"]["value"])

    def test_a_write_by_the_cookie_needs_the_sessions_token(self):
        cookie = {**self.cookie(), "Content-Type": JSON}
        body = json.dumps(self.student)
        answer = self.gateway.request("POST", SAP + "StudentCollection", body, cookie)
        self.assertEqual(self.expect(answer, 403).headers["x-csrf-token"], "Required")
        self.assertIn("lang", answer.json()["error"]["message"])
        fetched = self.gateway.request("GET", SAP, headers={**cookie, "X-CSRF-Token": "Fetch"})
        token = {"X-CSRF-Token": fetched.headers["x-csrf-token"]}
        self.expect(self.gateway.request("POST", SAP + "StudentCollection", body, {**cookie, **token}), 201)
        self.expect(self.gateway.request("POST", SAP + "StudentCollection", body, {**self.cookie(), "Content-Type": JSON, **token}), 403)


class Reading(Version2Test):
    def test_the_service_document_lists_the_sets(self):
        names = {"States", "Schools", "Students", "Counselors", "Visits", "Appointments"}
        for root in (ROOT, SAP):
            self.assertEqual(set(self.d("", root)["EntitySets"]), names)

    def test_saps_search_finds_what_has_every_word(self):
        first = self.d("Students(1)", root=SAP)
        for words in (first["LastName"], f"{first['LastName']} {first['FirstName']}", first["LastName"].upper()):
            found = self.rows(f"Students?search={words}&$top=500", root=SAP)
            self.assertIn(first["StudentID"], [row["StudentID"] for row in found])
            for row in found:
                names = f"{row['FirstName']} {row['LastName']}".lower().split()
                self.assertTrue(all(word.lower() in names for word in words.split()), (words, names))
        self.assertEqual(self.rows("Students?search=Nobodyhasthisname", root=SAP), [])
        all_rows = self.rows("Students?$top=7", root=SAP)
        self.assertEqual(self.rows("Students?$top=7&search=", root=SAP), all_rows)

    def test_an_entry_tells_what_it_is_and_where_the_rest_is(self):
        answer = self.ask("Students(1)", root=SAP)
        student = answer.json()["d"]
        control = student["__metadata"]
        self.assertEqual(control["type"], "ADMISSIONSCOUNSELOR.Student")
        self.assertTrue(control["uri"].endswith(SAP + "Students(1)"))
        self.assertEqual(control["etag"], answer.headers["etag"])
        self.assertEqual(student["School"]["__deferred"]["uri"], control["uri"] + "/School")
        self.assertIsInstance(student["GPA"], str)
        self.assertRegex(student["BirthDate"], r"^/Date\(-?\d+\)/$")
        self.assertRegex(student["Registered"], r"^/Date\(\d+\+0000\)/$")

    def test_expansions_are_paths_and_selections_go_through_them(self):
        student = self.d("Students(1)?$expand=School/State,Counselor&$select=LastName,School/Name,School/State/Name")
        self.assertEqual(set(student) - {"__metadata"}, {"LastName", "School"})
        self.assertEqual(set(student["School"]) - {"__metadata"}, {"Name", "State"})
        self.assertEqual(set(student["School"]["State"]) - {"__metadata"}, {"Name"})
        school = self.d("Schools(1)?$expand=Students")
        self.assertTrue(all("__metadata" in one for one in school["Students"]["results"]))
        self.assertEqual(len(school["Students"]["results"]), int(self.ask("Schools(1)/Students/$count").text()))
        _, _, path = self.create()
        self.assertIsNone(self.d(path + "?$expand=School")["School"])

    def test_pages_are_linked_and_hold_every_entity_once(self):
        seen, link = [], ROOT + "Students?$select=StudentID&$orderby=GPA%20desc,LastName&$top=250"
        while link:
            page = self.expect(self.gateway.get(link, accept=JSON, user="alice"), 200).json()["d"]
            seen += [row["StudentID"] for row in page["results"]]
            link = page.get("__next")
            if link:
                parts = urllib.parse.urlsplit(link)
                link = f"{parts.path}?{parts.query}"
        self.assertEqual((len(seen), len(set(seen))), (250, 250))

    def test_a_property_its_value_and_a_null(self):
        _, student, path = self.create(GPA="3.25")
        self.assertEqual(self.d(path + "/GPA"), {"GPA": "3.25"})
        self.assertEqual(self.ask(path + "/GPA/$value").text(), "3.25")
        self.assertEqual(self.d(path + "/Email"), {"Email": None})
        self.failure(path + "/Email/$value", 404)
        self.failure(path + "/School", 404)

    def test_literals_of_every_type_mean_their_values(self):
        instant = "2031-05-06T07:08:09"
        ticks = int(datetime.datetime.fromisoformat(instant + "+00:00").timestamp()) * 1000
        self.send("POST", "Students", {
            "StudentID": 777001, "FirstName": "L'iteral", "LastName": "Only", "GPA": "1.25", "GraduationYear": 2031,
            "BirthDate": "/Date(946684800000)/", "Registered": f"/Date({ticks}+0000)/"}, 201)
        for condition in [
            "FirstName eq 'L''iteral'", "GPA eq 1.25M", "GPA eq 1.25", "GPA lt 1.3d and GPA gt 1.2f", "StudentID eq 777001L",
            "StudentID eq 777001", "BirthDate eq datetime'2000-01-01T00:00:00'", "BirthDate lt datetime'2000-01-02T00:00'",
            f"Registered eq datetimeoffset'{instant}Z'", f"Registered eq datetime'{instant}'", "Email eq null",
            "year(Registered) eq 2031 and hour(Registered) eq 7", "length(FirstName) eq 8", "indexof(LastName,'n') eq 1",
            "substring(LastName,1,2) eq 'nl'", "tolower(LastName) eq 'only'", "toupper(trim(LastName)) eq 'ONLY'",
            "concat(concat(LastName,' '),'x') eq 'Only x'", "replace(LastName,'n','N') eq 'ONly'", "round(GPA) eq 1M", "floor(GPA) eq 1 and ceiling(GPA) eq 2",
            # A day is its midnight: clients write the end of one as T23:59:59.
            "BirthDate le datetime'2000-01-01T23:59:59'", "BirthDate lt datetime'2000-01-01T00:00:01'",
            "BirthDate ge datetime'1999-12-31T23:59:59.9'", "BirthDate gt datetime'1999-12-31T12:00:00'",
            "datetime'1999-12-31T12:00:00' lt BirthDate and datetime'2000-01-01T12:00' ge BirthDate",
            "BirthDate ne datetime'2000-01-01T12:00:00'", "BirthDate lt datetimeoffset'2000-01-01T01:00:00%2B00:30'",
            "BirthDate lt Registered and Registered gt BirthDate and BirthDate ne Registered",
            "hour(BirthDate) eq 0 and minute(BirthDate) eq 0 and second(BirthDate) eq 0",
            "GraduationYear mod 10 eq 1 and -GraduationYear lt 0 and (GraduationYear add 1) div 2 eq 1016",
        ]:
            found = self.rows(f"Students?$filter=StudentID ge 777001 and ({condition})".replace("+", "%2B"))
            self.assertEqual([row["StudentID"] for row in found], [777001], condition)
        for condition in [
            "GPA eq 1.26M", "BirthDate gt datetime'2000-01-01T00:00:00'", "FirstName ne 'L''iteral'",
            "BirthDate eq datetime'2000-01-01T12:00:00'", "BirthDate ge datetime'2000-01-01T00:00:01'",
            "BirthDate gt datetime'2000-01-01T23:59:59'", "BirthDate le datetime'1999-12-31T23:59:59'", "hour(BirthDate) gt 0",
        ]:
            self.assertEqual(self.rows(f"Students?$filter=StudentID eq 777001 and ({condition})"), [])
        self.failure("Students?$filter=BirthDate eq datetime'2000-02-30T00:00:00'", 400)

    def test_keys_of_other_types_are_written_and_read_alike(self):
        for product in self.rows("Products?$top=3", REFERENCE):
            uri = product["__metadata"]["uri"]
            self.assertIn(f"Products(guid'{product['ID']}')", uri)
            same = self.d(f"Products(guid'{product['ID']}')", REFERENCE)
            self.assertEqual(same["__metadata"], product["__metadata"])
        self.failure("Products(1L)", 400, REFERENCE)

    def test_empty_options_and_empty_parentheses_say_nothing(self):
        """What programs write that put `&` before each option, and each query of .NET's WCF Data Services client."""
        wanted = [row["StudentID"] for row in self.rows("Students?$top=2&$orderby=StudentID")]
        for path in [
            "Students?&$top=2&$orderby=StudentID", "Students?$top=2&&$orderby=StudentID&", "Students()?$top=2&$orderby=StudentID",
            "Students()?&$orderby=StudentID&$top=2", "StudentCollection()?$top=2&$orderby=StudentID",
        ]:
            self.assertEqual([row["StudentID"] for row in self.rows(path)], wanted, path)
        self.assertEqual(self.ask("Students()/$count").text(), self.ask("Students/$count?&").text())
        school = self.rows("Schools()?$top=1")[0]["__metadata"]["uri"].rsplit("/", 1)[1]
        self.assertEqual(len(self.rows(f"{school}/Students()?$top=1")), len(self.rows(f"{school}/Students?$top=1")))
        self.assertEqual(len(self.rows("GetTopProducts()?count=2", REFERENCE)), 2)
        self.failure("Nothing()", 404)

    def test_values_that_this_version_lacks_are_carried_all_the_same(self):
        product = self.d("Products?$filter=Location ne null&$top=1", REFERENCE)["results"][0]
        self.assertEqual(json.loads(product["Location"])["type"], "Point")
        self.assertEqual(product["ShippingAddress"]["__metadata"]["type"], "ComplianceService.Address")
        one = self.rows(f"Products?$filter=ID eq guid'{product['ID']}'&$select=ShippingAddress/City", REFERENCE)[0]
        self.assertEqual(set(one["ShippingAddress"]) - {"__metadata"}, {"City"})

    def test_functions_take_their_parameters_from_the_query(self):
        top = self.rows("GetTopProducts?count=2", REFERENCE)
        self.assertEqual(len(top), 2)
        prices = sorted((p["Price"] for p in self.rows("Products", REFERENCE)), reverse=True)
        self.assertEqual([p["Price"] for p in top], prices[:2])
        self.failure("GetTopProducts?count='x'", 400, REFERENCE)
        laptops = self.rows("GetTopProducts?count=9&category='Electronics'", REFERENCE)
        self.assertEqual({p["Category"]["__deferred"]["uri"].rsplit("/", 1)[-1] for p in laptops}, {"Category"})

    def test_the_model_has_the_parameters_of_all_overloads(self):
        text = self.gateway.get(REFERENCE + "$metadata").text()
        declared = {
            name: re.findall(r'<Parameter Name="(\w+)"', body)
            for name, body in re.findall(r'<FunctionImport Name="(\w+)"[^>]*>(.*?)</FunctionImport>', text, re.DOTALL)}
        self.assertEqual(set(declared["GetTopProducts"]), {"count", "category"})
        self.assertEqual(set(declared["Calculate"]), {"value", "a", "b"})

    def test_a_slash_behind_a_raw_value_is_taken(self):
        product = self.rows("Products?$top=1&$select=Name", REFERENCE)[0]
        path = "/" + product["__metadata"]["uri"].split("/", 3)[3]
        self.assertEqual(self.gateway.get(path + "/Name/$value/").text(), product["Name"])
        for wrong in ("/Name/$value//", "/Name/$value/x", "/Name/"):
            self.assertIn(self.gateway.get(path + wrong).status, (400, 404), wrong)

    def test_a_media_entity_tells_what_its_bytes_are(self):
        headers = {"Content-Type": "image/webp", "Slug": "Seal", "Accept": JSON, "X-Requested-With": "X"}
        made = self.expect(self.gateway.request("POST", REFERENCE + "MediaItems", b"RIFF", headers), 201).json()["d"]
        control = made["__metadata"]
        self.assertEqual((control["content_type"], control["media_src"]), ("image/webp", control["uri"] + "/$value"))
        path = "/" + control["media_src"].split("/", 3)[3]
        self.assertEqual(self.gateway.get(path).headers["content-type"], "image/webp")
        put = {"Content-Type": "image/gif", "X-Requested-With": "X"}
        self.expect(self.gateway.request("PUT", path, b"GIF89a", put), 204)
        listed = {item["ID"]: item["__metadata"]["content_type"] for item in self.rows("MediaItems?$select=ID", REFERENCE)}
        self.assertEqual(listed[made["ID"]], "image/gif")
        for query in ("", "?$format=application/json;odata.metadata=full", "?$select=Name"):
            new = self.gateway.get(f"/odata/v4/reference/MediaItems({made['ID']}){query}", accept=JSON).json()
            self.assertEqual(new["@odata.mediaContentType"], "image/gif")
        rows = self.gateway.get("/odata/v4/reference/MediaItems", accept=JSON).json()["value"]
        self.assertTrue(all(row["@odata.mediaContentType"] for row in rows))
        none = "/odata/v4/reference/MediaItems?$format=application/json;odata.metadata=none"
        self.assertNotIn("@odata.mediaContentType", self.gateway.get(none).json()["value"][0])

    def test_the_slug_of_a_media_entity_is_percent_encoded_utf_8(self):
        names = {"caf%C3%A9.webp": "caf\u00e9.webp", "100% sure": "100% sure", "a%2Fb": "a/b"}
        for slug, name in names.items():
            headers = {"Content-Type": "image/webp", "Slug": slug, "Accept": JSON, "X-Requested-With": "X"}
            made = self.expect(self.gateway.request("POST", REFERENCE + "MediaItems", b"RIFF", headers), 201).json()["d"]
            self.assertEqual(made["Name"], name)
        for slug in ("caf%E9.webp", "caf\u00e9.webp", "%FF"):
            headers = {"Content-Type": "image/webp", "Slug": slug, "Accept": JSON, "X-Requested-With": "X"}
            self.assertEqual(self.gateway.request("POST", REFERENCE + "MediaItems", b"RIFF", headers).status, 400, slug)

    def test_what_sap_adds_to_an_address_is_taken(self):
        self.assertEqual(len(self.rows("States?sap-client=100&sap-language=DE&$top=2", SAP)), 2)

    def test_what_is_not_there_or_not_meant_is_refused(self):
        for path in ["Nothing", "Students(999999)", "Students(1)/Nothing", "States('ZZ')/Schools", "NothingCollection"]:
            self.assertEqual(self.failure(path, 404)["code"], "record.notFound")
        self.failure("$all", 400)
        self.failure("Students?$format=yaml/x", 406)
        self.failure("Students?$apply=aggregate($count as N)", 400)
        self.failure("Students?$expand=School($select=Name)", 400)
        self.failure("Students?$top=1", 400, MaxDataServiceVersion="1.0")
        self.failure("Students?$top=1", 400, DataServiceVersion="3.0;x")

    def test_an_unknown_service_is_reported_in_the_shape_of_its_contract(self):
        for root in ("/sap/opu/odata/sap/NOTHING/", "/sap/opu/sdata/sap/NOTHING/States", "/odata/v2/nothing"):
            error = self.expect(self.gateway.get(root + "?$format=json"), 404).json()["error"]
            self.assertEqual((error["code"], set(error["message"])), ("route.notFound", {"lang", "value"}))
            error = ElementTree.fromstring(self.expect(self.gateway.get(root), 404).body)
            self.assertEqual(error.tag, METADATA + "error")
        error = self.expect(self.gateway.get("/odata/v4/nothing/"), 404).json()["error"]
        self.assertEqual((error["code"], "requestId" in error["innererror"]), ("route.notFound", True))
        self.assertIn("requestId", self.expect(self.gateway.get("/api/v1/nothing"), 404).json()["error"])

    def test_an_answer_that_the_caller_has_is_not_sent_again(self):
        tag = self.ask("Students(2)").headers["etag"]
        self.assertEqual(self.ask("Students(2)", 304, If_None_Match=tag).body, b"")


class Writing(Version2Test):
    def test_an_entity_is_created_changed_replaced_and_deleted(self):
        answer, student, path = self.create(GPA="3.25", BirthDate="/Date(946684800000)/")
        self.assertTrue(answer.headers["location"].endswith(ROOT + path))
        self.assertEqual(student["BirthDate"], "/Date(946684800000)/")
        self.send("MERGE", path, {"GPA": "3.5"}, 204)
        self.send("PATCH", path, {"Email": "a@b.example"}, 204)
        student = self.d(path)
        self.assertEqual((student["GPA"], student["Email"]), ("3.5", "a@b.example"))
        self.send("PUT", path, {"FirstName": "New", "LastName": "Person"}, 204)
        student = self.d(path)
        self.assertEqual((student["FirstName"], student["GPA"], student["Email"]), ("New", None, None))
        self.send("DELETE", path, status=204)
        self.failure(path, 404)

    def test_what_was_read_can_be_sent_back(self):
        _, student, path = self.create(GPA="2", Registered="/Date(1704103200123+0060)/")
        student["LastName"] = "Again"
        self.send("PUT", path, {"d": student}, 204)
        self.assertEqual(
            {**self.d(path), "__metadata": 0}, {**student, "__metadata": 0})

    def test_a_post_may_mean_another_method(self):
        _, _, path = self.create()
        self.send("POST", path, {"GPA": "1"}, 204, X_HTTP_Method="MERGE")
        self.assertEqual(self.d(path)["GPA"], "1")
        self.send("POST", path, status=204, X_HTTP_Method="DELETE")
        self.failure(path, 404)
        self.send("POST", "Students", {}, 400, X_HTTP_Method="GET")

    def test_a_new_entity_comes_with_others_and_is_linked_to_some(self):
        visits = [{"VisitID": 920001, "VisitedAt": "/Date(1704103200000)/", "Kind": "Campus tour"}]
        counselor = {"__metadata": {"uri": "Counselors(1)"}}
        _, student, path = self.create(Visits=visits, Counselor=counselor)
        self.assertEqual(student["CounselorID"], 1)
        self.assertEqual([visit["VisitID"] for visit in self.rows(path + "/Visits")], [920001])

    def test_what_is_posted_to_a_navigation_property_belongs_to_its_entity(self):
        student = self.send("POST", "Schools(3)/Students", {"FirstName": "Be", "LastName": "Longs"}, 201).json()["d"]
        self.assertEqual(student["SchoolID"], 3)
        self.assertTrue(student["__metadata"]["uri"].endswith(f"{ROOT}Students({student['StudentID']})"))

    def test_links_are_read_set_and_removed(self):
        _, _, path = self.create()
        self.send("PUT", f"{path}/$links/School", {"uri": ROOT + "Schools(2)"}, 204)
        self.assertTrue(self.d(f"{path}/$links/School")["uri"].endswith(ROOT + "Schools(2)"))
        uris = [link["uri"] for link in self.rows(f"Schools(2)/$links/Students?$filter=StudentID eq {path[9:-1]}")]
        self.assertEqual([uri.rsplit("/", 1)[1] for uri in uris], [path])
        self.send("POST", "Counselors(1)/$links/Students", {"uri": path}, 204)
        self.assertEqual(self.d(path)["CounselorID"], 1)
        self.send("DELETE", f"Counselors(1)/$links/{path}", status=204)
        self.send("DELETE", f"{path}/$links/School", status=204)
        student = self.d(path)
        self.assertEqual((student["SchoolID"], student["CounselorID"]), (None, None))

    def test_a_property_is_set_by_itself(self):
        _, _, path = self.create()
        self.send("PUT", path + "/GPA", {"GPA": "2.5"}, 204)
        self.send("MERGE", path + "/Email", {"Email": "a@b.example"}, 204)
        self.expect(
            self.gateway.request("PUT", f"{ROOT}{path}/BirthDate/$value", "2000-01-01T00:00:00", {"Content-Type": "text/plain", "X-Requested-With": "X"}, user="alice"),
            204)
        student = self.d(path)
        self.assertEqual((student["GPA"], student["Email"], student["BirthDate"]), ("2.5", "a@b.example", "/Date(946684800000)/"))
        self.send("DELETE", path + "/Email/$value", status=204)
        self.assertIsNone(self.d(path)["Email"])

    def test_a_change_over_another_state_is_refused(self):
        answer, _, path = self.create()
        tag = answer.headers["etag"]
        self.send("MERGE", path, {"GPA": "2"}, 204, If_Match=tag)
        self.send("MERGE", path, {"GPA": "3"}, 412, If_Match=tag)
        self.send("DELETE", path, status=412, If_Match=tag)
        self.send("MERGE", path, {"GPA": "3"}, 204, If_Match="*")

    def test_function_imports_that_change_something_are_called_with_post(self):
        plain = {"Accept": JSON}
        for path in ("ResetAllPrices", "Process?percentage=10.5d", "ResetProducts"):
            refused = self.gateway.request("POST", REFERENCE + path, headers=plain, user="alice")
            self.assertEqual(self.expect(refused, 403).headers["x-csrf-token"], "Required")
            self.expect(self.gateway.request("GET", REFERENCE + path, headers=plain, user="alice"), 405)
        fetched = self.gateway.request("GET", REFERENCE, headers={**plain, "X-CSRF-Token": "Fetch"}, user="alice")
        token = {**plain, "X-CSRF-Token": fetched.headers["x-csrf-token"]}
        product = self.rows("Products?$filter=Name eq 'Laptop'", REFERENCE)[0]
        address = f"Products(guid'{product['ID']}')"
        self.send("MERGE", address, {"Price": "1.00"}, 204, REFERENCE)
        answer = self.gateway.request("POST", REFERENCE + "ResetAllPrices", headers=token, user="alice")
        result = self.expect(answer, 200).json()["d"]["ResetAllPrices"]
        self.assertEqual(result["__metadata"]["type"], "ComplianceService.PriceResetResult")
        self.assertEqual(self.d(address, REFERENCE)["Price"], product["Price"])
        atom = self.gateway.request("POST", REFERENCE + "ResetAllPrices", headers={**token, "Accept": "application/xml"}, user="alice")
        self.assertTrue(ElementTree.fromstring(self.expect(atom, 200).body).tag.endswith("}ResetAllPrices"))
        for path in ("Process?percentage=10.5d", "Process?percentage=10.5d&minPrice=100d", "ResetProducts"):
            self.expect(self.gateway.request("POST", REFERENCE + path, headers=token, user="alice"), 204)
        for path in ("Process", "Process?percentage='x'"):
            self.expect(self.gateway.request("POST", REFERENCE + path, headers=token, user="alice"), 400)

    def test_what_is_not_there_is_not_created_by_a_change(self):
        self.send("PUT", "Students(888888)", {"FirstName": "A", "LastName": "B"}, 404)
        self.send("MERGE", "Students(888888)", {"FirstName": "A"}, 404)

    def test_wrong_values_are_refused_with_the_property(self):
        for body, target in [
            ({"FirstName": "A"}, "LastName"), ({"FirstName": "A", "LastName": "B", "GPA": "x"}, "GPA"),
            ({"FirstName": "A", "LastName": "B", "Nope": 1}, "Nope"),
            ({"FirstName": "A", "LastName": "B", "BirthDate": "/Date(x)/"}, "BirthDate"),
            ({"FirstName": "A", "LastName": "B", "SchoolID": 999999}, "School"),
        ]:
            error = self.send("POST", "Students", body, 400).json()["error"]
            self.assertEqual(error["innererror"]["errordetails"][0]["propertyref"], target)
        self.expect(self.gateway.request("POST", ROOT + "Students", "{", {"Content-Type": JSON, "X-Requested-With": "X"}, user="alice"), 400)
        self.expect(self.gateway.request("POST", ROOT + "Students", "a", {"Content-Type": "text/csv", "X-Requested-With": "X"}, user="alice"), 415)

    def test_unsupported_options_are_named_in_the_error_message(self):
        body = {"Name": "Told", "Price": 1, "Version": 77, "ReleaseDate": "/Date(0)/", "Status": "InStock"}
        answer = self.send("POST", "Products", body, 201, REFERENCE)
        product = answer.json()["d"]
        message = json.loads(answer.headers["sap-message"])
        self.assertEqual((message["severity"], message["target"]), ("warning", "Version"))
        self.assertNotEqual(product["Version"], 77)
        path = f"Products(guid'{product['ID']}')"
        self.assertNotIn("sap-message", self.send("MERGE", path, {"Price": 2}, 204, REFERENCE).headers)
        answer = self.send("MERGE", path, {"ID": "00000000-0000-0000-0000-000000000001", "Version": 5}, 204, REFERENCE)
        message = json.loads(answer.headers["sap-message"])
        self.assertEqual({message["target"], message["details"][0]["target"]}, {"ID", "Version"})

    def test_the_other_version_has_the_same_entity(self):
        _, student, path = self.create(GPA="2.75", BirthDate="/Date(946684800000)/")
        answer = self.gateway.get(f"/odata/v4/admissions/{path}", user="alice")
        other = self.expect(answer, 200).json()
        self.assertEqual((other["GPA"], other["BirthDate"]), (2.75, "2000-01-01"))
        self.assertEqual(student["__metadata"]["etag"], answer.headers["etag"])

    def test_unsupported_methods_are_405(self):
        self.assertIn("POST", self.send("DELETE", "Students", status=405).headers["allow"])
        self.assertIn("MERGE", self.gateway.request("OPTIONS", ROOT + "Students", user="alice").headers["allow"])


OLDER = "/odata/v2/older/"


class OlderModels(Version2Test):
    """A model as tools of versions 1 to 3 write it."""

    settings = (
        "--set", f"adapters.odata.services.older.model={PROJECT / 'Tests/EndToEnd/models/older.edmx.xml'}",
        "--set", "adapters.odata.services.older.access=public")

    def test_facets_mean_what_they_say_however_they_are_spelled(self):
        text = "x" * 5_000
        self.send("POST", "Items", {"Id": 1, "Title": text, "Amount": "12345.6789"}, 201, OLDER)
        self.assertEqual(self.d("Items(1)", OLDER)["Amount"], "12345.6789")
        self.assertEqual(self.d("Items(1)", OLDER)["Title"], text)
        self.send("POST", "Items", {"Id": 2, "Amount": "1234567890.5"}, 400, OLDER)
        for path in [OLDER, "/odata/v4/older/"]:
            metadata = self.expect(self.gateway.get(path + "$metadata", user="alice"), 200).text()
            self.assertNotRegex(metadata, r'"(Max|True|False|Variable)"', path)

    def test_what_is_shown_of_a_collection_can_be_sent_back(self):
        """One that was never given is an empty one, in JSON and in Atom, and so is null."""
        self.send("POST", "Items", {"Id": 10, "Title": "a"}, 201, OLDER)
        shown = self.d("Items(10)", OLDER)
        self.assertEqual(json.loads(shown["Tags"]), [])
        self.send("MERGE", "Items(10)", {name: value for name, value in shown.items() if name != "__metadata"}, 204, OLDER)
        for value, wanted in [
            (None, []), ("[]", []), ([], []), ({"results": []}, []), ('["a"]', ["a"]), ({"results": ["a", "b"]}, ["a", "b"]),
        ]:
            self.send("MERGE", "Items(10)", {"Tags": value}, 204, OLDER)
            self.assertEqual(json.loads(self.d("Items(10)", OLDER)["Tags"]), wanted, value)
        for given in [["x", "y"], []]:
            self.send("MERGE", "Items(10)", {"Tags": given}, 204, OLDER)
            entry = self.ask("Items(10)", root=OLDER, Accept="application/atom+xml").body
            self.send("MERGE", "Items(10)", {"Tags": ["z"]}, 204, OLDER)
            atom = {"Content-Type": "application/atom+xml", "X-Requested-With": "X"}
            self.expect(self.gateway.request("PUT", OLDER + "Items(10)", entry, atom, user="alice"), 204)
            self.assertEqual(json.loads(self.d("Items(10)", OLDER)["Tags"]), given)
            alone = self.ask("Items(10)/Tags", root=OLDER, Accept="application/xml").body
            self.send("MERGE", "Items(10)", {"Tags": ["z"]}, 204, OLDER)
            plain = {"Content-Type": "application/xml", "X-Requested-With": "X"}
            self.expect(self.gateway.request("PUT", OLDER + "Items(10)/Tags", alone, plain, user="alice"), 204)
            self.assertEqual(json.loads(self.d("Items(10)", OLDER)["Tags"]), given)


if __name__ == "__main__":
    unittest.main()
