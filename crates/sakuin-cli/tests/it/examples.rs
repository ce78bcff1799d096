//! The examples, by the commands of their READMEs and on their bad days.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{command::Folder, postgres::Postgres, readme::Readme, server::Server};

#[test]
fn bus_answers_as_its_readme_says() {
    let short = [("\"15s\"", "\"100ms\"")];
    Readme::of("bus", &short).run();
}

#[test]
fn directory_answers_as_its_readme_says() {
    Readme::of("directory", &[]).run();
}

#[test]
fn features_answer_as_their_readme_says() {
    Readme::of("features", &[]).run();
}

#[test]
fn settings_are_packed_as_their_readme_says() {
    Readme::of("settings", &[]).run();
}

#[test]
fn contacts_are_kept_as_their_readme_says() {
    Readme::of("contacts", &[]).run();
}

#[test]
fn directory_answers_the_same_out_of_postgresql() {
    let postgres = Postgres::start();
    let url = postgres.url("postgres");
    let mut readme = Readme::of("directory", &[]);
    readme
        .replace("sqlite3 contacts.db < contacts.sql", &format!("psql -q '{url}' -f contacts.sql"));
    readme.replace("DATABASE_URL=sqlite://contacts.db", &format!("DATABASE_URL={url}"));
    readme.run();
}

/// The bus example with a stand-in origin and a server.
struct Bus {
    folder: Folder,
    origin: Option<Server>,
    origin_address: String,
    server: Server,
}

impl Bus {
    /// Starts both; an answer is fresh for `ttl`.
    fn start(ttl: &str, weather: &[&str]) -> Bus {
        let Readme { folder, .. } = Readme::of("bus", &[("\"15s\"", ttl)]);
        let listen = ["replay", "origin", "--listen", "127.0.0.1:0"];
        let origin = Server::start(&folder, &[&listen, weather].concat());
        let origin_address = origin.address.to_string();
        let config = std::fs::read_to_string(folder.path("sakuin.toml")).unwrap();
        let config = config.replace("127.0.0.1:9100", &origin_address);
        std::fs::write(folder.path("sakuin.toml"), config).unwrap();
        let server = Server::start(&folder, &["serve", "sakuin.toml"]);
        Bus { folder, origin: Some(origin), origin_address, server }
    }

    /// Another weather, or none: the origin is gone.
    fn origin(&mut self, weather: Option<&[&str]>) {
        self.origin = None;
        self.origin = weather.map(|weather| {
            let listen = ["replay", "origin", "--listen", &self.origin_address];
            Server::start(&self.folder, &[&listen, weather].concat())
        });
    }

    fn calls(&self, stop: &str) -> u64 {
        let calls = self.origin.as_ref().unwrap().get("/_replay/calls");
        let calls: Value = serde_json::from_slice(&calls.body).unwrap();
        calls["targets"][format!("/v3/BusArrival?BusStopCode={stop}")].as_u64().unwrap()
    }

    /// Asks until an answer is from where it is wanted; every one must be a 200 with the same bytes.
    #[track_caller]
    fn until(&self, wanted: impl Fn(&str) -> bool, body: &[u8]) {
        let begun = Instant::now();
        loop {
            let reply = self.server.get("/api/v1/timings/83139");
            assert_eq!((reply.status, reply.text()), (200, std::str::from_utf8(body).unwrap()));
            let found = reply.header("cache-status");
            if wanted(found) {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "always `{found}`");
        }
    }
}

#[test]
fn bus_answers_the_same_bytes_with_the_origin_slow_failing_gone_and_back() {
    let mut bus = Bus::start("\"300ms\"", &["--delay", "100"]);
    let body = bus.server.get("/api/v1/timings/83139").body;
    let expected: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(expected[0]["next_bus"][0]["origin_code"], 77009);
    let is_stale = |status: &str| status == "sakuin; hit; detail=stale";
    let is_new = |status: &str| status == "sakuin; hit" || status.starts_with("sakuin; fwd=");
    bus.until(is_new, &body);
    bus.origin(Some(&["--fail", "100"]));
    bus.until(is_stale, &body);
    bus.origin(None);
    bus.until(is_stale, &body);
    bus.origin(Some(&[]));
    bus.until(is_new, &body);
}

#[test]
fn both_shapes_share_one_call() {
    let bus = Bus::start("\"1h\"", &["--delay", "300"]);
    let ask = |target: &'static str| {
        let address = bus.server.address;
        std::thread::spawn(move || crate::server::ask(address, "GET", target, &[]).unwrap())
    };
    let asked = ["/api/v1/timings/66271", "/?id=66271"].map(|target| [ask(target), ask(target)]);
    for asked in asked.into_iter().flatten() {
        assert_eq!(asked.join().unwrap().status, 200);
    }
    assert_eq!(bus.calls("66271"), 1);
}

/// The types of clients of the first shape, which refuse any other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoding is the test")]
struct Service {
    service_no: String,
    operator: String,
    next_bus: [Option<NextBus>; 3],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "decoding is the test")]
struct NextBus {
    origin_code: u32,
    dest_code: u32,
    est_arrival: String,
    lat: f64,
    long: f64,
    visit_no: u32,
    load: String,
    feature: Option<String>,
    bus_type: String,
}

#[test]
fn the_shapes_are_what_their_clients_read() {
    let bus = Bus::start("\"1h\"", &[]);
    let ask = |target: &str| -> Value {
        let reply = bus.server.get(target);
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
        serde_json::from_slice(&reply.body).unwrap()
    };
    for stop in ["83139", "01012", "66271", "46009", "10009", "99999"] {
        let timings = ask(&format!("/api/v1/timings/{stop}"));
        let _: Vec<Service> = serde_json::from_value(timings).unwrap();
    }
    // The leading zero reaches the origin, and is none of a number's.
    assert_eq!(ask("/api/v1/timings/01012")[0]["next_bus"][0]["origin_code"], 1109);
    assert_eq!(bus.calls("01012"), 1);
    let odd = ask("/api/v1/timings/46009");
    assert_eq!(odd[0]["next_bus"][0]["load"], "Unknown");
    assert_eq!(odd[0]["next_bus"][0]["bus_type"], "Unknown");
    assert_eq!(
        (ask("/api/v1/timings/10009"), ask("/api/v1/timings/99999")),
        (json!([]), json!([]))
    );

    let services = ask("/?id=83139");
    let second = &services["services"][1];
    assert_eq!((&second["no"], &second["operator"]), (&json!("150"), &json!("SBST")));
    let duration = second["next"]["duration_ms"].as_i64().unwrap();
    let (now, at) = (std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap(), 1_795_133_343_000_i64);
    assert!((at - now.as_millis() as i64 - duration).abs() < 60_000, "{duration}");
    let expected = json!({
        "time": "2026-11-20T08:09:03+08:00", "duration_ms": duration, "lat": 1.3152, "lng": 103.8931,
        "load": "LSD", "feature": "WAB", "type": "BD", "visit_number": 1,
        "origin_code": "82009", "destination_code": "82009", "monitored": 1,
    });
    assert_eq!(second["next"], expected);
    assert_eq!((&second["subsequent"], &second["next3"]), (&Value::Null, &Value::Null));
}
