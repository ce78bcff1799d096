//! What programs do with a book of ten thousand cards: the first listing, a listing when nothing changed, a query, and
//! many who store cards at once.

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use bench_sampler::Sampler;

use crate::{
    book::{card, email},
    served::{Served, radicale, sakuin, sqlite, xandikos},
};

const ROUNDS: usize = 5;
const CARDS: usize = 10_000;
const WRITERS: usize = 16;
const WRITING: Duration = Duration::from_secs(3);

pub fn measure(sampler: &mut Sampler, peers: &str) {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().expect("a folder")).collect();
    let folder = |at: usize| folders[at].path();
    let servers = [
        ("sakuin", sakuin(folder(0), &sqlite(folder(0)), "", CARDS)),
        ("Radicale", radicale(peers, folder(1), CARDS)),
        ("Xandikos, without passwords", xandikos(peers, folder(2), CARDS)),
    ];
    let mut samples = vec![[const { Vec::new() }; 4]; servers.len()];
    for round in 0..=ROUNDS {
        for ((_, served), samples) in servers.iter().zip(&mut samples) {
            let (first, token) = timed(|| sync(served, "", "<getetag/>", CARDS));
            let (empty, _) = timed(|| sync(served, &token, "<getetag/>", 0));
            let (query, _) = timed(|| find(served, &email(CARDS / 2)));
            if round > 0 {
                samples[0].push(first);
                samples[1].push(empty);
                samples[2].push(query);
            }
        }
    }
    for round in 0..3 {
        for ((_, served), samples) in servers.iter().zip(&mut samples) {
            samples[3].push(puts(served, CARDS + round * 1_000_000));
        }
    }
    let rows = [
        ("sync-collection of 10,000 cards, the first", "ms"),
        ("sync-collection of 10,000 cards, nothing changed", "ms"),
        ("addressbook-query for an e-mail address among 10,000 cards", "ms"),
        ("PUT of new cards by 16 clients, each on disk when it is answered", "cards/s"),
    ];
    for (at, (row, unit)) in rows.into_iter().enumerate() {
        for ((name, _), samples) in servers.iter().zip(&samples) {
            sampler.samples(row, unit, name, &samples[at]);
        }
    }
    sampler.target_least_ratio(rows[3].0, 3.0, "Radicale");
    sampler.target_least_ratio(rows[3].0, 10.0, "Xandikos, without passwords");
}

pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64() * 1e3, done)
}

/// What changed since a token, which has to be so many cards; and the next token.
pub fn sync(served: &Served, token: &str, wanted: &str, cards: usize) -> String {
    let answer = served.report(
        "0",
        &format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><sync-collection xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:carddav\">\
             <sync-token>{token}</sync-token><sync-level>1</sync-level><prop>{wanted}</prop></sync-collection>"
        ),
    );
    // Each writes the element with a prefix of its own; none has it in another element's name.
    let told = answer.matches("response>").count() / 2;
    assert!((cards..cards + 2).contains(&told), "{told} and not {cards}");
    let end = answer.rfind("sync-token>").expect("a token");
    let before = &answer[..answer[..end].rfind('<').expect("an element")];
    before[before.rfind('>').expect("an element") + 1..].to_owned()
}

/// The cards with an e-mail address, of which there has to be one.
pub fn find(served: &Served, email: &str) {
    let answer = served.report(
        "1",
        &format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><C:addressbook-query xmlns=\"DAV:\" xmlns:C=\"urn:ietf:params:xml:ns:carddav\">\
             <prop><getetag/><C:address-data/></prop><C:filter><C:prop-filter name=\"EMAIL\">\
             <C:text-match collation=\"i;unicode-casemap\" match-type=\"contains\">{email}</C:text-match></C:prop-filter></C:filter>\
             </C:addressbook-query>"
        ),
    );
    assert_eq!(answer.matches("response>").count(), 2, "{answer}");
    assert!(answer.contains(email), "{answer}");
}

/// Cards that are stored in a second by many at once.
fn puts(served: &Served, first: usize) -> f64 {
    let next = AtomicUsize::new(first);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while start.elapsed() < WRITING {
                    let number = next.fetch_add(1, Relaxed);
                    let (status, _) =
                        served.ask("PUT", &served.card_path(number), "0", &card(number));
                    assert!(matches!(status, 201 | 204), "{status}");
                }
            });
        }
    });
    (next.load(Relaxed) - first) as f64 / start.elapsed().as_secs_f64()
}
