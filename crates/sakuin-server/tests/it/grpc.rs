//! The gRPC door: a real server on a port of its own, and clients as anybody generates them.
//!
//! - `records`: one record after another, and what is wrong with a request
//! - `transactions`: commits with preconditions, conflicts, requests that are sent again, many clients at once
//! - `pages`: lists and searches page by page, and the tokens between them
//! - `watch`: streams of commits
//! - `pipeline`: many operations in a message
//! - `db`: the service of old
//! - `lookup`: tables of every kind
//! - `service`: reflection, health, deadlines, limits, and the end of the server

mod db;
mod lookup;
mod pages;
mod pipeline;
mod records;
mod service;
mod transactions;
mod watch;

use std::{collections::BTreeMap, ops::Deref};

use prost_types::FieldMask;
use sakuin_grpc::{
    db::db_client::DbClient,
    live::{self as wire, live_client::LiveClient, value::Kind},
    lookup::lookup_client::LookupClient,
};
use sakuin_server::Config;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tonic::{
    Code, Response, Status,
    transport::{Channel, Endpoint},
};
use tonic_types::{ErrorDetails, StatusExt};

use crate::support::{Running, limits};

/// A server over live tables of its own, and a thread for its clients.
struct Served {
    running: Option<Running>,
    _folder: TempDir,
    runtime: Runtime,
}

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
admin = "127.0.0.1:0"
[live]
path = "live.redb"
durability = "none"
[tables.features]
kind = "live"
attributes.value = { type = "int", index = "equal" }
attributes.weight = { type = "float", index = "ordered" }
attributes.name = { type = "text" }
attributes.seen = { type = "bool" }
attributes.at = { type = "time" }
attributes.raw = { type = "bytes" }
vector = { dimensions = 2, metric = "l2" }
[tables.accounts]
kind = "live"
attributes.balance = { type = "int" }
[grpc]
db = { table = "features", attribute = "value" }
"#;

const FEATURES: &str = "tables/features";

impl Served {
    fn start() -> Served {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::parse(CONFIG, "test.toml", folder.path()).unwrap();
        Served::of(&config, folder)
    }

    fn of(config: &Config, folder: TempDir) -> Served {
        let running = Some(Running::start(config, &limits()));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Served { running, _folder: folder, runtime: runtime.unwrap() }
    }

    /// With records of these values, which have the ids from 1 on.
    fn with(values: &[i64]) -> Served {
        let served = Served::start();
        for value in values {
            served.create([("value", Kind::Int(*value))]);
        }
        served
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// What a call answers.
    fn ask<T>(&self, call: impl Future<Output = Result<Response<T>, Status>>) -> T {
        self.wait(call).unwrap().into_inner()
    }

    fn channel(&self) -> Channel {
        let _runtime = self.runtime.enter();
        let url = format!("http://{}", self.address);
        Endpoint::from_shared(url).unwrap().connect_lazy()
    }

    fn live(&self) -> LiveClient<Channel> {
        LiveClient::new(self.channel())
    }

    fn db(&self) -> DbClient<Channel> {
        DbClient::new(self.channel())
    }

    fn lookup(&self) -> LookupClient<Channel> {
        LookupClient::new(self.channel())
    }

    fn create<const N: usize>(&self, values: [(&str, Kind); N]) -> wire::Record {
        let request = wire::CreateRequest {
            parent: FEATURES.to_owned(),
            record: Some(record("", values)),
            ..Default::default()
        };
        self.ask(self.live().create(request)).record.unwrap()
    }

    fn get(&self, name: &str) -> wire::Record {
        self.ask(self.live().get(wire::GetRequest { name: name.to_owned() })).record.unwrap()
    }

    fn value(&self, id: u64) -> Option<i64> {
        match self.get(&feature(id)).values.remove("value")?.kind? {
            Kind::Int(value) => Some(value),
            kind => panic!("{kind:?}"),
        }
    }
}

impl Deref for Served {
    type Target = Running;

    fn deref(&self) -> &Running {
        self.running.as_ref().unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // While the clients' thread still answers the server's last pings.
        drop(self.running.take());
    }
}

fn feature(id: u64) -> String {
    format!("{FEATURES}/records/{id}")
}

fn value(kind: Kind) -> wire::Value {
    wire::Value { kind: Some(kind) }
}

fn vector(elements: &[f32]) -> Kind {
    Kind::Vector(wire::Vector { elements: elements.to_vec() })
}

fn record<const N: usize>(name: &str, values: [(&str, Kind); N]) -> wire::Record {
    let values: BTreeMap<_, _> =
        values.into_iter().map(|(name, kind)| (name.to_owned(), value(kind))).collect();
    wire::Record { name: name.to_owned(), values, ..Default::default() }
}

fn mask(paths: &[&str]) -> Option<FieldMask> {
    Some(FieldMask { paths: paths.iter().map(|path| (*path).to_owned()).collect() })
}

/// The details of a refusal that must have this code and reason.
#[track_caller]
fn refused<T>(outcome: Result<Response<T>, Status>, code: Code, reason: &str) -> ErrorDetails {
    let status = outcome.err().expect("it is refused");
    of_status(&status, code, reason)
}

#[track_caller]
fn of_status(status: &Status, code: Code, reason: &str) -> ErrorDetails {
    let details = status.get_error_details();
    let found = details.error_info().map(|info| (info.domain.clone(), info.reason.clone()));
    let wanted = Some(("sakuin".to_owned(), reason.to_owned()));
    assert_eq!((status.code(), found), (code, wanted), "{status:?}");
    details
}

/// The field that a refusal blames, with the cause and the cure.
fn blamed(details: &ErrorDetails) -> (&str, &str) {
    let violation = &details.bad_request().unwrap().field_violations[0];
    (&violation.field, &violation.description)
}
