//! The service a team wrote: one contact as JSON, a SELECT for each GET, with the defaults of its libraries.
//!
//! `contacts-original PORT DATABASE_URL`

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::get,
};
use sqlx::{PgPool, postgres::PgPoolOptions};

#[derive(serde::Serialize, sqlx::FromRow)]
struct Contact {
    id: i32,
    firstname: String,
    lastname: String,
    phone: String,
    email: String,
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, url] = arguments.as_slice() else {
        panic!("usage: contacts-original PORT DATABASE_URL")
    };
    let pool = PgPoolOptions::new().max_connections(8).connect(url).await.expect("a database");
    let router = Router::new().route("/contacts/{id}", get(contact)).with_state(pool);
    let listener =
        tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a port");
    axum::serve(listener, router).await.expect("it serves");
}

async fn contact(
    State(pool): State<PgPool>,
    Path(id): Path<i32>,
) -> Result<Json<Contact>, StatusCode> {
    let query = "select id, firstname, lastname, phone, email from contact where id = $1";
    let found = sqlx::query_as::<_, Contact>(query).bind(id).fetch_optional(&pool).await;
    let found = found.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
    found.map(Json).ok_or(StatusCode::NOT_FOUND)
}
