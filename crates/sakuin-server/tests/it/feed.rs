//! The feed, read back by a reader of feeds.

use crate::support::Site;

fn feed(site: &Site, path: &str) -> feed_rs::model::Feed {
    let answer = site.get(path);
    assert_eq!(answer.header("content-type"), "application/rss+xml; charset=utf-8");
    feed_rs::parser::parse(&answer.body[..]).unwrap()
}

#[test]
fn the_newest_stories_come_first_with_their_furigana() {
    let site = Site::with_stories();
    let feed = feed(&site, "/feed/");
    let titles: Vec<_> =
        feed.entries.iter().map(|entry| entry.title.as_ref().unwrap().content.as_str()).collect();
    assert_eq!(titles, ["食べたくない", "公園", "朝の犬"]);
    let last = &feed.entries[2];
    assert_eq!(last.links[0].href, format!("{}story/1/", site.url));
    assert_eq!(last.id, last.links[0].href);
    assert_eq!(last.published.unwrap().to_rfc3339(), "2026-11-18T00:00:00+00:00");
    let content = &last.summary.as_ref().unwrap().content;
    assert_eq!(
        content,
        "<p>朝、犬は公園を散歩した。</p><p>それから<ruby>食<rt>た</rt></ruby>べた。</p>"
    );
    assert!(feed.links.iter().any(|link| link.href == format!("{}feed/", site.url)));
}

#[test]
fn without_furigana_on_request() {
    let site = Site::with_stories();
    let feed = feed(&site, "/feed/?furigana=no");
    let content = &feed.entries[2].summary.as_ref().unwrap().content;
    assert_eq!(content, "<p>朝、犬は公園を散歩した。</p><p>それから食べた。</p>");
}

#[test]
fn fifty_at_most_and_markup_survives() {
    let site = Site::start("", "/", &crate::support::limits());
    let line = |n| {
        format!(
            "{{\"date\":\"2026-11-20\",\"title\":\"題 {n} &\",\"content\":\"<p>a &lt;]]> {n}</p>\"}}\n"
        )
    };
    site.add(&(0..60).map(line).collect::<String>());
    let feed = feed(&site, "/feed/");
    assert_eq!(feed.entries.len(), 50);
    assert_eq!(feed.entries[0].title.as_ref().unwrap().content, "題 59 &");
    assert_eq!(feed.entries[0].summary.as_ref().unwrap().content, "<p>a &lt;]]&gt; 59</p>");
}

#[test]
fn a_date_alone_is_enough_to_ask_again() {
    let site = Site::with_stories();
    let changed = site.get("/feed/").header("last-modified").to_owned();
    assert_eq!(site.get_with("/feed/", &[("if-modified-since", &changed)]).status, 304);
    let before = "Thu, 01 Jan 2026 00:00:00 GMT";
    assert_eq!(site.get_with("/feed/", &[("if-modified-since", before)]).status, 200);
}
