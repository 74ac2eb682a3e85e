"""An OData service of pyslet, a library of other people, over its own SQL container: `pyslet_system.py PORT`. Says `serving`."""

import decimal
import pathlib
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from pyslet.iso8601 import TimePoint
from pyslet.odata2 import metadata
from pyslet.odata2.server import Server
from pyslet.odata2.sqlds import SQLiteEntityContainer

MODEL = pathlib.Path(__file__).resolve().parent / "pyslet_model.xml"
STATES = {"LA": "Louisiana", "MS": "Mississippi", "TX": "Texas"}
SCHOOLS, STUDENTS = 4, 250
FIRST, LAST = ["Maria", "Zoë", "Karl", "Ada"], ["Smith", "Bergen", "Müller", "O'Brien", "Sánchez"]


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


def fill(entities, rows, links=None):
    with entities.open() as collection:
        for row in rows:
            entity = collection.new_entity()
            for name, value in row.items():
                entity[name].set_from_value(value)
            for name, key in (links(row) if links else {}).items():
                entity[name].bind_entity(key)
            collection.insert_entity(entity)


def student(number):
    return {
        "StudentID": number, "FirstName": FIRST[number % 4], "LastName": LAST[number % 5],
        "GPA": None if number % 7 == 0 else decimal.Decimal(number % 400) / 100,
        "BirthDate": TimePoint.from_str(f"200{number % 9}-02-{number % 28 + 1:02}T00:00:00"), "Active": number % 2 == 0}


def serve(port):
    document = metadata.Document()
    with open(MODEL, "rb") as file:
        document.read(file)
    container = document.root.DataServices["ADMISSIONSCOUNSELOR.Container"]
    SQLiteEntityContainer(file_path=":memory:", container=container).create_all_tables()
    fill(container["States"], [{"StateCode": code, "Name": name} for code, name in STATES.items()])
    fill(container["Schools"], [{"SchoolID": number, "Name": f"School {number}"} for number in range(1, SCHOOLS + 1)])
    fill(container["Students"], map(student, range(1, STUDENTS + 1)), lambda row: {"School": row["StudentID"] % SCHOOLS + 1})
    server = Server(f"http://127.0.0.1:{port}/admissions.svc/")
    server.set_model(document)
    listener = make_server("127.0.0.1", port, server, handler_class=Quiet)
    print("serving", flush=True)
    listener.serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
