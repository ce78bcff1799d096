-- Numbers and times are written by us and not by the database, so that both engines keep the same rows.
-- Whoever writes changes the one row of `server` first: commits come one after another, whoever makes them.
CREATE TABLE server (
    id        BIGINT PRIMARY KEY CHECK (id = 1),
    commits   BIGINT NOT NULL, -- how many there were
    directory BIGINT NOT NULL, -- the last that changed principals, tokens or which collections there are
    next_id   BIGINT NOT NULL
);
INSERT INTO server VALUES (1, 0, 0, 1);

CREATE TABLE principal (
    id           BIGINT PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    display_name TEXT    NOT NULL,
    is_admin     BIGINT NOT NULL,
    password     TEXT    NOT NULL,
    version      BIGINT NOT NULL
);

CREATE TABLE token (
    hash         BYTEA  PRIMARY KEY,
    principal    BIGINT NOT NULL,
    label        TEXT    NOT NULL,
    is_read_only BIGINT NOT NULL,
    expires      BIGINT NOT NULL -- 0: never
);

CREATE TABLE collection (
    id      BIGINT PRIMARY KEY,
    owner   BIGINT NOT NULL,
    name    TEXT    NOT NULL,
    kind    BIGINT NOT NULL, -- 0: cards, 1: files
    epoch   BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    floor   BIGINT NOT NULL,
    commits BIGINT NOT NULL, -- the last that changed it
    UNIQUE (owner, name)
);

CREATE TABLE resource (
    collection   BIGINT NOT NULL,
    name         TEXT    NOT NULL,
    seq          BIGINT NOT NULL,
    modified     BIGINT NOT NULL,
    etag         BYTEA  NOT NULL,
    size         BIGINT NOT NULL,
    kind         BIGINT NOT NULL, -- 3, 4: a card of that version; 0: a file; 1: a folder
    detail       TEXT    NOT NULL, -- of a card its UID, of a file its type
    data         BYTEA  NOT NULL,
    PRIMARY KEY (collection, name)
);
CREATE INDEX resource_by_seq ON resource (collection, seq);

-- One row for each name that is gone, and not a log.
CREATE TABLE removed (
    collection BIGINT NOT NULL,
    name       TEXT    NOT NULL,
    seq        BIGINT NOT NULL,
    time       BIGINT NOT NULL,
    PRIMARY KEY (collection, name)
);

CREATE TABLE property (
    collection BIGINT NOT NULL,
    path       TEXT    NOT NULL,
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    value      TEXT    NOT NULL,
    PRIMARY KEY (collection, path, namespace, name)
);

CREATE TABLE lock (
    token      TEXT    PRIMARY KEY,
    collection BIGINT NOT NULL,
    path       TEXT    NOT NULL,
    is_deep    BIGINT NOT NULL,
    is_shared  BIGINT NOT NULL,
    owner      TEXT    NOT NULL,
    principal  BIGINT NOT NULL,
    expires    BIGINT NOT NULL
);
CREATE INDEX lock_of_collection ON lock (collection);

CREATE TABLE share (
    collection BIGINT NOT NULL,
    principal  BIGINT NOT NULL,
    rights     BIGINT NOT NULL, -- 1: look, 2: change
    PRIMARY KEY (collection, principal)
);
