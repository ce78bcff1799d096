//! `pack`, `get`, `dump`, `verify` and `inspect`.

use std::io::Write;
use std::process::Stdio;

use crate::command::Folder;

/// Packs one input with more arguments and compares the dump.
#[track_caller]
fn check(name: &str, input: &str, arguments: &[&str], dump: &[&str]) {
    let folder = Folder::with(&[(name, input)]);
    folder.ok(&[&["pack", name, "-o", "t.skn"], arguments].concat());
    let mut lines: Vec<_> = folder.ok(&["dump", "t.skn"]).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, dump);
}

#[test]
fn json_in_its_three_forms() {
    let dump = [r#"{"key":"a","values":[1.10]}"#, r#"{"key":"b","values":["x y"]}"#];
    check("i.json", r#"{ "a" : 1.10, "b": "x y" }"#, &[], &dump);
    check("i.json", r#"[["a", 1.10], ["b", "x y"]]"#, &[], &dump);
    check(
        "i.json",
        r#"[{"id": "a", "n": 12345678901234567890}, {"id": 7, "n": null}]"#,
        &["--key", "id"],
        &[
            r#"{"key":"7","values":[{"id":7,"n":null}]}"#,
            r#"{"key":"a","values":[{"id":"a","n":12345678901234567890}]}"#,
        ],
    );
}

#[test]
fn json_lines_of_pairs_objects_and_dumps() {
    let dump = [r#"{"key":"a","values":[[1]]}"#, r#"{"key":"b","values":[{}]}"#];
    check("i.jsonl", "[\"a\",[1]]\n\n[\"b\",{}]\n", &[], &dump);
    check("i.jsonl", "{\"key\":\"a\",\"values\":[[1]]}\n{\"key\":\"b\",\"value\":{}}", &[], &dump);
    let input = "{\"k\":\"a\",\"v\":[1]}\n{\"k\":\"b\",\"v\":{}}\n";
    check("i.jsonl", input, &["--key", "k", "--value", "v"], &dump);
}

#[test]
fn csv_and_tsv() {
    let text = [r#"{"key":"01","values":["a, b"]}"#, r#"{"key":"2","values":[""]}"#];
    let input = "name,code\n\"a, b\",01\n,2\n";
    check("i.csv", input, &["--key", "code", "--value", "name"], &text);
    check("i.csv", input, &["--key", "code"], &text);
    check("i.tsv", "code\tname\n01\ta, b\n2\t\n", &[], &text);
    let rows = [r#"{"key":"1","values":[{"id":"1","x":"a","y":"\"q\""}]}"#];
    check("i.csv", "id,x,y\n1,a,\"\"\"q\"\"\"\n", &["--key", "id"], &rows);
}

#[test]
fn text_and_bytes() {
    let arguments = ["--content-type", "text"];
    check("i.json", r#"{"a":"\u00e4\n"}"#, &arguments, &[r#"{"key":"a","values":["ä\n"]}"#]);
    let input = r#"[[{"base64":"/w=="},{"base64":"AP8="}],["b","x"]]"#;
    let dump = [
        r#"{"key":"b","values":["x"]}"#,
        r#"{"key":{"base64":"/w=="},"values":[{"base64":"AP8="}]}"#,
    ];
    check("i.json", input, &["--content-type", "bytes"], &dump);
}

#[test]
fn duplicates_by_each_policy() {
    let input = "[\"a\",1]\n[\"a\",2]\n[\"a\",1]\n";
    check("i.jsonl", input, &["--duplicates", "first"], &[r#"{"key":"a","values":[1]}"#]);
    check("i.jsonl", input, &["--duplicates", "last"], &[r#"{"key":"a","values":[1]}"#]);
    check("i.jsonl", input, &["--duplicates", "keep"], &[r#"{"key":"a","values":[1,2,1]}"#]);
    let folder = Folder::with(&[("i.jsonl", input)]);
    let error = folder.refused(&["pack", "i.jsonl", "-o", "t.skn"]);
    assert!(error.contains("key `a` appears twice") && error.contains("hint: "), "{error}");
    assert!(!folder.path("t.skn").exists());
}

#[test]
fn get_prints_a_value_a_line_and_names_what_is_absent() {
    let folder = Folder::with(&[("i.jsonl", "[\"a\",1]\n[\"b\",2]\n[\"b\",3]\n")]);
    folder.ok(&["pack", "i.jsonl", "-o", "t.skn", "--duplicates", "keep"]);
    assert_eq!(folder.ok(&["get", "t.skn", "b", "a"]), "2\n3\n1\n");
    let ran = folder.run(&["get", "t.skn", "a", "zz", "b"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, "1\n2\n3\n"));
    assert_eq!(ran.stderr, "error: no key `zz` in `t.skn`\n");
}

#[test]
fn a_dump_packs_to_the_same_bytes() {
    let folder = Folder::with(&[("i.json", r#"{"a":[1,{"b":"c"}],"d":null,"":"empty key"}"#)]);
    folder.ok(&["pack", "i.json", "-o", "one.skn"]);
    let dump = folder.ok(&["dump", "one.skn"]);
    let ran = folder.run_with(&["pack", "-", "-o", "two.skn"], &dump);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let bytes = |name| std::fs::read(folder.path(name)).unwrap();
    assert_eq!(bytes("one.skn"), bytes("two.skn"));
}

#[test]
fn both_hashes_both_key_modes_and_little_memory() {
    let lines: String = (0..5000).map(|n| format!("[\"key {n}\",{n}]\n")).collect();
    let folder = Folder::with(&[("i.jsonl", &lines)]);
    for arguments in [
        &["--hash", "chd"][..],
        &["--hash", "phast", "--memory", "1MiB"],
        &["--keys", "approximate"],
        &["--keys", "approximate", "--hash", "chd"],
    ] {
        folder.ok(&[&["pack", "i.jsonl", "-o", "t.skn"], arguments].concat());
        assert_eq!(folder.ok(&["get", "t.skn", "key 4321", "key 0"]), "4321\n0\n");
        folder.ok(&["verify", "t.skn"]);
    }
}

#[test]
fn inspect_tells_the_facts() {
    let folder = Folder::with(&[("i.json", r#"{"a":1,"b":2}"#)]);
    folder.ok(&["pack", "i.json", "-o", "t.skn", "--hash", "chd"]);
    let facts: serde_json::Value =
        serde_json::from_str(&folder.ok(&["inspect", "t.skn", "--json"])).unwrap();
    let length = folder.path("t.skn").metadata().unwrap().len();
    assert_eq!(facts["keys"], 2);
    assert_eq!(facts["values"], 2);
    assert_eq!(facts["file_bytes"], length);
    assert_eq!(facts["hash"], "chd");
    assert_eq!(facts["content_type"], "json");
    assert_eq!(facts["format_version"], "1.0");
    assert!(facts["hash_bits_per_key"].as_f64().unwrap() > 0.0);
    assert!(folder.ok(&["inspect", "t.skn"]).contains("2 (exact)"));
}

#[test]
fn damage_is_refused_by_file_section_and_reason() {
    let folder =
        Folder::with(&[("i.json", r#"{"a":1,"b":2}"#), ("foreign.skn", "no table at all")]);
    folder.ok(&["pack", "i.json", "-o", "t.skn"]);
    let whole = std::fs::read(folder.path("t.skn")).unwrap();
    let refused = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path(name), bytes).unwrap();
        folder.refused(&["verify", name])
    };
    let error = refused("cut.skn", &whole[..whole.len() - 1]);
    assert!(error.contains("`cut.skn`") && error.contains("truncated"), "{error}");
    let error = refused("header.skn", &[&whole[..40], &[!whole[40]], &whole[41..]].concat());
    assert!(error.contains("section `header`"), "{error}");
    let last = whole.len() - 100;
    let error =
        refused("flip.skn", &[&whole[..last], &[!whole[last]], &whole[last + 1..]].concat());
    assert!(error.contains("flip.skn") && error.contains("section"), "{error}");
    let error = folder.refused(&["get", "foreign.skn", "a"]);
    assert!(error.contains("not a packed table") && error.contains("hint: "), "{error}");
    folder.refused(&["dump", "absent.skn"]);
}

/// The command refuses the input and names where.
#[track_caller]
fn check_refused(name: &str, input: &str, arguments: &[&str], message: &str) {
    let folder = Folder::with(&[(name, input)]);
    let error = folder.refused(&[&["pack", name, "-o", "t.skn"], arguments].concat());
    assert!(error.contains(message), "{error}");
}

#[test]
fn bad_input_is_named_by_its_line() {
    check_refused("i.jsonl", "[\"a\",1]\n[\"b\"\n", &[], "line 2");
    check_refused("i.jsonl", "[\"a\",1]\n{\"b\":1}\n", &[], "no `--key` says which field");
    check_refused("i.jsonl", "{\"id\":1}\n{\"x\":1}\n", &["--key", "id"], "line 2: no field `id`");
    check_refused("i.jsonl", "{\"id\":[1]}\n", &["--key", "id"], "line 1: the key is neither");
    check_refused("i.json", "{\"a\":1,\n\"b\":}", &[], "line 2");
    check_refused("i.json", "{\"a\":1} x", &[], "not JSON");
    check_refused("i.json", "{\"a\":1}", &["--content-type", "text"], "the value is no string");
    check_refused("i.csv", "a,b\n1,2\n", &["--key", "c"], "there is no column `c`");
    check_refused("i.csv", "a,b\n1,2,3\n", &[], "not CSV");
}

#[test]
fn a_killed_pack_leaves_the_old_file_whole() {
    let folder = Folder::with(&[("old.json", r#"{"a":"old"}"#)]);
    folder.ok(&["pack", "old.json", "-o", "t.skn"]);
    let mut command = folder.command(&["pack", "-", "-o", "t.skn", "--format", "jsonl"]);
    let mut pack = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = pack.stdin.take().unwrap();
    for n in 0..100_000 {
        writeln!(input, "[\"key {n}\",\"new\"]").unwrap();
    }
    pack.kill().unwrap();
    pack.wait().unwrap();
    assert_eq!(folder.ok(&["get", "t.skn", "a"]), "\"old\"\n");
}
