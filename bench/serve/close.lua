-- A connection for each request.
wrk.headers["Connection"] = "close"
