//! Every route as a browser sees it.

use serde_json::json;

use crate::support::{Answer, STORIES, Site, limits};

/// Asserts what must stand on every page, and returns its text.
fn page(answer: &Answer, status: u16) -> &str {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    let text = answer.text();
    for credit in
        ["EDICT", "2021-02-03", "KANJIDIC", "2022-08-23", "Electronic Dictionary Research"]
    {
        assert!(text.contains(credit), "{credit} is missing in {text}");
    }
    assert!(!text.contains("<script>") && !text.contains(" onclick="), "scripts stand in files");
    text
}

#[test]
fn every_page_carries_credit_and_dates() {
    let site = Site::with_stories();
    for path in ["/", "/2026/11/18/", "/2026/11/20/", "/story/1/", "/read/", "/about/"] {
        page(&site.get(path), 200);
    }
    for (path, status) in [
        ("/2026/11/19/", 404),
        ("/2026/11/31/", 400),
        ("/2026/xi/20/", 400),
        ("/story/9/", 404),
        ("/story/one/", 404),
        ("/nothing/", 404),
        ("/assets/reader-0.css", 404),
        ("/feed/?furigana=perhaps", 400),
        ("/epub/2025/", 404),
        ("/epub/2026/13/", 400),
    ] {
        let answer = site.get(path);
        assert!(page(&answer, status).contains(&status.to_string()), "{path}");
    }
    page(&site.post("/about/", b""), 405);
}

#[test]
fn a_day_shows_its_stories_and_its_neighbours() {
    let site = Site::with_stories();
    let latest = site.get("/");
    let text = page(&latest, 200);
    assert_eq!(text, site.get("/2026/11/20/").text());
    assert!(text.contains("<ruby>公園<rt>こうえん</rt></ruby>"));
    assert!(text.contains("&lt;何も&gt; 食べたくなかった &amp; 寝た"));
    assert!(text.contains("href=\"/2026/11/18/\""));
    assert!(text.contains("https://example.org/park.jpg"));
    let earlier = site.get("/2026/11/18/");
    assert!(page(&earlier, 200).contains("href=\"/2026/11/20/\""));
}

/// The surface and the headwords of each match of a text, as the page's script would show them.
fn explained(dictionary: &serde_json::Value, index: usize, text: &str) -> Vec<(String, String)> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
    let matches = dictionary["texts"][index].as_array().unwrap();
    matches
        .iter()
        .map(|found| {
            let (start, length) = (number(&found[0]), number(&found[1]));
            let entry = &dictionary["entries"][number(&found[2][0][0])];
            let surface = String::from_utf16(&units[start..start + length]).unwrap();
            (surface, entry["headwords"][0].as_str().unwrap().to_owned())
        })
        .collect()
}

#[test]
fn every_word_of_a_page_explains_itself() {
    let site = Site::with_stories();
    let dictionary = site.get("/2026/11/18/").sub_dictionary();
    assert_eq!(dictionary["texts"].as_array().unwrap().len(), 2);
    let pair = |surface: &str, head: &str| (surface.to_owned(), head.to_owned());
    assert_eq!(explained(&dictionary, 0, "朝の犬"), [pair("朝", "朝"), pair("犬", "犬")]);
    let body = "朝、犬は公園を散歩した。\nそれから食べた。\n";
    let words = explained(&dictionary, 1, body);
    for expected in [pair("公園", "公園"), pair("散歩した", "散歩"), pair("食べた", "食べる")]
    {
        assert!(words.contains(&expected), "{expected:?} in {words:?}");
    }

    let all = site.get("/dictionary/words?story=1");
    assert_eq!((all.status, all.header("content-type")), (200, "application/json"));
    let found = explained(&all.json(), 1, body);
    assert!(words.iter().all(|word| found.contains(word)), "{words:?} in {found:?}");
    let names = site.get("/dictionary/names?story=1");
    assert_eq!(names.json()["entries"], json!([]));
}

#[test]
fn a_text_of_ones_own_is_explained() {
    let site = Site::with_stories();
    let pasted = "text=%E7%8A%AC%E3%82%92%0D%0A%E9%A3%9F%E3%80%8A%E3%81%9F%E3%80%8B%E3%81%B9%E3%82%8B%3Cb%3E";
    let answer = site.post("/read/", pasted.as_bytes());
    let text = page(&answer, 200);
    assert_eq!(answer.header("cache-control"), "no-store");
    assert!(text.contains("<p>犬を</p><p><ruby>食<rt>た</rt></ruby>べる&lt;b&gt;</p>"), "{text}");
    let shown = "犬を\n食べる<b>\n";
    let pair = |surface: &str, head: &str| (surface.to_owned(), head.to_owned());
    let expected = [pair("犬", "犬"), pair("食べる", "食べる")];
    assert_eq!(explained(&answer.sub_dictionary(), 0, shown), expected);
    let words = site.post("/dictionary/words", "犬を\r\n食《た》べる<b>".as_bytes());
    let words = explained(&words.json(), 0, shown);
    assert!(expected.iter().all(|word| words.contains(word)), "{words:?}");

    let long = [b"text=".to_vec(), b"a".repeat((64 << 10) + 1)].concat();
    assert!(page(&site.post("/read/", &long), 413).contains("64 KiB"));
    assert_eq!(site.post("/dictionary/words", &long).status, 413);
    assert!(page(&site.post("/read/", b"text="), 200).contains("<form"));
    assert!(page(&site.post("/read/", b""), 200).contains("<form"));
}

#[test]
fn one_kanji() {
    let site = Site::with_stories();
    let answer = site.get("/kanji/%E9%A3%9F");
    assert_eq!(answer.json()["strokes"], 9);
    assert_eq!(site.get("/kanji/%E6%A3%AE").status, 404);
    let wrong = site.get("/kanji/%E9%A3%9F%E3%81%B9");
    assert_eq!((wrong.status, wrong.header("content-type")), (400, "application/problem+json"));
    assert_eq!(wrong.json()["detail"], "`食べ` is not one character");
}

#[test]
fn chance_leads_to_a_story() {
    let site = Site::with_stories();
    let answer = site.get("/random/");
    assert_eq!((answer.status, answer.header("cache-control")), (302, "no-store"));
    page(&site.get(answer.header("location")), 200);
}

#[test]
fn a_site_without_stories_says_how_to_add_some() {
    let site = Site::start("", "/", &limits());
    assert!(page(&site.get("/"), 200).contains("sakuin stories add"));
    assert_eq!(site.get("/random/").header("location"), "/");
    assert_eq!(site.get("/feed/").status, 200);
    // Stories appear without a restart.
    assert_eq!(site.add(STORIES).added, 3);
    assert!(page(&site.get("/"), 200).contains("公園"));
}

#[test]
fn a_site_below_a_path_stays_below_it() {
    let site = Site::start(STORIES, "/reader", &limits());
    let answer = site.get("/reader/");
    let text = page(&answer, 200);
    for address in text.split("href=\"").skip(1).map(|after| after.split('"').next().unwrap()) {
        let below = address.starts_with("/reader/")
            || ["#", "data:", "http"].iter().any(|start| address.starts_with(start));
        assert!(below, "{address}");
    }
    let style = text.split("rel=\"stylesheet\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(site.get(style).status, 200);
    assert_eq!(site.get("/reader/about?a=b").header("location"), "/reader/about/?a=b");
    assert_eq!(site.post("/v1/scan", "犬".as_bytes()).status, 200);
    page(&site.get("/"), 404);
}

#[test]
fn assets_are_kept_for_ever() {
    let site = Site::with_stories();
    let page = site.get("/");
    for (part, content_type) in [
        ("/assets/reader-", "text/css; charset=utf-8"),
        ("src=\"/assets/reader-", "text/javascript; charset=utf-8"),
    ] {
        let address = page.text().split(part).nth(1).unwrap().split('"').next().unwrap();
        let answer = site.get(&format!("/assets/reader-{address}"));
        assert_eq!((answer.status, answer.header("content-type")), (200, content_type));
        assert!(answer.header("cache-control").contains("immutable"));
    }
}

#[test]
fn a_page_that_is_known_is_not_sent_again() {
    let site = Site::with_stories();
    for path in
        ["/", "/story/2/", "/about/", "/dictionary/words?story=2", "/feed/", "/epub/2026/11/20/"]
    {
        let tag = site.get(path).header("etag").to_owned();
        assert!(tag.starts_with("W/\""), "{path}: {tag}");
        let again = site.get_with(path, &[("if-none-match", &format!("\"x\", {tag}"))]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(site.get_with(path, &[("if-none-match", "\"x\"")]).status, 200);
    }
    let tag = site.get("/").header("etag").to_owned();
    site.add("{\"date\":\"2026-11-20\",\"title\":\"題\",\"content\":\"文\"}");
    assert_eq!(
        site.get_with("/", &[("if-none-match", &tag)]).status,
        200,
        "another story, another page"
    );
}

#[test]
fn answers_are_compressed_for_those_who_ask() {
    use std::io::Read;
    let site = Site::with_stories();
    let plain = site.get("/");
    assert_eq!(plain.header("content-encoding"), "");
    let answer = site.get_with("/", &[("accept-encoding", "br")]);
    assert_eq!(
        (answer.header("content-encoding"), answer.header("vary")),
        ("br", "accept-encoding")
    );
    let mut decoded = Vec::new();
    brotli::Decompressor::new(&answer.body[..], 4096).read_to_end(&mut decoded).unwrap();
    assert!(decoded == plain.body);
    let answer = site.get_with("/", &[("accept-encoding", "gzip")]);
    assert_eq!(answer.header("content-encoding"), "gzip");
    let mut decoded = Vec::new();
    flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut decoded).unwrap();
    assert!(decoded == plain.body);
}

#[test]
fn scanning_plain_text() {
    let site = Site::with_stories();
    let answer = site.post("/v1/scan", "犬は食べません".as_bytes());
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    let found = answer.json();
    assert_eq!(found["characters"], 7);
    let surfaces: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["surface"].as_str().unwrap())
        .collect();
    assert!(surfaces.contains(&"犬") && surfaces.contains(&"食べません"), "{surfaces:?}");
    assert_eq!(found["dictionaries"][0], json!({"name": "KANJIDIC", "date": "2022-08-23"}));
    assert!(found["licence"].as_str().unwrap().contains("Electronic Dictionary Research"));
}

#[test]
fn a_long_answer_arrives_whole() {
    let site = Site::with_stories();
    let sentence = "犬は食べません。";
    let times = (1 << 20) / sentence.len();
    let answer = site.post("/v1/scan", sentence.repeat(times).as_bytes());
    assert!(answer.body.len() > 8 << 20, "{} bytes", answer.body.len());
    let found = answer.json();
    assert_eq!(found["characters"], 8 * times);
    let matches = found["matches"].as_array().unwrap();
    let last = matches.iter().rfind(|found| found["surface"] == "犬").unwrap();
    assert_eq!(last["start"], 8 * (times - 1));
}

#[test]
fn scans_are_refused_with_cause_and_cure() {
    let site = Site::with_stories();
    let invalid = site.post("/v1/scan", b"\xe7\x8a\xac\xff");
    assert_eq!((invalid.status, invalid.header("content-type")), (400, "application/problem+json"));
    assert_eq!(
        invalid.json(),
        json!({"title": "Bad Request", "status": 400, "detail": "byte 3 of the body is not UTF-8", "hint": "send the text as UTF-8"})
    );
    assert_eq!(site.post("/v1/scan", &vec![b'a'; 1 << 20]).status, 200);
    let long = site.post("/v1/scan", &vec![b'a'; (1 << 20) + 1]);
    assert_eq!(
        (long.status, &long.json()["detail"]),
        (413, &json!("the body is longer than 1048576 bytes"))
    );
    assert_eq!(site.get("/v1/scan").status, 405);
}

#[test]
fn a_full_pool_tells_the_client_to_come_back() {
    let mut limits = limits();
    (limits.workers, limits.waiting) = (0, 0);
    let site = Site::start(STORIES, "/", &limits);
    let answer = site.get("/");
    page(&answer, 503);
    assert_eq!(answer.header("retry-after"), "1");
    let answer = site.post("/v1/scan", b"a");
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"));
}
