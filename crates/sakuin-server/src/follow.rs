//! Following repositories: a thread beside the loops asks each for news in its time, and has what is new served.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use sakuin::Follower;
use sakuin_publish::Looked;
use tokio_util::sync::CancellationToken;

use crate::state::State;

/// A reload that begins or ends following is seen after this time at most.
const LOOK_AT_CONFIG: Duration = Duration::from_secs(1);

/// Follows what is configured until the server has ended. Of one repository there is one look at a time, and none waits
/// for another's.
pub(crate) async fn run(state: &Arc<State>, ended: &CancellationToken) {
    // When each is asked next; none while it is.
    let mut due: HashMap<String, Option<Instant>> = HashMap::new();
    let mut looks = FuturesUnordered::new();
    loop {
        let now = Instant::now();
        let followed = followed(state);
        due.retain(|name, due| due.is_none() || followed.iter().any(|(other, ..)| other == name));
        for (name, follower, poll) in followed {
            let due = due.entry(name.clone()).or_insert(Some(now));
            if due.is_some_and(|due| due <= now) {
                *due = None;
                looks.push(async move {
                    let is_new = look(&name, &follower).await;
                    (name, Instant::now() + follower.wait(poll), is_new)
                });
            }
        }
        let next = due.values().flatten().min().copied().unwrap_or(now + LOOK_AT_CONFIG);
        let wait = next.saturating_duration_since(now).min(LOOK_AT_CONFIG);
        tokio::select! {
            () = ended.cancelled() => return,
            Some((name, next, is_new)) = looks.next() => {
                due.insert(name, Some(next));
                if is_new && let Err(error) = state.follow() {
                    tracing::error!("what was followed is not served: {}", error.chain());
                }
            }
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
