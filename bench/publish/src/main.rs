//! Small files to a store that is far away, sent as teams send them; a folder of which little has changed; a large table to
//! a store that is near; a server that switches versions under load.
//!
//! `bench-publish DATE RECORD.jsonl [small|large|switch]`. The store is one of this program: TLS, HTTP/1.1 and HTTP/2, in memory. The way to it is
//! a proxy that holds every byte back, and the first of each connection for the handshake that loopback does not need.

mod large;
mod store;
mod switch;
mod way;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bench_sampler::Sampler;
use futures_util::{StreamExt, stream};
use reqwest::{Certificate, Client};
use sakuin_publish::upload;

const DELAYS: [u64; 3] = [0, 20, 100];
const AT_ONCE: usize = 64;
/// The command that is built beside.
const SAKUIN: &str = "../target/release/sakuin";

/// How files are sent, and how often that is measured where it is slow.
#[derive(Clone, Copy, PartialEq)]
enum How {
    TwoEach,
    OneEach,
    Kept,
    ManyHttp1,
    Http2,
    Ours,
}

const WAYS: [(How, &str); 6] = [
    (How::Ours, "sakuin"),
    (How::TwoEach, "two requests a file, each on a new connection"),
    (How::OneEach, "one request a file, on a new connection"),
    (How::Kept, "one connection, one after another"),
    (How::ManyHttp1, "64 at once, HTTP/1.1"),
    (How::Http2, "64 at once, HTTP/2"),
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [date, record, part @ ..] = &arguments[..] else {
        panic!("bench-publish DATE RECORD.jsonl")
    };
    let is_wanted = |name: &str| part.first().is_none_or(|part| part == name);
    let mut sampler = Sampler::new("publish", date);
    let folder = tempfile::tempdir().expect("there is room");
    let certificate =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("it is made");
    let pem = folder.path().join("store.pem");
    fs::write(&pem, certificate.cert.pem()).expect("there is room");
    // The clients of this process trust it, and no other is run.
    for (name, value) in [
        ("SSL_CERT_FILE", pem.display().to_string()),
        ("AWS_ACCESS_KEY_ID", "somebody".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
        ("AWS_REGION", "here".to_owned()),
    ] {
        set(name, &value);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("threads are there");
    runtime.block_on(async {
        if is_wanted("small") {
            small_files(&mut sampler, folder.path(), &certificate).await;
            unchanged(&mut sampler, folder.path()).await;
        }
        if is_wanted("large") {
            large::measure(&mut sampler, folder.path()).await;
        }
        if is_wanted("switch") {
            switch::measure(&mut sampler, folder.path()).await;
        }
    });
    fs::write(record, sampler.lines()).expect("the record can be written");
}

/// Sets a variable of this process, before anything else runs in it.
#[expect(unsafe_code, reason = "the standard library cannot know that no thread reads it now")]
fn set(name: &str, value: &str) {
    // Safety: one thread runs, or none reads the environment.
    unsafe { env::set_var(name, value) };
}

async fn small_files(
    sampler: &mut Sampler,
    folder: &Path,
    certificate: &rcgen::CertifiedKey<rcgen::KeyPair>,
) {
    let kinds = [
        ("75 files of 350 kB together", files(folder, "small", 75, 4_700)),
        ("50 empty files", files(folder, "empty", 50, 0)),
    ];
    let own = store::start(certificate).await;
    let trusted = Certificate::from_pem(certificate.cert.pem().as_bytes()).expect("it is one");
    for delay in DELAYS {
        let way = way::start(own, Duration::from_millis(delay)).await;
        let base = format!("https://localhost:{}", way.port());
        set("AWS_ENDPOINT_URL", &base);
        for (kind, from) in &kinds {
            let row = format!("{kind}, {delay} ms to the store and back");
            let mut samples: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
            for round in 0..5 {
                for (how, name) in WAYS {
                    let is_slow =
                        delay == 100 && matches!(how, How::TwoEach | How::OneEach | How::Kept);
                    if is_slow && round > 0 {
                        continue;
                    }
                    let begun = Instant::now();
                    send(how, from, &base, &trusted).await;
                    samples.entry(name).or_default().push(begun.elapsed().as_secs_f64() * 1e3);
                }
            }
            for (_, name) in WAYS {
                sampler.samples(&row, "ms", name, &samples[name]);
            }
            if delay == 100 && *kind != "50 empty files" {
                sampler.target(&row, 1.0 / 60.0, Some((&row, WAYS[1].1)));
                // Three round trips: to connect, to agree on keys, to send.
                sampler.target(&row, 1.3 * 3.0 * delay as f64, None);
            }
        }
    }
}

/// Files with different bytes.
fn files(folder: &Path, name: &str, count: usize, bytes: usize) -> PathBuf {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).expect("there is room");
    for number in 0..count {
        let text: Vec<u8> = (0..bytes).map(|at| (at * 31 + number * 7) as u8).collect();
        fs::write(folder.join(format!("{number}.bin")), text).expect("there is room");
    }
    folder
}

async fn send(how: How, from: &Path, base: &str, trusted: &Certificate) {
    if how == How::Ours {
        upload(from, "s3://bucket/site", |_, _| ()).await.expect("the store takes it");
        return;
    }
    let client = || {
        let builder =
            Client::builder().tls_certs_only([trusted.clone()]).no_proxy().tcp_nodelay(true);
        let builder = if how == How::Http2 { builder } else { builder.http1_only() };
        builder.build().expect("a client is made")
    };
    let shared = client();
    let paths: Vec<PathBuf> = fs::read_dir(from)
        .expect("it is there")
        .map(|entry| entry.expect("it is there").path())
        .collect();
    let put = async |client: &Client, path: &PathBuf| {
        let name = path.file_name().expect("files have names").to_str().expect("it is text");
        let body = fs::read(path).expect("it is there");
        let sent = client.put(format!("{base}/bucket/site/{name}")).body(body).send().await;
        assert!(sent.expect("the store answers").status().is_success());
    };
    match how {
        How::TwoEach | How::OneEach => {
            for path in &paths {
                if how == How::TwoEach {
                    let asked = client().head(format!("{base}/bucket/site/none")).send().await;
                    asked.expect("the store answers");
                }
                put(&client(), path).await;
            }
        }
        How::Kept => {
            for path in &paths {
                put(&shared, path).await;
            }
        }
        _ => {
            // One that is alone finds out what the server speaks; the others then share its connection.
            let (first, rest) = paths.split_first().expect("there are some");
            if how == How::Http2 {
                put(&shared, first).await;
            }
            let rest = if how == How::Http2 { rest } else { &paths };
            stream::iter(rest).for_each_concurrent(AT_ONCE, |path| put(&shared, path)).await;
        }
    }
}

/// Of a folder of 100 MB, one file in a hundred is another.
async fn unchanged(sampler: &mut Sampler, folder: &Path) {
    let from = files(folder, "large", 100, 1 << 20);
    let to = format!("file://{}", folder.join("sent").display());
    let first = upload(&from, &to, |_, _| ()).await.expect("there is room");
    fs::write(from.join("7.bin"), vec![1; 1 << 20]).expect("there is room");
    let again = upload(&from, &to, |_, _| ()).await.expect("there is room");
    let row = "bytes sent of a folder of 100 MB of which 99 % are as they were";
    sampler.samples(row, "%", "sakuin", &[again.bytes as f64 * 100.0 / first.bytes as f64]);
    sampler.samples(row, "%", "all of it", &[100.0]);
    sampler.target(row, 2.0, None);
}
