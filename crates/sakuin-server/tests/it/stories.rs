//! Adding stories and finding them again.

use sakuin_server::{Added, Content, Day, ImportError, Passage, Period, Report, Stories, import};

use crate::support::STORIES;

fn wait<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn content(date: &str, title: &str) -> Content {
    Content {
        date: Day::parse(date).unwrap(),
        title: Passage::title(title),
        body: Passage::body("本文。"),
        image: None,
        audio: None,
        source: None,
    }
}

fn titles(stories: &[sakuin_server::Story]) -> Vec<&str> {
    stories.iter().map(|story| &story.content.title.html[..]).collect()
}

#[test]
fn days_know_their_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let stories = Stories::open(&folder.path().join("s.db")).await.unwrap();
        assert!(stories.latest_day().await.unwrap().is_none());
        assert_eq!(stories.random().await.unwrap(), None);
        for (date, title) in
            [("2026-11-18", "a"), ("2026-11-20", "b"), ("2026-11-20", "c"), ("2027-01-01", "d")]
        {
            assert_eq!(stories.add(&content(date, title)).await.unwrap(), Added::New);
        }
        let day = stories.day(Day::parse("2026-11-20").unwrap()).await.unwrap().unwrap();
        assert_eq!(titles(&day.stories), ["b", "c"]);
        assert_eq!(day.previous, Day::parse("2026-11-18"));
        assert_eq!(day.next, Day::parse("2027-01-01"));
        assert!(stories.day(Day::parse("2026-11-19").unwrap()).await.unwrap().is_none());
        let latest = stories.latest_day().await.unwrap().unwrap();
        assert_eq!((latest.day.to_string().as_str(), latest.next), ("2027-01-01", None));

        assert_eq!(titles(&stories.recent(3).await.unwrap()), ["d", "c", "b"]);
        let of = async |year: &str, month| {
            let period = Period::from_parts(year, month, None).unwrap();
            titles(&stories.period(period).await.unwrap()).join("")
        };
        assert_eq!(of("2026", None).await, "abc");
        assert_eq!(of("2026", Some("11")).await, "abc");
        assert_eq!(of("2027", Some("11")).await, "");
        assert_eq!(stories.count().await.unwrap(), 4);
        let story = stories.story(3).await.unwrap().unwrap();
        assert_eq!(story.content, content("2026-11-20", "c"));
        assert!(stories.story(5).await.unwrap().is_none());
    });
}

#[test]
fn chance_reaches_every_story_and_only_stories() {
    let folder = tempfile::tempdir().unwrap();
    wait(async {
        let stories = Stories::open(&folder.path().join("s.db")).await.unwrap();
        for title in ["a", "b", "c"] {
            stories.add(&content("2026-11-20", title)).await.unwrap();
        }
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            seen.insert(stories.random().await.unwrap().unwrap());
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
    });
}

#[test]
fn the_same_again_is_unchanged_and_the_same_source_is_an_update() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let add = |text: &str| import(&file, "stories.jsonl", text.as_bytes()).unwrap();
    assert_eq!(add(STORIES), Report { added: 3, updated: 0, unchanged: 0 });
    assert_eq!(add(STORIES), Report { added: 0, updated: 0, unchanged: 3 });
    let changed = STORIES.replace("それから", "あとで");
    assert_eq!(add(&changed), Report { added: 0, updated: 1, unchanged: 2 });
    wait(async {
        let stories = Stories::open(&file).await.unwrap();
        let first = stories.story(1).await.unwrap().unwrap();
        assert!(first.content.body.html.contains("あとで"), "an update keeps the story's address");
        assert_eq!(stories.count().await.unwrap(), 3);
    });
}

#[test]
fn a_bad_line_is_named_and_nothing_of_its_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    let good = r#"{"date":"2026-11-20","title":"a","content":"b"}"#;
    let refusal = |bad: &str| {
        let text = format!("{good}\n\n{bad}\n");
        import(&file, "stories.jsonl", text.as_bytes()).unwrap_err().to_string()
    };
    insta::assert_snapshot!(refusal("{\"date\":"), @"stories.jsonl:3: EOF while parsing a value, at column 8");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-20","title":"a"}"#), @"stories.jsonl:3: missing field `content`, at column 33");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-31","title":"a","content":"b"}"#), @"stories.jsonl:3: `date` is `2026-11-31`, not a day written YYYY-MM-DD");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-20","title":" <p></p>","content":"b"}"#), @"stories.jsonl:3: `title` holds no text");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-20","title":"a","content":"<script>b</script>"}"#), @"stories.jsonl:3: `content` holds no text");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-20","title":"a","content":"b","img":"x"}"#), @"stories.jsonl:3: unknown field `img`, expected one of `date`, `title`, `content`, `image`, `audio`, `source`, at column 52");
    insta::assert_snapshot!(refusal(r#"{"date":"2026-11-20","title":"a","content":"b","image":"javascript:x"}"#), @"stories.jsonl:3: `image` is `javascript:x`, neither a web address nor a path that begins with `/`");
    let long = format!("{{\"date\":\"{}", "x".repeat(5 << 20));
    insta::assert_snapshot!(refusal(&long), @"stories.jsonl:3: the line is longer than 4 MiB");
    let invalid = import(&file, "stories.jsonl", &b"{\"date\":\"\xff\"}"[..]).unwrap_err();
    assert!(matches!(invalid, ImportError::Line { line: 1, .. }), "{invalid}");
    wait(async {
        assert_eq!(Stories::open(&file).await.unwrap().count().await.unwrap(), 0);
    });
}

#[test]
fn a_whole_file_may_stand_in_one_transaction_beside_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.db");
    wait(async {
        let (writer, reader) =
            (Stories::open(&file).await.unwrap(), Stories::open(&file).await.unwrap());
        let mut writing = writer.begin().await.unwrap();
        writing.add(&content("2026-11-20", "a")).await.unwrap();
        assert_eq!(reader.count().await.unwrap(), 0);
        writing.commit().await.unwrap();
        assert_eq!(reader.count().await.unwrap(), 1);
    });
}
