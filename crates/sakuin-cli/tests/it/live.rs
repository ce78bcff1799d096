//! `sakuin live`: tables are filled, imported and exported, and what is refused says what helps.

use serde_json::Value;

use crate::{command::Folder, server::Server};

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[live]
path = "live.redb"
[tables.features]
kind = "live"
attributes.value = { type = "int", index = "equal" }
attributes.label = { type = "text" }
attributes.seen = { type = "time" }
vector = { dimensions = 4 }
[tables.words]
kind = "packed"
file = "absent.skn"
"#;

fn folder(files: &[(&str, &str)]) -> Folder {
    Folder::with(&[&[("sakuin.toml", CONFIG)], files].concat())
}

fn export(folder: &Folder) -> Vec<Value> {
    let lines = folder.ok(&["live", "export", "features"]);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_table_is_filled_with_the_same_records_for_the_same_seed() {
    let fill = |seed: &str| {
        let folder = folder(&[]);
        let ran =
            folder.run(&["live", "fill", "features", "--rows", "500", "--random", "--seed", seed]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("features: 500 records added, 500 in all"), "{}", ran.stderr);
        export(&folder)
    };
    let (records, again) = (fill("7"), fill("7"));
    assert!(records == again && records != fill("8"));
    let numbers: Vec<_> = records.iter().map(|record| record["value"].as_i64().unwrap()).collect();
    assert!(numbers.iter().all(|number| (0..50).contains(number)), "{numbers:?}");
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 40, "of 50 numbers for 500 records hardly one is left out");
    for record in records {
        let vector = record["vector"].as_array().unwrap();
        let length: f64 = vector.iter().map(|one| one.as_f64().unwrap().powi(2)).sum();
        assert!((length - 1.0).abs() < 1e-5, "{record}");
        assert!(record["seen"].as_str().unwrap().starts_with("2026-"), "{record}");
    }
}

#[test]
fn what_is_exported_is_imported_elsewhere_as_it_was() {
    let from = folder(&[]);
    from.ok(&["live", "fill", "features", "--rows", "30", "--random"]);
    for format in ["jsonl", "csv", "parquet"] {
        let file = format!("features.{format}");
        from.ok(&["live", "export", "features", &file]);
        let to = folder(&[]);
        let written = from.path(&file);
        to.ok(&["live", "import", "features", written.to_str().unwrap()]);
        assert_eq!(export(&to), export(&from), "{format}");
    }
    let to = folder(&[]);
    let csv = from.ok(&["live", "export", "features", "--format", "csv"]);
    let ran = to.run_with(&["live", "import", "features", "-", "--format", "csv"], &csv);
    assert!(ran.stderr.contains("30 records imported, 30 in all"), "{}", ran.stderr);
    assert_eq!(export(&to), export(&from));

    let records = export(&from);
    let number = &records[0]["value"];
    let some = from.ok(&["live", "export", "features", "--filter", &format!("value = {number}")]);
    let wanted = records.iter().filter(|record| record["value"] == *number);
    assert_eq!(some.lines().count(), wanted.count());
}

#[track_caller]
fn refuse(folder: &Folder, arguments: &[&str], error: &str, hint: &str) {
    let refused = folder.refused(arguments);
    let lines: Vec<_> = refused.lines().collect();
    assert!(lines.iter().any(|it| it.starts_with("error: ") && it.contains(error)), "{refused}");
    assert!(lines.iter().any(|it| it.starts_with("hint: ") && it.contains(hint)), "{refused}");
}

#[test]
fn what_is_refused_says_what_helps() {
    let bad = "{\"value\": 1}\n{\"value\": 1.5}\n";
    let folder =
        folder(&[("bad.jsonl", bad), ("bad.csv", "value,colour\n1,2\n"), ("some.txt", "")]);
    let import = |file, error, hint| {
        refuse(&folder, &["live", "import", "features", file], error, hint);
    };
    import(
        "bad.jsonl",
        "`bad.jsonl` was not imported: line 2: attribute `value` takes int, not `1.5`; records imported before it: 1",
        "a whole number",
    );
    import("bad.csv", "column `colour`", "`label`");
    import("some.txt", "`some.txt`", "--format");
    assert_eq!(export(&folder).len(), 1, "what stands before a bad record is in");
    refuse(&folder, &["live", "export", "feature"], "no live table `feature`", "it has `features`");
    refuse(&folder, &["live", "export", "words"], "no live table `words`", "it has `features`");
    let filtered = ["live", "export", "features", "--filter", "value > x"];
    refuse(&folder, &filtered, "the filter cannot be read", "");
    let missing = folder.refused(&["live", "import", "features", "absent.jsonl"]);
    assert!(missing.contains("`absent.jsonl` was not opened"), "{missing}");
    let nowhere = folder.refused(&["live", "export", "features", "no/where.csv"]);
    assert!(nowhere.contains("`no/where.csv` was not written"), "{nowhere}");
}

#[test]
fn a_store_that_a_server_has_is_left_to_it() {
    let without_words = CONFIG.split("[tables.words]").next().unwrap();
    let folder = Folder::with(&[("sakuin.toml", without_words)]);
    let server = Server::start(&folder, &["serve", "sakuin.toml"]);
    refuse(
        &folder,
        &["live", "fill", "features", "--rows", "1", "--random"],
        "live.redb is open in another process",
        "ask the server",
    );
    let checked = folder.ok(&["check", "sakuin.toml"]);
    assert!(checked.contains("features: live, with value, label, seen, vector"), "{checked}");
    drop(server);
    folder.ok(&["live", "fill", "features", "--rows", "1", "--random"]);
}
