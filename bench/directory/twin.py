"""The same service in Python: uvicorn and asyncpg, a SELECT for each GET. DATABASE_URL names the database."""

import json
import os

import asyncpg

QUERY = "select id, firstname, lastname, phone, email from contact where id = $1"
pool = None


async def app(scope, receive, send):
    global pool
    if scope["type"] == "lifespan":
        await receive()
        pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=8, max_size=8)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    row = await pool.fetchrow(QUERY, int(scope["path"].rpartition("/")[2]))
    status, body = (200, json.dumps(dict(row)).encode()) if row else (404, b"{}")
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
