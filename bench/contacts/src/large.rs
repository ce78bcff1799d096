//! A book of a hundred thousand cards.

use std::fs;

use bench_sampler::Sampler;

use crate::{
    book::{card, email},
    programs::{find, sync, timed},
    served::{self, SAKUIN, run, serve_sakuin},
};

const ROUNDS: usize = 5;
const CARDS: usize = 100_000;

pub fn measure(sampler: &mut Sampler) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"sqlite://contacts.db\"\n";
    fs::write(file("sakuin.toml"), text).expect("a file");
    let at = ["--config", &file("sakuin.toml")];
    let all: String = (0..CARDS).map(card).collect();
    fs::write(file("all.vcf"), &all).expect("a file");
    let user = ["contacts", "user", "add", "ada", "--password-stdin"];
    run(SAKUIN, &[&user[..], &at].concat(), "secret\n");
    let empty = serve_sakuin(&file("sakuin.toml"));
    sync(&empty, "", "<getetag/>", 0);
    let floor = empty.server.memory_peak();
    drop(empty);

    let mut import = Vec::new();
    for round in 0..3 {
        let book = format!("book-{round}");
        let served = serve_sakuin(&file("sakuin.toml"));
        let (status, _) = served.ask("MKCOL", &format!("/dav/books/ada/{book}/"), "0", "");
        assert_eq!(status, 201);
        drop(served);
        let into = ["contacts", "import", "ada", &file("all.vcf"), "--book", &book];
        let (milliseconds, ()) = timed(|| run(SAKUIN, &[&into[..], &at].concat(), ""));
        import.push(CARDS as f64 / milliseconds * 1e3);
    }
    let whole = "<getetag/><C:address-data/>";
    let rows = [
        ("100,000 cards: server starts and tells the first client what there is", "ms"),
        ("100,000 cards: first sync, every card in it", "ms"),
        ("100,000 cards: sync when nothing changed", "ms"),
        ("100,000 cards: query for an e-mail address", "ms"),
        ("100,000 cards: memory after the server has read them, for a byte of cards", "bytes"),
        ("100,000 cards: the most memory while all this was asked, for a byte of cards", "bytes"),
    ];
    let mut samples = [const { Vec::new() }; 6];
    for _ in 0..ROUNDS {
        let (start, served) = timed(|| {
            let served = serve_sakuin(&file("sakuin.toml"));
            let served = served::Served { book: "/dav/books/ada/book-0/", ..served };
            served.ask("PROPFIND", served.book, "0", "");
            served
        });
        samples[0].push(start);
        samples[4].push((served.server.memory_peak() - floor) * 1e6 / all.len() as f64);
        let (first, token) = timed(|| sync(&served, "", whole, CARDS));
        samples[1].push(first);
        for _ in 0..20 {
            samples[2].push(timed(|| sync(&served, &token, whole, 0)).0);
        }
        // The first on a property makes its column, and is a row's worst sample.
        for number in 0..20 {
            samples[3].push(timed(|| find(&served, &email(CARDS / 2 + number))).0);
        }
        samples[5].push((served.server.memory_peak() - floor) * 1e6 / all.len() as f64);
    }
    for (at, (row, unit)) in rows.into_iter().enumerate() {
        sampler.samples(row, unit, "sakuin", &samples[at]);
    }
    let row = "100,000 cards: import of a file";
    sampler.samples(row, "cards/s", "sakuin", &import);
    sampler.target(rows[1].0, 3_000.0, None);
    sampler.target(rows[2].0, 2.0, None);
    sampler.target(rows[3].0, 2.0, None);
    sampler.target(rows[4].0, 3.0, None);
    sampler.target_least(row, 10_000.0);
}
