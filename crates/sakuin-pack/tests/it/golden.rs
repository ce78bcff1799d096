use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use sakuin_pack::{Builder, Content, Duplicates, Hash, Keys, Options, Table, TableOptions};

/// A file of each kind, as this release writes them.
fn build(path: &Path, hash: Hash, keys: Keys) {
    let options = Options::new().hash(hash).keys(keys).duplicates(Duplicates::Keep);
    let mut builder = Builder::new(Content::Json, options);
    for number in 0..60u32 {
        let key = format!("key {}", number % 50);
        builder.add(key.as_bytes(), format!("{{\"n\": {number}}}").as_bytes()).unwrap();
    }
    let shared = builder.value(b"[\"shared\"]").unwrap();
    builder.point(b"key 7", shared).unwrap();
    builder.meta(r#"{"title":"golden"}"#).unwrap();
    builder
        .write_with(path, |_, sections| sections.add("test.note", b"a note".to_vec(), false))
        .unwrap();
}

/// Files written by an earlier release open and answer for ever; this release still writes the same bytes.
/// A change of the format adds files here and keeps these.
#[test]
fn files_of_every_release_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for (name, hash, keys) in [
        ("1.0-phast.skn", Hash::Phast, Keys::Exact),
        ("1.0-chd.skn", Hash::Chd, Keys::Exact),
        ("1.0-approximate.skn", Hash::Phast, Keys::Approximate { bits: 16 }),
    ] {
        let golden = data.join(name);
        let new = folder.path().join(name);
        build(&new, hash, keys);
        assert!(
            fs::read(&new).unwrap() == fs::read(&golden).unwrap(),
            "{name} is written otherwise"
        );

        let table = TableOptions::new().verify(true).open(&golden).unwrap();
        let texts = |key: &str| -> Vec<&str> {
            let found = table.get(key.as_bytes()).unwrap().unwrap();
            found.iter().map(|value| value.text().unwrap()).collect()
        };
        assert_eq!(texts("key 7"), [r#"{"n":7}"#, r#"{"n":57}"#, r#"["shared"]"#]);
        assert_eq!(texts("key 49"), [r#"{"n":49}"#]);
        assert!(table.get(b"none").unwrap().is_none());
        assert_eq!(table.meta().unwrap(), Some(r#"{"title":"golden"}"#));
        assert_eq!(table.section("test.note").unwrap(), Some(&b"a note"[..]));
    }
}

/// Four readers refresh while a writer replaces the file: each answer belongs to one version,
/// and at no time is there no file.
#[test]
fn readers_never_see_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let version = |number: u32| {
        let mut builder = Builder::new(Content::Text, Options::new().threads(1));
        for key in 0..50 {
            builder.add(format!("key {key}").as_bytes(), number.to_string().as_bytes()).unwrap();
        }
        builder.write(&path).unwrap();
    };
    version(0);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut table = Table::open(&path).unwrap();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    if let Some(newer) = table.refresh().unwrap() {
                        table = newer;
                    }
                    let texts: Vec<&str> = (0..50)
                        .map(|key| table.get(format!("key {key}").as_bytes()).unwrap().unwrap())
                        .map(|values| values.first().text().unwrap())
                        .collect();
                    assert!(texts.iter().all(|text| *text == texts[0]));
                }
            });
        }
        (1..200).for_each(version);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A writer killed at any moment leaves the whole old file or the whole new one.
#[test]
fn a_killed_writer_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    replace(&path, 0);
    for versions in 1..=20 {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "golden::keep_replacing", "--ignored", "--nocapture"])
            .env("TABLE", &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        assert!(lines.filter(|line| line.as_ref().unwrap() == "replaced").nth(versions).is_some());
        writer.kill().unwrap();
        writer.wait().unwrap();
        let table = TableOptions::new().verify(true).open(&path).unwrap();
        assert_eq!(table.len(), 5000);
    }
}

#[test]
#[ignore = "the writer that another test kills"]
fn keep_replacing() {
    let Some(path) = std::env::var_os("TABLE") else { return };
    for number in 0.. {
        replace(Path::new(&path), number);
        println!("replaced");
    }
}

fn replace(path: &Path, number: u32) {
    let mut builder = Builder::new(Content::Text, Options::new().threads(1));
    for key in 0..5000 {
        builder.add(format!("key {key}").as_bytes(), number.to_string().as_bytes()).unwrap();
    }
    builder.write(path).unwrap();
}

/// The path cannot be written: an error that names it, and nothing left behind.
#[test]
fn a_folder_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/table.skn");
    let error = Builder::new(Content::Text, Options::new()).write(&path).unwrap_err();
    assert!(error.to_string().contains("none/table.skn"), "{error}");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("occupied"), "").unwrap();
    Builder::new(Content::Text, Options::new()).write(&path).unwrap_err();
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
#[ignore = "writes tests/data anew, when the format changes before a release"]
fn write_golden_files() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::create_dir_all(&data).unwrap();
    build(&data.join("1.0-phast.skn"), Hash::Phast, Keys::Exact);
    build(&data.join("1.0-chd.skn"), Hash::Chd, Keys::Exact);
    build(&data.join("1.0-approximate.skn"), Hash::Phast, Keys::Approximate { bits: 16 });
}
