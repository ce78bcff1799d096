//! What a configuration means, and how it is refused.

use std::{fs, path::Path};

use sakuin_server::{Config, Error, check};

use crate::support::dictionary;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, "sakuin.toml", Path::new("/srv")).map_err(|error| match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    })
}

fn listen(config: &Config) -> Vec<String> {
    config.server.listen.iter().map(ToString::to_string).collect()
}

fn refusal(text: &str) -> String {
    parse(text).unwrap_err()
}

#[test]
fn only_the_dictionary_must_be_named() {
    let config = parse("[reader]\ndictionary = \"japanese.skn\"").unwrap();
    assert_eq!(listen(&config), ["127.0.0.1:8080"]);
    let reader = config.reader.unwrap();
    assert_eq!(reader.dictionary, Path::new("/srv/japanese.skn"));
    assert_eq!(reader.stories, Path::new("/srv/stories.db"));
    assert_eq!(reader.path, "/");
    insta::assert_snapshot!(refusal("[server]\n[reader]\npath = \"/\""), @"
    sakuin.toml:2: `reader.dictionary` is missing
    hint: name a file written by `sakuin japanese pack`: `dictionary = \"japanese.skn\"`
    ");
    insta::assert_snapshot!(refusal("[server]\nlisten = \"127.0.0.1:80\""), @"
    sakuin.toml:1: `reader` is missing
    hint: say what to serve: `[reader]` with a `dictionary`, `[contacts]` with a `store`, or `[tables.NAME]`
    ");
}

#[test]
fn every_key_is_taken_and_paths_belong_to_the_folder() {
    let config = parse(
        "[server]\nlisten = \"[::1]:0\"\n\
         [reader]\ndictionary = \"/d.skn\"\nstories = \"sqlite://data/s.db\"\npath = \"/read\"",
    )
    .unwrap();
    assert_eq!(listen(&config), ["[::1]:0"]);
    let reader = config.reader.unwrap();
    assert_eq!(reader.dictionary, Path::new("/d.skn"));
    assert_eq!(reader.stories, Path::new("/srv/data/s.db"));
    assert_eq!(reader.path, "/read/");
}

#[test]
fn a_server_listens_in_several_places_and_logs_some() {
    let server = "[server]\nlisten = [\"127.0.0.1:80\", \"[::1]:80\"]\nadmin = \"127.0.0.1:81\"\n\
        tls = { cert = \"a.crt\", key = \"/a.key\" }\nhealth = \"/api/v1/health\"\n\
        log = { sample = 1000, slow = \"100ms\" }\n[reader]\ndictionary = \"d\"";
    let config = parse(server).unwrap();
    assert_eq!(listen(&config), ["127.0.0.1:80", "[::1]:80"]);
    assert_eq!(config.server.admin.unwrap().to_string(), "127.0.0.1:81");
    let tls = config.server.tls.clone().unwrap();
    assert_eq!((tls.cert.as_path(), tls.key.as_path()), ("/srv/a.crt".as_ref(), "/a.key".as_ref()));
    assert_eq!(config.server.health.as_deref(), Some("/api/v1/health"));
    assert_eq!(config.server.log.sample, Some(1000));
    assert_eq!(config.server.log.slow, Some(std::time::Duration::from_millis(100)));

    assert_eq!(parse(&config.to_string()).unwrap().to_string(), config.to_string());
    assert!(config.to_string().contains("log = { sample = 1000, slow = \"100ms\" }"), "{config}");

    insta::assert_snapshot!(refusal("[server]\nadmin = \"0.0.0.0:8081\""), @"
    sakuin.toml:2: `server.admin` is `0.0.0.0:8081`
    hint: the admin door has no password, so it stays on loopback: `127.0.0.1:8081`
    ");
    insta::assert_snapshot!(refusal("[server]\nlisten = []"), @"
    sakuin.toml:2: `server.listen` is `[]`
    hint: write an address and a port, such as `127.0.0.1:8080`
    ");
    insta::assert_snapshot!(refusal("[server]\ntls = { cert = \"a.crt\" }"), @"
    sakuin.toml:2: `server.tls.key` is missing
    hint: name a PEM file: `key = \"server.key\"`
    ");
    insta::assert_snapshot!(refusal("[server]\nlog = { samples = 3 }"), @"
    sakuin.toml:2: unknown key `server.log.samples`
    hint: did you mean `sample`?
    ");
}

#[test]
fn unknown_keys_are_named_with_their_nearest() {
    insta::assert_snapshot!(refusal("[reader]\ndictionary = \"d\"\n\ndictionnary = \"e\""), @"
    sakuin.toml:4: unknown key `reader.dictionnary`
    hint: did you mean `dictionary`?
    ");
    insta::assert_snapshot!(refusal("[reader]\ndictionary = \"d\"\n[sever]\nlisten = \"x\""), @"
    sakuin.toml:3: unknown key `sever`
    hint: did you mean `server`?
    ");
    insta::assert_snapshot!(refusal("[server]\nlisten_on = 80"), @"
    sakuin.toml:2: unknown key `server.listen_on`
    hint: did you mean `listen`?
    ");
}

#[test]
fn values_are_refused_by_line() {
    insta::assert_snapshot!(refusal("[server]\nlisten = \"8080\""), @"
    sakuin.toml:2: `server.listen` is `8080`
    hint: write an address and a port, such as `127.0.0.1:8080`
    ");
    insta::assert_snapshot!(refusal("[server]\nlisten = 8080"), @"
    sakuin.toml:2: `server.listen` is of type integer
    hint: write a string, in quotes
    ");
    insta::assert_snapshot!(refusal("reader = \"japanese.skn\""), @"
    sakuin.toml:1: `reader` is of type string
    hint: write a table: `[reader]`
    ");
    insta::assert_snapshot!(refusal("[reader]\ndictionary = \"d\"\nstories = \"postgres://x\""), @"
    sakuin.toml:3: `reader.stories` is `postgres://x`
    hint: stories are kept in SQLite: `sqlite://stories.db`
    ");
    insta::assert_snapshot!(refusal("[reader]\ndictionary = \"d\"\npath = \"reader\""), @"
    sakuin.toml:3: `reader.path` is `reader`
    hint: it begins with a slash and holds letters, digits, `-`, `_`, `.`, `~`: `/reader/`
    ");
    insta::assert_snapshot!(refusal("[reader]\ndictionary = \"d\npath = 3"), @"sakuin.toml:2: invalid basic string, expected `\"`");
}

const LIVE: &str = "[live]\npath = \"live.redb\"\n[tables.features]\nkind = \"live\"\n\
    attributes.value = { type = \"int\" }\nattributes.name = { type = \"text\" }\n";

#[test]
fn the_original_service_stands_on_a_number_of_a_live_table() {
    let db = "[grpc]\ndb = { table = \"features\", attribute = \"value\" }\n";
    let config = parse(&format!("{db}{LIVE}")).unwrap();
    let found = config.grpc.db.clone().unwrap();
    assert_eq!((&*found.table, &*found.attribute, found.is_indexed), ("features", "value", false));
    assert_eq!(parse(&config.to_string()).unwrap().to_string(), config.to_string());
    assert!(config.to_string().contains(db), "{config}");
    assert_eq!(parse(LIVE).unwrap().grpc.db, None);

    let refused = |from: &str, to: &str| refusal(&format!("{}{LIVE}", db.replace(from, to)));
    insta::assert_snapshot!(refused("features", "feature"), @"
    sakuin.toml:2: `grpc.db.table` is `feature`, which is no live table
    hint: did you mean `features`?
    ");
    insta::assert_snapshot!(refused("value", "name"), @"
    sakuin.toml:2: `grpc.db.attribute` is `name`, which is no attribute of type `int` of that table
    hint: did you mean `value`?
    ");
    insta::assert_snapshot!(refused("attribute", "column"), @"
    sakuin.toml:2: unknown key `grpc.db.column`
    hint: did you mean `table`?
    ");
}

#[test]
fn checking_neither_begins_nor_takes_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sakuin.toml");
    let db = "[grpc]\ndb = { table = \"features\", attribute = \"value\" }\n";
    fs::write(&file, format!("{db}{LIVE}")).unwrap();
    let warnings = check(&file).unwrap().warnings;
    let [absent, unindexed] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(absent.contains("live.redb` does not exist yet"), "{absent}");
    assert!(unindexed.starts_with("`value` of `features` has no index"), "{unindexed}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let tables = sakuin::Tables::open(&Config::read(&file).unwrap().tables).unwrap();
    check(&file).unwrap();
    drop(tables);

    fs::write(&file, LIVE.replace("live.redb", "nowhere/live.redb")).unwrap();
    assert!(matches!(check(&file).unwrap_err(), Error::Store { .. }));
}

#[test]
fn the_command_line_may_listen_elsewhere() {
    let mut config = Config::of_folder("/srv");
    config.listen_on("127.0.0.1:0").unwrap();
    assert_eq!(listen(&config), ["127.0.0.1:0"]);
    let error = config.listen_on("nowhere").unwrap_err();
    assert_eq!(error.to_string(), "`nowhere` is no address to listen on");
}

#[test]
fn checking_opens_everything_and_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sakuin.toml");
    fs::write(&file, format!("[reader]\ndictionary = {:?}\n", dictionary())).unwrap();
    let checked = check(&file).unwrap();
    assert!(checked.sources.iter().any(|source| source.name == "EDICT"), "{:?}", checked.sources);
    assert_eq!(checked.stories, None);
    assert!(
        checked.warnings.iter().any(|w| w.starts_with("EDICT is of 2021-02-03, ")),
        "{:?}",
        checked.warnings
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    fs::write(&file, "[reader]\ndictionary = \"absent.skn\"\n").unwrap();
    assert!(
        matches!(check(&file).unwrap_err(), Error::Dictionary { file, .. } if file.ends_with("absent.skn"))
    );

    fs::write(folder.path().join("stories.db"), "this is no database, whatever its name says")
        .unwrap();
    fs::write(&file, format!("[reader]\ndictionary = {:?}\n", dictionary())).unwrap();
    assert!(check(&file).unwrap_err().to_string().contains("stories.db"));
}

#[test]
fn checking_opens_tables_and_certificates_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sakuin.toml");
    let table = "[tables.a]\nkind = \"packed\"\nfile = \"a.skn\"\n";
    fs::write(&file, table).unwrap();
    assert_eq!(check(&file).unwrap_err().to_string(), "cannot open table `a`");

    let mut builder = sakuin_pack::Builder::new(sakuin_pack::Content::Text, Default::default());
    builder.add(b"key", b"value").unwrap();
    builder.write(folder.path().join("a.skn")).unwrap();
    assert!(check(&file).unwrap().warnings.is_empty());
    let tls = "[server]\ntls = { cert = \"a.crt\", key = \"a.key\" }\n";
    fs::write(&file, format!("{tls}{table}")).unwrap();
    assert!(check(&file).unwrap_err().to_string().contains("a.crt` cannot be used: "));
}

#[test]
fn a_missing_file_is_named() {
    let error = Config::read("/nowhere/sakuin.toml").unwrap_err();
    assert_eq!(error.to_string(), "cannot read `/nowhere/sakuin.toml`");
}
