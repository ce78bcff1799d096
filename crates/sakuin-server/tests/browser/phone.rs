//! With a finger, on a screen of 360 pixels.

use crate::{
    browser::{Device, read},
    site::Site,
};

#[test]
fn a_tap_opens_a_sheet_and_a_second_tap_closes_it() {
    let site = Site::start();
    read(&site.url, Device::Phone, |page| async move {
        page.screenshot("phone").await;
        assert_eq!(page.ask("return document.documentElement.scrollWidth").await, 360);
        page.tap("間違えて", 1).await;
        page.until("document.querySelector('#popup:not([hidden])')").await;
        assert_eq!(page.highlighted().await, "間違えて");
        assert!(page.popup().await.contains("to make a mistake"));
        assert!(page.is_within_window("#popup").await);
        let covered = "const word = [...CSS.highlights.get('word')][0].getBoundingClientRect();
                       return word.bottom > document.querySelector('#popup').getBoundingClientRect().top";
        assert_eq!(page.ask(covered).await, false, "the sheet hides the word it explains");
        page.until("document.querySelector('#popup .kanji')").await;
        page.screenshot("phone-tap").await;
        page.tap("間違えて", 0).await;
        page.until("document.querySelector('#popup').hidden").await;
        page.tap("消えれば", 0).await;
        page.until("document.querySelector('#popup:not([hidden])')").await;
        assert_eq!(page.ask(covered).await, false, "the sheet hides the last word of the page");

        page.ask("document.querySelector('[data-key=n]').click()").await;
        page.tap("泣いていた", 0).await;
        page.until("document.querySelector('#popup:not([hidden])')").await;
        page.screenshot("phone-dark").await;
    });
}
