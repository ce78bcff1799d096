//! What all loops share: the configuration in force with everything it opened, which a reload swaps as one,
//! and what lives as long as the server.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Instant,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use axum::Router;
use sakuin::Tables;
use sakuin_contacts::Contacts;
use tokio_util::sync::CancellationToken;

use crate::{
    Config, Error, Limits, ReaderConfig, contacts,
    counters::Counters,
    dav::Dav,
    grpc::Services,
    lookup::Lookup,
    pool::Pool,
    reader,
    server::{open_dictionary, runtime},
    tls::Identity,
};

/// A server's whole state.
pub(crate) struct State {
    /// What is served; taken once a request.
    pub(crate) serving: ArcSwap<Serving>,
    /// The certificate in use; none for plain connections.
    pub(crate) identity: ArcSwapOption<Identity>,
    pub(crate) loops: Box<[Counters]>,
    pub(crate) pool: Pool,
    pub(crate) limits: Limits,
    pub(crate) connections_max: usize,
    /// Set when the server is told to stop.
    pub(crate) stopping: CancellationToken,
    pub(crate) start: Instant,
    pub(crate) reloads: Reloads,
}

/// How reloads went.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    /// One at a time, whether a signal or the admin door asks for it.
    pub(crate) turn: Mutex<()>,
    pub(crate) done: AtomicU64,
    pub(crate) refused: AtomicU64,
    /// Whether the last one was refused.
    pub(crate) failing: AtomicBool,
}

/// A configuration with everything it opened.
pub(crate) struct Serving {
    pub(crate) config: Config,
    pub(crate) lookup: Lookup,
    pub(crate) services: Services,
    pub(crate) reader: Option<Site>,
    pub(crate) dav: Option<Arc<Dav>>,
    /// The pages of contacts.
    pub(crate) contacts: Option<Router>,
}

/// The reading site as far as loops share it.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) config: ReaderConfig,
    pub(crate) shared: Arc<reader::Shared>,
}

impl Serving {
    /// Opens everything that a configuration names; what has not changed since `before` is kept.
    pub(crate) fn open(
        config: Config,
        pool: &Pool,
        stopping: &CancellationToken,
        before: Option<&Serving>,
    ) -> Result<Serving, Error> {
        let tables = match before {
            Some(before) => before.lookup.tables().reopen(&config.tables)?,
            None => Tables::open(&config.tables)?,
        };
        let site = config.reader.as_ref();
        let lookup = Lookup::new(tables, &config)?;
        let dav = open_contacts(&config, pool, before)?;
        let before = before.map(|before| &before.services);
        let services = Services::open(lookup.tables(), &config.grpc, pool, stopping, before)?;
        let reader = site.map(|site| Site::open(site, pool)).transpose()?;
        let contacts = dav.as_ref().map(|dav| contacts::router(dav, config.server.tls.is_some()));
        Ok(Serving { config, lookup, services, reader, dav, contacts })
    }

    /// The same with the versions of repositories that are there now.
    fn followed(&self, pool: &Pool, stopping: &CancellationToken) -> Result<Serving, Error> {
        let tables = self.lookup.tables().reopen(&self.config.tables)?;
        let lookup = Lookup::new(tables, &self.config)?;
        let grpc = &self.config.grpc;
        let services = Services::open(lookup.tables(), grpc, pool, stopping, Some(&self.services))?;
        Ok(Serving {
            config: self.config.clone(),
            lookup,
            services,
            reader: self.reader.clone(),
            dav: self.dav.clone(),
            contacts: self.contacts.clone(),
        })
    }

    /// Why live tables are no longer written; none while all is well.
    pub(crate) fn read_only(&self) -> Option<String> {
        self.lookup.tables().store()?.status().read_only
    }
}

/// The door to contacts. What has not changed of their store since `before` is kept open.
fn open_contacts(
    config: &Config,
    pool: &Pool,
    before: Option<&Serving>,
) -> Result<Option<Arc<Dav>>, Error> {
    let Some(wanted) = &config.contacts else { return Ok(None) };
    config.check_passwords()?;
    let known =
        before.and_then(|before| Some((before.config.contacts.as_ref()?, before.dav.as_ref()?)));
    let known =
        known.filter(|(known, _)| (&known.store, known.servers) == (&wanted.store, wanted.servers));
    let contacts = match known {
        Some((_, dav)) => dav.contacts.clone(),
        None => Arc::new(Contacts::open(wanted.store.value(), wanted.servers)?),
    };
    let (path, card_bytes_max) = (wanted.path.clone(), wanted.max_card);
    Ok(Some(Arc::new(Dav { contacts, path, card_bytes_max, pool: pool.clone() })))
}

impl Site {
    fn open(config: &ReaderConfig, pool: &Pool) -> Result<Site, Error> {
        let dictionary = open_dictionary(config)?;
        runtime()?.block_on(reader::stories::Stories::open(&config.stories))?;
        let shared = reader::Shared::new(dictionary, &config.path, pool.clone());
        Ok(Site { config: config.clone(), shared: Arc::new(shared) })
    }
}

impl State {
    /// Writes what live tables have still to write. Nothing is asked any more.
    pub(crate) fn close(&self) -> Result<(), Error> {
        match self.serving.load().lookup.tables().store() {
            Some(store) => store.close().map_err(Error::Close),
            None => Ok(()),
        }
    }

    /// Serves the versions of repositories that are there now, all tables at once: a request takes what is served once.
    pub(crate) fn follow(&self) -> Result<(), Error> {
        let _turn = self.reloads.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = self.serving.load().followed(&self.pool, &self.stopping)?;
        self.serving.store(Arc::new(followed));
        Ok(())
    }

    /// Whether a request that comes now should be the last of its connection.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }
}
