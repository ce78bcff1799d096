//! Without JavaScript the page is a page: text with furigana, links, and the credit.

use crate::{
    browser::{Device, read},
    site::Site,
};

#[test]
fn the_page_reads_without_script() {
    let site = Site::start();
    read(&site.url, Device::NoScript, |page| async move {
        assert_eq!(
            page.ask("return document.documentElement.className").await,
            "",
            "a script has run"
        );
        let text = page.ask("return document.body.innerText").await;
        for part in ["泣", "な", "EDICT", "2026-11-01", "CC BY-SA 4.0"] {
            assert!(text.as_str().unwrap().contains(part), "`{part}` is missing from:\n{text}");
        }
        assert_eq!(
            page.ask("return getComputedStyle(document.querySelector('rt')).display").await,
            "ruby-text"
        );
        assert_eq!(page.ask("return document.querySelector('.controls').offsetHeight").await, 0);
        page.screenshot("no-script").await;
    });
}
