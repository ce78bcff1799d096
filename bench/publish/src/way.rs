//! The way to a store: a proxy that holds back what passes for half of a time in either direction, and what comes first on
//! a connection for all of it, as long as the handshake of TCP would have taken.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::{Instant, sleep, sleep_until},
};

/// Starts it; it runs as long as the process.
pub async fn start(to: SocketAddr, round_trip: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(async move {
                sleep(round_trip).await;
                let Ok(server) = TcpStream::connect(to).await else { return };
                for stream in [&client, &server] {
                    stream.set_nodelay(true).expect("it is TCP");
                }
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::join!(
                    carry(from_client, to_server, round_trip / 2),
                    carry(from_server, to_client, round_trip / 2)
                );
            });
        }
    });
    address
}

async fn carry(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    delay: Duration,
) {
    let (sender, mut receiver) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(count) = from.read(&mut buffer).await {
            let _ = sender.send((Instant::now() + delay, buffer[..count].to_vec()));
            if count == 0 {
                break;
            }
        }
    };
    let write = async move {
        while let Some((due, bytes)) = receiver.recv().await {
            sleep_until(due).await;
            if bytes.is_empty() || to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(read, write);
}
