//! What all services have in common.

use std::time::Duration;

use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tonic::Request;
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::{v1, v1alpha};

use super::*;

#[test]
fn services_are_listed_by_reflection() {
    let served = Served::start();
    let wanted = [
        "db.DB",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "sakuin.live.v1.Live",
        "sakuin.v1.Lookup",
    ];
    macro_rules! ask {
        ($version:ident, $message:expr) => {
            served.wait(async {
                use $version::{
                    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
                    server_reflection_request::MessageRequest::*,
                };
                let mut client = ServerReflectionClient::new(served.channel());
                let request = ServerReflectionRequest {
                    message_request: Some($message),
                    ..Default::default()
                };
                let asked = futures_util::stream::iter([request]);
                let answers = client.server_reflection_info(asked).await.unwrap();
                answers.into_inner().message().await.unwrap().unwrap().message_response.unwrap()
            })
        };
    }
    use v1::server_reflection_response::MessageResponse as V1;
    use v1alpha::server_reflection_response::MessageResponse as V1Alpha;
    let V1::ListServicesResponse(list) = ask!(v1, ListServices(String::new())) else { panic!() };
    let names: Vec<_> = list.service.iter().map(|service| service.name.as_str()).collect();
    assert!(wanted.iter().all(|name| names.contains(name)), "{names:?}");
    let list = ask!(v1alpha, ListServices(String::new()));
    let V1Alpha::ListServicesResponse(list) = list else { panic!() };
    assert!(list.service.iter().any(|service| service.name == "sakuin.live.v1.Live"));
    let symbol = "sakuin.live.v1.Live".to_owned();
    let V1::FileDescriptorResponse(files) = ask!(v1, FileContainingSymbol(symbol)) else {
        panic!()
    };
    assert!(!files.file_descriptor_proto.is_empty());
}

#[test]
fn what_is_not_configured_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let text = CONFIG.split("[grpc]").next().unwrap();
    let served = Served::of(&Config::parse(text, "test.toml", folder.path()).unwrap(), folder);
    let outcome = served.wait(served.db().search(sakuin_grpc::db::Value { value: 1 }));
    refused(outcome, Code::Unimplemented, "SERVICE_NOT_FOUND");
    let check = |service: &str| {
        let request = HealthCheckRequest { service: service.to_owned() };
        served.wait(HealthClient::new(served.channel()).check(request))
    };
    for service in ["", "sakuin.live.v1.Live", "sakuin.v1.Lookup"] {
        assert_eq!(check(service).unwrap().into_inner().status(), ServingStatus::Serving);
    }
    refused(check("db.DB"), Code::NotFound, "SERVICE_NOT_FOUND");
}

#[test]
fn a_deadline_ends_a_call_and_a_stream() {
    let served = Served::with(&[1]);
    let status = |timeout| served.wait(status(&served, timeout));
    assert_eq!(["10S", "0m", "soon"].map(status), ["5", "4", "3"]);
    // The client's own clock would end it too, so the time is given by hand.
    let mut request = Request::new(wire::WatchRequest::default());
    request.metadata_mut().insert("grpc-timeout", "50m".parse().unwrap());
    let mut stream = served.ask(served.live().watch(request));
    let last = served.wait(async {
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                last => return last,
            }
        }
    });
    of_status(&last.expect_err("it does not just end"), Code::DeadlineExceeded, "DEADLINE");
}

/// The status of a call for a record that is not there, by a client that has no clock of its own.
async fn status(served: &Served, timeout: &str) -> String {
    let stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.unwrap();
    tokio::spawn(connection);
    let message = b"\0\0\0\0\x1d\x0a\x1btables/features/records/999";
    let request = hyper::Request::post("http://localhost/sakuin.live.v1.Live/Get")
        .header("content-type", "application/grpc")
        .header("grpc-timeout", timeout)
        .body(Full::new(&message[..]));
    let response = sender.send_request(request.unwrap()).await.unwrap();
    response.headers()["grpc-status"].to_str().unwrap().to_owned()
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_connection_goes_on() {
    let served = Served::with(&[1]);
    let mut live = served.live();
    let long = Kind::Text("x".repeat(5 << 20));
    let request = wire::CreateRequest {
        parent: FEATURES.to_owned(),
        record: Some(record("", [("name", long)])),
        ..Default::default()
    };
    let refusal = served.wait(live.create(request)).expect_err("it is too long");
    assert_eq!(refusal.code(), Code::OutOfRange, "{refusal:?}");
    assert_eq!(served.ask(live.get(wire::GetRequest { name: feature(1) })).snapshot, 1);
}

#[test]
fn calls_of_old_http_are_refused() {
    let served = Served::start();
    let answer = ureq::post(format!("http://{}/sakuin.live.v1.Live/Get", served.address));
    let answer = answer.config().http_status_as_error(false).build();
    let answer = answer.header("content-type", "application/grpc").send(&[][..]).unwrap();
    assert_eq!(answer.status().as_u16(), 505);
}

#[test]
fn calls_are_counted_by_how_they_end() {
    let served = Served::with(&[1]);
    served.get(&feature(1));
    let outcome = served.wait(served.live().get(wire::GetRequest { name: feature(2) }));
    refused(outcome, Code::NotFound, "RECORD_NOT_FOUND");
    let count = |status| {
        served.metric("sakuin_requests_total", &format!("door=\"grpc\",status=\"{status}\""))
    };
    assert_eq!((count("2xx"), count("4xx")), (2.0, 1.0));
}

#[test]
fn streams_end_politely_with_the_server() {
    let mut served = Served::with(&[1]);
    let mut watch = served.ask(served.live().watch(wire::WatchRequest::default()));
    assert_eq!(served.wait(watch.message()).unwrap().unwrap().snapshot, 1);
    let pending = futures_util::stream::pending::<wire::PipelineRequest>();
    let mut pipeline = served.ask(served.live().pipeline(pending));
    let mut health = {
        let request = HealthCheckRequest::default();
        served.ask(HealthClient::new(served.channel()).watch(request))
    };
    let first = served.wait(health.message()).unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    served.running.as_mut().unwrap().stop();
    let last = served.wait(watch.message()).expect_err("it does not just end");
    let details = of_status(&last, Code::Unavailable, "STOPPING");
    assert_eq!(details.error_info().unwrap().metadata["snapshot"], "1");
    let last = served.wait(pipeline.message()).expect_err("it does not just end");
    of_status(&last, Code::Unavailable, "STOPPING");
    let next = served.wait(health.message()).unwrap().unwrap();
    assert_eq!(next.status(), ServingStatus::NotServing);
    assert_eq!(served.wait(health.message()).unwrap(), None);
    let begun = std::time::Instant::now();
    served.running.as_mut().unwrap().join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "streams held the server up");
}
