//! A store over TLS, in memory: PUT, GET and HEAD, as HTTP/1.1 or HTTP/2.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, Response, StatusCode, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use tokio::net::TcpListener;
use tokio_rustls::{TlsAcceptor, rustls};

type Objects = Arc<Mutex<HashMap<String, Bytes>>>;

/// Starts it; it runs as long as the process.
pub async fn start(certificate: &rcgen::CertifiedKey<rcgen::KeyPair>) -> SocketAddr {
    let key = rustls::pki_types::PrivateKeyDer::try_from(certificate.signing_key.serialize_der())
        .expect("it is a key");
    let chain = vec![certificate.cert.der().clone()];
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
    let mut config = config.expect("it is ours");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    let objects = Objects::default();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, objects) = (acceptor.clone(), objects.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true).expect("it is TCP");
                let Ok(stream) = acceptor.accept(stream).await else { return };
                let service = service_fn(move |request| answer(objects.clone(), request));
                let builder = auto::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    address
}

async fn answer(
    objects: Objects,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (method, name) = (request.method().clone(), request.uri().path().to_owned());
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let mut objects = objects.lock().expect("nobody panics");
    let (status, body) = match method {
        Method::PUT => {
            objects.insert(name, body);
            (StatusCode::OK, Bytes::new())
        }
        _ => match objects.get(&name) {
            Some(found) => (StatusCode::OK, found.clone()),
            None => (StatusCode::NOT_FOUND, Bytes::new()),
        },
    };
    let response = Response::builder().status(status).header("etag", "\"a tag\"");
    Ok(response.body(Full::new(body)).expect("it is an answer"))
}
