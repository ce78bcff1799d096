//! Bad days: processes that are killed, stores that are away, lose replies or fall silent, disks that are full.

use std::{
    process::{Child, Stdio},
    sync::mpsc::RecvTimeoutError,
    thread,
    time::{Duration, Instant},
};

use sakuin::{Follower, repository::PackedFile};
use sakuin_publish::Rules;

use super::{emulator::Moment, store::Store, until};

#[test]
fn a_lost_reply_is_no_lost_race() {
    for lost in [1, 2, 3] {
        let store = Store::gcs();
        store.emulator.as_ref().unwrap().lose_replies(lost);
        // One in one: nothing that is written is ever answered, and all of it is done.
        for number in 1..=3 {
            assert_eq!(store.publish(&format!("{lost}.{number}")), format!("{number}\n"));
        }
        assert_eq!(store.ok(&["versions", &store.url]).lines().count(), 3);
        assert_eq!(store.ok(&["pull", &store.url, "pulled"]), "3\n");
        let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
        assert_eq!(folder.state().announcement, 3);
    }
}

#[test]
fn a_bucket_that_is_away_stops_nothing_but_news() {
    let store = Store::disk();
    store.publish("one");
    drop(store.serve());
    std::fs::rename(store.folder.path("bucket"), store.folder.path("away")).unwrap();
    let server = store.serve();
    assert_eq!(server.get("/v1/tables/words/key7").text(), "one");
    std::fs::rename(store.folder.path("away"), store.folder.path("bucket")).unwrap();
    store.publish("two");
    until(&server, "/v1/tables/words/key7", |text| text == "two");
    drop(server);
    std::fs::remove_dir_all(store.folder.path("followed")).unwrap();
    std::fs::remove_dir_all(store.folder.path("bucket")).unwrap();
    let (code, _, said) = store.run(&["serve", "sakuin.toml"]);
    assert!(
        code == 1 && said.contains("repository `shop`: channel `stable` has announced nothing yet"),
        "{said}"
    );
    let checked = store.ok(&["check", "sakuin.toml"]);
    assert!(checked.is_empty() || checked.contains("sakuin.toml"), "{checked}");
}

/// Kills so many runs of a command at moments of chance, all along what it needs; `next` is called after each, and says
/// whether the command is to be another.
fn kill(kills: usize, seed: u64, mut command: impl FnMut() -> Child, mut next: impl FnMut(bool)) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut usual = Duration::from_millis(20);
    let (mut killed, mut done) = (0, 0);
    while killed < kills {
        let begun = Instant::now();
        let patience = usual.mul_f64(random.f64() * 1.2);
        let mut child = command();
        let finished = loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success());
                usual = (usual + begun.elapsed()) / 2;
                done += 1;
                break true;
            }
            if begun.elapsed() > patience {
                child.kill().unwrap();
                // It may have come to its end at the very moment.
                let is_done = child.wait().unwrap().success();
                killed += usize::from(!is_done);
                // The machine may be slower by now.
                usual = usual.mul_f64(1.01);
                break is_done;
            }
            thread::yield_now();
        };
        next(finished);
    }
    assert!(done > kills / 100, "{done} of {kills} came to an end");
}

#[test]
fn publishers_that_are_killed_leave_whole_versions() {
    let store = Store::disk();
    store.publish("0");
    let repository = sakuin_publish::Repository::open(&store.url).unwrap();
    let (folder, rules) = (store.folder.path("followed"), Rules::default());
    let follower = Follower::open(repository, "stable", &folder, rules, 2, PackedFile::open);
    let follower = follower.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // Tables of the version that is published again and again until it is.
    let tables: Vec<[String; 2]> = (0..4)
        .map(|value| {
            ["words", "names"].map(|table| {
                let file = store.pack(&format!("{table}{value}"), 50, &value.to_string());
                format!("{table}={file}")
            })
        })
        .collect();
    let round = std::cell::Cell::new(1);
    let run = || {
        let [words, names] = &tables[round.get() % tables.len()];
        let mut command = store.command(&["publish", &store.url, words, names]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    kill(1000, 7, run, |is_done| {
        // Whatever is announced is whole, and of this round or of the one before.
        runtime.block_on(follower.look()).unwrap();
        let current = follower.current().unwrap();
        let version = round.get() + 1;
        let told = current.number as usize;
        assert!(told == version || !is_done && told == version - 1, "{told} in round {version}");
        let value = ((told - 1) % tables.len()).to_string();
        for table in current.tables.values() {
            let found = table.table().get(b"key7").unwrap().unwrap();
            assert_eq!(found.first().text(), Some(&*value));
        }
        round.set(round.get() + usize::from(is_done));
    });
    // No version was made twice.
    let made = store.ok(&["versions", &store.url]).lines().count();
    assert!(made == round.get() || made == round.get() + 1, "{made} in {} rounds", round.get());
}

#[test]
fn followers_that_are_killed_go_on() {
    let store = Store::disk();
    let files = ["0", "1"].map(|value| {
        let (words, names) = (format!("words{value}"), format!("names{value}"));
        let (words, names) = (store.pack(&words, 5_000, value), store.pack(&names, 5_000, value));
        [format!("words={words}"), format!("names={names}")]
    });
    let publish = |version: usize| {
        let [words, names] = &files[version % 2];
        store.ok(&["publish", &store.url, words, names]);
    };
    publish(1);
    store.ok(&["pull", &store.url, "pulled"]);
    publish(2);
    let version = std::cell::Cell::new(2);
    let run = || {
        // One that is kept: what is pulled is another file than before.
        let mut command = store.command(&["pull", &store.url, "pulled", "--keep", "1"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    kill(1000, 11, run, |is_done| {
        let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
        let found = folder.version() as usize;
        assert!(found == version.get() || !is_done && found == version.get() - 1);
        for (_, table) in folder.tables() {
            let value = table.get(b"key7").unwrap().unwrap().first().text().unwrap().to_owned();
            assert_eq!(value, (found % 2).to_string());
        }
        if is_done {
            version.set(version.get() + 1);
            publish(version.get());
        }
    });
    store.ok(&["pull", &store.url, "pulled"]);
    assert!(std::fs::read_dir(store.folder.path("pulled/objects")).unwrap().count() <= 4);
}

#[test]
fn at_every_request_that_is_made_of_a_store_a_run_may_be_killed() {
    let store = Store::gcs();
    let emulator = store.emulator.as_ref().unwrap();
    store.publish("0");
    store.ok(&["pull", &store.url, "pulled"]);
    let (mut version, mut killed) = (1, 0);
    for moment in [Moment::Before, Moment::After] {
        for request in 1.. {
            let value = format!("{moment:?}{request}");
            let (words, names) = (store.pack("words", 50, &value), store.pack("names", 50, &value));
            let (words, names) = (format!("words={words}"), format!("names={names}"));
            let publish = ["publish", &store.url, &words, &names];
            let pull = ["pull", &store.url, "pulled"];
            let mut is_killed = false;
            for (command, folder_is_at) in
                [(&publish[..], [version, version]), (&pull[..], [version, version + 1])]
            {
                let silent = emulator.silence(request, moment);
                let mut child = store.command(command);
                let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
                let struck = loop {
                    match silent.recv_timeout(Duration::from_millis(1)) {
                        Ok(()) => break true,
                        Err(RecvTimeoutError::Disconnected) => unreachable!(),
                        Err(RecvTimeoutError::Timeout) => {}
                    }
                    if child.try_wait().unwrap().is_some() {
                        break false;
                    }
                };
                emulator.speak();
                child.kill().unwrap();
                child.wait().unwrap();
                killed += usize::from(struck);
                is_killed |= struck;
                let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
                assert!(folder_is_at.contains(&folder.version()));
                let listed = store.ok(&["versions", &store.url]);
                assert!(listed.contains("stable"), "{listed}");
                assert_eq!(store.ok(&publish[..]), format!("{}\n", version + 1));
            }
            version += 1;
            assert_eq!(store.ok(&pull), format!("{version}\n"));
            let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
            let found = folder.table("names").unwrap().get(b"key7").unwrap().unwrap();
            assert_eq!(found.first().text(), Some(&*value));
            if !is_killed {
                break;
            }
        }
    }
    assert!(killed > 30, "{killed}");
    assert_eq!(store.ok(&["versions", &store.url]).lines().count() as u64, version);
}

#[test]
fn a_store_that_falls_silent_holds_up_nobody_else() {
    let (silent, other) = (Store::gcs(), Store::disk());
    silent.publish("one");
    other.publish("one");
    let repository = |name: &str, url: &str| {
        format!(
            "[repositories.{name}]\nurl = \"{url}\"\ndirectory = \"{name}\"\npoll = \"20ms\"\n\
             [tables.{name}]\nkind = \"packed\"\nrepository = \"{name}\"\n"
        )
        .replace(
            &format!("tables.{name}"),
            if name == "far" { "tables.words" } else { "tables.names" },
        )
    };
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n{}{}",
        repository("far", &silent.url),
        repository("near", &other.url)
    );
    std::fs::write(silent.folder.path("sakuin.toml"), config).unwrap();
    let server = silent.start();
    let asked = silent.emulator.as_ref().unwrap().silence_all();
    asked.recv().unwrap();
    for value in ["two", "three"] {
        other.publish(value);
        until(&server, "/v1/tables/names/key7", |text| text == value);
        assert_eq!(server.get("/v1/tables/words/key7").text(), "one");
    }
    silent.emulator.as_ref().unwrap().speak();
    silent.publish("two");
    drop(server);
    let server = silent.start();
    until(&server, "/v1/tables/words/key7", |text| text == "two");
}

#[test]
fn a_server_follows_another_channel_into_the_same_folder() {
    let store = Store::disk();
    store.publish("one");
    let server = store.serve();
    let (words, names) = (store.pack("words", 50, "canary"), store.pack("names", 50, "canary"));
    let (words, names) = (format!("words={words}"), format!("names={names}"));
    store.ok(&["publish", &store.url, &words, &names, "--channel", "canary"]);
    let config = std::fs::read_to_string(store.folder.path("sakuin.toml")).unwrap();
    let changed = config.replace("poll = \"20ms\"", "poll = \"30ms\"\nchannel = \"canary\"");
    std::fs::write(store.folder.path("sakuin.toml"), changed).unwrap();
    server.reload();
    until(&server, "/v1/tables/words/key7", |text| text == "canary");
    std::fs::write(store.folder.path("sakuin.toml"), config).unwrap();
    server.reload();
    until(&server, "/v1/tables/words/key7", |text| text == "one");
    store.publish("two");
    until(&server, "/v1/tables/words/key7", |text| text == "two");
}

#[test]
fn a_full_disk_keeps_what_is_served_and_what_is_announced() {
    let store = Store::disk();
    store.publish("one");
    store.ok(&["pull", &store.url, "pulled"]);
    let (words, names) = (store.pack("words", 50, "two"), store.pack("names", 50, "two"));
    let publish = ["publish", &store.url, &format!("words={words}"), &format!("names={names}")];
    // A file may have so many blocks of 512 bytes: each write in its turn is the one that fails.
    let mut failed = 0;
    for command in [&publish[..], &["pull", &store.url, "pulled"]] {
        for blocks in 0.. {
            let (code, _, said) = store.run_in_blocks(blocks, command);
            let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
            assert!(code == 0 || folder.version() == 1, "{said}");
            if code == 0 {
                break;
            }
            assert!(code == 1 && said.contains("error: "), "{said}");
            failed += 1;
        }
    }
    assert!(failed >= 2, "{failed}");
    let folder = sakuin::Repository::open(&store.folder.path("pulled")).unwrap();
    let found = folder.table("words").unwrap().get(b"key7").unwrap().unwrap();
    assert_eq!((folder.version(), found.first().text()), (2, Some("two")));
    assert_eq!(store.ok(&["versions", &store.url]).lines().count(), 2);
}
