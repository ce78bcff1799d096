//! Any bytes as what comes over an origin's connection: read as HTTP, decoded, mapped, prepared. It ends in an
//! answer within its bounds or in a failure.
#![no_main]

use std::sync::LazyLock;

use http_body_util::Empty;
use hyper::{Request, body::Bytes, client::conn::http1};
use hyper_util::rt::TokioIo;
use libfuzzer_sys::fuzz_target;
use sakuin::Mapping;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Runtime,
};

const MAX_ANSWER: usize = 64 << 10;

static MAPPING: LazyLock<Mapping> = LazyLock::new(|| Mapping::compile(".").expect("it is jq"));

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().expect("a runtime"));

fuzz_target!(|bytes: &[u8]| {
    RUNTIME.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(bytes.len().max(1024));
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(ours)).await.expect("nothing is said yet");
        let connection = tokio::spawn(connection);
        let request =
            Request::get("http://origin/").body(Empty::<Bytes>::new()).expect("a request");
        let sent = tokio::spawn(sender.send_request(request));
        // What comes before the request is no answer to it.
        theirs.read(&mut [0; 256]).await.expect("it is asked");
        // It may hang up in the middle.
        let _ = theirs.write_all(bytes).await;
        let _ = theirs.shutdown().await;
        if let Ok(Ok(response)) = sent.await {
            let response = reqwest::Response::from(response.map(reqwest::Body::wrap));
            if let Some(prepared) = sakuin::fuzzing::answer(response, &MAPPING, MAX_ANSWER).await {
                serde_json::from_slice::<serde::de::IgnoredAny>(prepared.body()).expect("JSON");
            }
        }
        drop((sender, theirs));
        let _ = connection.await;
    });
});
