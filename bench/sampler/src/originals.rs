//! The services that teams wrote for contacts out of PostgreSQL, in Rust and in Python, over ten thousand of them.

use crate::{Postgres, Server, free_port};

const RUST: &str = "target/release/contacts-original";

const CONTACTS: &str = "create table contact (id int primary key, firstname text not null, lastname text not null, \
    phone text not null, email text not null); \
    insert into contact select n, 'First' || n, 'Last' || n, '+81-3-' || lpad(n::text, 8, '0'), 'person' || n || '@example.org' \
    from generate_series(1, 10000) as n; analyze contact";

/// Makes their table.
pub fn fill(postgres: &Postgres) {
    postgres.run(CONTACTS);
}

/// axum and sqlx, and its address.
pub fn rust(postgres: &Postgres) -> (Server, String) {
    let port = free_port();
    let server = Server::start("0,1", port, RUST, &[&port.to_string(), &postgres.url()]);
    (server.with(postgres.id()), format!("http://127.0.0.1:{port}"))
}

/// uvicorn and asyncpg, by an interpreter that has `directory/requirements.txt`, and its address.
pub fn python(python: &str, postgres: &Postgres) -> (Server, String) {
    let port = free_port();
    let (port_text, database) = (port.to_string(), format!("DATABASE_URL={}", postgres.url()));
    let uvicorn = ["-m", "uvicorn", "twin:app", "--app-dir", "directory", "--workers", "2"];
    let options = ["--log-level", "error", "--port", &port_text];
    let arguments = [&[&database, python][..], &uvicorn, &options].concat();
    let server = Server::start("0,1", port, "env", &arguments);
    (server.with(postgres.id()), format!("http://127.0.0.1:{port}"))
}
