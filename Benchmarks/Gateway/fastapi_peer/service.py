"""The calls as a FastAPI service would be written by someone who cares for its speed: SQLite beside it, prepared
statements by the driver's cache, orjson, nothing validated twice, the feed held in memory."""

import hashlib
import os
import re
import sqlite3
from contextlib import asynccontextmanager
from datetime import datetime, timezone

import orjson
from fastapi import Depends, FastAPI, HTTPException, Request, Response

database = sqlite3.connect(os.environ["PEER_DATABASE"], check_same_thread=False)
database.row_factory = sqlite3.Row
feeds = {}


@asynccontextmanager
async def lifespan(_):
    feeds.update((row["name"], row) for row in database.execute("SELECT name, type, etag, body FROM feeds"))
    yield


app = FastAPI(lifespan=lifespan, openapi_url=None)


def signed_in(request: Request):
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    digest = hashlib.sha256(token.encode()).digest()
    account = kind == "Bearer" and database.execute(
        "SELECT name, roles FROM sessions JOIN accounts ON accounts.id = account WHERE token = ? AND expires > "
        "unixepoch()", (digest,)).fetchone()
    if not account or "member" not in account["roles"]:
        raise HTTPException(401)
    return account


def json(value):
    return Response(orjson.dumps(value), media_type="application/json")


@app.get("/health/live")
async def live():
    return json({"status": "ok"})


@app.get("/plists/{name}")
async def feed(name: str, request: Request):
    found = feeds.get(name)
    if not found:
        raise HTTPException(404)
    headers = {"ETag": found["etag"], "Cache-Control": "no-cache", "Vary": "Accept, Accept-Encoding"}
    if request.headers.get("if-none-match") == found["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(found["body"], media_type=found["type"], headers=headers)


@app.post("/OrganizationInterfaceImplMobile/employeeSearch")
async def search(request: Request, _=Depends(signed_in)):
    criteria = orjson.loads(await request.body())
    size, page = int(criteria["rowsPerPage"]), int(criteria["pageIndex"])
    direction = "DESC" if criteria["order"] == "DESC" else "ASC"
    conditions, values = [], []
    if criteria["division"]:
        conditions.append("division = ?")
        values.append(criteria["division"])
    if words := re.findall(r"\w+", criteria["fullName"]):
        conditions.append("rowid IN (SELECT rowid FROM names WHERE names MATCH ?)")
        values.append(" ".join(f'"{word}"*' for word in words))
    where = f"FROM employees {'WHERE ' * bool(conditions)}{' AND '.join(conditions)}"
    rows = database.execute(
        f"SELECT firstName, lastName, division, email, phoneNumber {where} ORDER BY division {direction}, id {direction} "
        "LIMIT ? OFFSET ?", (*values, size, size * page))
    employees = [dict(row) for row in rows]
    total = database.execute(f"SELECT count(*) {where}", values).fetchone()[0]
    return json({"employees": employees, "totalRows": total, "pageIndex": page, "rowsPerPage": size})


@app.get("/v2/{user}")
async def user(user: int, _=Depends(signed_in)):
    row = database.execute("SELECT id, name, shoeSize FROM users WHERE id = ?", (user,)).fetchone()
    if not row:
        raise HTTPException(404)
    name = row["name"].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    document = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<user xmlns="http://captechventures.com/schema">'
        f'<UserId>{row["id"]}</UserId><UserName>{name}</UserName><ShoeSize>{row["shoeSize"]}</ShoeSize></user>')
    return Response(document, media_type="application/xml")


@app.get("/api/v1/notes/notes/{note}")
async def read_note(note: str, account=Depends(signed_in)):
    row = database.execute(
        "SELECT * FROM notes WHERE id = ? AND (owner = ? OR EXISTS (SELECT 1 FROM json_each(sharedWith) WHERE value = ?))",
        (note, account["name"], account["name"])).fetchone()
    if not row:
        raise HTTPException(404)
    return json({**dict(row), "sharedWith": orjson.loads(row["sharedWith"])})


@app.patch("/api/v1/notes/notes/{note}")
async def change_note(note: str, request: Request, account=Depends(signed_in)):
    changes = orjson.loads(await request.body())
    with database:
        row = database.execute(
            "UPDATE notes SET title = coalesce(?, title), text = coalesce(?, text), modified = ? WHERE id = ? AND owner = ? "
            "RETURNING *",
            (changes.get("title"), changes.get("text"), datetime.now(timezone.utc).isoformat(), note, account["name"])
        ).fetchone()
    if not row:
        raise HTTPException(404)
    return json({**dict(row), "sharedWith": orjson.loads(row["sharedWith"])})
