"""Queries of OData that take long, and a gateway's settings by which few of them take its places."""

import urllib.parse

SEARCHES = (
    "--set", "adapters.odata.services.admissions.samples=1500",
    "--set", "adapters.odata.services.admissions.pageSize=10000",
    "--set", "store.longReads=2",
    # A busy machine ends a short search within it.
    "--set", "store.longReadTurn=3s",
    "--set", "store.streams=3",
    # So that no search ends by itself.
    "--set", "http.deadlines.request=600s",
    "--set", "http.deadlines.stop=2s",
)


def escaped(text):
    return urllib.parse.quote(text, safe="/?$&=(),;:@!*'")


# Below the service. No row is found however long it goes on.
ENDLESS = escaped(
    "Students?$filter=contains(FirstName,'q-q') or School/Students/any(a:a/School/Students/any(b:b/School/Students/any("
    "c:c/School/Students/any(d:contains(concat(a/LastName,d/LastName),'q-q')))))")
# Some millions of steps: beyond what a connection for quick reads does, and soon over.
LONG = escaped("Students/$count?$filter=School/Students/any(b:contains(concat(LastName,b/LastName),'q-q'))")
