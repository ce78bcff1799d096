-- A story is kept as it is shown: canonical HTML and, beside it, the pieces the dictionary scans, so
-- that no page view parses markup.
CREATE TABLE story (
  id INTEGER PRIMARY KEY,
  date TEXT NOT NULL,           -- the day it belongs to, YYYY-MM-DD
  title TEXT NOT NULL,          -- canonical HTML, one line
  title_pieces TEXT NOT NULL,
  body TEXT NOT NULL,           -- canonical HTML, paragraphs
  body_pieces TEXT NOT NULL,
  image TEXT,                   -- addresses
  audio TEXT,
  source TEXT UNIQUE,           -- where it came from; the same source again is an update
  hash TEXT NOT NULL,           -- of everything above but the source
  changed INTEGER NOT NULL      -- when it was added or last updated, seconds since 1970
) STRICT;

CREATE INDEX story_date ON story (date, id);
CREATE INDEX story_hash ON story (hash);
