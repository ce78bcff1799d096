//! The pages of contacts as a person meets them.

use std::{fs, io::Write as _};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, Crc, write::ZlibEncoder};
use sakuin_contacts::{Contacts, Import, Servers, card_of};
use sakuin_server::Config;

use crate::{
    browser::{Device, Page, read},
    site::Site,
};

const NAMES: [(&str, &str, &str); 12] = [
    ("Ada", "Lovelace", "Analytical Engines"),
    ("Alan", "Turing", "Bletchley Park"),
    ("Barbara", "Liskov", "MIT"),
    ("Edsger", "Dijkstra", "THE"),
    ("Frances", "Allen", "IBM"),
    ("Grace", "Hopper", "US Navy"),
    ("Hedy", "Lamarr", ""),
    ("Katherine", "Johnson", "NASA"),
    ("Margaret", "Hamilton", "Draper Laboratory"),
    ("Niklaus", "Wirth", "ETH Zürich"),
    ("紫", "源", "平安京"),
    ("Zoë", "Ångström", "Uppsala"),
];

/// The key that takes a letter away, as WebDriver writes it.
const BACKSPACE: &str = "\u{e003}";

fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("contacts.db").display());
    let contacts = Contacts::open(&url, Servers::One).unwrap();
    let ada = contacts.block_on(contacts.add_user("ada", "secret")).unwrap();
    let root = contacts.block_on(contacts.root()).unwrap();
    let book = root.directory().collection(ada, "addressbook").unwrap().id;
    let cards = NAMES.iter().enumerate();
    let file: String = cards.map(|(at, (given, family, of))| card(at, given, family, of)).collect();
    contacts.block_on(contacts.import(book, Import::of(file.as_bytes()).cards, |_| ())).unwrap();
    drop(contacts);
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"sqlite://contacts.db\"\n";
    Site::of(&Config::parse(text, "test.toml", folder.path()).unwrap(), folder)
}

fn card(at: usize, given: &str, family: &str, organisation: &str) -> String {
    let mail = format!("{given}.{family}@example.org").to_lowercase();
    let mut lines = vec![
        format!("UID:{given}"),
        format!("FN:{given} {family}"),
        format!("N:{family};{given};;;"),
        format!("EMAIL;TYPE=work:{mail}"),
        format!("TEL;TYPE=cell:+44 20 7946 {:04}", 97 * (at + 1)),
    ];
    if !organisation.is_empty() {
        lines.push(format!("ORG:{organisation}"));
    }
    if given == "Ada" {
        lines.extend(
            [
                "ADR;TYPE=home:;;12 St James's Square;London;;SW1Y 4LB;United Kingdom",
                "URL:https://example.org/ada",
                "BDAY:1815-12-10",
                "NOTE:Poetical science.\\nWrites to Babbage.",
                "X-SOCIALPROFILE;TYPE=engine:note-g",
            ]
            .map(str::to_owned),
        );
        lines.push(format!("PHOTO;ENCODING=b;TYPE=PNG:{}", STANDARD.encode(picture())));
    }
    card_of(&lines)
}

/// A picture of 96 × 96 dots: evening over a sea.
fn picture() -> Vec<u8> {
    let mut dots = Vec::new();
    for y in 0..96u32 {
        dots.push(0);
        for x in 0..96u32 {
            let is_sun = (x as i32 - 48).pow(2) + (y as i32 - 56).pow(2) < 400;
            let sea = [40, 60 + (y / 4) as u8, 90 + (x / 8) as u8];
            let sky = [200 + (y / 3) as u8, 120 + y as u8, 110];
            dots.extend(if y > 62 {
                sea
            } else if is_sun {
                [255, 240, 200]
            } else {
                sky
            });
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&dots).unwrap();
    let header = [&96u32.to_be_bytes()[..], &96u32.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    let chunk = |name: &[u8], data: &[u8]| {
        let named = [name, data].concat();
        let mut crc = Crc::new();
        crc.update(&named);
        [&(data.len() as u32).to_be_bytes()[..], &named, &crc.sum().to_be_bytes()].concat()
    };
    let chunks =
        [chunk(b"IHDR", &header), chunk(b"IDAT", &packed.finish().unwrap()), chunk(b"IEND", &[])];
    [&b"\x89PNG\r\n\x1a\n"[..], &chunks.concat()].concat()
}

fn visit<T>(device: Device, test: impl FnOnce(Page) -> T)
where
    T: Future<Output = ()> + Send + 'static,
{
    let site = site();
    read(&format!("{}contacts/", site.url), device, test);
}

async fn sign_in(page: &Page) {
    page.fill("[name=name]", "ada").await;
    page.fill("[name=password]", "secret").await;
    page.press_on("button.main").await;
    page.arrive("#list").await;
}

async fn names(page: &Page) -> Vec<String> {
    let names = page
        .ask("return [...document.querySelectorAll('#list b')].map(it => it.textContent)")
        .await;
    serde_json::from_value(names).unwrap()
}

#[test]
fn a_contact_is_found_looked_at_and_changed_at_a_desk() {
    visit(Device::Desktop, |page| async move {
        page.screenshot("contacts-sign-in").await;
        page.fill("[name=name]", "ada").await;
        page.fill("[name=password]", "wrong\n").await;
        page.arrive(".wrong").await;
        page.empty("[name=name]").await;
        sign_in(&page).await;
        assert_eq!(names(&page).await.len(), NAMES.len());
        // What is typed is looked for at once, and the field keeps its focus.
        page.fill("[type=search]", "hop").await;
        page.until("document.querySelectorAll('#list b').length === 1").await;
        assert_eq!(names(&page).await, ["Grace Hopper"]);
        assert_eq!(page.ask("return document.activeElement.type").await, "search");
        page.fill("[type=search]", "x").await;
        page.until("document.querySelectorAll('#list b').length === 0").await;
        page.fill("[type=search]", &BACKSPACE.repeat(4)).await;
        page.until("document.querySelectorAll('#list b').length === 12").await;
        // A contact comes beside the list, which stays where it is.
        page.ask("document.querySelector('#list').dataset.kept = 'yes'").await;
        page.press_on("#list li a").await;
        page.until("document.querySelector('#card h1')?.textContent === 'Ada Lovelace'").await;
        assert_eq!(page.ask("return document.querySelector('#list').dataset.kept").await, "yes");
        page.until("document.querySelector('#card img')?.naturalWidth === 96").await;
        let card = page.ask("return document.querySelector('#card').innerText").await.to_string();
        for part in [
            "12 St James's Square",
            "SW1Y 4LB London",
            "Writes to Babbage.",
            "1 more line of this card is kept",
        ] {
            assert!(card.contains(part), "{part} is not in {card}");
        }
        page.screenshot("contacts-card").await;
        page.press_on("#card .main").await;
        page.arrive("form.sheet").await;
        page.screenshot("contacts-edit").await;
        page.empty("[name='line-7-0']").await;
        page.fill("[name='line-7-0']", "Enchantress of Numbers").await;
        page.fill("[name='new-0-value']", "+44 7700 900000").await;
        page.press_on("form.sheet button.main").await;
        page.arrive("#card dl").await;
        let card = page.ask("return document.querySelector('#card').innerText").await.to_string();
        assert!(
            card.contains("Enchantress of Numbers") && card.contains("+44 7700 900000"),
            "{card}"
        );
        assert!(!card.contains("Analytical Engines"), "{card}");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
fn a_telephone_shows_one_thing_at_a_time_and_is_connected() {
    visit(Device::Phone, |page| async move {
        sign_in(&page).await;
        page.screenshot("contacts-phone-list").await;
        page.press_on("#list li a").await;
        page.arrive("#card h1").await;
        page.until("document.querySelector('#card img')?.naturalWidth === 96").await;
        page.screenshot("contacts-phone-card").await;
        let wide = "return document.documentElement.scrollWidth <= innerWidth";
        assert_eq!(page.ask(wide).await, true);
        assert_eq!(page.ask("return document.querySelector('.contacts').offsetWidth").await, 0);
        page.press_on("#card .main").await;
        page.arrive("form.sheet").await;
        page.screenshot("contacts-phone-edit").await;
        assert_eq!(page.ask(wide).await, true);
        page.visit("devices").await;
        page.fill("[name=label]", "phone\n").await;
        page.arrive("#token").await;
        page.screenshot("contacts-phone-devices").await;
        assert_eq!(page.ask(wide).await, true);
        assert_eq!(page.ask("return location.href.includes('skn_')").await, false);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
fn without_scripts_the_same_pages_come_one_after_another() {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("more.csv");
    fs::write(&file, "Name,E-mail\nAda Lovelace,other@example.org\nJoan Clarke,joan@example.org\n")
        .unwrap();
    let file = file.to_str().unwrap().to_owned();
    visit(Device::NoScript, |page| async move {
        sign_in(&page).await;
        page.fill("[type=search]", "turing\n").await;
        page.arrive("#list[data-query=turing]").await;
        page.press_on("#list li a").await;
        page.arrive("#card h1").await;
        page.visit("books/ada/addressbook/import").await;
        page.fill("[type=file]", &file).await;
        page.press_on("button.main").await;
        page.arrive(".done").await;
        page.screenshot("contacts-import").await;
        page.visit("books/ada/addressbook/duplicates").await;
        page.arrive(".group").await;
        page.screenshot("contacts-duplicates").await;
        page.press_on(".group a").await;
        page.arrive("#card summary").await;
        page.press_on("#card summary").await;
        page.press_on("#card .danger").await;
        page.arrive(".empty").await;
        page.press_on(".leave button").await;
        page.arrive("[name=password]").await;
        page.visit("devices").await;
        page.arrive("[name=password]").await;
    });
    drop(files);
}
