//! The pages of contacts, as far as they need no browser: who may see and do what, and what is saved.

use std::sync::Arc;

use sakuin_contacts::{Contacts, Rights, Servers};
use sakuin_server::Config;
use tempfile::TempDir;

use crate::{
    live_http::send,
    support::{Answer, Running, limits},
};

struct Served {
    running: Running,
    contacts: Arc<Contacts>,
    folder: TempDir,
}

const BOOK: &str = "/contacts/books/ada/addressbook";
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const PARTS: (&str, &str) = ("content-type", "multipart/form-data; boundary=end");
const SAME: (&str, &str) = ("sec-fetch-site", "same-origin");

fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("contacts.db").display());
    let contacts = Contacts::open(&url, Servers::Many).unwrap();
    for name in ["ada", "bob"] {
        contacts.block_on(contacts.add_user(name, &format!("{name}'s"))).unwrap();
    }
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"sqlite://contacts.db\"\nservers = \"many\"\nmax_card = \"100kB\"\n";
    let config = Config::parse(text, "test.toml", folder.path()).unwrap();
    Served { running: Running::start(&config, &limits()), contacts: Arc::new(contacts), folder }
}

/// The parts of a form.
fn parts(fields: &[(&str, &str)]) -> String {
    let part = |(name, value): &(&str, &str)| {
        let file = if matches!(*name, "file" | "photo") { "; filename=\"x\"" } else { "" };
        format!("--end\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n")
    };
    fields.iter().map(part).collect::<String>() + "--end--\r\n"
}

impl Served {
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        send(&self.running, method, path, headers, body)
    }

    fn sign_in(&self, name: &str, password: &str) -> Option<String> {
        let form = format!("name={name}&password={password}");
        let answer = self.ask("POST", "/contacts/sign-in", &[FORM, SAME], &form);
        if answer.status != 303 {
            assert_eq!(answer.header("set-cookie"), "");
            return None;
        }
        Some(answer.header("set-cookie").split(';').next().unwrap().to_owned())
    }

    fn get(&self, cookie: &str, path: &str) -> Answer {
        self.ask("GET", path, &[("cookie", cookie)], "")
    }

    fn post(&self, cookie: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.ask("POST", path, &[("cookie", cookie), PARTS, SAME], &parts(fields))
    }

    /// Puts a card as a program does, and tells its tag.
    fn put(&self, name: &str, card: &str) -> String {
        let path = format!("/dav/books/ada/addressbook/{name}");
        let authorization = ("authorization", "Basic YWRhOmFkYSdz");
        let put = self.ask("PUT", &path, &[authorization], card);
        assert!(matches!(put.status, 201 | 204), "{}", put.text());
        put.header("etag").to_owned()
    }

    fn card(&self, name: &str) -> Answer {
        let path = format!("/dav/books/ada/addressbook/{name}");
        self.ask("GET", &path, &[("authorization", "Basic YWRhOmFkYSdz")], "")
    }
}

const CARD: &str =
    "BEGIN:VCARD\nVERSION:4.0\nX-ODD;;=:kept\nuid:1\nfn:Ada\n Lovelace\nEMAIL:a@x\nEND:VCARD";

#[test]
fn only_who_has_signed_in_sees_anything() {
    let served = served();
    served.put("1.vcf", CARD);
    for path in [
        "",
        "devices",
        "books/ada/addressbook",
        "books/ada/addressbook/cards/1.vcf/photo",
        "books/no/one",
    ] {
        let answer = served.ask("GET", &format!("/contacts/{path}"), &[], "");
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, "/contacts/sign-in"),
            "{path}"
        );
    }
    assert_eq!(served.sign_in("ada", "wrong"), None);
    assert_eq!(served.sign_in("nobody", "wrong"), None);
    let contacts = &served.contacts;
    let token = contacts.block_on(contacts.add_token("ada", "phone", true, None)).unwrap();
    assert_eq!(served.sign_in("ada", &token), None, "a token of a program begins no session");
    let ada = served.sign_in("ada", "ada's").unwrap();
    let page = served.get(&ada, BOOK);
    assert_eq!((page.status, page.header("cache-control")), (200, "no-store"));
    assert!(
        page.text().contains("AdaLovelace")
            && page.header("content-security-policy").contains("script-src 'self'")
    );
    // Another's book is not there; one that is shared is looked at and not changed.
    let bob = served.sign_in("bob", "bob's").unwrap();
    assert_eq!(served.get(&bob, BOOK).status, 404);
    let root = contacts.block_on(contacts.root()).unwrap();
    let id = |name: &str| root.directory().principal(name).unwrap().id;
    let (ada_id, bob_id) = (id("ada"), id("bob"));
    let book = root.directory().collection(ada_id, "addressbook").unwrap().id;
    contacts
        .block_on(contacts.change(&[book], move |change| {
            change.set_share(book, bob_id, Some(Rights::Read)).unwrap();
            Ok::<_, sakuin_contacts::Error>(())
        }))
        .unwrap();
    let shared = served.get(&bob, &format!("{BOOK}/cards/1.vcf"));
    assert!(shared.status == 200 && !shared.text().contains("/edit\""), "{}", shared.text());
    let etag = served.card("1.vcf").header("etag").to_owned();
    let change = [("etag", &*etag), ("line-4-0", "Bob")];
    for (path, fields) in [
        ("/cards/1.vcf", &change[..]),
        ("/new", &[("line-2-0", "New")]),
        ("/import", &[("file", CARD)]),
    ] {
        assert_eq!(served.post(&bob, &format!("{BOOK}{path}"), fields).status, 403, "{path}");
    }
    let delete = format!("etag={}", etag.replace('"', "%22"));
    let delete = served.ask(
        "POST",
        &format!("{BOOK}/cards/1.vcf/delete"),
        &[("cookie", &bob), FORM, SAME],
        &delete,
    );
    assert_eq!((delete.status, served.card("1.vcf").text()), (403, CARD));
    // A session that was changed, or whose password was, is none.
    let forged = ada.replacen("YWRh", "Ym9i", 1);
    assert_ne!(forged, ada);
    assert_eq!(served.get(&forged, BOOK).status, 303);
    contacts.block_on(contacts.set_password("ada", "new")).unwrap();
    assert_eq!(served.get(&ada, BOOK).status, 303);
}

#[test]
fn pages_of_other_sites_change_nothing() {
    let served = served();
    let etag = served.put("1.vcf", CARD);
    let ada = served.sign_in("ada", "ada's").unwrap();
    let form = parts(&[("etag", &etag), ("line-4-0", "Eve")]);
    let path = format!("{BOOK}/cards/1.vcf");
    for foreign in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let answer = served.ask("POST", &path, &[("cookie", &ada), PARTS, foreign], &form);
        assert_eq!(answer.status, 403, "{foreign:?}");
        let signed =
            served.ask("POST", "/contacts/sign-in", &[FORM, foreign], "name=ada&password=ada's");
        assert_eq!((signed.status, signed.header("set-cookie")), (403, ""), "{foreign:?}");
    }
    assert_eq!(served.card("1.vcf").text(), CARD);
    let cookie = served.ask(
        "POST",
        "/contacts/sign-in",
        &[FORM, ("x-forwarded-proto", "https")],
        "name=ada&password=ada's",
    );
    let cookie = cookie.header("set-cookie");
    for flag in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/contacts/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    assert_eq!(
        served.ask("POST", &path, &[("cookie", &ada), PARTS], &form).status,
        303,
        "curl may"
    );
}

#[test]
fn what_is_saved_changes_its_line_alone() {
    let served = served();
    let etag = served.put("1.vcf", CARD);
    let ada = served.sign_in("ada", "ada's").unwrap();
    let path = format!("{BOOK}/cards/1.vcf");
    let saved = served.post(
        &ada,
        &path,
        &[("etag", &etag), ("line-4-0", "Ada, Countess"), ("line-5-0", "a@x")],
    );
    assert_eq!((saved.status, saved.header("location")), (303, &*path), "{}", saved.text());
    assert_eq!(served.card("1.vcf").text(), CARD.replace("Ada\n Lovelace", "Ada\\, Countess"));
    // Who has seen an older card changes nothing.
    let late = served.post(&ada, &path, &[("etag", &etag), ("line-4-0", "Late")]);
    assert_eq!(late.status, 409, "{}", late.text());
    // Nor does anybody while a program holds a lock.
    let lock = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>";
    let authorization = ("authorization", "Basic YWRhOmFkYSdz");
    assert_eq!(
        served.ask("LOCK", "/dav/books/ada/addressbook/1.vcf", &[authorization], lock).status,
        200
    );
    let etag = served.card("1.vcf").header("etag").to_owned();
    assert_eq!(served.post(&ada, &path, &[("etag", &etag), ("line-4-0", "Locked")]).status, 423);
    assert!(served.card("1.vcf").text().contains("Countess"));
}

#[test]
fn contacts_come_and_go() {
    let served = served();
    let ada = served.sign_in("ada", "ada's").unwrap();
    let png = "\u{1}PNG".repeat(30);
    let bad = served.post(&ada, &format!("{BOOK}/new"), &[("line-3-0", "King"), ("photo", &png)]);
    assert_eq!(bad.status, 400, "{}", bad.text());
    let gif = format!("GIF89a{}", "x".repeat(100));
    let made = served.post(
        &ada,
        &format!("{BOOK}/new"),
        &[("line-3-0", "King"), ("line-3-1", "Ada"), ("photo", &gif)],
    );
    assert_eq!(made.status, 303, "{}", made.text());
    let href = made.header("location").to_owned();
    let photo = served.get(&ada, &format!("{href}/photo"));
    assert_eq!((photo.header("content-type"), photo.text()), ("image/gif", &*gif));
    let file = served.get(&ada, &format!("{href}/file.vcf"));
    assert!(
        file.header("content-disposition").contains("Ada%20King.vcf"),
        "{}",
        file.header("content-disposition")
    );
    for line in [
        "VERSION:3.0\r\n",
        "FN:Ada King\r\n",
        "N:King;Ada;;;\r\n",
        "UID:urn:uuid:",
        "PHOTO;ENCODING=b;TYPE=GIF:",
    ] {
        assert!(file.text().contains(line), "{}", file.text());
    }
    let long = format!("GIF89a{}", "x".repeat(100_000));
    let long = served.post(&ada, &format!("{BOOK}/new"), &[("line-3-0", "King"), ("photo", &long)]);
    assert_eq!(long.status, 413, "{}", long.text());
    let page = served.get(&ada, &href);
    let etag =
        page.text().split("name=\"etag\" value=\"").nth(1).unwrap().split('>').next().unwrap();
    let form = format!("etag={}", etag.trim_end_matches('"').replace("&#34;", "%22"));
    let headers = [("cookie", &*ada), FORM, SAME];
    assert_eq!(served.ask("POST", &format!("{href}/delete"), &headers, "etag=x").status, 409);
    assert_eq!(served.ask("POST", &format!("{href}/delete"), &headers, &form).status, 303);
    assert_eq!(served.get(&ada, &href).status, 404);
}

#[test]
fn files_are_imported_and_exported() {
    let served = served();
    let ada = served.sign_in("ada", "ada's").unwrap();
    let file = format!(
        "{CARD}\r\nBEGIN:VCARD\nVERSION:2.1\nN:Old;One\nEND:VCARD\nBEGIN:VCARD\nVERSION:3.0\n"
    );
    for known in [0, 2] {
        let page = served.post(&ada, &format!("{BOOK}/import"), &[("file", &file)]);
        let told = format!("{} new, 0 changed, {known} known already.", 2 - known);
        assert!(page.status == 200 && page.text().contains(&told), "{}", page.text());
        assert!(
            page.text().contains("<b>card 3</b>: it does not end with END:VCARD"),
            "{}",
            page.text()
        );
    }
    let table = "Name,Phone\nGrace Hopper,0151 2345678\n";
    assert!(
        served.post(&ada, &format!("{BOOK}/import"), &[("file", table)]).text().contains("1 new")
    );
    let export = served.get(&ada, &format!("{BOOK}/export.vcf"));
    assert_eq!(export.header("content-type"), "text/vcard; charset=utf-8");
    assert_eq!(export.text().matches("BEGIN:VCARD").count(), 3);
    assert!(export.text().contains(CARD));
    for (query, count) in [
        ("", 3),
        ("hopper", 1),
        ("HOPPER%20grace", 1),
        ("hopper%20ada", 0),
        ("%2B49%20151-2345", 0),
        ("151-2345", 1),
        ("a%40x", 1),
    ] {
        let list = served.get(&ada, &format!("{BOOK}?q={query}"));
        assert_eq!(list.text().matches("<li><a href=").count(), count, "{query}: {}", list.text());
    }
    assert!(served.get(&ada, &format!("{BOOK}/duplicates")).text().contains("No two contacts"));
    served.put("2.vcf", &CARD.replace("uid:1", "uid:2"));
    assert_eq!(
        served.get(&ada, &format!("{BOOK}/duplicates")).text().matches("class=\"group\"").count(),
        1
    );
}

#[test]
fn a_device_gets_a_password_of_its_own() {
    let served = served();
    let ada = served.sign_in("ada", "ada's").unwrap();
    let headers = [("cookie", &*ada), FORM, SAME];
    let page = served.ask("POST", "/contacts/devices", &headers, "label=my+phone");
    let token = page.text().split("id=\"token\">").nth(1).unwrap().split('<').next().unwrap();
    assert!(
        page.text().contains("<svg") && page.text().contains("/dav/</code>"),
        "{}",
        page.text()
    );
    let authorization = |token: &str| {
        use base64::{Engine, engine::general_purpose::STANDARD};
        format!("Basic {}", STANDARD.encode(format!("ada:{token}")))
    };
    let propfind = || {
        let headers = [("authorization", &*authorization(token)), ("depth", "0")];
        served.ask("PROPFIND", "/dav/books/ada/addressbook/", &headers, "").status
    };
    assert_eq!(propfind(), 207);
    let again = served.get(&ada, "/contacts/devices");
    assert!(again.text().contains("my phone") && !again.text().contains(token), "it is told once");
    assert_eq!(
        served.ask("POST", "/contacts/devices/revoke", &headers, "label=my+phone").status,
        303
    );
    assert_eq!(propfind(), 401);
    assert_eq!(
        served.ask("POST", "/contacts/books", &headers, "title=The+Club").header("location"),
        "/contacts/books/ada/the-club"
    );
    assert!(served.get(&ada, "/contacts/books/ada/the-club").text().contains("Search The Club"));
    assert!(served.folder.path().join("contacts.db").exists());
}
