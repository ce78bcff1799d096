use std::{fs, ops::ControlFlow, path::Path};

use sakuin_pack::{
    BuildError, Builder, Content, Duplicates, Hash, Keys, Options, Table, TableOptions, ValueId,
};

fn built(
    content: Content,
    options: Options,
    entries: &[(&str, &str)],
) -> Result<Table, BuildError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(content, options);
    for (key, value) in entries {
        builder.add(key.as_bytes(), value.as_bytes())?;
    }
    builder.write(&path)?;
    Ok(Table::open(&path).unwrap())
}

fn texts(table: &Table, key: &str) -> Vec<String> {
    let values = table.get(key.as_bytes()).unwrap().unwrap();
    values.iter().map(|value| value.text().unwrap().to_owned()).collect()
}

#[test]
fn handles_sections_and_meta() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(Content::Json, Options::new());
    let shared = builder.value(br#"{ "id": 1 }"#).unwrap();
    let lonely = builder.value(b"[2]").unwrap();
    let hidden = builder.value(b"[3]").unwrap();
    builder.point(b"one", shared).unwrap();
    builder.point(b"uno", shared).unwrap();
    builder.point(b"two", lonely).unwrap();
    builder.meta(r#"{"title":"Numbers"}"#).unwrap();
    let mut ids = Vec::new();
    builder
        .write_with(&path, |placed, sections| {
            ids = [shared, lonely, hidden].map(|handle| placed.id(handle)).to_vec();
            sections.add("test.trie", vec![7; 200_000], true)?;
            sections.add("test.note", b"note".to_vec(), false)
        })
        .unwrap();

    let refused = Table::open(&path).unwrap_err();
    assert!(refused.to_string().contains("needs section `test.trie`"), "{refused}");
    let table = TableOptions::new().section("test.trie").verify(true).open(&path).unwrap();
    let text = |index: usize| table.value(ids[index]).unwrap().text();
    assert_eq!(text(0), Some(r#"{"id":1}"#));
    assert_eq!(text(1), Some("[2]"));
    assert_eq!(text(2), Some("[3]"));
    let found = |key: &[u8]| table.get(key).unwrap().unwrap().first();
    assert_eq!(found(b"one").id(), ids[0]);
    assert_eq!(found(b"uno").id(), ids[0]);
    assert_eq!(found(b"two").bytes(), b"[2]");
    assert_eq!(table.section("test.trie").unwrap(), Some(&[7; 200_000][..]));
    assert_eq!(table.section("test.trie").unwrap().unwrap().as_ptr().addr() % 64, 0);
    assert_eq!(table.section("test.note").unwrap(), Some(&b"note"[..]));
    assert_eq!(table.section("test.none").unwrap(), None);
    assert_eq!(table.section("records").unwrap(), None);
    assert_eq!(table.meta().unwrap(), Some(r#"{"title":"Numbers"}"#));
    assert!(table.value(ValueId(1 << 40)).is_err());
    assert!(table.value(ValueId(0)).is_err());
}

#[test]
fn refuses_bad_section_names() {
    for names in
        [&["plain"][..], &["a.b", "a.b"], &["has space.x"], &["far.too.long.for.its.field"]]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.skn");
        let failed = Builder::new(Content::Bytes, Options::new())
            .write_with(&path, |_, sections| {
                names.iter().try_for_each(|name| sections.add(name, Vec::new(), false))
            });
        assert!(matches!(failed, Err(BuildError::BadSection { .. })), "{names:?}");
        assert!(is_empty(folder.path()));
    }
}

#[test]
fn duplicates() {
    let entries = [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("a", "1")];
    let values = |policy| {
        let options = Options::new().duplicates(policy);
        built(Content::Text, options, &entries).map(|table| texts(&table, "a"))
    };
    let Err(BuildError::DuplicateKey { key, first, second }) = values(Duplicates::Error) else {
        panic!("the key appears three times");
    };
    assert_eq!((key.as_slice(), first, second), (&b"a"[..], 0, 2));
    assert_eq!(values(Duplicates::First).unwrap(), ["1"]);
    assert_eq!(values(Duplicates::Last).unwrap(), ["1"]);
    assert_eq!(values(Duplicates::Keep).unwrap(), ["1", "3", "1"]);
    let options = Options::new().duplicates(Duplicates::Last);
    let table = built(Content::Text, options, &entries[..4]).unwrap();
    assert_eq!(texts(&table, "a"), ["3"]);
    assert!(!table.is_multi());
}

#[test]
fn equal_values_are_stored_once() {
    let long = "a value worth sharing";
    let entries = [("a", long), ("b", long), ("c", "short"), ("d", "short"), ("e", long)];
    let table = built(Content::Text, Options::new(), &entries).unwrap();
    let id = |key: &str| table.get(key.as_bytes()).unwrap().unwrap().first().id();
    assert_eq!((id("a"), id("a")), (id("b"), id("e")));
    assert_ne!(id("c"), id("d"));
    assert_eq!(table.value(id("a")).unwrap().text(), Some(long));

    let value = "x".repeat(500);
    let keys: Vec<String> = (0..10_000).map(|key| format!("key {key}")).collect();
    let entries: Vec<(&str, &str)> =
        keys.iter().map(|key| (key.as_str(), value.as_str())).collect();
    let table = built(Content::Text, Options::new(), &entries).unwrap();
    assert!(table.stats().file_bytes < 200_000, "{:?}", table.stats());
}

#[test]
fn json_is_checked_and_stripped() {
    let table = built(Content::Json, Options::new(), &[("a", "{ \"n\": 1.10, \"s\": \" x \" }")]);
    assert_eq!(texts(&table.unwrap(), "a"), [r#"{"n":1.10,"s":" x "}"#]);
    let failed = built(Content::Json, Options::new(), &[("a", "1"), ("b", "{oops}")]);
    let Err(BuildError::NotJson { key, .. }) = failed else { panic!("it is not JSON") };
    assert_eq!(key, b"b");
    let mut builder = Builder::new(Content::Text, Options::new());
    assert!(matches!(builder.add(b"a", b"\xff"), Err(BuildError::NotText { .. })));
    assert!(builder.meta("{").is_err());
}

#[test]
fn the_same_bytes_at_any_thread_count_and_memory_limit() {
    let bytes = |hash, keys, threads, memory| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.skn");
        let options = Options::new().hash(hash).keys(keys).duplicates(Duplicates::Keep);
        let mut builder = Builder::new(Content::Bytes, options.threads(threads).memory(memory));
        for number in 0..600_000u32 {
            let key = format!("key {}", number % 550_000);
            let value = (number / 3).to_le_bytes().repeat(number as usize % 7);
            builder.add(key.as_bytes(), &value).unwrap();
            if number % 50_000 == 0 {
                let long = builder.value(&vec![number as u8; 5000]).unwrap();
                builder.point(key.as_bytes(), long).unwrap();
            }
        }
        builder.write(&path).unwrap();
        fs::read(&path).unwrap()
    };
    let first = bytes(Hash::Phast, Keys::Exact, 1, 1 << 30);
    for (threads, memory) in [(2, 1 << 20), (7, 1 << 24), (16, 0)] {
        assert!(bytes(Hash::Phast, Keys::Exact, threads, memory) == first, "{threads}, {memory}");
    }
    let keys = Keys::Approximate { bits: 12 };
    assert!(bytes(Hash::Chd, keys, 1, 1 << 30) == bytes(Hash::Chd, keys, 3, 1 << 20));
}

#[test]
fn a_failed_build_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(Content::Bytes, Options::new());
    builder.add(b"a", b"old").unwrap();
    builder.write(&path).unwrap();
    let old = fs::read(&path).unwrap();
    let table = Table::open(&path).unwrap();

    let mut builder = Builder::new(Content::Bytes, Options::new());
    builder.add(b"a", b"1").unwrap();
    builder.add(b"a", b"2").unwrap();
    builder.write(&path).unwrap_err();
    let builder = Builder::new(Content::Bytes, Options::new());
    builder.write_with(&path, |_, _| Err(BuildError::Section("no trie".into()))).unwrap_err();
    assert_eq!(fs::read(&path).unwrap(), old);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(table.refresh().unwrap().is_none());

    let mut builder = Builder::new(Content::Bytes, Options::new());
    builder.add(b"a", b"new").unwrap();
    builder.write(&path).unwrap();
    assert_eq!(table.get(b"a").unwrap().unwrap().first().bytes(), b"old");
    let table = table.refresh().unwrap().expect("the file was replaced");
    assert_eq!(table.get(b"a").unwrap().unwrap().first().bytes(), b"new");
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_build_that_is_broken_off_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder =
        Builder::new(Content::Text, Options::new().progress(|_| ControlFlow::Break(())));
    builder.add(b"a", b"1").unwrap();
    let broken = builder.write(folder.path().join("t.skn"));
    assert!(matches!(broken, Err(BuildError::BrokenOff)), "{broken:?}");
    assert!(is_empty(folder.path()));
}

#[test]
fn reports_progress_and_facts() {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };
    let seen = Arc::new(AtomicU64::new(0));
    let watcher = seen.clone();
    let options = Options::new()
        .progress(move |progress| {
            assert!(progress.done <= progress.total);
            watcher.fetch_max(progress.done, Ordering::Relaxed);
            ControlFlow::Continue(())
        })
        .keys(Keys::Exact);
    let entries = [("a", "1"), ("b", "2"), ("c", "3")];
    let stats = built(Content::Json, options, &entries).unwrap().stats();
    assert_eq!(seen.load(Ordering::Relaxed), 3);
    assert_eq!((stats.keys, stats.values, stats.format_version), (3, 3, (1, 0)));
    assert_eq!(
        (stats.content.to_string(), stats.hash.to_string()),
        ("json".into(), "phast".into())
    );
    let bad = built(Content::Json, Options::new().keys(Keys::Approximate { bits: 3 }), &entries);
    assert!(matches!(bad, Err(BuildError::BadOption { option: "fingerprint", value: 3 })));
}
