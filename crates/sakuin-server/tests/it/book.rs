//! Books, opened as a zip archive and judged by epubcheck.

use std::{
    fs,
    io::{Cursor, Read},
    path::Path,
    process::Command,
};

use zip::{CompressionMethod, ZipArchive};

use crate::support::Site;

fn open(site: &Site, path: &str) -> ZipArchive<Cursor<Vec<u8>>> {
    let answer = site.get(path);
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/epub+zip"));
    assert!(answer.header("content-disposition").starts_with("attachment; filename=\"sakuin-2026"));
    ZipArchive::new(Cursor::new(answer.body)).unwrap()
}

fn text(archive: &mut ZipArchive<Cursor<Vec<u8>>>, name: &str) -> String {
    let mut text = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_book_names_its_type_first() {
    let site = Site::with_stories();
    let mut book = open(&site, "/epub/2026/11/");
    let first = book.by_index(0).unwrap();
    assert_eq!(first.name().unwrap(), "mimetype");
    assert_eq!(first.compression(), CompressionMethod::Stored);
    drop(first);
    assert_eq!(text(&mut book, "mimetype"), "application/epub+zip");
    let contents = text(&mut book, "EPUB/contents.xhtml");
    let at = |title: &str| contents.find(title).unwrap();
    assert!(at("朝の犬") < at("公園") && at("公園") < at("食べたくない"));
    assert!(text(&mut book, "EPUB/story-1.xhtml").contains("<ruby>食<rt>た</rt></ruby>べた"));
}

#[test]
fn days_and_years_with_and_without_furigana() {
    let site = Site::with_stories();
    assert_eq!(open(&site, "/epub/2026/11/20/").len(), 5 + 2);
    let mut year = open(&site, "/epub/2026/?furigana=no");
    assert_eq!(year.len(), 5 + 3);
    assert!(text(&mut year, "EPUB/story-1.xhtml").contains("<p>それから食べた。</p>"));
    assert_eq!(
        site.get("/epub/2026/").body,
        site.get("/epub/2026/").body,
        "same stories, same bytes"
    );
}

/// Where Debian's package `epubcheck` puts it; it is run by hand because its own command needs a kernel
/// that starts jars.
const EPUBCHECK: &str = "/usr/share/java/epubcheck.jar";

#[test]
fn epubcheck_finds_nothing() {
    if !Path::new(EPUBCHECK).exists() {
        eprintln!("skipped: {EPUBCHECK} is missing (Debian package `epubcheck`)");
        return;
    }
    let site = Site::with_stories();
    for (name, path) in [("with", "/epub/2026/11/"), ("without", "/epub/2026/11/20/?furigana=no")] {
        let file = site.folder.path().join(format!("{name}.epub"));
        fs::write(&file, site.get(path).body).unwrap();
        let mut check = Command::new("java");
        check.args(["-jar", EPUBCHECK, "--failonwarnings"]).arg(&file);
        let output = check.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
