"""curl: what anybody can try in a terminal."""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "EndToEnd"))

from harness import GatewayTest


class Curl(GatewayTest):
    def curl(self, path, *arguments, status="200", data=None):
        """The body; the status is the one expected. curl quotes what an address needs quoted."""
        address = f"http://127.0.0.1:{self.gateway.port}/odata/v4/admissions/{path}"
        data = [] if data is None else ["--data-binary", data]
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--globoff", "--user", "alice:portico-demo", "--write-out",
             "\n%{http_code}", *arguments, *data, address],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        body, code = done.stdout.rsplit("\n", 1)
        self.assertEqual(code, status, body)
        return body

    def query(self, path, **options):
        parts = [part for name, value in options.items() for part in ("--data-urlencode", f"${name}={value}")]
        return json.loads(self.curl(path, "--get", *parts))

    def send(self, method, path, value, status):
        return self.curl(
            path, "--request", method, "--header", "Content-Type: application/json", status=status,
            data=None if value is None else json.dumps(value))

    def test_the_states(self):
        page = self.query("States", count="true", top="3", orderby="Name desc")
        self.assertEqual(page["@odata.count"], 51)
        self.assertEqual([state["Name"] for state in page["value"]], ["Wyoming", "Wisconsin", "West Virginia"])

    def test_students_filtered_ordered_and_expanded(self):
        found = self.query(
            "Students", filter="GPA ge 3.5 and startswith(LastName,'S')", orderby="GPA desc,LastName", top="5",
            expand="School($select=Name;$expand=State($select=Name)),Visits($top=1;$orderby=VisitedAt desc)",
            select="FirstName,LastName,GPA")["value"]
        self.assertTrue(found)
        for student in found:
            self.assertTrue(student["GPA"] >= 3.5 and student["LastName"].startswith("S"))
            self.assertIn("Name", student["School"]["State"])
            self.assertLessEqual(len(student["Visits"]), 1)

    def test_groups(self):
        rows = self.query("Students", apply="groupby((Status),aggregate($count as Students,GPA with average as GPA))")
        self.assertGreater(len(rows["value"]), 1)
        self.assertTrue(all(row["Students"] > 0 for row in rows["value"]))

    def test_an_entity_is_created_changed_and_deleted(self):
        made = json.loads(self.send(
            "POST", "Students", {"FirstName": "Curl", "LastName": "Client", "School@odata.bind": "Schools(1)"}, "201"))
        path = f"Students({made['StudentID']})"
        self.send("PATCH", path, {"GPA": 3.5}, "204")
        self.assertEqual(json.loads(self.curl(path))["GPA"], 3.5)
        self.assertEqual(self.curl(f"{path}/LastName/$value"), "Client")
        self.send("PATCH", path, {"GPA": 3.555}, "400")
        self.send("DELETE", path, None, "204")
        self.curl(path, status="404")

    def test_a_batch_with_a_change_set(self):
        requests = [
            {"id": "school", "method": "POST", "url": "Schools", "atomicityGroup": "new",
             "headers": {"content-type": "application/json"}, "body": {"SchoolID": 880001, "Name": "Batch High"}},
            {"id": "student", "method": "POST", "url": "Students", "atomicityGroup": "new",
             "headers": {"content-type": "application/json"},
             "body": {"FirstName": "Batch", "LastName": "Client", "School@odata.bind": "$school"}},
            {"id": "read", "method": "GET", "url": "Schools(880001)?$expand=Students", "dependsOn": ["new"]},
        ]
        answers = json.loads(self.send("POST", "$batch", {"requests": requests}, "200"))["responses"]
        self.assertEqual([answer["status"] for answer in answers], [201, 201, 200])
        self.assertEqual([one["LastName"] for one in answers[2]["body"]["Students"]], ["Client"])

    def test_a_batch_in_multipart_from_a_file(self):
        lines = [
            "--b", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
            "GET States('MS') HTTP/1.1", "Accept: application/json", "", "", "--b",
            "Content-Type: multipart/mixed; boundary=c", "", "--c", "Content-Type: application/http", "Content-ID: 1", "",
            "PATCH Counselors(1) HTTP/1.1", "Content-Type: application/json", "", '{"Region":"South"}', "--c--", "--b--", ""]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "batch"
            file.write_bytes("\r\n".join(lines).encode())
            answer = self.curl("$batch", "--header", "Content-Type: multipart/mixed; boundary=b", data=f"@{file}")
        self.assertIn("Mississippi", answer)
        self.assertIn("HTTP/1.1 204", answer)
        self.assertEqual(json.loads(self.curl("Counselors(1)"))["Region"], "South")

    def test_the_model_in_both_forms(self):
        names = {element.get("Name") for element in ElementTree.fromstring(self.curl("$metadata")).iter()}
        self.assertLessEqual({"Student", "School", "Students"}, names)
        self.assertIn("ADMISSIONSCOUNSELOR", json.loads(self.curl("$metadata?$format=json")))
