"""kinto_system.py PORT COUNT: people as Kinto serves them, in memory, for everybody."""

import io
import json
import sys
from wsgiref.util import setup_testing_defaults

import kinto
from serving import serve

port, count = int(sys.argv[1]), int(sys.argv[2])
application = kinto.main({}, **{
    "kinto.storage_backend": "kinto.core.storage.memory", "kinto.permission_backend": "kinto.core.permission.memory",
    "kinto.cache_backend": "kinto.core.cache.memory", "kinto.userid_hmac_secret": "none", "multiauth.policies": "basicauth",
    "kinto.bucket_create_principals": "system.Everyone",
})


def put(path, value):
    body = json.dumps(value).encode()
    environ = {
        "REQUEST_METHOD": "PUT", "PATH_INFO": f"/v1/buckets/{path}", "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
    setup_testing_defaults(environ)
    statuses = []
    b"".join(application(environ, lambda status, headers, *rest: statuses.append(status)))
    assert statuses[0].startswith("2"), (path, statuses)


put("shop", {"permissions": {"write": ["system.Everyone"]}})
put("shop/collections/people", {})
for number in range(count):
    person = {"name": f"Person Nº {number}", "age": number, "weight": number + 0.25, "active": number % 2 == 0}
    put(f"shop/collections/people/records/p{number}", {"data": person})
serve(port, application)
