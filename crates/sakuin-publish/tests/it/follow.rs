use std::time::Duration;

use sakuin_publish::{Folder, Looked};

use super::*;

fn value(follower: &Follower<Lines>, key: &str) -> Option<String> {
    let current = follower.current()?;
    let found = current.tables["words"].get(key.as_bytes()).unwrap();
    found.map(|value| String::from_utf8(value).unwrap())
}

#[tokio::test]
async fn what_is_announced_is_served() {
    let shop = shop();
    let follower = shop.follow("here");
    assert!(follower.current().is_none());
    let nothing = follower.look().await.unwrap_err();
    assert_eq!(nothing.to_string(), "channel `stable` has announced nothing yet");
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(1));
    assert_eq!(follower.look().await.unwrap(), Looked::Unchanged);
    assert_eq!(value(&follower, "a").as_deref(), Some("1"));
    let held = follower.current().unwrap();
    for number in 2..=5 {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
    }
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(5));
    assert_eq!(value(&follower, "a").as_deref(), Some("5"));
    assert_eq!(held.tables["words"].text, "a=1\n");
    shop.repository.rollback("stable", Some(2), "no", "ada").await.unwrap();
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(2));
    assert_eq!(value(&follower, "a").as_deref(), Some("2"));
    // Two versions stay on the disk.
    assert_eq!(fs::read_dir(shop.path("here/objects")).unwrap().count(), 2);
}

#[tokio::test]
async fn a_folder_is_read_beside_its_follower() {
    let shop = shop();
    assert!(matches!(Folder::open(&shop.path("here")), Err(Error::File { .. })));
    shop.publish(&[("words", "a=1\n"), ("names", "b=1\n")]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    let folder = Folder::open(&shop.path("here")).unwrap();
    assert_eq!((folder.state().version, folder.tables().count()), (1, 2));
    assert_eq!(fs::read_to_string(folder.table("words").unwrap().file).unwrap(), "a=1\n");
    assert!(folder.table("other").is_none() && folder.refresh().unwrap().is_none());
    shop.publish(&[("words", "a=2\n"), ("names", "b=1\n")]).await.unwrap();
    follower.look().await.unwrap();
    let newer = folder.refresh().unwrap().unwrap();
    assert_eq!(fs::read_to_string(newer.table("words").unwrap().file).unwrap(), "a=2\n");
    // The one before is still there for whoever is about to open it.
    assert_eq!(fs::read_to_string(folder.table("words").unwrap().file).unwrap(), "a=1\n");
}

#[tokio::test]
async fn one_follows_into_a_folder() {
    let shop = shop();
    let first = shop.follow("here");
    let again = || {
        let folder = shop.path("here");
        Follower::open(shop.repository.clone(), "stable", &folder, Rules::default(), 2, Lines::open)
    };
    assert!(matches!(again(), Err(Error::InUse(_))));
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    first.look().await.unwrap();
    drop(first);
    assert_eq!(value(&again().unwrap(), "a").as_deref(), Some("1"));
    let other = Repository::open(&url(&shop.path("other"))).unwrap();
    let other =
        Follower::open(other, "stable", &shop.path("here"), Rules::default(), 2, Lines::open);
    assert!(matches!(other, Err(Error::OtherRepository { .. })));
}

#[tokio::test]
async fn a_store_that_is_away_changes_nothing() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    drop(follower);
    fs::rename(shop.path("bucket"), shop.path("away")).unwrap();
    let follower = shop.follow("here");
    assert_eq!(value(&follower, "a").as_deref(), Some("1"));
    for failures in 1..4 {
        assert!(follower.look().await.is_err());
        assert_eq!(follower.status().failures, failures);
    }
    let quick = Duration::from_secs(5);
    assert!(follower.wait(quick) > quick * 4);
    assert!(follower.wait(Duration::from_secs(600)) < Duration::from_secs(721));
    fs::rename(shop.path("away"), shop.path("bucket")).unwrap();
    shop.publish(&[("words", "a=2\n")]).await.unwrap();
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(2));
    assert_eq!((follower.status().failures, follower.status().failure), (0, None));
}

#[tokio::test]
async fn what_is_damaged_is_never_served() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    let published = shop.publish(&[("words", "a=2\n")]).await.unwrap();
    let manifest = shop.repository.manifest(published.version).await.unwrap();
    let object = shop.object(&manifest.tables["words"].blake3);
    let manifest = shop.path("bucket/versions/00000000000000000002.json");
    let announcement = shop.path("bucket/channels/stable/00000000000000000002.json");
    let other = shop.path("bucket/versions/00000000000000000001.json");
    let text = |file: &PathBuf| fs::read_to_string(file).unwrap();
    let damages = [
        (&object, "a=3\n".to_owned(), "another hash"),
        (&object, "a=2".to_owned(), "3 bytes, and its manifest says 4"),
        (&object, "a=2\nb=1\n".to_owned(), "8 bytes, and its manifest says 4"),
        (
            &manifest,
            text(&manifest).replace("\"keys\": 1", "\"keys\": 2"),
            "not the one that was announced",
        ),
        (&manifest, text(&other), "another version's number"),
        (&manifest, "{".to_owned(), "is damaged"),
        (
            &manifest,
            text(&manifest).replace("\"format\": 1", "\"format\": 9"),
            "format 9, and this release knows 1",
        ),
        (
            &announcement,
            text(&announcement).replace("\"number\": 2", "\"number\": 3"),
            "another announcement's number",
        ),
        (
            &announcement,
            text(&announcement).replace("\"format\": 1", "\"format\": 2"),
            "format 2, and this release knows 1",
        ),
        (&announcement, "null".to_owned(), "is damaged"),
    ];
    drop(follower);
    for (file, damage, says) in damages {
        let follower = shop.follow("here");
        let whole = text(file);
        fs::write(file, damage).unwrap();
        let error = follower.look().await.unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(value(&follower, "a").as_deref(), Some("1"));
        assert!(follower.status().refused.unwrap().contains(says));
        // It is tried again, and not for ever.
        for _ in 0..5 {
            let _ = follower.look().await;
        }
        assert_eq!(fs::read_dir(shop.path("here/objects")).unwrap().count(), 1);
        fs::write(file, whole).unwrap();
        let again = shop.follow_by("fresh", Rules::default());
        assert_eq!(again.look().await.unwrap(), Looked::Switched(2));
        drop(again);
        fs::remove_dir_all(shop.path("fresh")).unwrap();
    }
    let follower = shop.follow("here");
    fs::write(&object, "a=3\n").unwrap();
    for _ in 0..5 {
        let _ = follower.look().await;
    }
    shop.publish(&[("words", "a=4\n")]).await.unwrap();
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(3));
    assert_eq!(follower.status().refused, None);
}

#[tokio::test]
async fn readers_check_what_publishers_did_not() {
    let shop = shop();
    shop.publish(&[("words", &lines(100, "1"))]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    let lax = |text: String| {
        let mut publication = shop.publication(&[("words", &text)]);
        publication.rules = lax();
        publication
    };
    fn lax() -> Rules {
        let mut rules = Rules::default();
        (rules.min_keys, rules.shrink, rules.growth) = (0, 1.0, 1e9);
        rules
    }
    for (text, rule) in
        [(String::new(), "min-keys"), (lines(60, "1"), "shrink"), (lines(200, "1"), "growth")]
    {
        shop.repository.publish(&lax(text), Lines::open, |_| ()).await.unwrap();
        let error = follower.look().await.unwrap_err();
        assert!(rules_of(&error).contains(&rule), "{error}");
        assert_eq!(follower.look().await.unwrap(), Looked::Unchanged);
        assert_eq!(follower.current().unwrap().number, 1);
        shop.repository.rollback("stable", Some(1), "it is wrong", "ada").await.unwrap();
        assert_eq!(follower.look().await.unwrap(), Looked::Switched(1));
    }
    // What the publisher allowed is allowed, but for the reader's own limit.
    let mut allowed = lax(lines(60, "1"));
    allowed.allow.insert("shrink".to_owned(), "we closed two shops".to_owned());
    shop.repository.publish(&allowed, Lines::open, |_| ()).await.unwrap();
    assert!(matches!(follower.look().await.unwrap(), Looked::Switched(_)));
    let mut small = Rules::default();
    small.max_bytes = Some(10);
    let small = shop.follow_by("small", small);
    assert_eq!(rules_of(&small.look().await.unwrap_err()), ["max-bytes"]);
    let mut wanting = Rules::default();
    wanting.must_have = vec![query("words", "key99")];
    let wanting = shop.follow_by("wanting", wanting);
    assert_eq!(rules_of(&wanting.look().await.unwrap_err()), ["must-have"]);
}

#[tokio::test]
async fn what_is_in_the_folder_and_broken_is_fetched_again() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    drop(follower);
    let object = fs::read_dir(shop.path("here/objects")).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(&object).unwrap();
    let follower = shop.follow("here");
    assert!(follower.current().is_none());
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(1));
    drop(follower);
    fs::write(shop.path("here/state.json"), "{").unwrap();
    let follower = shop.follow("here");
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(1));
}

#[tokio::test]
async fn readers_rehearse_against_what_they_serve() {
    let shop = shop();
    shop.publish(&[("words", &lines(100, "1"))]).await.unwrap();
    let mut rules = Rules::default();
    rules.rehearse = (0..100).map(|at| query("words", &format!("key{at}"))).collect();
    let follower = shop.follow_by("here", rules);
    follower.look().await.unwrap();
    shop.publish(&[("words", &lines(100, "2"))]).await.unwrap();
    let error = follower.look().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "refused: table `words`: 100 of 100 queries find something else (rehearse)"
    );
    assert_eq!(follower.current().unwrap().number, 1);
    // What the refused one led to is compared with it, and not with what is served.
    shop.publish(&[("words", &lines(100, "3"))]).await.unwrap();
    assert_eq!(follower.look().await.unwrap(), Looked::Switched(3));
}

#[tokio::test]
async fn what_has_no_room_is_not_begun() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    let follower = shop.follow("here");
    follower.look().await.unwrap();
    /// A table that says to be longer than any disk.
    struct Huge(Lines);
    impl Opened for Huge {
        fn facts(&self) -> Facts {
            Facts { bytes: 1 << 60, ..self.0.facts() }
        }

        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
            self.0.get(key)
        }

        fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
            self.0.each(take)
        }
    }
    let mut huge = shop.publication(&[("words", "a=2\n")]);
    huge.allow.insert("growth".to_owned(), "it is meant so".to_owned());
    let open = |file: &Path| Lines::open(file).map(Huge);
    shop.repository.publish(&huge, open, |_| ()).await.unwrap();
    let error = follower.look().await.unwrap_err();
    assert!(matches!(error, Error::DiskFull { need, .. } if need == 1 << 60), "{error}");
    assert_eq!(value(&follower, "a").as_deref(), Some("1"));
    assert_eq!(follower.status().failures, 1);
    assert_eq!(fs::read_dir(shop.path("here/objects")).unwrap().count(), 1);
}

#[tokio::test]
async fn another_clock_changes_nothing() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    // Whoever publishes has a clock that is a century ahead, or behind.
    for (number, year) in [(2, "2126"), (3, "1926")] {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
        let manifest = shop.path(&format!("bucket/versions/{number:020}.json"));
        let announcement = shop.path(&format!("bucket/channels/stable/{number:020}.json"));
        let other_year = |file: &Path| {
            let text = fs::read_to_string(file).unwrap();
            let at = text.find("\"made\": \"").unwrap() + 9;
            let text = format!("{}{year}{}", &text[..at], &text[at + 4..]);
            fs::write(file, &text).unwrap();
            text
        };
        let before = blake3::hash(&fs::read(&manifest).unwrap()).to_hex();
        let after = blake3::hash(other_year(&manifest).as_bytes()).to_hex();
        let announced = other_year(&announcement).replace(before.as_str(), after.as_str());
        fs::write(&announcement, announced).unwrap();
        let follower = shop.follow("here");
        assert_eq!(follower.look().await.unwrap(), Looked::Switched(number));
        assert!(follower.current().unwrap().made.to_string().starts_with(year));
        assert_eq!(follower.look().await.unwrap(), Looked::Unchanged);
    }
    assert_eq!(shop.repository.collect(true).await.unwrap().deletions, []);
}
