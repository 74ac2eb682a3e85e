"""Generated queries of both versions, asked of mirrored and of called services in front of the stand-in, whose answers are compared
with SQL that Python's sqlite3 runs on the stand-in's rows.

`PORTICO_ODATA_UPSTREAM` says how many (default 80), `PORTICO_ODATA_UPSTREAM_SEED` which; `make odata-upstream` asks 5,000.
"""

import collections
import http.client
import json
import os
import random
import unittest
import urllib.parse

from admissions_sql import KINDS, TABLES, Generator, Rows, kept, told
from harness import Gateway
from stand_in import StandIn
from test_odata_upstream import SAP, SUPPLIER, UpstreamServices

QUICK = True

COUNT = int(os.environ.get("PORTICO_ODATA_UPSTREAM", "80"))
SEED = int(os.environ.get("PORTICO_ODATA_UPSTREAM_SEED", "41"))
# More than some pages of ours, of 100, and of the stand-in's.
STUDENTS, PAGE = 620, 70
CONFIGURATION = """
http: {{ host: 127.0.0.1 }}
limits: {{ requestsPerMinute: 10000000 }}
upstreams:
  back: {{ url: '{url}/', networks: [127.0.0.1/32], deadline: 20s, limits: {{ tries: 1, failures: 1000 }} }}
adapters:
  odata:
    access: public-read
    services:
      sap-mirrored: {{ model: sap.edmx, path: {sap}, sapName: SAPM, upstream: back, freshFor: 1d, waitFor: 60s }}
      sap-called: {{ model: sap.edmx, path: {sap}, sapName: SAPC, upstream: back, mode: call }}
      supplier-mirrored: {{ model: supplier.xml, path: {supplier}, sapName: SUPM, upstream: back, freshFor: 1d, waitFor: 60s }}
      supplier-called: {{ model: supplier.xml, path: {supplier}, sapName: SUPC, upstream: back, mode: call }}
"""
ROOTS = [(version, system, mode) for mode in ("mirrored", "called") for system in ("sap", "supplier") for version in (2, 4)]
SETS = {
    "sap": {name: f"{name.rstrip('s')}Collection" for name in ("Students", "Schools", "States", "Topics")},
    "supplier": {name: name for name in ("Students", "Schools", "States", "Topics")},
}


class AgainstSQL(UpstreamServices):
    @classmethod
    def setUpClass(cls):
        system = StandIn("--students", STUDENTS, "--odata-page", PAGE)
        cls.addClassCleanup(system.stop)
        cls.rows = Rows(system, SUPPLIER)
        maker = cls()
        cls.addClassCleanup(maker.doCleanups)
        folder = maker.folder()
        maker.fetch(system.address + SAP, folder / "sap.edmx")
        maker.fetch(system.address + SUPPLIER, folder / "supplier.xml")
        config = folder / "portico.yaml"
        config.write_text(CONFIGURATION.format(url=system.address, sap=SAP[1:], supplier=SUPPLIER[1:]))
        cls.gateway = Gateway(config=str(config))
        cls.addClassCleanup(cls.gateway.remove)
        cls.connection = http.client.HTTPConnection("127.0.0.1", cls.gateway.port, timeout=120)
        cls.addClassCleanup(cls.connection.close)

    def runTest(self):
        """For the instance that starts the class's gateway."""

    def ask(self, path, status=200):
        accept = "application/json;IEEE754Compatible=true" if path.startswith("/odata/v4") else "application/json"
        # `$count` is a plain text.
        self.connection.request("GET", path, headers={"Accept": "text/plain" if "/$count" in path else accept})
        answer = self.connection.getresponse()
        body = answer.read()
        self.assertEqual(answer.status, status, (path, body[:1_000]))
        return body.decode() if "/$count" in path else json.loads(body)

    def pages(self, version, path):
        """All rows of a list and its count, page by page."""
        found, count, following = [], None, path
        while following:
            page = self.ask(following)
            page = page["d"] if version == 2 else page
            found += page["results" if version == 2 else "value"]
            number = page.get("__count" if version == 2 else "@odata.count")
            count = count if number is None else int(number)
            place = page.get("__next" if version == 2 else "@odata.nextLink")
            if place:
                self.assertEqual(urllib.parse.urlsplit(urllib.parse.urljoin("http://other", place)).path, path.split("?")[0])
                parts = urllib.parse.urlsplit(place)
                place = f"{path.split('?')[0]}?{parts.query}"
            following = place
        return found, count

    # Comparisons

    def entity(self, version, system, value, row, options, address):
        """A student as it is told: what is selected and no more, each value as the tables have it."""
        selected = options.get("select") or sorted({name.split("/")[0] for name in KINDS})
        expanded = options.get("expand", [])
        received = {
            name for name, inner in value.items()
            if "@" not in name and name != "__metadata" and not (isinstance(inner, dict) and "__deferred" in inner)}
        wanted = set(selected) | set(expanded)
        # Of the supplier alone, and of derived students; version 4 adds the key.
        more = {"StudentID"} | ({"Phones", "FormerCollege"} if system == "supplier" and not options.get("select") else set())
        self.assertLessEqual(wanted, received, address)
        self.assertLessEqual(received - wanted, more, address)
        for path, kind in KINDS.items():
            name, *inner = path.split("/")
            if name not in received:
                continue
            own = value[name]
            for part in inner:
                own = own and own[part]
            self.assertEqual(told(own, kind, version), kept(row[path], kind), f"{path} of {address}")
        if "FormerCollege" in received:
            self.assertEqual(value["FormerCollege"], self.rows.former_colleges.get(row["StudentID"]), address)
        for name in expanded:
            inner = value[name]
            if name == "School":
                found = self.rows.query(f"SELECT * FROM Schools WHERE SchoolID IS {row['SchoolID'] if row['SchoolID'] else 'NULL'}")
                self.related("Schools", [inner] if inner else [], found, address)
            else:
                inner = inner["results"] if version == 2 else inner
                self.related("Topics", sorted(inner, key=lambda one: one["TopicID"]), self.topics(row["StudentID"]), address)

    def topics(self, student):
        return self.rows.query(f"SELECT Topics.* FROM Topics JOIN Links USING (TopicID) WHERE StudentID = {student} ORDER BY TopicID")

    def related(self, table, received, expected, address):
        columns = TABLES[table]
        self.assertEqual([[one[name] for name in columns] for one in received], [[one[name] for name in columns] for one in expected], address)

    # Requests

    def a_list(self, generator, root, within="Students", also="1"):
        version, system, mode = root
        options, where, order = generator.options()
        path = f"{self.service(root)}{within if '/' in within else SETS[system][within]}"
        address = f"{path}?{generator.query(options)}"
        expected = self.rows.query(f"SELECT * FROM Students WHERE ({where}) AND {also} {order}")
        found, count = self.pages(version, address)
        self.assertEqual(
            [int(one["StudentID"]) if "StudentID" in one else None for one in found],
            [row["StudentID"] if "StudentID" in one else None for one, row in zip(found, expected)]
            + [row["StudentID"] for row in expected[len(found):]], f"{urllib.parse.unquote(address)}\n{where} {order}")
        for one, row in zip(found, expected):
            self.entity(version, system, one, row, options, address)
        if options.get("total"):
            self.assertEqual(count, self.number(where, also), address)
        return len(expected)

    def number(self, where, also="1"):
        return self.rows.query(f"SELECT count(*) AS n FROM Students WHERE ({where}) AND {also}")[0]["n"]

    @staticmethod
    def service(root):
        version, system, mode = root
        return f"/odata/v{version}/{system}-{mode}/"

    def a_count(self, generator, root):
        text, where = generator.condition(3)
        query = urllib.parse.urlencode({"$filter": text}, quote_via=urllib.parse.quote)
        address = f"{self.service(root)}{SETS[root[1]]['Students']}/$count?{query}"
        self.assertEqual(int(self.ask(address)), self.number(where), f"{text}\n{where}")
        return 1

    def an_entity(self, generator, root):
        version, system, mode = root
        key, options = generator.sample("StudentID"), {}
        generator.shape(options)
        address = f"{self.service(root)}{SETS[system]['Students']}({key})?{generator.query(options)}"
        value = self.ask(address)
        row = self.rows.query(f"SELECT * FROM Students WHERE StudentID = {key}")[0]
        self.entity(version, system, value["d"] if version == 2 else value, row, options, address)
        return 1

    def the_students_of_a_school(self, generator, root):
        school = generator.chance.choice(self.rows.query("SELECT * FROM Schools"))["SchoolID"]
        return self.a_list(generator, root, f"{SETS[root[1]]['Schools']}({school})/Students", f"Students.SchoolID = {school}")

    def the_topics_of_a_student(self, generator, root):
        version, key = root[0], generator.sample("StudentID")
        address = f"{self.service(root)}{SETS[root[1]]['Students']}({key})/Topics" + ("?$format=json" if version == 2 else "")
        found, _ = self.pages(version, address)
        self.related("Topics", sorted(found, key=lambda one: one["TopicID"]), self.topics(key), address)
        return 1

    def test_what_is_queried_is_what_sql_says(self):
        chance, asked, rows = random.Random(SEED), collections.Counter(), 0
        for number in range(COUNT):
            root = ROOTS[number % len(ROOTS)]
            generator = Generator(chance.randint(0, 2**60), self.rows, root[1] == "sap", root[0], root[2] == "mirrored")
            ask = chance.choice([self.a_list] * 6 + [
                self.a_count, self.an_entity, self.the_students_of_a_school, self.the_topics_of_a_student])
            with self.subTest(number=number, root=root, kind=ask.__name__):
                rows += ask(generator, root)
            asked[f"{root[2]}, version {root[0]}"] += 1
        print(f"seed {SEED}: {dict(asked)} compared with SQL, {rows} rows")
        # Most have something to compare.
        self.assertGreater(rows, COUNT)


if __name__ == "__main__":
    unittest.main()
