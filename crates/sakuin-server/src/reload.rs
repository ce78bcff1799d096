//! Reload: read the configuration again, open everything it names, then swap. Whatever fails on the way leaves
//! everything as it was.

use std::sync::{Arc, PoisonError, atomic::Ordering::Relaxed};

use crate::{
    Config, Error,
    state::{Serving, State},
    tls::Identity,
};

/// Reloads a running server; cheap to clone.
#[derive(Clone)]
pub struct Reloader {
    state: Arc<State>,
}

impl Reloader {
    pub(crate) fn new(state: Arc<State>) -> Reloader {
        Reloader { state }
    }

    /// Reads the file again and serves what it says. Takes as long as opening its tables and dictionaries, so it
    /// is no call for an event loop. A key that only a start can change refuses the reload whole.
    pub fn reload(&self) -> Result<(), Error> {
        let (state, reloads) = (&self.state, &self.state.reloads);
        let _turn = reloads.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let reloaded = state.serving.load().config.read_again().map_err(Error::from);
        let reloaded = reloaded.and_then(|config| state.swap(config));
        reloads.failing.store(reloaded.is_err(), Relaxed);
        match &reloaded {
            Ok(()) => {
                reloads.done.fetch_add(1, Relaxed);
                tracing::info!("reloaded");
            }
            Err(error) => {
                reloads.refused.fetch_add(1, Relaxed);
                tracing::error!(hint = error.hint(), "not reloaded: {}", error.chain());
            }
        }
        reloaded
    }
}

impl State {
    fn swap(&self, config: Config) -> Result<(), Error> {
        let before = self.serving.load_full();
        let fixed = changed_for_good(&before.config, &config);
        if !fixed.is_empty() {
            return Err(Error::Restart { keys: fixed.join("`, `") });
        }
        let identity = config.server.tls.as_ref().map(Identity::read).transpose()?;
        let serving = Serving::open(config, &self.pool, &self.stopping, Some(&before))?;
        self.identity.store(identity.map(Arc::new));
        self.serving.store(Arc::new(serving));
        Ok(())
    }
}

/// The keys that only a start can change, and that are not what they were.
fn changed_for_good(before: &Config, after: &Config) -> Vec<&'static str> {
    let (before, after) = (&before.server, &after.server);
    let keys = [
        ("server.listen", before.listen == after.listen),
        ("server.admin", before.admin == after.admin),
        ("server.tls", before.tls.is_some() == after.tls.is_some()),
    ];
    keys.into_iter().filter(|(_, same)| !same).map(|(key, _)| key).collect()
}
