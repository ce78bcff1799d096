//! A closed loop: so many clients, each of which begins its next operation when the one before is answered. Their
//! channels are open before the clock runs, four at most, shared as a program with one pool of connections does.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use bench_sampler::Server;
use tokio::runtime::Runtime;
use tonic::transport::{Channel, Endpoint};

const CHANNELS: usize = 4;

/// A client.
pub trait Worker: Send + 'static {
    /// Does something once, and says how many operations that was.
    fn once(&mut self) -> impl Future<Output = u64> + Send;
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub per_second: f64,
    /// The server's, for each operation.
    pub cpu_microseconds: f64,
    /// From the beginning of `once` to its end.
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub p999_ms: f64,
}

pub fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().expect("a runtime")
}

/// Channels that are connected, for so many clients.
pub fn channels(runtime: &Runtime, port: u16, clients: usize) -> Vec<Channel> {
    let endpoint = endpoint(port);
    let connect = |_| runtime.block_on(endpoint.connect()).expect("the server listens");
    let channels: Vec<Channel> = (0..clients.min(CHANNELS)).map(connect).collect();
    (0..clients).map(|client| channels[client % channels.len()].clone()).collect()
}

pub fn endpoint(port: u16) -> Endpoint {
    Endpoint::from_shared(format!("http://127.0.0.1:{port}")).expect("an address")
}

/// Lets the workers run; gives them back for what they have noted.
pub fn run<W: Worker>(
    runtime: &Runtime,
    server: &Server,
    workers: Vec<W>,
    time: Duration,
) -> (Run, Vec<W>) {
    let (before, start) = (server.cpu(), Instant::now());
    let ran: Vec<(W, u64, Vec<f64>)> = runtime.block_on(async {
        let running: Vec<_> =
            workers.into_iter().map(|worker| tokio::spawn(repeat(worker, start + time))).collect();
        let mut ran = Vec::with_capacity(running.len());
        for worker in running {
            ran.push(worker.await.expect("a client does not panic"));
        }
        ran
    });
    let (seconds, used) = (start.elapsed().as_secs_f64(), server.cpu() - before);
    let operations = ran.iter().map(|(_, operations, _)| operations).sum::<u64>() as f64;
    let mut times: Vec<f64> = ran.iter().flat_map(|(_, _, times)| times).copied().collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let run = Run {
        per_second: operations / seconds,
        cpu_microseconds: used.microseconds_each(operations),
        p50_ms: at(0.5),
        p99_ms: at(0.99),
        p999_ms: at(0.999),
    };
    (run, ran.into_iter().map(|(worker, _, _)| worker).collect())
}

/// The worker, how many operations it did, and the milliseconds of each `once`.
async fn repeat<W: Worker>(mut worker: W, end: Instant) -> (W, u64, Vec<f64>) {
    let (mut operations, mut times) = (0, Vec::new());
    let mut now = Instant::now();
    while now < end || times.is_empty() {
        operations += worker.once().await;
        let after = Instant::now();
        times.push((after - now).as_secs_f64() * 1e3);
        now = after;
    }
    (worker, operations, times)
}
