//! The rule of positions, held from outside: an XML parser walks the canonical HTML as the page's
//! script walks the page, and must find the text that is scanned.

use proptest::prelude::*;
use quick_xml::{Reader, events::Event};
use sakuin_server::{Passage, pieces, plain, without_ruby};

/// Text nodes outside `rt` and `rp`; a line feed for each `br` and each end of a `p`.
fn walk(html: &str) -> String {
    let whole = format!("<div>{html}</div>");
    let mut reader = Reader::from_str(&whole);
    let (mut text, mut aside) = (String::new(), 0);
    loop {
        match reader.read_event().expect("canonical HTML is XHTML") {
            Event::Start(tag) if matches!(tag.name().as_ref(), "rt" | "rp") => aside += 1,
            Event::End(tag) if matches!(tag.name().as_ref(), "rt" | "rp") => aside -= 1,
            Event::End(tag) if tag.name().as_ref() == "p" => text.push('\n'),
            Event::Empty(tag) if tag.name().as_ref() == "br" => text.push('\n'),
            Event::Text(data) if aside == 0 => text.push_str(data.as_ref()),
            Event::GeneralRef(name) if aside == 0 => text.push(match name.as_ref() {
                "amp" => '&',
                "lt" => '<',
                "gt" => '>',
                "quot" => '"',
                other => panic!("&{other};"),
            }),
            Event::Eof => return text,
            _ => {}
        }
    }
}

fn body(source: &str) -> String {
    let passage = Passage::body(source);
    assert_eq!(walk(&passage.html), plain(&passage.pieces), "{}", passage.html);
    passage.html
}

#[test]
fn canonical_forms() {
    for (source, html) in [
        ("犬。", "<p>犬。</p>"),
        ("一行。\n\n二行。\r\n", "<p>一行。</p><p>二行。</p>"),
        ("　字下げ", "<p>　字下げ</p>"),
        ("a < b & c", "<p>a &lt; b &amp; c</p>"),
        (
            "｜大木《たいぼく》と花《はな》",
            "<p><ruby>大木<rt>たいぼく</rt></ruby>と<ruby>花<rt>はな</rt></ruby></p>",
        ),
        ("《》と《花》と花《はな", "<p>《》と《花》と花《はな</p>"),
        ("<p>一</p>\n<p>二<br>三</p>", "<p>一</p><p>二<br/>三</p>"),
        ("<h1>題</h1>文<div>段</div>", "<p>題</p><p>文</p><p>段</p>"),
        ("<p>a <b>b</b> <i>c</i></p>", "<p>a<strong> b</strong><em> c</em></p>"),
        ("<em>一<p>二</p></em>", "<p><em>一</em></p><p><em>二</em></p>"),
        ("<p>日本\n  語 で\nword\nword</p>", "<p>日本語 でword word</p>"),
        ("<a href=x onclick=y>字</a><script>x</script><img src=x>", "<p>字</p>"),
        (
            "<p>&lt;b&gt;&amp;&quot;&nbsp;&#x1f;&#0;</p>",
            "<p>&lt;b&gt;&amp;&quot;\u{a0}\u{fffd}</p>",
        ),
    ] {
        assert_eq!(body(source), html, "{source}");
    }
}

#[test]
fn ruby_however_it_is_written() {
    let kanji = "<p><ruby>漢<rt>かん</rt></ruby><ruby>字<rt>じ</rt></ruby></p>";
    for source in [
        "<ruby>漢<rt>かん</rt></ruby><ruby>字<rt>じ</rt></ruby>",
        "<ruby>漢<rt>かん</rt></ruby> <ruby>字<rt>じ</rt></ruby>",
        "<ruby>漢<rt>かん</rt></ruby>\n<ruby>字<rt>じ</rt></ruby>",
        "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>",
        "<ruby>漢<rt>かん字<rt>じ</ruby>".replace("かん字", "かん</rt>字").as_str(),
        "<ruby><rb>漢</rb><rb>字</rb><rt>かん</rt><rt>じ</rt></ruby>",
        "<ruby>\n <rb>漢<rb>字\n <rt>かん<rt>じ\n</ruby>",
        "<ruby><b>漢</b><rt><span>かん</span></rt><span>字</span><rt>じ</rt></ruby>",
        "<ruby><ruby>漢<rt>かん</rt></ruby><ruby>字<rt>じ</rt></ruby><rt>kanji</rt></ruby>",
        "漢《かん》字《じ》",
    ] {
        assert_eq!(body(source), kanji, "{source}");
    }
    for (source, html) in [
        (
            "<ruby><rb>漢</rb><rb>字</rb><rt>かんじ</rt></ruby>",
            "<p><ruby>漢字<rt>かんじ</rt></ruby></p>",
        ),
        ("<ruby>漢<rt></rt></ruby>字", "<p>漢字</p>"),
        ("<ruby><rt>かん</rt></ruby>字", "<p>字</p>"),
        ("<ruby>漢字</ruby>", "<p>漢字</p>"),
        ("<ruby>漢<rt>かん", "<p><ruby>漢<rt>かん</rt></ruby></p>"),
        ("</rt></ruby><rt>か</rt>字", "<p>か字</p>"),
    ] {
        assert_eq!(body(source), html, "{source}");
    }
}

#[test]
fn pieces_keep_the_borders_of_ruby() {
    let passage = Passage::body("その<ruby>食<rt>た</rt></ruby>べ物");
    let found: Vec<_> = pieces(&passage.pieces).collect();
    assert_eq!(found, [("その", None), ("食", Some("た")), ("べ物\n", None)]);
    assert_eq!(without_ruby(&passage.html), "<p>その食べ物</p>");
}

#[test]
fn a_title_is_one_line() {
    let title = Passage::title("<h1>朝の\n<ruby>犬<rt>いぬ</rt></ruby><br>と<em>猫</em></h1>");
    assert_eq!(title.html, "朝の<ruby>犬<rt>いぬ</rt></ruby> と<em>猫</em>");
    assert_eq!(plain(&title.pieces), "朝の犬 と猫");
}

#[test]
fn hostile_ruby_costs_linear_time() {
    // A quadratic reader takes minutes for these.
    for unit in ["《", "《》", "｜", "漢《", "漢《《", "<ruby>", "<ruby>漢<rt>"] {
        let text = unit.repeat(1 << 20);
        assert!(!Passage::text(&text).is_empty());
    }
}

proptest! {
    #[test]
    fn positions_agree_whatever_comes_in(parts in prop::collection::vec(prop::sample::select(PARTS), 0..24)) {
        let source = parts.concat();
        for passage in [Passage::body(&source), Passage::title(&source), Passage::text(&source)] {
            prop_assert_eq!(walk(&passage.html), plain(&passage.pieces), "{} -> {}", source, passage.html);
            prop_assert_eq!(walk(&without_ruby(&passage.html)), plain(&passage.pieces));
            // What is canonical stays as it is.
            prop_assert_eq!(Passage::body(&passage.html).html, Passage::body(&Passage::body(&passage.html).html).html);
        }
    }
}

const PARTS: &[&str] = &[
    "<p>",
    "</p>",
    "<br>",
    "<div>",
    "</div>",
    "<em>",
    "</em>",
    "<b>",
    "</b>",
    "<ruby>",
    "</ruby>",
    "<rb>",
    "<rt>",
    "</rt>",
    "<rp>",
    "(",
    "</rp>",
    "<rtc>",
    "</rtc>",
    "<table><td>",
    "<span>",
    "</span>",
    "漢",
    "字",
    "かん",
    "じ",
    "𠮟",
    " ",
    "\n",
    "\t",
    "　",
    "word",
    "&amp;",
    "&lt;",
    "&nbsp;",
    "<",
    ">",
    "&",
    "\u{1e}",
    "\u{1f}",
    "\0",
    "《",
    "》",
    "｜",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "\"",
];
