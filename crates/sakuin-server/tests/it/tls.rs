//! TLS: what is spoken, and a certificate that changes while it is used.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
};

use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::CertifiedKey;
use rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned,
    pki_types::CertificateDer,
};
use sakuin_pack::{Builder, Content, Options};
use sakuin_server::Config;
use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use crate::support::{Running, limits};

/// A server with TLS, and what its clients trust.
struct Secure {
    running: Running,
    folder: TempDir,
    roots: RootCertStore,
}

/// Writes a new certificate with its key, and returns it.
fn renew(folder: &Path) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("server.crt"), cert.pem()).unwrap();
    fs::write(folder.join("server.key"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

impl Secure {
    fn start() -> Secure {
        let folder = tempfile::tempdir().unwrap();
        let mut builder = Builder::new(Content::Text, Options::new());
        builder.add(b"key", b"value").unwrap();
        builder.write(folder.path().join("one.skn")).unwrap();
        let text = "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n\
            tls = { cert = \"server.crt\", key = \"server.key\" }\n\
            [tables.one]\nkind = \"packed\"\nfile = \"one.skn\"\nroute = \"/one/{key}\"\n";
        let mut roots = RootCertStore::empty();
        roots.add(renew(folder.path())).unwrap();
        fs::write(folder.path().join("sakuin.toml"), text).unwrap();
        let config = Config::read(folder.path().join("sakuin.toml")).unwrap();
        Secure { running: Running::start(&config, &limits()), folder, roots }
    }

    fn renew(&mut self) -> CertificateDer<'static> {
        let cert = renew(self.folder.path());
        self.roots.add(cert.clone()).unwrap();
        cert
    }

    fn client(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(self.roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Arc::new(config)
    }
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

/// Asks for the one record, and returns the connection.
fn ask(address: SocketAddr, client: Arc<ClientConfig>) -> std::io::Result<Stream> {
    let connection = ClientConnection::new(client, "localhost".try_into().unwrap())
        .map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, TcpStream::connect(address)?);
    stream.write_all(b"GET /one/key HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("value"), "{answer}");
    Ok(stream)
}

fn presented(stream: &Stream) -> CertificateDer<'static> {
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn the_newest_version_is_spoken() {
    let secure = Secure::start();
    assert!(secure.running.url.starts_with("https://127.0.0.1:"));
    let stream = ask(secure.running.address, secure.client(&[b"http/1.1"])).unwrap();
    assert_eq!(stream.conn.protocol_version(), Some(ProtocolVersion::TLSv1_3));
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    let days = secure.running.metric("sakuin_tls_expiry_seconds", "") / 86400.0;
    assert!(days > 365.0, "{days}");

    // Plain HTTP on this port ends in nothing but a closed connection.
    let mut plain = TcpStream::connect(secure.running.address).unwrap();
    plain.write_all(b"GET /one/key HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    while secure.running.metric("sakuin_tls_handshakes_failed_total", "") < 1.0 {
        thread::yield_now();
    }
}

#[tokio::test]
async fn many_requests_share_one_connection_of_http_2() {
    let secure = tokio::task::spawn_blocking(Secure::start).await.unwrap();
    let stream = tokio::net::TcpStream::connect(secure.running.address).await.unwrap();
    let connector = TlsConnector::from(secure.client(&[b"h2", b"http/1.1"]));
    let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let io = TokioIo::new(stream);
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
    tokio::spawn(connection);
    for method in ["GET", "HEAD"] {
        let asked = (0..50).map(|_| {
            let request = hyper::Request::builder().method(method).uri("https://localhost/one/key");
            sender.clone().send_request(request.body(Empty::<&[u8]>::new()).unwrap())
        });
        for response in asked.collect::<Vec<_>>() {
            let response = response.await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(response.headers()["content-length"], "5");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, if method == "GET" { &b"value"[..] } else { b"" });
        }
    }
    tokio::task::spawn_blocking(move || drop(secure)).await.unwrap();
}

#[test]
fn a_certificate_changes_under_load_and_no_handshake_fails() {
    let mut secure = Secure::start();
    let (address, reloader) = (secure.running.address, secure.running.reloader.clone());
    // The clients know every certificate there will be.
    let pairs: Vec<_> = (0..10)
        .map(|_| {
            let cert = secure.renew();
            let read = |name| fs::read(secure.folder.path().join(name)).unwrap();
            (cert, read("server.crt"), read("server.key"))
        })
        .collect();
    let client = secure.client(&[b"http/1.1"]);
    let (done, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Relaxed) {
                    ask(address, client.clone()).expect("no handshake fails");
                    answered.fetch_add(1, Relaxed);
                }
            });
        }
        for (cert, chain, key) in &pairs {
            fs::write(secure.folder.path().join("server.crt"), chain).unwrap();
            fs::write(secure.folder.path().join("server.key"), key).unwrap();
            reloader.reload().unwrap();
            assert_eq!(&presented(&ask(address, client.clone()).unwrap()), cert);
        }
        done.store(true, Relaxed);
    });
    assert!(answered.load(Relaxed) > 0);
}

#[test]
fn a_pair_that_does_not_match_is_refused_and_the_old_one_stays() {
    let secure = Secure::start();
    let before = presented(&ask(secure.running.address, secure.client(&[])).unwrap());
    let cert = secure.folder.path().join("server.crt");
    let old = fs::read(&cert).unwrap();
    // The server looks at the files by itself too: at no moment may they be a pair that it could take.
    let other = tempfile::tempdir().unwrap();
    renew(other.path());
    fs::copy(other.path().join("server.key"), secure.folder.path().join("server.key")).unwrap();
    for bad in [&old[..], b"", &old[..old.len() / 2]] {
        fs::write(&cert, bad).unwrap();
        let error = secure.running.reloader.reload().unwrap_err();
        assert!(error.to_string().contains("server.crt` cannot be used: "), "{error}");
        let now = presented(&ask(secure.running.address, secure.client(&[])).unwrap());
        assert_eq!(now, before);
    }
}
