//! With a mouse and a keyboard.

use fantoccini::key::Key;

use crate::{
    browser::{Device, Page, read},
    site::Site,
};

fn at_a_desk<T>(test: impl FnOnce(Page) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let site = Site::start();
    read(&site.url, Device::Desktop, test);
}

const OPEN: &str = "document.querySelector('#popup:not([hidden])')";
const CLOSED: &str = "document.querySelector('#popup').hidden";

#[test]
fn hovering_explains_an_inflected_word() {
    at_a_desk(|page| async move {
        page.screenshot("day").await;
        page.point_at("泣いていたから", 2).await;
        page.until(OPEN).await;
        assert_eq!(page.highlighted().await, "泣いていた");
        let popup = page.popup().await;
        let path = popup.lines().find(|line| line.contains('«')).expect(&popup);
        assert!(path.starts_with("泣く «") && path.ends_with("past"), "{popup}");
        for part in
            ["to cry", "なく", "godan verb (く)", "common", "EDICT", "2026-11-01", "CC BY-SA 4.0"]
        {
            assert!(popup.contains(part), "`{part}` is missing from:\n{popup}");
        }
        assert!(page.is_within_window("#popup").await);
        let drawn = page.until("document.querySelector('#popup h3 ruby')?.outerHTML").await;
        assert_eq!(drawn, "<ruby>泣<rt>な</rt></ruby>");
        page.until("document.querySelector('#popup .kanji')").await;
        page.screenshot("hover").await;
        page.point_to(4.0, 4.0).await;
        page.until(CLOSED).await;
        assert_eq!(page.highlighted().await, "");
    });
}

#[test]
fn the_highlight_crosses_ruby_and_leaves_readings_out() {
    at_a_desk(|page| async move {
        page.point_at("使い方を", 0).await;
        page.until(OPEN).await;
        assert_eq!(page.highlighted().await, "使い方");
        page.point_to(4.0, 4.0).await;
        page.until(CLOSED).await;
        page.point_at("夜中の", 1).await;
        page.until("document.querySelector('#popup:not([hidden]) h3')?.innerText.includes('夜中')")
            .await;
        assert_eq!(page.highlighted().await, "夜中");
    });
}

#[test]
fn the_first_popup_waits_for_no_answer() {
    at_a_desk(|page| async move {
        page.ask("window.fetch = () => new Promise(() => {})").await;
        page.point_at("写真が", 0).await;
        page.until(OPEN).await;
        assert!(page.popup().await.contains("photograph"));
    });
}

#[test]
fn shorter_words_names_and_kanji_come_later() {
    at_a_desk(|page| async move {
        page.point_at("使い方を", 0).await;
        page.until("document.querySelectorAll('#popup:not([hidden]) h4').length === 3").await;
        let popup = page.popup().await;
        for part in
            ["way of using", "to use", "Tsukai surname", "employ", "シ", "grade 3", "8 strokes"]
        {
            assert!(popup.contains(part), "`{part}` is missing from:\n{popup}");
        }
        assert_eq!(page.highlighted().await, "使い方");
    });
}

#[test]
fn a_click_keeps_the_popup_and_a_second_one_closes_it() {
    at_a_desk(|page| async move {
        page.click("練習", 0).await;
        page.until(OPEN).await;
        page.point_at("返事を", 0).await;
        assert_eq!(page.highlighted().await, "練習していた");
        page.click("練習", 1).await;
        page.until(CLOSED).await;
    });
}

#[test]
fn the_keyboard_reads_too() {
    at_a_desk(|page| async move {
        page.press(&[Key::Right.into()]).await;
        let first = page.until("document.activeElement.closest('.words')?.innerText").await;
        page.press(&[Key::Right.into(), Key::Right.into()]).await;
        let third = page.ask("return document.activeElement.textContent").await;
        page.press(&[Key::Left.into(), Key::Left.into()]).await;
        assert_eq!(page.ask("return document.activeElement.textContent").await, first);
        assert_ne!(first, third);
        assert_eq!(page.ask("return document.querySelectorAll('.words button').length").await, 1);
        assert_eq!(page.highlighted().await, first.as_str().unwrap());

        page.press(&[Key::Enter.into()]).await;
        page.until(OPEN).await;
        let described = "document.getElementById(document.activeElement.getAttribute('aria-describedby'))?.innerText";
        assert!(page.until(described).await.as_str().unwrap().contains("grandmother"));
        page.press(&[Key::Right.into(), Key::Right.into()]).await;
        page.until(&format!("{described}?.includes('message')")).await;
        page.screenshot("keyboard").await;
        page.press(&[Key::Escape.into()]).await;
        page.until(CLOSED).await;
        assert_eq!(
            page.ask("return document.activeElement.getAttribute('aria-expanded')").await,
            "false"
        );
    });
}

#[test]
fn furigana_are_shown_on_hover_or_never_and_the_choice_is_kept() {
    at_a_desk(|page| async move {
        let shown = "getComputedStyle(document.querySelector('.text rt'))";
        page.press(&['f']).await;
        page.until(&format!("{shown}.visibility === 'hidden'")).await;
        page.point_at("祖母がスマート", 0).await;
        page.until(&format!("{shown}.visibility === 'visible'")).await;
        page.screenshot("furigana-hover").await;
        page.ask("document.querySelector('[data-key=f]').click()").await;
        page.until(&format!("{shown}.display === 'none'")).await;
        page.visit("").await;
        page.until(&format!("{shown}.display === 'none'")).await;
        assert_eq!(
            page.ask("return document.querySelector('[data-state=furigana]').textContent").await,
            "never"
        );
        page.screenshot("furigana-never").await;
        page.press(&['f']).await;
        page.until(&format!("{shown}.display !== 'none' && {shown}.visibility === 'visible'"))
            .await;
    });
}

#[test]
fn the_page_turns_dark_and_stays_so() {
    at_a_desk(|page| async move {
        let darkness = "getComputedStyle(document.body).backgroundColor";
        let light = page.ask(&format!("return {darkness}")).await;
        page.press(&['n']).await;
        page.until(&format!("{darkness} !== {light}")).await;
        page.visit("").await;
        page.until(&format!("{darkness} !== {light}")).await;
        page.point_at("間違えて", 0).await;
        page.until(&format!("{OPEN} && document.querySelector('#popup .kanji')")).await;
        page.screenshot("dark").await;
        page.press(&['n']).await;
        page.until(&format!("{darkness} === {light}")).await;
    });
}

#[test]
fn the_popup_never_leaves_the_window() {
    at_a_desk(|page| async move {
        for (words, character) in
            [("祖母のメッセージ", 0), ("言うので", 0), ("会いに行かなく", 0), ("消えればいい", 0)]
        {
            page.point_at(words, character).await;
            page.until(OPEN).await;
            assert!(page.is_within_window("#popup").await, "{words}");
            page.press(&[Key::Escape.into()]).await;
            page.until(CLOSED).await;
        }
    });
}

#[test]
fn a_text_of_ones_own_is_explained() {
    at_a_desk(|page| async move {
        page.visit("read/").await;
        page.screenshot("your-text").await;
        page.fill("textarea", "昨日、一時間も泣いていた。\n写真を見たくて。").await;
        page.ask("document.querySelector('.paste button').click()").await;
        page.arrive("[data-text]").await;
        page.point_at("泣いていた", 0).await;
        page.until(OPEN).await;
        assert_eq!(page.highlighted().await, "泣いていた");
        page.point_to(4.0, 4.0).await;
        page.until(CLOSED).await;
        page.point_at("写真", 1).await;
        page.until("document.querySelector('#popup h3')?.innerText.includes('写真')").await;
        assert_eq!(page.highlighted().await, "写真", "positions hold past the end of a paragraph");
        page.point_to(4.0, 4.0).await;
        page.until(CLOSED).await;
        page.point_at("一時間", 0).await;
        page.until("document.querySelector('#popup').innerText.includes('Kazutoki')").await;
    });
}

#[test]
fn nothing_is_blocked_and_nothing_fails() {
    at_a_desk(|page| async move {
        for path in ["", "about/", "read/", "2026/11/17/"] {
            page.visit(path).await;
            page.until("document.readyState === 'complete'").await;
            assert_eq!(page.complaints().await, Vec::<String>::new(), "{path}");
        }
        page.point_at("電車で本", 0).await;
        page.until(&format!("{OPEN} && document.querySelector('#popup .kanji')")).await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
