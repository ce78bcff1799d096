-- Numbers and times are written by us and not by the database, so that both engines keep the same rows.
-- Whoever writes changes the one row of `server` first: commits come one after another, whoever makes them.
CREATE TABLE server (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    commits   INTEGER NOT NULL, -- how many there were
    directory INTEGER NOT NULL, -- the last that changed principals, tokens or which collections there are
    next_id   INTEGER NOT NULL
);
INSERT INTO server VALUES (1, 0, 0, 1);

CREATE TABLE principal (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    display_name TEXT    NOT NULL,
    is_admin     INTEGER NOT NULL,
    password     TEXT    NOT NULL,
    version      INTEGER NOT NULL
);

CREATE TABLE token (
    hash         BLOB    PRIMARY KEY,
    principal    INTEGER NOT NULL,
    label        TEXT    NOT NULL,
    is_read_only INTEGER NOT NULL,
    expires      INTEGER NOT NULL -- 0: never
);

CREATE TABLE collection (
    id      INTEGER PRIMARY KEY,
    owner   INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    kind    INTEGER NOT NULL, -- 0: cards, 1: files
    epoch   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    floor   INTEGER NOT NULL,
    commits INTEGER NOT NULL, -- the last that changed it
    UNIQUE (owner, name)
);

CREATE TABLE resource (
    collection   INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    modified     INTEGER NOT NULL,
    etag         BLOB    NOT NULL,
    size         INTEGER NOT NULL,
    kind         INTEGER NOT NULL, -- 3, 4: a card of that version; 0: a file; 1: a folder
    detail       TEXT    NOT NULL, -- of a card its UID, of a file its type
    data         BLOB    NOT NULL,
    PRIMARY KEY (collection, name)
) WITHOUT ROWID;
CREATE INDEX resource_by_seq ON resource (collection, seq);

-- One row for each name that is gone, and not a log.
CREATE TABLE removed (
    collection INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    seq        INTEGER NOT NULL,
    time       INTEGER NOT NULL,
    PRIMARY KEY (collection, name)
) WITHOUT ROWID;

CREATE TABLE property (
    collection INTEGER NOT NULL,
    path       TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    PRIMARY KEY (collection, path, namespace, name)
) WITHOUT ROWID;

CREATE TABLE lock (
    token      TEXT    PRIMARY KEY,
    collection INTEGER NOT NULL,
    path       TEXT    NOT NULL,
    is_deep    INTEGER NOT NULL,
    is_shared  INTEGER NOT NULL,
    owner      TEXT    NOT NULL,
    principal  INTEGER NOT NULL,
    expires    INTEGER NOT NULL
);
CREATE INDEX lock_of_collection ON lock (collection);

CREATE TABLE share (
    collection INTEGER NOT NULL,
    principal  INTEGER NOT NULL,
    rights     INTEGER NOT NULL, -- 1: look, 2: change
    PRIMARY KEY (collection, principal)
) WITHOUT ROWID;
