//! jq programs over good, odd and hostile answers.

use std::time::{Duration, SystemTime};

use sakuin::{MapError, Mapping};

#[track_caller]
fn run(program: &str, json: &[u8]) -> Result<String, MapError> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
    let output = Mapping::compile(program).unwrap().run(json, "01012", now)?;
    Ok(String::from_utf8(output).unwrap())
}

#[track_caller]
fn check(program: &str, json: &str, wanted: &str) {
    assert_eq!(run(program, json.as_bytes()).as_deref(), Ok(wanted));
}

#[track_caller]
fn check_failure(program: &str, json: &[u8], wanted: &str) {
    assert_eq!(run(program, json).unwrap_err().to_string(), wanted);
}

#[track_caller]
fn check_refused(program: &str, wanted: &str) {
    let Err(error) = Mapping::compile(program) else { panic!("`{program}` compiles") };
    assert_eq!(error.to_string(), format!("the mapping is no jq: {wanted}"));
}

#[test]
fn shapes() {
    check(".a | map({n: .b})", r#"{"a": [{"b": 1}, {"b": 2}]}"#, r#"[{"n":1},{"n":2}]"#);
    check("{$key, $now}", "null", r#"{"key":"01012","now":1.5}"#);
    check(".[]", "[1, 2, 3]", "1");
    check(".", "  \n", "null");
    check(".", "", "null");
    check(
        ".",
        r#"["0.0", 0.0, 12345678901234567890, "é\u0000"]"#,
        "[\"0.0\",0.0,12345678901234567890,\"é\\u0000\"]",
    );
    check("def f: if . < 3 then . + 1 | f end; map(f)", "[0, 9]", "[3,9]");
    check(r#""\(def f: 1; f)""#, "null", r#""1""#);
    check("[paths]", r#"{"a":[1]}"#, r#"[["a"],["a",0]]"#);
    check("(.. | select(. == 1)) |= 2", r#"{"a":[1,1]}"#, r#"{"a":[2,2]}"#);
    check("path(recurse)", "1", "[]");
    check("[recurse(if . < 3 then . + 1 else empty end)]", "0", "[0,1,2,3]");
    check("recurse(.[]?) |= .", "[[1]]", "[[1]]");
    check("[limit(3; repeat(1))]", "null", "[1,1,1]");
    check("fromjson", r#""[1]""#, "[1]");
    check("try error(\"x\") catch .", "null", r#""x""#);
}

#[test]
fn loops_in_tail_position_take_no_stack() {
    check("until(. == 150000; . + 1)", "0", "150000");
    check("def f: if . == 150000 then . else . + 1 | f end; f", "0", "150000");
}

#[test]
fn programs_that_are_none() {
    check_refused(".a |", "line 1, column 5: expected term");
    check_refused(
        "{\n  a: .b,\n  c: nope(1)\n}",
        "line 3, column 6: there is no filter `nope/1` here",
    );
    check_refused("$secret", "line 1, column 1: there is no variable `$secret` here");
    check_refused(". as [$a", "line 1, column 9: expected closing bracket");
    check_refused(&"(".repeat(100_000), "nested deeper than 128 levels");
}

#[test]
fn nothing_beyond_the_input() {
    for name in ["env", "now", "input", "inputs", "halt", "halt_error", "input_filename"] {
        check_refused(name, &format!("line 1, column 1: there is no filter `{name}/0` here"));
    }
    check_refused("halt(1)", "line 1, column 1: there is no filter `halt/1` here");
    check_refused("$ENV.HOME", "line 1, column 1: there is no variable `$ENV` here");
    check_refused("include \"a\"; .", "line 1, column 10: module loading not supported");
    check_refused("import \"a\" as $a; $a", "line 1, column 9: a mapping reads no files");
}

#[test]
fn answers_that_are_none() {
    check_failure(".", b"<html>", "the answer is no JSON: expected value at line 1 column 1");
    check_failure(
        ".",
        b"[1, 2",
        "the answer is no JSON: EOF while parsing a list at line 1 column 5",
    );
    check_failure(".", b"[1] 2", "the answer is no JSON: trailing characters at line 1 column 5");
    check_failure(".", b"NaN", "the answer is no JSON: expected value at line 1 column 1");
    check_failure(
        ".",
        b"\"\xff\"",
        "the answer is no JSON: invalid utf-8 sequence of 1 bytes from index 1",
    );
    let digits = "9".repeat(1 << 20);
    check("length", &format!("\"{digits}\""), "1048576");
    let within = run("fromjson", format!("\"{digits}\"").as_bytes()).unwrap_err().to_string();
    assert!(within.starts_with("the mapping failed: cannot parse \"999"), "{within}");
    check_failure(
        ".",
        digits.as_bytes(),
        "the answer is no JSON: a number of more than 1024 digits",
    );
}

#[test]
fn failures_name_the_place_if_it_is_one() {
    let answer = br#"{"buses": [{"no": "15"}, {"no": 7}]}"#;
    check_failure(
        ".buses | map(.no | .x)",
        answer,
        "the mapping failed: cannot index \"15\" with \"x\", at `.buses[0].no`",
    );
    check_failure(
        ".buses | map(.no | test(\"1\"))",
        answer,
        "the mapping failed: cannot use 7 as string, at `.buses[1].no`",
    );
    check_failure("map(.x)", br#"["a", "a"]"#, "the mapping failed: cannot index \"a\" with \"x\"");
    check_failure(
        ".[\"odd name\"] | .x",
        br#"{"odd name": "b"}"#,
        "the mapping failed: cannot index \"b\" with \"x\", at `[\"odd name\"]`",
    );
    check_failure("error(\"no buses\")", b"{}", "the mapping failed: no buses");
    check_failure("empty", b"{}", "the mapping gave no output");
}

#[test]
fn a_message_is_cut() {
    let long = format!("\"{}\"", "a".repeat(1 << 20));
    let message = run(".x", long.as_bytes()).unwrap_err().to_string();
    assert!(message.len() < 400, "{message}");
}

#[test]
fn outputs_that_json_cannot_say() {
    check_failure(
        "{a: [nan]}",
        b"",
        "the mapping gave what JSON cannot say: not a number at `.a[0]`",
    );
    check_failure(
        "infinite",
        b"",
        "the mapping gave what JSON cannot say: an infinite number at `.`",
    );
    check_failure(
        "{(1): 2}",
        b"",
        "the mapping gave what JSON cannot say: a key that is no text at `.1`",
    );
    check_failure("\"a\" | tobytes", b"", "the mapping gave what JSON cannot say: bytes at `.`");
}

#[test]
fn nesting_beyond_the_limit() {
    let deepest = format!("{}{}", "[".repeat(128), "]".repeat(128));
    check(".", &deepest, &deepest);
    for levels in [129, 100_000] {
        check_failure(
            ".",
            "[".repeat(levels).as_bytes(),
            "the answer is nested deeper than 128 levels",
        );
    }
    let objects = "{\"a\":".repeat(100_000);
    check_failure(".", objects.as_bytes(), "the answer is nested deeper than 128 levels");
    check(
        ".",
        &format!("\"{}\\\"[\"", "[".repeat(1000)),
        &format!("\"{}\\\"[\"", "[".repeat(1000)),
    );
    check_failure(
        "reduce range(129) as $i (0; [.])",
        b"",
        "the answer is nested deeper than 128 levels",
    );
}

#[test]
fn nesting_within_a_text() {
    let text = format!("\"{}\"", "[".repeat(100_000));
    let message = run("fromjson", text.as_bytes()).unwrap_err().to_string();
    assert!(message.starts_with("the mapping failed: cannot parse "), "{message}");
    check("fromjson? // \"no\"", &text, "\"no\"");
}

/// Recursions as deep as the answer says, in a program of the user's and in those of jq.
#[test]
fn recursion_driven_by_the_answer() {
    for program in [
        "def f: if . == 0 then 0 else 1 + (. - 1 | f) end; f",
        "def f(g): if . == 0 then g else . - 1 | f(g + 1) end; f(0)",
        "[recurse(if . > 0 then . - 1 else empty end)] | length",
        "[while(. > 0; . - 1)] | length",
        "def f(g): if . == 0 then g else . - 1 | f(g + 1) end; [., f(0)]",
        "def f(g): if . == 0 then 1 else . - 1 | f([g]) end; f(0)",
        "[range(.)] | length",
        "reduce range(.) as $i (0; . + $i)",
        "[limit(.; repeat(1))] | length",
    ] {
        let error = run(program, b"3000000").unwrap_err().to_string();
        let bounds = ["recursion goes too deep", "more than 200000 steps"];
        assert!(bounds.iter().any(|bound| error.ends_with(bound)), "{program}: {error}");
    }
    check_failure("def f: 1 + f; f", b"", "the mapping failed: recursion goes too deep");
}

#[test]
fn a_value_nested_by_the_program() {
    check_failure(
        "reduce range(.) as $i (0; [.])",
        b"100000",
        "the answer is nested deeper than 128 levels",
    );
}
