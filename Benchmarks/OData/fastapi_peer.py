"""The students as a FastAPI service with odata-query would serve them: the filter becomes SQL, the rest is written by
hand, over the database that the C program reads."""

import hashlib
import os
import sqlite3

import orjson
from fastapi import FastAPI, HTTPException, Request, Response
from odata_query.grammar import ODataLexer, ODataParser
from odata_query.sql import AstToSqliteSqlVisitor

database = sqlite3.connect(os.environ["PEER_DATABASE"], check_same_thread=False)
database.row_factory = sqlite3.Row
digest = os.environ["PEER_TOKEN_DIGEST"]
app = FastAPI(openapi_url=None)
COLUMNS = {"StudentID", "FirstName", "LastName", "GPA", "Status"}
# Decimals are kept as they are written; they are compared and told as numbers.
NUMBERS = {"GPA": "GPANumber"}


def column(name):
    if name not in COLUMNS:
        raise HTTPException(400)
    return NUMBERS.get(name, name)


def order(text):
    for part in text.split(","):
        name, _, direction = part.strip().partition(" ")
        yield f"{column(name)} {'DESC' if direction == 'desc' else 'ASC'}"


@app.get("/health/live")
async def live():
    return {"status": "ok"}


@app.get("/odata/v4/admissions/Students")
async def students(request: Request):
    _, _, token = request.headers.get("authorization", "").partition(" ")
    if hashlib.sha256(token.encode()).hexdigest() != digest:
        raise HTTPException(401)
    options = request.query_params
    tree = ODataParser().parse(ODataLexer().tokenize(options["$filter"]))
    where = AstToSqliteSqlVisitor().visit(tree).replace('"GPA"', '"GPANumber"')
    wanted = ", ".join(f"{column(name)} AS {name}" for name in options["$select"].split(","))
    rows = database.execute(
        f"SELECT {wanted} FROM Students WHERE {where} ORDER BY {', '.join(order(options['$orderby']))} LIMIT ?",
        (int(options["$top"]),))
    return Response(orjson.dumps({"value": [dict(row) for row in rows]}), media_type="application/json")
