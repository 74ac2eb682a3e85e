"""A client that follows OData's delta links, written from the protocol: it keeps rows by their ids, and what they expand."""

import urllib.parse


class Follower:
    def __init__(self, test, key, user="alice", **headers):
        self.test, self.key, self.user, self.headers = test, key, user, headers
        self.rows, self.link, self.answers = {}, None, 0

    def get(self, target, **headers):
        parts = urllib.parse.urlsplit(target)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        self.answers += 1
        return self.test.gateway.request("GET", target, user=self.user, headers={**self.headers, **headers})

    def read(self, target):
        """The whole collection, to be followed from now on."""
        self.rows = {}
        while target:
            page = self.test.expect(self.get(target, Prefer="track-changes,maxpagesize=97"), 200).json()
            for row in page["value"]:
                self.rows[row[self.key]] = plain(row)
            target = page.get("@odata.nextLink")
        self.link = page["@odata.deltaLink"]
        return self

    def follow(self, page_size=50):
        """What has changed since, applied; all of the changes."""
        target, changes = self.link, []
        while target:
            page = self.test.expect(self.get(target, Prefer=f"maxpagesize={page_size}"), 200).json()
            for change in page["value"]:
                changes.append(change)
                self.apply(change)
            target = page.get("@odata.nextLink")
        self.link = page["@odata.deltaLink"]
        return changes

    def apply(self, change):
        if "@odata.removed" in change:
            self.rows.pop(change[self.key], None)
        elif any("@" in name and name.endswith("@delta") for name in change):
            for name, inner in change.items():
                if name.endswith("@delta"):
                    self.nested(self.rows[change[self.key]][name.removesuffix("@delta")], inner)
        else:
            self.rows[change[self.key]] = plain(change)

    def nested(self, rows, changes):
        """One level of expansion; its rows are told apart by all of their names that end in ID."""
        for change in changes:
            identity = next(name for name in change if name.endswith("ID"))
            rows[:] = [row for row in rows if row[identity] != change[identity]]
            if "@odata.removed" not in change:
                rows.append(plain(change))
                rows.sort(key=lambda row: row[identity])


def plain(row):
    """Without control information."""
    if isinstance(row, list):
        return [plain(inner) for inner in row]
    return {name: plain(value) for name, value in row.items() if "@" not in name} if isinstance(row, dict) else row


ATOM = "{http://www.w3.org/2005/Atom}"
TOMBSTONE = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"


class OldFollower:
    """The same in version 2: feeds in JSON, whose rows are told apart by their addresses."""

    def __init__(self, test, user="alice"):
        self.test, self.user, self.rows, self.link = test, user, {}, None

    def get(self, target, **headers):
        parts = urllib.parse.urlsplit(target)
        return self.test.expect(self.test.gateway.request(
            "GET", f"{parts.path}?{parts.query}", user=self.user, headers={"Accept": "application/json", **headers}), 200)

    def read(self, target):
        self.rows = {}
        self.link = target
        self.follow()
        return self

    def follow(self):
        """How many entries and tombstones came."""
        target, count = self.link, 0
        while target:
            page = self.get(target).json()["d"]
            for row in page["results"]:
                count += 1
                if row.get("@odata.context", "").endswith("/$deletedEntity"):
                    self.rows.pop(row["id"], None)
                else:
                    self.rows[row["__metadata"]["uri"]] = bare(row)
            target = page.get("__next")
        self.link = page["__delta"]
        return count


def bare(row):
    """Without etags: an entry is the same after an irrelevant write."""
    if isinstance(row, list):
        return [bare(inner) for inner in row]
    if isinstance(row, dict):
        return {name: bare(value) for name, value in row.items() if name != "__metadata"}
    return row
