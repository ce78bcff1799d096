//! Bad days, one request at a time: at every request that a run makes of its store, the run is killed, or the request is
//! refused, or its reply is lost, or nothing is heard any more. And many of them, in any order.

use std::time::Duration;

use sakuin_publish::{Announcement, Looked, Manifest};
use tokio::time::Instant;

use super::{
    faulty::{Fault, Faulty},
    *,
};

const ONE: &[(&str, &str)] = &[("words", "a=1\n"), ("names", "b=1\n")];
const TWO: &[(&str, &str)] = &[("words", "a=2\n"), ("names", "b=1\n")];
const EVERYTHING_MAX: usize = 100;

fn faulty() -> (Shop, Faulty) {
    let store = Faulty::new();
    let repository = Repository::with_store(Arc::new(store.clone()), "memory:///");
    (Shop { folder: tempfile::tempdir().unwrap(), repository }, store)
}

/// Does something, and is killed where a request stays without an answer; nothing then.
async fn killable<T>(store: &Faulty, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = store.is_silent() => None,
    }
}

/// Every channel's announcements, each of which leads to a whole version.
async fn whole(store: &Faulty) -> BTreeMap<String, Vec<Announcement>> {
    let mut channels: BTreeMap<String, Vec<Announcement>> = BTreeMap::new();
    for name in store.names().await.into_iter().filter(|name| name.starts_with("channels/")) {
        let bytes = store.bytes(&name).await.unwrap();
        let announcement: Announcement = serde_json::from_slice(&bytes).unwrap();
        let log = channels.entry(name.split('/').nth(1).unwrap().to_owned()).or_default();
        log.push(announcement);
    }
    for log in channels.values() {
        let numbers: Vec<u64> = log.iter().map(|one| one.number).collect();
        assert_eq!(numbers, (1..=log.len() as u64).collect::<Vec<_>>());
        // What a channel led to long ago may have been collected.
        is_whole(store, log.last().unwrap()).await;
    }
    channels
}

async fn is_whole(store: &Faulty, announcement: &Announcement) {
    let bytes = store.bytes(&format!("versions/{:020}.json", announcement.version)).await.unwrap();
    assert_eq!(blake3::hash(&bytes).to_hex().as_str(), announcement.manifest);
    let manifest: Manifest = serde_json::from_slice(&bytes).unwrap();
    for object in manifest.tables.values() {
        let name = format!("objects/{}/{}", &object.blake3[..2], object.blake3);
        let bytes = store.bytes(&name).await.expect("what is announced is there");
        assert_eq!(blake3::hash(&bytes).to_hex().as_str(), object.blake3);
    }
}

#[tokio::test]
async fn killed_at_any_request_publishing_leaves_whole_versions_and_goes_on() {
    let mut killed = 0;
    for fault in [Fault::Unheard, Fault::Unanswered] {
        for request in 1..EVERYTHING_MAX {
            let (shop, store) = faulty();
            shop.publish(ONE).await.unwrap();
            store.strike(request, fault.clone());
            let done = killable(&store, shop.publish(TWO)).await;
            whole(&store).await;
            if !store.is_struck() {
                assert_eq!(done.unwrap().unwrap().version, 2);
                break;
            }
            killed += 1;
            assert!(done.is_none());
            let again = shop.publish(TWO).await.unwrap();
            assert_eq!((again.version, again.announcement.number), (2, 2));
            assert_eq!(shop.repository.versions().await.unwrap().manifests.len(), 2);
        }
    }
    // The head, its manifest, an object, the newest number, a manifest, an announcement.
    assert!(killed >= 2 * 6, "{killed}");
}

#[tokio::test]
async fn a_reply_that_is_lost_is_no_race_that_is_lost() {
    for fault in [Fault::Lost, Fault::Refused] {
        for request in 1..EVERYTHING_MAX {
            let (shop, store) = faulty();
            shop.publish(ONE).await.unwrap();
            store.strike(request, fault.clone());
            let done = shop.publish(TWO).await;
            whole(&store).await;
            let is_struck = store.is_struck();
            match (&done, is_struck) {
                (Ok(published), _) => assert_eq!(published.version, 2),
                (Err(Error::Store { .. }), true) => {}
                (Err(error), _) => panic!("request {request}: {error}"),
            }
            let again = shop.publish(TWO).await.unwrap();
            assert_eq!((again.version, again.announcement.number), (2, 2));
            assert_eq!(shop.repository.versions().await.unwrap().manifests.len(), 2);
            if !is_struck {
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_number_that_another_took_is_theirs() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    let theirs = String::from_utf8(store.bytes(&version(1)).await.unwrap()).unwrap();
    let theirs = theirs.replace("\"number\": 1", "\"number\": 2").replace("a test", "another");
    for request in 1..EVERYTHING_MAX {
        let (shop, store) = faulty();
        shop.publish(ONE).await.unwrap();
        let forestalled =
            Fault::Forestalled("versions/00000000000000000002.json", theirs.clone().into_bytes());
        store.strike(request, forestalled);
        let published = shop.publish(TWO).await.unwrap();
        if !store.is_struck() {
            assert_eq!(published.version, 2);
            break;
        }
        // Before the number was drawn, or after: it is never theirs that is announced.
        let own = shop.repository.announced(&published.announcement).await.unwrap();
        assert_eq!(own.by, "a test");
        let words = &own.tables["words"].blake3;
        assert_eq!(*words, blake3::hash(b"a=2\n").to_hex().as_str());
        whole(&store).await;
    }
}

fn version(number: u64) -> String {
    format!("versions/{number:020}.json")
}

#[tokio::test]
async fn an_announcement_that_another_made_is_a_conflict() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    let name = "channels/stable/00000000000000000002.json";
    let first = store.bytes("channels/stable/00000000000000000001.json").await.unwrap();
    let theirs = String::from_utf8(first).unwrap();
    let theirs = theirs.replace("\"number\": 1", "\"number\": 2").replace("a test", "another");
    let (mut conflicts, mut struck) = (0, 0);
    for request in 1..EVERYTHING_MAX {
        let (shop, store) = faulty();
        shop.publish(ONE).await.unwrap();
        store.strike(request, Fault::Forestalled(name, theirs.clone().into_bytes()));
        let published = shop.publish(TWO).await;
        if !store.is_struck() {
            assert_eq!(published.unwrap().version, 2);
            break;
        }
        struck += 1;
        match published {
            Err(Error::Conflict { channel, version, by }) => {
                assert_eq!((&*channel, version, &*by), ("stable", 1, "another"));
                conflicts += 1;
            }
            // They announced the manifest of another repository, before anybody looked.
            Err(Error::Damaged { .. }) => {}
            other => panic!("request {request}: {other:?}"),
        }
        assert_eq!(store.bytes(name).await.unwrap(), theirs.as_bytes());
    }
    assert!(conflicts >= 4 && conflicts <= struck, "{conflicts} of {struck}");
}

#[tokio::test]
async fn killed_at_any_request_following_goes_on() {
    for fault in [Fault::Unheard, Fault::Unanswered, Fault::Refused, Fault::Lost] {
        let (shop, store) = faulty();
        shop.publish(&[("words", "a=000\n"), ("names", "a=000\n")]).await.unwrap();
        let mut follower = shop.follow("here");
        follower.look().await.unwrap();
        for request in 1..EVERYTHING_MAX {
            let text = format!("a={request:03}\n");
            let version =
                shop.publish(&[("words", &text), ("names", &text)]).await.unwrap().version;
            let before = follower.current().unwrap().number;
            store.strike(request, fault.clone());
            let done = killable(&store, follower.look()).await;
            let is_struck = store.is_struck();
            assert_eq!(done.is_none(), is_struck && fault.is_silent());
            if !matches!(done, Some(Ok(_))) {
                assert_eq!(follower.current().unwrap().number, before);
            }
            // One that is begun again in its place serves what is there, and catches up.
            drop(follower);
            follower = shop.follow("here");
            let current = follower.current().unwrap();
            assert!(current.number == before || current.number == version);
            follower.look().await.unwrap();
            let current = follower.current().unwrap();
            assert_eq!((current.number, &*current.tables["words"].text), (version, &*text));
            assert_eq!(current.tables["names"].text, text);
            if !is_struck {
                break;
            }
        }
        // Nothing that is half there is left.
        let left = fs::read_dir(shop.path("here/objects")).unwrap();
        assert!(left.count() <= 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_falls_silent_is_given_up() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    for request in 1..EVERYTHING_MAX {
        let value = format!("b={request}\n");
        store.strike(request, Fault::Unheard);
        let begun = Instant::now();
        let published = shop.publish(&[("words", &value), ("names", "b=1\n")]).await;
        if let Err(error) = &published {
            let said = error.to_string();
            assert!(said.contains("no answer within 30s"), "{said}");
        }
        assert!(begun.elapsed() < Duration::from_secs(400), "{:?}", begun.elapsed());
        let is_struck = store.is_struck();
        whole(&store).await;
        shop.publish(&[("words", &value), ("names", "b=1\n")]).await.unwrap();

        store.strike(request, Fault::Unheard);
        let before = follower.current().unwrap().number;
        let begun = Instant::now();
        let looked = follower.look().await;
        assert!(begun.elapsed() < Duration::from_secs(400), "{:?}", begun.elapsed());
        if store.is_struck() {
            assert!(looked.unwrap_err().to_string().contains("no answer within"));
            assert_eq!(follower.current().unwrap().number, before);
            assert!(follower.status().failure.is_some());
            assert!(matches!(follower.look().await.unwrap(), Looked::Switched(_)));
        }
        assert_eq!(follower.current().unwrap().tables["words"].text, value);
        if !is_struck {
            return;
        }
    }
}

#[tokio::test]
async fn killed_at_any_request_collecting_takes_nothing_that_is_needed() {
    let (shop, full) = faulty();
    for number in 0..13 {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
    }
    full.days_pass(40);
    for fault in [Fault::Unheard, Fault::Unanswered] {
        for request in 1..10 * EVERYTHING_MAX {
            let store = full.fork();
            let repository = Repository::with_store(Arc::new(store.clone()), "memory:///");
            store.strike(request, fault.clone());
            let done = killable(&store, repository.collect(true)).await;
            let log = &whole(&store).await["stable"];
            for announcement in &log[3..] {
                is_whole(&store, announcement).await;
            }
            if !store.is_struck() {
                assert_eq!(done.unwrap().unwrap().deletions.len(), 6);
                break;
            }
            repository.collect(true).await.unwrap();
            let left = repository.versions().await.unwrap();
            assert_eq!(left.manifests.len(), 10);
            let objects = store.names().await.into_iter().filter(|name| name.starts_with("obj"));
            assert_eq!(objects.count(), 10);
        }
    }
}

#[tokio::test]
async fn a_collector_whose_clock_is_ahead_collects_nothing_that_is_young() {
    let (shop, store) = faulty();
    for number in 0..13 {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
    }
    // To this machine, everything is 400 days old.
    store.clock_is_behind(400);
    assert_eq!(shop.repository.collect(false).await.unwrap().deletions.len(), 6);
    assert_eq!(shop.repository.collect(true).await.unwrap().deletions, []);
    assert_eq!(shop.repository.versions().await.unwrap().manifests.len(), 13);
    store.days_pass(40);
    assert_eq!(shop.repository.collect(true).await.unwrap().deletions.len(), 6);
}

#[tokio::test(start_paused = true)]
async fn what_is_published_while_it_is_collected_stays() {
    // An object that a run left long ago is what another publishes, while a collection is held up at any request.
    for request in 1..EVERYTHING_MAX {
        let (shop, store) = faulty();
        shop.publish(ONE).await.unwrap();
        store.leave(&format!("objects/{}", object("a=2\n")), b"a=2\n").await;
        store.days_pass(40);
        store.strike(request, Fault::Held);
        let collector = shop.repository.clone();
        let mut collecting = Box::pin(async move { collector.collect(true).await });
        if let Some(done) = killable(&store, &mut collecting).await {
            assert_eq!(done.unwrap().deletions.len(), 1);
            assert!(!store.is_struck());
            return;
        }
        let publishing = shop.publish(TWO);
        let release = async {
            // Whoever waits for the other has come so far.
            tokio::time::sleep(Duration::from_secs(20)).await;
            store.release();
            collecting.await
        };
        let (published, collected) = tokio::join!(publishing, release);
        published.unwrap();
        collected.unwrap();
        whole(&store).await;
        let log = &whole(&store).await["stable"];
        assert_eq!(log.len(), 2, "request {request}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_collection_ends_in_its_time() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    for number in 0..40 {
        store.leave(&format!("objects/{}", object(&number.to_string())), b"").await;
    }
    store.days_pass(40);
    store.is_slow(Duration::from_secs(20));
    let begun = Instant::now();
    assert!(matches!(shop.repository.collect(true).await, Err(Error::Unfinished)));
    // Looking takes some requests, which do not count.
    assert!(begun.elapsed() < Duration::from_secs(20 * 20 + 600), "{:?}", begun.elapsed());
    let mut runs = 1;
    while let Err(error) = shop.repository.collect(true).await {
        assert!(matches!(error, Error::Unfinished) && runs < 10, "{error}");
        runs += 1;
    }
    assert_eq!(shop.repository.collect(false).await.unwrap().deletions, []);
    whole(&store).await;
}

#[tokio::test]
async fn of_two_that_follow_into_a_folder_one_looks_at_a_time() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    let first = shop.follow("here");
    first.look().await.unwrap();
    for request in 1..EVERYTHING_MAX {
        let text = format!("a={request:02}\n");
        let version = shop.publish(&[("words", &text), ("names", "b=1\n")]).await.unwrap().version;
        store.strike(request, Fault::Held);
        let second = first.reopen(shop.repository.clone(), "stable", Rules::default(), 2).unwrap();
        let release = async {
            tokio::task::yield_now().await;
            store.is_silent().await;
            store.release();
        };
        let looks = async { tokio::join!(first.look(), second.look()) };
        let (one, other) = tokio::select! {
            looks = looks => looks,
            _ = async { release.await; std::future::pending::<()>().await } => unreachable!(),
        };
        one.unwrap();
        other.unwrap();
        for follower in [&first, &second] {
            assert_eq!(follower.current().unwrap().number, version);
        }
        if !store.is_struck() {
            return;
        }
    }
}

#[tokio::test]
async fn what_is_fetched_is_told() {
    let (shop, store) = faulty();
    shop.publish(&[("words", "a=1\n"), ("names", "b=12\n")]).await.unwrap();
    let mut told = Vec::new();
    for request in 1..EVERYTHING_MAX {
        let follower = shop.follow(&request.to_string());
        store.strike(request, Fault::Unheard);
        let _ = killable(&store, follower.look()).await;
        if !store.is_struck() {
            assert_eq!(follower.status().fetching, None);
            break;
        }
        told.extend(follower.status().fetching);
        follower.look().await.unwrap();
        assert_eq!(follower.status().fetching, None);
    }
    told.dedup();
    assert_eq!(told, [(0, 9), (5, 9)]);
}

#[tokio::test]
async fn what_has_gone_from_the_store_is_published_again() {
    let (shop, store) = faulty();
    shop.publish(ONE).await.unwrap();
    let words = format!("objects/{}", object("a=1\n"));
    store.remove(&words).await;
    let again = shop.publish(ONE).await.unwrap();
    assert_eq!((again.version, again.is_unchanged), (1, true));
    assert_eq!(
        (&again.uploaded[..], &again.reused[..]),
        (&["words".to_owned()][..], &["names".to_owned()][..])
    );
    whole(&store).await;
    store.remove(&words).await;
    let other = shop.publish(&[("words", "a=1\n"), ("names", "b=2\n")]).await.unwrap();
    assert_eq!(other.version, 2);
    whole(&store).await;
}

fn object(text: &str) -> String {
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{}/{hash}", &hash[..2])
}

impl Fault {
    fn is_silent(&self) -> bool {
        matches!(self, Fault::Unheard | Fault::Unanswered)
    }
}

/// What is done, and by whom, with what going wrong: numbers decide.
#[tokio::test(start_paused = true)]
async fn whatever_happens_channels_lead_to_whole_versions() {
    for seed in 0..150 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (shop, store) = faulty();
        let mut follower = shop.follow("here");
        // What was told to be done, in the order of a channel's log.
        let mut told: BTreeMap<&str, BTreeMap<u64, u64>> = BTreeMap::new();
        let mut served = 0;
        for step in 0..25 {
            let fault = match random.u8(0..8) {
                0 => Some(Fault::Unheard),
                1 => Some(Fault::Unanswered),
                2 => Some(Fault::Refused),
                3 => Some(Fault::Lost),
                _ => None,
            };
            if let Some(fault) = fault {
                store.strike(random.usize(1..12), fault);
            }
            let channel = ["stable", "canary"][random.usize(0..2)];
            let other = ["canary", "stable"][usize::from(channel == "canary")];
            let announced = match random.u8(0..10) {
                0..=3 => {
                    let text = format!("a={}\n", random.u8(0..4));
                    let mut publication = shop.publication(&[("words", &text), ("names", "b=1\n")]);
                    publication.channel = channel.to_owned();
                    let work = shop.repository.publish(&publication, Lines::open, |_| ());
                    killable(&store, work).await.map(|done| done.map(|done| done.announcement))
                }
                4 => killable(&store, shop.repository.promote(other, channel, "ada")).await,
                5 => killable(&store, shop.repository.rollback(channel, None, "", "ada")).await,
                6 => {
                    store.days_pass(random.u64(0..30));
                    let _ = killable(&store, shop.repository.collect(true)).await;
                    None
                }
                7 => {
                    drop(follower);
                    follower = shop.follow("here");
                    None
                }
                _ => {
                    let _ = killable(&store, follower.look()).await;
                    None
                }
            };
            if let Some(Ok(announced)) = announced {
                told.entry(channel).or_default().insert(announced.number, announced.version);
            }
            let _ = store.is_struck();
            let channels = whole(&store).await;
            for (channel, told) in &told {
                for (number, version) in told {
                    let log = &channels[*channel];
                    let found = log[*number as usize - 1].version;
                    assert_eq!(found, *version, "seed {seed}, step {step}");
                }
            }
            if let Some(current) = follower.current() {
                assert!(current.announcement >= served, "seed {seed}, step {step}");
                served = current.announcement;
                let log = &channels["stable"];
                assert_eq!(log[served as usize - 1].version, current.number);
            }
        }
    }
}
