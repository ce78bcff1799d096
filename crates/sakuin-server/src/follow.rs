//! Following repositories: a thread beside the loops asks each for news in its time, and has what is new served.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use sakuin::Follower;
use sakuin_publish::Looked;
use tokio_util::sync::CancellationToken;

use crate::state::State;

/// A reload that begins or ends following is seen after this time at most.
const LOOK_AT_CONFIG: Duration = Duration::from_secs(1);

/// Follows what is configured until the server has ended.
pub(crate) async fn run(state: &Arc<State>, ended: &CancellationToken) {
    let mut due: HashMap<String, Instant> = HashMap::new();
    loop {
        let followed = followed(state);
        due.retain(|name, _| followed.iter().any(|(other, ..)| other == name));
        let now = Instant::now();
        let asked =
            followed.iter().filter(|(name, ..)| due.get(name).is_none_or(|due| *due <= now));
        let looks = asked.map(|(name, follower, poll)| async move {
            let is_new = look(name, follower).await;
            (name.clone(), Instant::now() + follower.wait(*poll), is_new)
        });
        let mut is_new = false;
        for (name, next, news) in futures_util::future::join_all(looks).await {
            due.insert(name, next);
            is_new |= news;
        }
        if is_new && let Err(error) = state.follow() {
            tracing::error!("what was followed is not served: {}", error.chain());
        }
        let next = due.values().min().copied().unwrap_or_else(|| Instant::now() + LOOK_AT_CONFIG);
        let wait = next.saturating_duration_since(Instant::now()).min(LOOK_AT_CONFIG);
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Every repository, and how often it is asked.
fn followed(state: &State) -> Vec<(String, Arc<Follower>, Duration)> {
    let serving = state.serving.load();
    let tables = serving.lookup.tables();
    let described = &tables.config().repositories;
    tables
        .repositories()
        .filter_map(|(name, follower)| {
            Some((name.to_owned(), follower.clone(), described.get(name)?.poll))
        })
        .collect()
}

/// Looks for news once; whether there are any. Each failure is told once, until it is another.
async fn look(name: &str, follower: &Follower) -> bool {
    let before = follower.status();
    match follower.look().await {
        Ok(Looked::Switched(version)) => {
            tracing::info!("repository `{name}` is at version {version}");
            true
        }
        Ok(Looked::Unchanged) => {
            if before.failure.is_some() {
                tracing::info!("repository `{name}` answers again");
            }
            false
        }
        Err(error) => {
            let told = Some(error.to_string());
            if told != before.failure && told != before.refused {
                tracing::error!(hint = error.hint(), "repository `{name}`: {error}");
            }
            false
        }
    }
}
