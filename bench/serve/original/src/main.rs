//! The service that teams write for this: actix-web, and bodies in a map behind a read-write lock, copied out for
//! each request. It has no origin: what it serves is there from the start and never expires.
//!
//! `bus-original PORT BODY WORKERS`: BODY is a file served for the stop 83139.

use std::{collections::HashMap, sync::RwLock};

use actix_web::{App, HttpResponse, HttpServer, get, web};

type Timings = RwLock<HashMap<u32, String>>;

#[get("/api/v1/timings/{stop}")]
async fn timings(stop: web::Path<u32>, timings: web::Data<Timings>) -> HttpResponse {
    match timings.read().expect("no panic").get(&stop) {
        Some(body) => HttpResponse::Ok().content_type("application/json").body(body.clone()),
        None => HttpResponse::NotFound().finish(),
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, body, workers] = arguments.as_slice() else {
        return Err(std::io::Error::other("usage: bus-original PORT BODY WORKERS"));
    };
    let body = std::fs::read_to_string(body)?;
    let stops = web::Data::new(Timings::new(HashMap::from([(83139, body)])));
    HttpServer::new(move || App::new().app_data(stops.clone()).service(timings))
        .workers(workers.parse().map_err(std::io::Error::other)?)
        .bind(("127.0.0.1", port.parse().map_err(std::io::Error::other)?))?
        .run()
        .await
}
