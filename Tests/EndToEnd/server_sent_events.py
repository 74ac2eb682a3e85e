"""A reader of server-sent events (HTML, section 9.2)."""

import base64
import http.client
import json
import time

TIMEOUT = 60


class Stream:
    """One event stream, read line by line."""

    def __init__(self, gateway, user=None, token=None, query="", last=None, path="/sync/v1/live"):
        self.connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        headers = {}
        if user:
            headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:portico-demo".encode()).decode()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if last:
            headers["Last-Event-ID"] = last
        self.connection.request("GET", path + query, headers=headers)
        self.response = self.connection.getresponse()
        self.status = self.response.status
        self.last = last

    def event(self, end=float("inf")):
        """The next event's fields, comments passed over; None at the end. An id sets ``last`` even without data."""
        event = {"data": []}
        while True:
            assert time.monotonic() < end, "the event did not come"
            line = self.response.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if not line:
                self.last = event.get("id", self.last)
                if event["data"]:
                    event["data"] = "\n".join(event["data"])
                    return event
                event = {"data": []}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                event["data"].append(value) if name == "data" else event.__setitem__(name, value)

    def page(self):
        """Of a sync stream: the id and the page."""
        event = self.event()
        return event["id"], json.loads(event["data"])

    def next(self, *names):
        """The name and the data of the next event with one of these names (none: any); None at the end."""
        end = time.monotonic() + TIMEOUT
        while event := self.event(end):
            if not names or event.get("event") in names:
                return event["event"], json.loads(event["data"])
        return None

    def close(self):
        self.response.close()
        self.connection.close()
