"""Stand-ins of four public REST APIs, made from their public documentation, with ways to lie."""

import http.server
import json
import re
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
import xml.sax.saxutils

TIME = "2026-11-{:02d}T08:00:00Z"


class ConnectedSystems:
    """`asked` has method, target and body of each request; `lie` answers instead of a list, given the path and the query."""

    def __init__(self, count=230):
        self.asked, self.lie, self.keys = [], None, {}
        self.github = {
            number: {
                "number": number, "title": f"Issue {number}", "body": None, "state": "open",
                "user": {"login": "ann"}, "labels": [{"name": "bug"}, {"name": f"l{number % 3}"}],
                "updated_at": TIME.format(1 + number % 20),
            } for number in range(1, count + 1)}
        self.stripe = {
            f"cus_{number:04d}": {
                "id": f"cus_{number:04d}", "object": "customer", "name": f"Customer {number}",
                "email": f"c{number}@example.com", "balance": -number, "metadata": {"plan": "pro"},
                "created": 1_700_000_000 + number,
            } for number in range(count)}
        self.jira = {
            f"ACME-{number}": {
                "id": str(10000 + number), "key": f"ACME-{number}", "fields": {
                    "summary": f"Ticket {number}", "status": {"name": "To Do"},
                    "assignee": {"name": "alice" if number % 2 else "bob"},
                    "updated": "2026-11-02T08:00:00.000+0100"},
            } for number in range(1, count + 1)}
        self.redmine = {
            number: {"id": number, "subject": f"A & B {number}", "done": number % 100} for number in range(1, count + 1)}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                status, fields, content = outer.respond(self.command, self.path, self.headers, body)
                if isinstance(content, (dict, list)):
                    content = json.dumps(content)
                    fields.setdefault("Content-Type", "application/json; charset=utf-8")
                content = content.encode() if isinstance(content, str) else content
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def respond(self, method, target, headers, body):
        self.asked.append((method, target, body.decode()))
        path, _, text = target.partition("?")
        query = dict(urllib.parse.parse_qsl(text))
        if self.lie and method == "GET":
            lie = self.lie(path, query)
            if lie is not None:
                return lie if isinstance(lie, tuple) else (200, {}, lie)
        for pattern, answer in [
                (r"/repos/acme/app/issues(?:/(.+))?", self._github), (r"/v1/customers(?:/(.+))?", self._stripe),
                (r"/rest/api/2/(?:search|issue/(.+))", self._jira), (r"/issues(?:/(.+))?\.xml", self._redmine)]:
            found = re.fullmatch(pattern, path)
            if found:
                return answer(method, urllib.parse.unquote(found[1]) if found[1] else None, query, body, headers)
        return 404, {}, {"message": "Not Found"}

    def _github(self, method, key, query, body, headers):
        if key:
            issue = self.github.get(int(key))
            if issue is None:
                return 404, {}, {"message": "Not Found"}
            if method == "PATCH":
                change = json.loads(body)
                if "labels" in change:
                    change["labels"] = [{"name": name} for name in change["labels"]]
                issue.update(change, updated_at=TIME.format(21))
            return 200, {}, issue
        rows = [issue for issue in self.github.values() if issue["updated_at"] >= query.get("since", "")]
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        links = []
        if page * size < len(rows):
            following = urllib.parse.urlencode({**query, "page": page + 1})
            links.append(f'<{self.address}/repos/acme/app/issues?{following}>; rel="next"')
            links.append(f'<{self.address}/repos/acme/app/issues?page=9>; rel="last"; title="a, \\"b\\" >"')
        return 200, {"Link": ", ".join(reversed(links))} if links else {}, rows[(page - 1) * size:page * size]

    def _stripe(self, method, key, query, body, headers):
        if key:
            customer = self.stripe.get(key)
            if customer is None:
                return 404, {}, {"error": {"message": "No such customer"}}
            if method == "DELETE":
                del self.stripe[key]
                return 200, {}, {"id": key, "object": "customer", "deleted": True}
            if method == "POST":
                self.keys.setdefault(headers["Idempotency-Key"], []).append(key)
                for name, value in urllib.parse.parse_qsl(body.decode()):
                    if name == "metadata[plan]":
                        customer["metadata"]["plan"] = value
                    else:
                        customer[name] = value
            return 200, {}, customer
        keys = sorted(self.stripe)
        start = keys.index(query["starting_after"]) + 1 if "starting_after" in query else 0
        end = start + min(int(query.get("limit", 10)), 100)
        return 200, {}, {
            "object": "list", "url": "/v1/customers", "has_more": end < len(keys),
            "data": [self.stripe[key] for key in keys[start:end]]}

    def _jira(self, method, key, query, body, headers):
        if key:
            ticket = self.jira.get(key)
            if ticket is None:
                return 404, {}, {"errorMessages": ["Issue Does Not Exist"]}
            if method == "PUT":
                summary = json.loads(body)["fields"]["summary"]
                if not summary:
                    return 400, {}, {"errors": {"summary": "You must specify a summary of the issue."}}
                ticket["fields"]["summary"] = summary
                return 204, {}, b""
            return 200, {}, ticket
        rows = list(self.jira.values())
        start = int(query["startAt"])
        # As the service does: no more than it likes, whatever is asked for.
        size = min(int(query["maxResults"]), 40)
        return 200, {}, {
            "startAt": start, "maxResults": size, "total": len(rows), "issues": rows[start:start + size]}

    def _redmine(self, method, key, query, body, headers):
        fields = {"Content-Type": "application/xml; charset=utf-8"}
        if key:
            issue = self.redmine.get(int(key))
            if issue is None:
                return 404, fields, "<errors/>"
            if method == "DELETE":
                del self.redmine[int(key)]
                return 204, {}, b""
            if method == "PUT":
                root = ElementTree.fromstring(body)
                issue.update(subject=root.findtext("subject"), done=int(root.findtext("done_ratio")))
                return 204, {}, b""
            return 200, fields, self._issue(issue)
        rows = list(self.redmine.values())
        start, size = int(query["offset"]), int(query["limit"])
        content = "".join(map(self._issue, rows[start:start + size]))
        return 200, fields, (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<issues total_count="{len(rows)}" offset="{start}" '
            f'limit="{size}" type="array">{content}</issues>')

    @staticmethod
    def _issue(issue):
        return (
            f'<issue><id>{issue["id"]}</id><project id="1" name="Redmine"/>'
            f'<subject>{xml.sax.saxutils.escape(issue["subject"])}</subject><description/>'
            f'<done_ratio>{issue["done"]}</done_ratio><updated_on>2026-11-01T08:00:00Z</updated_on></issue>')
