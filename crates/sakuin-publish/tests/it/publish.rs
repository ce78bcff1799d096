use sakuin_publish::Step;

use super::*;

#[tokio::test]
async fn versions_are_numbered_and_announced() {
    let shop = shop();
    let first = shop.publish(&[("words", "a=1\n"), ("names", "b=2\n")]).await.unwrap();
    assert_eq!((first.version, first.is_unchanged), (1, false));
    assert_eq!(first.uploaded, ["names", "words"]);
    let second = shop.publish(&[("words", "a=3\n"), ("names", "b=2\n")]).await.unwrap();
    assert_eq!(
        (second.version, &second.uploaded[..], &second.reused[..]),
        (2, &["words".to_owned()][..], &["names".to_owned()][..])
    );
    let same = shop.publish(&[("words", "a=3\n"), ("names", "b=2\n")]).await.unwrap();
    assert_eq!((same.version, same.is_unchanged, same.announcement.number), (2, true, 2));

    let versions = shop.repository.versions().await.unwrap();
    assert_eq!(
        versions.manifests.iter().map(|one| (one.number, one.parent)).collect::<Vec<_>>(),
        [(1, None), (2, Some(1))]
    );
    assert_eq!(versions.channels["stable"].version, 2);
    let words = &versions.manifests[1].tables["words"];
    assert_eq!((words.facts.keys, words.facts.bytes), (1, 4));
    assert_eq!(fs::read_to_string(shop.object(&words.blake3)).unwrap(), "a=3\n");
}

#[tokio::test]
async fn the_head_is_found_among_any_number() {
    let shop = shop();
    assert_eq!(shop.repository.head("stable", 0).await.unwrap(), None);
    for number in 1..=20 {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
        for known in 0..=number {
            let head = shop.repository.head("stable", known).await.unwrap().unwrap();
            assert_eq!((head.number, head.version), (number, number));
        }
    }
}

#[tokio::test]
async fn of_publishers_at_once_one_wins_and_the_others_are_told() {
    let shop = std::sync::Arc::new(shop());
    shop.publish(&[("words", "a=0\n")]).await.unwrap();
    for round in 0..40 {
        let publishers: Vec<_> = (0..8)
            .map(|who| {
                let shop = shop.clone();
                tokio::spawn(async move {
                    let text = format!("a={round}.{who}\n");
                    let published = shop.publish(&[("words", &text)]).await?;
                    // The version announced is this publisher's, not another's that took the number.
                    let manifest = shop.repository.manifest(published.version).await?;
                    let own = blake3::hash(text.as_bytes()).to_hex();
                    assert_eq!(manifest.tables["words"].blake3, own.as_str());
                    Ok(published)
                })
            })
            .collect();
        let mut won = Vec::new();
        for publisher in publishers {
            match publisher.await.unwrap() {
                Ok(published) => won.push(published.announcement.number),
                Err(Error::Conflict { by, .. }) => assert_eq!(by, "a test"),
                Err(error) => panic!("{error}"),
            }
        }
        // Those that began after another had won won too, each after the one before.
        won.sort_unstable();
        won.dedup();
        let head = shop.repository.head("stable", 0).await.unwrap().unwrap();
        assert_eq!(won.last(), Some(&head.number));
        assert!(!won.is_empty());
    }
}

#[tokio::test]
async fn rules_refuse_and_say_why() {
    let shop = shop();
    let whole = lines(100, "1");
    shop.publish(&[("words", &whole), ("names", "a=1\n")]).await.unwrap();
    type Tables<'t> = &'t [(&'t str, &'t str)];
    let cases: [(Tables<'_>, &[&str]); 6] = [
        (&[("words", ""), ("names", "a=1\n")], &["min-keys", "shrink"]),
        (&[("words", &lines(60, "1")), ("names", "a=1\n")], &["shrink"]),
        (&[("words", &lines(200, "1")), ("names", "a=1\n")], &["growth"]),
        (&[("words", &whole)], &["table"]),
        (&[("words", &lines(100, &"1".repeat(20))), ("names", "a=1\n")], &["growth"]),
        (&[("words", &lines(79, "1")), ("names", "b=1\nc=1\n")], &["growth", "shrink"]),
    ];
    for (tables, rules) in cases {
        let error = shop.publish(tables).await.unwrap_err();
        assert_eq!(rules_of(&error), rules, "{error}");
        assert!(error.hint().unwrap().contains("--allow"));
    }
    assert_eq!(shop.repository.head("stable", 0).await.unwrap().unwrap().version, 1);
    let mut allowed = shop.publication(&[("words", &lines(60, "1")), ("names", "a=1\n")]);
    allowed.allow.insert("shrink".to_owned(), "we closed two shops".to_owned());
    let published = shop.repository.publish(&allowed, Lines::open, |_| ()).await.unwrap();
    let manifest = shop.repository.manifest(published.version).await.unwrap();
    assert_eq!(manifest.allowed["shrink"], "we closed two shops");
    allowed.allow.insert("everything".to_owned(), String::new());
    let error = shop.repository.publish(&allowed, Lines::open, |_| ()).await.unwrap_err();
    assert_eq!(error.to_string(), "`everything` is no name of a rule");
}

#[tokio::test]
async fn required_keys_and_rehearsed_queries_are_asked() {
    let shop = shop();
    shop.publish(&[("words", &lines(100, "1"))]).await.unwrap();
    let ask = |text: String, rehearse: usize| {
        let mut publication = shop.publication(&[("words", &text)]);
        publication.rules.must_have = vec![query("words", "key7")];
        publication.rules.rehearse =
            (0..rehearse).map(|at| query("words", &format!("key{at}"))).collect();
        publication
    };
    let publish = async |publication: &Publication| {
        shop.repository.publish(publication, Lines::open, |_| ()).await
    };
    let without = lines(100, "1").replace("key7=1\n", "other=1\n");
    let error = publish(&ask(without, 0)).await.unwrap_err();
    assert_eq!(rules_of(&error), ["must-have"]);
    assert!(error.to_string().contains(r#"there is no key "key7""#), "{error}");
    let other = lines(100, "1").replace("key1=1\n", "other=1\n").replace("key2=1\n", "more=1\n");
    let error = publish(&ask(other, 100)).await.unwrap_err();
    assert!(error.to_string().contains("2 of 100 queries find nothing any more"), "{error}");
    let error = publish(&ask(lines(100, "2"), 100)).await.unwrap_err();
    assert!(error.to_string().contains("100 of 100 queries find something else"), "{error}");
    let some = lines(100, "1").replace("key1=1", "key1=2");
    assert_eq!(publish(&ask(some, 100)).await.unwrap().version, 2);
}

#[tokio::test]
async fn a_version_that_a_killed_run_left_is_gone_on_with() {
    let shop = shop();
    shop.publish(&[("words", "a=1\n")]).await.unwrap();
    // Everything but the announcement.
    shop.publish(&[("words", "a=2\n")]).await.unwrap();
    let announcement = shop.path("bucket/channels/stable/00000000000000000002.json");
    fs::remove_file(&announcement).unwrap();
    let again = shop.publish(&[("words", "a=2\n")]).await.unwrap();
    assert_eq!((again.version, again.uploaded.len(), again.announcement.number), (2, 0, 2));
    fs::remove_file(&announcement).unwrap();
    let other = shop.publish(&[("words", "a=3\n")]).await.unwrap();
    assert_eq!((other.version, other.announcement.number), (3, 2));
    // An object that the run did not come to the end of has no name yet.
    assert_eq!(shop.repository.manifest(3).await.unwrap().parent, Some(1));
}

#[tokio::test]
async fn channels_are_promoted_and_taken_back() {
    let shop = shop();
    let mut canary = shop.publication(&[("words", "a=1\n")]);
    canary.channel = "canary".to_owned();
    shop.repository.publish(&canary, Lines::open, |_| ()).await.unwrap();
    assert_eq!(shop.repository.head("stable", 0).await.unwrap(), None);
    let promoted = shop.repository.promote("canary", "stable", "ada").await.unwrap();
    assert_eq!((promoted.version, promoted.number, &*promoted.by), (1, 1, "ada"));
    assert_eq!(shop.repository.promote("canary", "stable", "ada").await.unwrap(), promoted);
    let nothing = shop.repository.promote("none", "stable", "ada").await.unwrap_err();
    assert_eq!(nothing.to_string(), "channel `none` has announced nothing yet");

    for value in 2..=4 {
        shop.publish(&[("words", &format!("a={value}\n"))]).await.unwrap();
    }
    let back = shop.repository.rollback("stable", None, "it is wrong", "ada").await.unwrap();
    assert_eq!((back.version, back.why.as_deref()), (3, Some("it is wrong")));
    // What was taken back once is not what a second one leads to.
    assert_eq!(shop.repository.rollback("stable", None, "too", "ada").await.unwrap().version, 2);
    assert_eq!(shop.repository.rollback("stable", Some(4), "no", "ada").await.unwrap().version, 4);
    let none = shop.repository.rollback("stable", Some(9), "", "ada").await.unwrap_err();
    assert_eq!(none.to_string(), "there is no version 9");
}

#[tokio::test]
async fn names_are_checked_before_anything_is_written() {
    let shop = shop();
    for name in ["", ".", "../x", "a/b", "ü", &"x".repeat(65)] {
        let mut publication = shop.publication(&[("words", "a=1\n")]);
        publication.channel = name.to_owned();
        let error = shop.repository.publish(&publication, Lines::open, |_| ()).await.unwrap_err();
        assert!(error.to_string().ends_with("is no name of a channel"), "{error}");
        let file = publication.files.remove("words").unwrap();
        publication.channel = "stable".to_owned();
        publication.files.insert(name.to_owned(), file);
        let error = shop.repository.publish(&publication, Lines::open, |_| ()).await.unwrap_err();
        assert!(error.to_string().ends_with("is no name of a table"), "{error}");
    }
    let bad = shop.publish(&[("words", "no pair\n")]).await.unwrap_err();
    assert_eq!(bad.to_string(), "table `words`: a line has no `=`");
    assert_eq!(fs::read_dir(shop.path("bucket")).unwrap().count(), 0);
    for wrong in ["bucket", "ftp://x/y", "s3:"] {
        assert!(matches!(Repository::open(wrong), Err(Error::Url { .. })), "{wrong}");
    }
}

#[tokio::test]
async fn progress_adds_up() {
    let shop = shop();
    let long = lines(1_500_000, "1");
    let publication = shop.publication(&[("words", &long)]);
    let sent = std::sync::atomic::AtomicU64::new(0);
    let told = |step: Step<'_>| {
        if let Step::Uploading("words", bytes, all) = step {
            assert_eq!(all, long.len() as u64);
            sent.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let published = shop.repository.publish(&publication, Lines::open, told).await.unwrap();
    assert_eq!(sent.into_inner(), long.len() as u64);
    let manifest = shop.repository.manifest(published.version).await.unwrap();
    assert_eq!(fs::read_to_string(shop.object(&manifest.tables["words"].blake3)).unwrap(), long);
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_published_is_not_sent() {
    /// A table whose file is another once it has been asked.
    struct Changing(Lines, PathBuf);
    impl Opened for Changing {
        fn facts(&self) -> Facts {
            self.0.facts()
        }

        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
            fs::write(&self.1, self.0.text.replace("=1", "=2")).unwrap();
            self.0.get(key)
        }

        fn each(&self, take: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
            self.0.each(take)
        }
    }
    // One that is sent at once, and one that is sent in parts.
    for text in [lines(10, "1"), lines(1_000_000, "1")] {
        let shop = shop();
        let mut publication = shop.publication(&[("words", &text)]);
        publication.rules.must_have = vec![query("words", "key7")];
        let open = |file: &Path| Lines::open(file).map(|lines| Changing(lines, file.to_owned()));
        let error = shop.repository.publish(&publication, open, |_| ()).await.unwrap_err();
        assert!(error.to_string().ends_with("it changed while it was read"), "{error}");
        assert_eq!(shop.repository.versions().await.unwrap().manifests.len(), 0);
        let hash = blake3::hash(text.as_bytes()).to_hex();
        assert!(!shop.object(hash.as_str()).exists());
        assert_eq!(shop.publish(&[("words", &text)]).await.unwrap().version, 1);
    }
}
