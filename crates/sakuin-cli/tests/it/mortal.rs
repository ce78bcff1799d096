//! A server of live tables that is killed and comes back on the same file, with clients that outlive it.

use std::time::Duration;

use sakuin_grpc::live::live_client::LiveClient;
use tokio::{runtime::Runtime, sync::watch};
use tonic::{
    Code, Status,
    transport::{Channel, Endpoint},
};

use crate::{command::Folder, server::Server};

const CHANNELS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that can be killed. Each life has an address of its own.
pub(crate) struct Mortal {
    folder: Folder,
    server: Option<Server>,
    channels: watch::Sender<Vec<Channel>>,
}

/// One of many clients. It knows where the server lives now.
pub(crate) struct Client {
    channels: watch::Receiver<Vec<Channel>>,
    number: usize,
}

/// What is known of a call that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It wrote nothing: something it had read was another by then, or can no longer be compared.
    Conflict,
    /// The connection broke: it may have written or not.
    Unknown,
}

/// What clients run on.
pub(crate) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

impl Mortal {
    /// Starts `sakuin serve sakuin.toml` on a file of its own; `tables` is what the configuration says about tables.
    pub(crate) fn start(tables: &str) -> Mortal {
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[live]\npath = \"live.redb\"\ndurability = \"sync\"\n{tables}"
        );
        let folder = Folder::with(&[("sakuin.toml", &config)]);
        let mut mortal = Mortal { folder, server: None, channels: watch::Sender::new(Vec::new()) };
        mortal.live();
        mortal
    }

    /// Kills it in the middle of whatever it does, and starts it again.
    pub(crate) fn die_and_live(&mut self) {
        drop(self.server.take());
        self.live();
    }

    pub(crate) fn client(&self, number: usize) -> Client {
        Client { channels: self.channels.subscribe(), number }
    }

    fn live(&mut self) {
        let server = Server::start(&self.folder, &["serve", "sakuin.toml"]);
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
        let endpoint = endpoint.timeout(PATIENCE);
        self.channels.send_replace((0..CHANNELS).map(|_| endpoint.connect_lazy()).collect());
        self.server = Some(server);
    }
}

impl Client {
    /// To the server as it lives now.
    pub(crate) fn live(&mut self) -> LiveClient<Channel> {
        let channels = self.channels.borrow_and_update();
        LiveClient::new(channels[self.number % channels.len()].clone())
    }

    /// Sorts an error; after a broken connection, waits for the next life.
    pub(crate) async fn failure(&mut self, status: &Status) -> Failure {
        match status.code() {
            Code::Aborted | Code::FailedPrecondition => Failure::Conflict,
            Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal => {
                let next = tokio::time::timeout(PATIENCE, self.channels.changed()).await;
                next.unwrap_or_else(|_| panic!("nobody killed the server, but: {status:?}"))
                    .expect("the test goes on");
                Failure::Unknown
            }
            _ => panic!("no transaction deserves this: {status:?}"),
        }
    }
}
