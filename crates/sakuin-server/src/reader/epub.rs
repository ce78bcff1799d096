//! The stories of a day, a month or a year as a book: EPUB 3, with or without furigana.
//!
//! A book is a zip archive whose first file names its type, uncompressed; then come the container, the
//! package (what is in the book), the table of contents, and a chapter per story. The same stories give
//! the same bytes. Pictures and sound stay on the site: a book may not fetch them.

use std::io::{Cursor, Write};

use axum::{
    extract::{Path, Query, State},
    http::{HeaderValue, header},
    response::Response,
};
use zip::{CompressionMethod, ZipWriter, result::ZipResult, write::SimpleFileOptions};

use super::{Furigana, Reader, Wishes, day::Period, html, stories::Story};
use crate::reply::{Asked, Fault, Keep, Reply};

/// `epub/2026/`.
pub(super) async fn year(
    State(reader): State<Reader>,
    asked: Asked,
    Path(year): Path<String>,
    Query(wishes): Query<Wishes>,
) -> Result<Response, Fault> {
    book(reader, asked, Period::from_parts(&year, None, None), wishes).await
}

/// `epub/2026/11/`.
pub(super) async fn month(
    State(reader): State<Reader>,
    asked: Asked,
    Path((year, month)): Path<(String, String)>,
    Query(wishes): Query<Wishes>,
) -> Result<Response, Fault> {
    book(reader, asked, Period::from_parts(&year, Some(&month), None), wishes).await
}

/// `epub/2026/11/20/`.
pub(super) async fn day(
    State(reader): State<Reader>,
    asked: Asked,
    Path((year, month, day)): Path<(String, String, String)>,
    Query(wishes): Query<Wishes>,
) -> Result<Response, Fault> {
    book(reader, asked, Period::from_parts(&year, Some(&month), Some(&day)), wishes).await
}

async fn book(
    reader: Reader,
    asked: Asked,
    period: Option<Period>,
    wishes: Wishes,
) -> Result<Response, Fault> {
    let Some(period) = period else {
        let cure = "write /epub/2026/11/20/, /epub/2026/11/ or /epub/2026/";
        return Err(Fault::bad_request("that is no day, month or year", cure));
    };
    let stories = reader.stories.period(period).await?;
    if stories.is_empty() {
        let cause = format!("there is no story of {}", period.prefix());
        return Err(Fault::not_found(cause, "go on from the latest stories"));
    }
    let kind = if wishes.furigana == Furigana::Yes { "book" } else { "book without furigana" };
    let prefix = period.prefix();
    let hashes = stories.iter().map(|story| &story.hash[..]);
    let tag = reader.shared.tag([kind, &prefix].into_iter().chain(hashes));
    if let Some(same) = asked.not_modified(&tag) {
        return Ok(same);
    }
    let work = move || {
        let body = write(period, &stories, wishes.furigana)
            .map_err(|error| Fault::internal("the book cannot be written", &error))?;
        let content_type = "application/epub+zip";
        let keep = Keep::Revalidate;
        let mut response =
            asked.uncoded().reply(Reply { content_type, keep, tag: Some(tag), body });
        let name = format!("attachment; filename=\"sakuin-{}.epub\"", period.prefix());
        let name = HeaderValue::try_from(name).expect("a period is ASCII");
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        Ok(response)
    };
    reader.shared.pool.run(work).await?
}

fn write(period: Period, stories: &[Story], furigana: Furigana) -> ZipResult<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("mimetype", stored)?;
    zip.write_all(b"application/epub+zip")?;
    let title = format!("Sakuin {}", period.japanese());
    let mut file = |name: &str, content: &str| {
        zip.start_file(name, packed)?;
        zip.write_all(content.as_bytes())?;
        ZipResult::Ok(())
    };
    file("META-INF/container.xml", CONTAINER)?;
    file("EPUB/package.opf", &package(period, &title, stories, furigana))?;
    file("EPUB/contents.xhtml", &contents(&title, stories))?;
    file("EPUB/style.css", STYLE)?;
    for story in stories {
        file(&format!("EPUB/{}", chapter_name(story)), &chapter(story, furigana))?;
    }
    Ok(zip.finish()?.into_inner())
}

const CONTAINER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles><rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>
"#;

const STYLE: &str =
    "body { line-height: 1.9; }\nrt { font-size: 50%; }\n.date { font-size: 80%; }\n";

fn chapter_name(story: &Story) -> String {
    format!("story-{}.xhtml", story.id)
}

fn package(period: Period, title: &str, stories: &[Story], furigana: Furigana) -> String {
    let changed = stories.iter().map(|story| story.changed).max().unwrap_or_default();
    let changed = jiff::Timestamp::from_second(changed).unwrap_or_default();
    let plain = if furigana == Furigana::No { ":plain" } else { "" };
    let manifest: String = stories
        .iter()
        .map(|story| {
            let name = chapter_name(story);
            format!("    <item id=\"story-{}\" href=\"{name}\" media-type=\"application/xhtml+xml\"/>\n", story.id)
        })
        .collect();
    let spine: String = stories
        .iter()
        .map(|story| format!("    <itemref idref=\"story-{}\"/>\n", story.id))
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="book" xml:lang="ja">
  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:identifier id="book">urn:sakuin:stories:{period}{plain}</dc:identifier>
    <dc:title>{title}</dc:title>
    <dc:language>ja</dc:language>
    <meta property="dcterms:modified">{changed}</meta>
  </metadata>
  <manifest>
    <item id="contents" href="contents.xhtml" media-type="application/xhtml+xml" properties="nav"/>
    <item id="style" href="style.css" media-type="text/css"/>
{manifest}  </manifest>
  <spine>
    <itemref idref="contents"/>
{spine}  </spine>
</package>
"#,
        period = period.prefix(),
    )
}

fn contents(title: &str, stories: &[Story]) -> String {
    let items: String = stories
        .iter()
        .map(|story| {
            let title = escape(&html::plain(&story.content.title.pieces));
            format!("<li><a href=\"{}\">{title}</a></li>\n", chapter_name(story))
        })
        .collect();
    let navigation = format!(
        "<nav epub:type=\"toc\" xmlns:epub=\"http://www.idpf.org/2007/ops\">\n<h1>{title}</h1>\n<ol>\n{items}</ol>\n</nav>"
    );
    page(title, &navigation)
}

fn chapter(story: &Story, furigana: Furigana) -> String {
    let shown = |html: &str| match furigana {
        Furigana::Yes => html.to_owned(),
        Furigana::No => html::without_ruby(html),
    };
    let body = format!(
        "<h1>{}</h1>\n<p class=\"date\">{}</p>\n{}",
        shown(&story.content.title.html),
        story.content.date.japanese(),
        shown(&story.content.body.html),
    );
    page(&escape(&html::plain(&story.content.title.pieces)), &body)
}

fn page(title: &str, body: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="ja" lang="ja">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>
{body}
</body>
</html>
"#
    )
}

fn escape(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    text.chars().for_each(|character| html::escape(character, &mut html));
    html
}
