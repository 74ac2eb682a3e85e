"""Generated queries for the stand-in's students, each as a request of both versions of OData and as SQL over the same rows.

The rows are those that `portico-stand-in` answers, in tables of Python's sqlite3. Conditions have OData's logic: `eq` and `ne`
compare null as a value, the other comparisons with null are false.
"""

import datetime
import decimal
import random
import re
import sqlite3
import urllib.parse

# Properties of a student by the kind of their values; those of its address have a path.
KINDS = {
    "StudentID": "number", "FirstName": "text", "LastName": "text", "SchoolID": "number", "GPA": "decimal",
    "Balance": "decimal", "BirthDate": "day", "ModifiedAt": "instant", "RecordID": "guid", "CallAt": "time",
    "Active": "flag", "Address/Street": "text", "Address/City": "text",
}
TABLES = {
    "Students": list(KINDS), "Schools": ["SchoolID", "Name", "StateCode"], "States": ["StateCode", "Name"],
    "Topics": ["TopicID", "Title"], "Links": ["StudentID", "TopicID"],
}
SIGNS = {"eq": "IS", "ne": "IS NOT", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
ORDERS = ["LastName", "FirstName", "SchoolID", "GPA", "ModifiedAt", "BirthDate", "CallAt", "Active"]


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name):
    return f'"{name}"'


def milliseconds(text):
    """Of an instant of version 4, which is UTC in what is compared here."""
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(moment.timestamp() * 1000)


def instant(value):
    moment = datetime.datetime.fromtimestamp(value / 1000, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Rows:
    """The stand-in's rows, read page by page from its service of version 4."""

    def __init__(self, system, root):
        self.database = sqlite3.connect(":memory:")
        self.database.row_factory = sqlite3.Row
        # Of all letters, as OData has them; SQLite's own knows those of ASCII.
        self.database.create_function("lower", 1, lambda text: None if text is None else text.lower(), deterministic=True)
        for table, columns in TABLES.items():
            self.database.execute(f"CREATE TABLE {table} ({', '.join(quoted_name(name) for name in columns)})")
        for table in ("Schools", "States", "Topics"):
            for row in self.pages(system, root, table):
                self.insert(table, [row[name] for name in TABLES[table]])
        for row in self.pages(system, root, "Students", "&$expand=Topics"):
            self.insert("Students", [self.stored(row, name, kind) for name, kind in KINDS.items()])
            for topic in row["Topics"]:
                self.insert("Links", [row["StudentID"], topic["TopicID"]])
        self.former_colleges = {
            row["StudentID"]: row["FormerCollege"] for row in self.pages(system, root, "Students") if "FormerCollege" in row}

    @staticmethod
    def pages(system, root, table, options=""):
        found, skip = [], 0
        while True:
            answer = system.get(
                f"{root}{table}?$skip={skip}&$top=500{options}", {"Accept": "application/json;IEEE754Compatible=true"})
            assert answer.status == 200, answer
            page = answer.json()["value"]
            found += page
            skip += len(page)
            if not page:
                return found

    @staticmethod
    def stored(row, name, kind):
        value = row
        for part in name.split("/"):
            value = value and value[part]
        return milliseconds(value) if kind == "instant" else value

    def insert(self, table, values):
        self.database.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)

    def query(self, sql):
        return self.database.execute(sql).fetchall()



class Generator:
    """Queries of `rows`; with `everything` those too that only mirrored rows can be asked with."""

    def __init__(self, seed, rows, is_sap, version, everything):
        self.chance, self.rows, self.is_sap, self.version = random.Random(seed), rows, is_sap, version
        self.everything = everything

    def one(self, *alternatives):
        return self.chance.choice(alternatives)

    # Literals

    def literal(self, kind, value):
        """A value in the version that asks, of the model that is asked."""
        if value is None:
            return "null"
        old = self.version == 2
        if kind == "text":
            return quoted(value)
        if kind == "decimal":
            return f"{value}M" if old else str(value)
        if kind == "flag":
            return "true" if value else "false"
        if kind == "guid":
            return f"guid'{value}'" if old else value
        if kind == "instant":
            return f"datetimeoffset'{instant(value)}'" if old else instant(value)
        if kind == "day":
            return f"datetime'{value}T00:00:00'" if old else f"{value}T00:00:00Z" if self.is_sap else value
        if kind == "time":
            hours, minutes, seconds = value.split(":")
            return f"time'PT{hours}H{minutes}M{seconds}S'" if old else value
        return str(value)

    @staticmethod
    def sql_literal(kind, value):
        if value is None:
            return "NULL"
        if kind == "decimal":
            return f"CAST({quoted(str(value))} AS REAL)"
        return str(int(value)) if kind in ("number", "instant", "flag") else quoted(value)

    @staticmethod
    def column(name):
        column = "Students." + quoted_name(name)
        return f"CAST({column} AS REAL)" if KINDS[name] == "decimal" else column

    # Conditions: text and SQL

    def condition(self, depth):
        kind = self.one("leaf", "leaf", "and", "or", "not") if depth else "leaf"
        if kind == "leaf":
            return self.leaf()
        text, sql = self.condition(depth - 1)
        if kind == "not":
            return f"not ({text})", f"NOT ({sql})"
        other, other_sql = self.condition(depth - 1)
        return f"({text}) {kind} ({other})", f"({sql}) {kind.upper()} ({other_sql})"

    def leaf(self):
        kinds = ["compared"] * 6 + ["equal", "null", "function", "function", "among"]
        if self.everything:
            kinds += ["length", "lower", "arithmetic", "concat", "related", "part", "year", "position"]
            kinds += ["any", "all"] if self.version == 4 else []
        return getattr(self, self.one(*kinds))()

    def sample(self, name):
        return self.chance.choice(self.rows.query("SELECT * FROM Students"))[name]

    def comparison(self, text, sql, sign, literal, value):
        compared = f"{sql} {SIGNS[sign]} {value}"
        return f"{text} {sign} {literal}", compared if sign in ("eq", "ne") else f"ifnull({compared}, 0)"

    def compared(self):
        name = self.one("StudentID", "SchoolID", "LastName", "FirstName", "GPA", "Balance", "ModifiedAt", "BirthDate", "CallAt")
        value, kind = self.sample(name), KINDS[name]
        sign = self.one(*SIGNS) if value is not None else self.one("eq", "ne")
        return self.comparison(name, self.column(name), sign, self.literal(kind, value), self.sql_literal(kind, value))

    def equal(self):
        name = self.one("Active", "RecordID", "Address/City", "Address/Street")
        value, kind = self.sample(name), KINDS[name]
        return self.comparison(
            name, self.column(name), self.one("eq", "ne"), self.literal(kind, value), self.sql_literal(kind, value))

    def null(self):
        name = self.one("SchoolID", "GPA", "Address/City")
        return self.comparison(name, self.column(name), self.one("eq", "ne"), "null", "NULL")

    def function(self):
        name = self.one("FirstName", "LastName")
        value = self.sample(name)
        start = self.chance.randint(0, max(0, len(value) - 2))
        part = value[start:start + self.one(1, 2, 3)]
        function = self.one("contains", "startswith", "endswith")
        column, wanted = self.column(name), quoted(part)
        text = f"{function}({name},{quoted(part)})"
        if function == "contains":
            sql = f"instr({column}, {wanted}) > 0"
            text = f"substringof({quoted(part)},{name})" if self.version == 2 else text
        elif function == "startswith":
            sql = f"substr({column}, 1, {len(part)}) = {wanted}"
        else:
            sql = f"substr({column}, -{len(part)}) = {wanted}"
        written = self.one("", "", " eq true", " eq false")
        return text + written, f"NOT ({sql})" if written.endswith("false") else sql

    def keys(self):
        return sorted({self.sample("StudentID") for _ in range(self.one(1, 3, 6))} | {self.one(999_999, 1)})

    def among(self):
        kind = self.one("number", "text")
        name = "StudentID" if kind == "number" else "LastName"
        values = self.keys() if kind == "number" else sorted({self.sample("LastName") for _ in range(3)})
        sql = f"{self.column(name)} IN ({', '.join(self.sql_literal(kind, value) for value in values)})"
        if self.version == 4:
            return f"{name} in ({','.join(self.literal(kind, value) for value in values)})", sql
        return "(" + " or ".join(f"{name} eq {self.literal(kind, value)}" for value in values) + ")", sql

    # What only rows of one's own are asked with

    def length(self):
        name = self.one("FirstName", "LastName")
        number = self.chance.randint(2, 12)
        return self.comparison(f"length({name})", f"length({self.column(name)})", self.one(*SIGNS), number, number)

    def lower(self):
        name = self.one("FirstName", "LastName")
        value = self.sample(name).lower()
        return self.comparison(
            f"tolower({name})", f"lower({self.column(name)})", self.one("eq", "ne"), quoted(value), quoted(value))

    def arithmetic(self):
        factor, number = self.chance.randint(2, 9), self.chance.randint(0, 9)
        if self.one(True, False):
            return self.comparison(f"StudentID mod {factor}", f"Students.StudentID % {factor}", self.one(*SIGNS), number, number)
        total = self.chance.randint(0, 700)
        return self.comparison(
            f"StudentID add SchoolID mul {factor}", f"(Students.StudentID + Students.SchoolID * {factor})",
            self.one("lt", "le", "gt", "ge"), total, total)

    def concat(self):
        value = self.sample("FirstName") + " " + self.sample("LastName")
        return self.comparison(
            "concat(concat(FirstName,' '),LastName)", "(Students.FirstName || ' ' || Students.LastName)",
            self.one("eq", "ne", "lt", "ge"), quoted(value), quoted(value))

    def part(self):
        start, count = self.chance.randint(0, 2), self.chance.randint(1, 3)
        value = self.sample("LastName")[start:start + count]
        return self.comparison(
            f"substring(LastName,{start},{count})", f"substr(Students.LastName, {start + 1}, {count})", self.one("eq", "ne"),
            quoted(value), quoted(value))

    def position(self):
        part, number = self.sample("LastName")[1:2] or "a", self.chance.randint(-1, 4)
        return self.comparison(
            f"indexof(LastName,{quoted(part)})", f"(instr(Students.LastName, {quoted(part)}) - 1)", self.one(*SIGNS), number, number)

    def year(self):
        function, format_, number = self.one(
            ("year", "%Y", self.chance.randint(2000, 2008)), ("month", "%m", self.chance.randint(1, 9)),
            ("day", "%d", self.chance.randint(10, 19)))
        return self.comparison(
            f"{function}(BirthDate)", f"CAST(strftime('{format_}', Students.BirthDate) AS INTEGER)", self.one(*SIGNS), number, number)

    def related(self):
        path, sql, value = self.one(
            ("School/Name", "(SELECT Name FROM Schools WHERE SchoolID = Students.SchoolID)", "School 3"),
            ("School/StateCode", "(SELECT StateCode FROM Schools WHERE SchoolID = Students.SchoolID)", "MS"),
            ("School/State/Name", "(SELECT States.Name FROM Schools JOIN States USING (StateCode) "
             "WHERE SchoolID = Students.SchoolID)", "Texas"))
        return self.comparison(path, sql, self.one(*SIGNS), quoted(value), quoted(value))

    def any(self):
        topic = self.chance.randint(1, 8)
        linked = "SELECT 1 FROM Links WHERE StudentID = Students.StudentID"
        if self.one(True, False):
            return "Topics/any()", f"EXISTS ({linked})"
        return f"Topics/any(t:t/TopicID eq {topic})", f"EXISTS ({linked} AND TopicID = {topic})"

    def all(self):
        topic = self.chance.randint(1, 8)
        return (f"Topics/all(t:t/TopicID gt {topic})",
                f"NOT EXISTS (SELECT 1 FROM Links WHERE StudentID = Students.StudentID AND NOT TopicID > {topic})")

    # Whole requests

    def options(self):
        """Options of a list, and SQL of its keys in their order and of their number."""
        options, where = {}, "1"
        if self.chance.random() < 0.9:
            options["filter"], where = self.condition(3)
        names = self.chance.sample(ORDERS, self.one(0, 0, 1, 1, 2))
        order = [(name, self.one("", " desc")) for name in names]
        if order:
            options["orderby"] = ",".join(name + way for name, way in order)
        # The key follows the direction of what stands before it.
        terms = [self.column(name) + way for name, way in order] + ["StudentID" + (order[-1][1] if order else "")]
        top, skip = self.one(None, None, 0, 1, 5, 130, 300), self.one(0, 0, 0, 3, 90)
        if top is not None:
            options["top"] = top
        if skip:
            options["skip"] = skip
        if self.chance.random() < 0.3:
            options["total"] = True
        self.shape(options)
        limit = f"LIMIT {-1 if top is None else top} OFFSET {skip}"
        return options, where, f"ORDER BY {', '.join(terms)} {limit}"

    def shape(self, options):
        """What is told of each student."""
        expanded = self.chance.sample(["School", "Topics"], self.one(0, 0, 0, 1, 2))
        selected = self.chance.sample(
            sorted({name.split("/")[0] for name in KINDS}), self.one(0, 0, 1, 3)) if self.chance.random() < 0.7 else []
        if selected:
            options["select"] = selected
        if expanded:
            options["expand"] = expanded

    def query(self, options):
        """As an address has it."""
        given = {name: str(options[name]) for name in ("filter", "orderby", "top", "skip") if name in options}
        selected, expanded = options.get("select", []), options.get("expand", [])
        if options.get("total"):
            given |= {"inlinecount": "allpages"} if self.version == 2 else {"count": "true"}
        if selected:
            # Version 2 tells what is expanded only where it is selected.
            given["select"] = ",".join(selected + (expanded if self.version == 2 else []))
        if expanded:
            given["expand"] = ",".join(expanded)
        if self.version == 2:
            given["format"] = "json"
        return urllib.parse.urlencode({f"${name}": value for name, value in given.items()}, quote_via=urllib.parse.quote)


# What is answered, as the tables have it

def told(value, kind, version):
    if value is None:
        return None
    if kind == "decimal":
        return decimal.Decimal(value)
    if kind == "number":
        return int(value)
    if kind == "guid":
        return value.lower()
    if version == 2 and kind in ("day", "instant"):
        number = int(re.match(r"/Date\((-?\d+)", value)[1])
        return instant(number)[:10] if kind == "day" else number
    if kind == "instant":
        return milliseconds(value)
    if kind == "day":
        return value[:10]
    if kind == "time" and version == 2:
        found = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", value)
        return ":".join(f"{int(part or 0):02}" for part in found.groups())
    return value


def kept(value, kind):
    """What the tables have, for the same comparison."""
    if value is None:
        return None
    return decimal.Decimal(value) if kind == "decimal" else bool(value) if kind == "flag" else value
