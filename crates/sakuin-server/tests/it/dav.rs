//! The DAV door: what programs of people's telephones and desks do, over a real server.

use std::{path::Path, sync::Arc};

use sakuin_contacts::{Contacts, Servers};
use sakuin_server::{Config, Server};
use tempfile::TempDir;

use crate::{
    live_http::send,
    support::{Answer, Running, Small, agent, limits},
};

/// A server with contacts of `ada`, `bob` and an admin.
struct Served {
    running: Running,
    contacts: Arc<Contacts>,
    _folder: Option<TempDir>,
}

const BOOK: &str = "/dav/books/ada/addressbook/";

fn served() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let served = served_from(folder.path(), "1MiB");
    Served { _folder: Some(folder), ..served }
}

fn served_from(folder: &Path, max_card: &str) -> Served {
    let url = format!("sqlite://{}", folder.join("contacts.db").display());
    let contacts = Contacts::open(&url, Servers::Many).unwrap();
    for name in ["ada", "bob", "root"] {
        contacts.block_on(contacts.add_user(name, &format!("{name}'s"))).unwrap();
    }
    contacts.block_on(contacts.set_admin("root", true)).unwrap();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"sqlite://contacts.db\"\nmax_card = \"{max_card}\"\n"
    );
    let config = Config::parse(&text, "test.toml", folder).unwrap();
    let running = Running::start(&config, &limits());
    Served { running, contacts: Arc::new(contacts), _folder: None }
}

impl Served {
    fn by(
        &self,
        name: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let authorization = format!("Basic {}", STANDARD.encode(format!("{name}:{name}'s")));
        let mut headers = headers.to_vec();
        headers.push(("authorization", &authorization));
        send(&self.running, method, path, &headers, body)
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.by("ada", method, path, headers, body)
    }

    fn put(&self, name: &str, card: &str) -> Answer {
        self.ask("PUT", &format!("{BOOK}{name}"), &[("content-type", "text/vcard")], card)
    }

    /// A report, or a PROPFIND, whose answer is of several parts.
    fn parts(&self, method: &str, path: &str, depth: &str, body: &str) -> String {
        let answer = self.ask(method, path, &[("depth", depth)], body);
        assert_eq!(answer.status, 207, "{}", answer.text());
        answer.text().to_owned()
    }

    fn sync(&self, token: &str, more: &str) -> String {
        self.parts("REPORT", BOOK, "0", &format!(
            "<sync-collection xmlns='DAV:'><sync-token>{token}</sync-token><sync-level>1</sync-level>{more}\
             <prop><getetag/></prop></sync-collection>"
        ))
    }

    fn query(&self, filter: &str) -> Vec<String> {
        let text = self.parts("REPORT", BOOK, "1", &format!(
            "<C:addressbook-query xmlns='DAV:' xmlns:C='urn:ietf:params:xml:ns:carddav'><prop><getetag/></prop>\
             <C:filter {filter}</C:filter></C:addressbook-query>"
        ));
        hrefs(&text)
    }
}

fn card(uid: &str, more: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Name of {uid}\r\n{more}END:VCARD\r\n")
}

/// The addresses that begin a part.
fn hrefs(text: &str) -> Vec<String> {
    let parts = text.split("<D:response><D:href>").skip(1);
    parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
}

fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
    let start = text.find(from).unwrap_or_else(|| panic!("no {from} in {text}")) + from.len();
    &text[start..start + text[start..].find(to).unwrap()]
}

#[test]
fn a_card_comes_back_byte_for_byte() {
    let served = served();
    let odd = "begin:vcard\nVERSION:3.0\nuid:a\nX-Odd;;=: \t\\\nnote;x=\"<&]]>\":caf\u{e9}\r\n\tb\nend:vcard";
    let put = served.put("a%20%C3%A9.vcf", odd);
    assert_eq!((put.status, put.header("location")), (201, ""), "{}", put.text());
    let etag = put.header("etag").to_owned();
    let path = format!("{BOOK}a%20%C3%A9.vcf");
    for _ in 0..2 {
        let got = served.ask("GET", &path, &[], "");
        assert_eq!((got.status, got.text(), got.header("etag")), (200, odd, &*etag));
        assert_eq!(got.header("content-type"), "text/vcard; charset=utf-8");
    }
    let known = served.ask("GET", &path, &[("if-none-match", &etag)], "");
    assert_eq!((known.status, known.text()), (304, ""));
    let listed = served.parts(
        "PROPFIND",
        BOOK,
        "1",
        "<propfind xmlns='DAV:'><prop><getetag/></prop></propfind>",
    );
    assert!(listed.contains(&etag.replace('"', "&quot;")), "{listed}");
    assert_eq!(hrefs(&listed), [BOOK, &*path]);
    // In XML too: a carriage return is told as one.
    let multiget = served.parts("REPORT", BOOK, "1", &format!(
        "<C:addressbook-multiget xmlns='DAV:' xmlns:C='urn:ietf:params:xml:ns:carddav'><prop><C:address-data/></prop>\
         <href>{path}</href><href>{BOOK}none</href><href>/elsewhere</href></C:addressbook-multiget>"
    ));
    let data = between(&multiget, "<C:address-data>", "</C:address-data>");
    let data = data
        .replace("&#13;", "\r")
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    assert_eq!(data, odd);
    assert_eq!(multiget.matches("404 Not Found").count(), 2);
    // Sent again, nothing changes.
    let token = between(&served.sync("", ""), "<D:sync-token>", "<").to_owned();
    assert_eq!(served.put("a%20%C3%A9.vcf", odd).status, 204);
    assert_eq!(between(&served.sync("", ""), "<D:sync-token>", "<"), token);
}

#[test]
fn what_cannot_be_kept_is_refused_with_its_condition() {
    let served = served();
    assert_eq!(served.put("1.vcf", &card("a", "")).status, 201);
    let long = card("long", &format!("NOTE:{}\r\n", "x".repeat(2 << 20)));
    for (name, body, condition) in [
        ("2.vcf", card("a", ""), "no-uid-conflict"),
        ("1.vcf", card("b", ""), "no-uid-conflict"),
        ("2.vcf", card("b", "").replace("4.0", "2.1"), "supported-address-data"),
        ("2.vcf", card("b", "").replace("UID:b\r\n", ""), "valid-address-data"),
        ("2.vcf", card("b", "UID:c\r\n"), "valid-address-data"),
        ("2.vcf", format!("{}{}", card("b", ""), card("c", "")), "valid-address-data"),
        ("2.vcf", card("b", "NOTE:\0\r\n"), "valid-address-data"),
        ("2.vcf", "no card".to_owned(), "valid-address-data"),
        ("2.vcf", long, "max-resource-size"),
    ] {
        let refused = served.put(name, &body);
        assert_eq!(refused.status, 403, "{condition}");
        assert!(refused.text().contains(&format!("<C:{condition}")), "{}", refused.text());
        assert!(refused.text().contains("<hint"), "{}", refused.text());
    }
    let conflict = served.put("2.vcf", &card("a", ""));
    assert!(
        conflict.text().contains(&format!("<C:no-uid-conflict><D:href>{BOOK}1.vcf</D:href>")),
        "{}",
        conflict.text()
    );
    assert_eq!(hrefs(&served.parts("PROPFIND", BOOK, "1", "")).len(), 2);
    for path in ["/dav/books/ada/none/1.vcf", "/dav/books/none/addressbook/1.vcf"] {
        assert_eq!(served.ask("PUT", path, &[], &card("x", "")).status, 409, "{path}");
    }
    for path in [
        "/dav/books/ada/addressbook/%2e%2e",
        "/dav/files/ada/a%2fb",
        "/dav/files/ada/%00",
        "/dav/files//ada",
        "/dav/x",
    ] {
        assert_eq!(served.ask("PUT", path, &[], "x").status, 400, "{path}");
    }
}

#[test]
fn conditions_hold_or_nothing_is_done() {
    let served = served();
    let etag = served.put("1", &card("a", "")).header("etag").to_owned();
    let path = format!("{BOOK}1");
    let put = |headers: &[(&str, &str)], more: &str| {
        served.ask("PUT", &path, headers, &card("a", more)).status
    };
    assert_eq!(put(&[("if-none-match", "*")], "N:1\r\n"), 412);
    assert_eq!(put(&[("if-match", "\"0\"")], "N:1\r\n"), 412);
    assert_eq!(put(&[("if", "([\"0\"])")], "N:1\r\n"), 412);
    assert_eq!(put(&[("if-match", &etag)], "N:1\r\n"), 204);
    assert_eq!(put(&[("if-match", &etag)], "N:2\r\n"), 412);
    assert_eq!(served.ask("DELETE", &path, &[("if-match", &etag)], "").status, 412);
    assert_eq!(served.ask("DELETE", &path, &[], "").status, 204);
    assert_eq!(put(&[("if-match", "*")], ""), 412);
    assert_eq!(put(&[("if", "(<urn:none>")], ""), 400);
    assert_eq!(put(&[("if-none-match", "*")], ""), 201);
}

#[test]
fn what_changed_since_is_told_and_no_more() {
    let served = served();
    for number in 0..5 {
        served.put(&number.to_string(), &card(&format!("u{number}"), ""));
    }
    let first = served.sync("", "<limit><nresults>2</nresults></limit>");
    assert!(first.contains("507 Insufficient Storage"), "{first}");
    assert_eq!(hrefs(&first).len(), 3);
    let token = between(&first, "<D:sync-token>", "<").to_owned();
    served.ask("DELETE", &format!("{BOOK}0"), &[], "");
    let rest = served.sync(&token, "");
    assert_eq!(hrefs(&rest).len(), 4);
    assert!(rest.contains("404 Not Found"), "{rest}");
    let token = between(&rest, "<D:sync-token>", "<").to_owned();
    let nothing = served.sync(&token, "");
    assert_eq!((hrefs(&nothing).len(), between(&nothing, "<D:sync-token>", "<")), (0, &*token));
    for bad in ["x", "http://sakuin/ns/sync/99/1", "http://sakuin/ns/sync/0/99999"] {
        let body = format!(
            "<sync-collection xmlns='DAV:'><sync-token>{bad}</sync-token><prop/></sync-collection>"
        );
        let refused = served.ask("REPORT", BOOK, &[], &body);
        assert_eq!(refused.status, 403);
        assert!(refused.text().contains("valid-sync-token"), "{}", refused.text());
    }
}

#[test]
fn queries_find_cards() {
    let served = served();
    served.put("1", &card("a", "EMAIL;TYPE=home:ada@example.org\r\n"));
    served.put("2", &card("b", "EMAIL;TYPE=work:bob@example.com\r\nTEL:1\r\n"));
    let at = |name: &str| format!("{BOOK}{name}");
    let email = |text: &str| {
        served.query(&format!(
            "><C:prop-filter name='EMAIL'><C:text-match>{text}</C:text-match></C:prop-filter>"
        ))
    };
    assert_eq!(email("EXAMPLE.ORG"), [at("1")]);
    assert_eq!(email("example"), [at("1"), at("2")]);
    assert_eq!(
        served.query("><C:prop-filter name='TEL'><C:is-not-defined/></C:prop-filter>"),
        [at("1")]
    );
    assert_eq!(served.query(">"), [at("1"), at("2")]);
    let cut = served.parts("REPORT", BOOK, "1",
        "<C:addressbook-query xmlns='DAV:' xmlns:C='urn:ietf:params:xml:ns:carddav'><prop><C:address-data>\
         <C:prop name='FN'/></C:address-data></prop><C:filter/><C:limit><C:nresults>1</C:nresults></C:limit>\
         </C:addressbook-query>");
    assert_eq!(hrefs(&cut), [at("1"), BOOK.to_owned()]);
    assert!(
        cut.contains("507 Insufficient") && cut.contains("number-of-matches-within-limits"),
        "{cut}"
    );
    let data = "BEGIN:VCARD&#13;\nVERSION:4.0&#13;\nFN:Name of a&#13;\nEND:VCARD&#13;\n";
    assert_eq!(between(&cut, "<C:address-data>", "</C:address-data>"), data);
}

#[test]
fn nobody_comes_in_without_signing_in_and_nobody_sees_what_is_anothers() {
    let served = served();
    served.put("1", &card("a", ""));
    let anonymous = send(&served.running, "PROPFIND", "/dav/", &[], "");
    assert_eq!(anonymous.status, 401);
    assert!(anonymous.header("www-authenticate").starts_with("Basic realm="));
    let options = send(&served.running, "OPTIONS", "/dav/", &[], "");
    assert!(options.status == 200 && options.header("dav").contains("addressbook"));
    let moved = send(&served.running, "PROPFIND", "/.well-known/carddav", &[], "");
    assert_eq!((moved.status, moved.header("location")), (301, "/dav/"));
    let path = format!("{BOOK}1");
    for (method, path) in [
        ("GET", &*path),
        ("PUT", &path),
        ("DELETE", &path),
        ("PROPFIND", BOOK),
        ("REPORT", BOOK),
        ("PROPFIND", "/dav/books/ada/"),
        ("PROPFIND", "/dav/files/ada/"),
    ] {
        let body = if method == "REPORT" {
            "<sync-collection xmlns='DAV:'><sync-token/><prop/></sync-collection>"
        } else {
            ""
        };
        let status = served.by("bob", method, path, &[("depth", "0")], body).status;
        assert!(status == 404 || method == "PUT" && status == 409, "{method} {path}: {status}");
    }
    assert_eq!(served.by("root", "GET", &path, &[], "").status, 200);

    // Shared to look at, then to change, then no more.
    let share = |privileges: &str| {
        let body = format!(
            "<acl xmlns='DAV:'><ace><principal><href>/dav/principals/bob/</href></principal><grant>{privileges}</grant></ace></acl>"
        );
        assert_eq!(served.ask("ACL", BOOK, &[], &body).status, 200);
    };
    share("<privilege><read/></privilege>");
    assert_eq!(served.by("bob", "GET", &path, &[], "").status, 200);
    let refused = served.by("bob", "PUT", &path, &[], &card("a", "N:1\r\n"));
    assert!(
        refused.status == 403 && refused.text().contains("need-privileges"),
        "{}",
        refused.text()
    );
    let home = served.by("bob", "PROPFIND", "/dav/principals/bob/", &[("depth", "0")],
        "<propfind xmlns='DAV:'><prop><h:addressbook-home-set xmlns:h='urn:ietf:params:xml:ns:carddav'/></prop></propfind>");
    assert!(
        home.text().contains("/dav/books/bob/</D:href><D:href>/dav/books/ada/"),
        "{}",
        home.text()
    );
    assert_eq!(
        hrefs(served.by("bob", "PROPFIND", "/dav/books/ada/", &[("depth", "1")], "").text()),
        ["/dav/books/ada/", BOOK]
    );
    share("<privilege><read/></privilege><privilege><write/></privilege>");
    assert_eq!(served.by("bob", "PUT", &path, &[], &card("a", "N:1\r\n")).status, 204);
    assert_eq!(served.by("bob", "DELETE", BOOK, &[], "").status, 403);
    assert_eq!(served.ask("ACL", BOOK, &[], "<acl xmlns='DAV:'/>").status, 200);
    assert_eq!(served.by("bob", "GET", &path, &[], "").status, 404);
}

#[test]
fn tokens_sign_in_and_may_be_for_looking_only() {
    let served = served();
    served.put("1", &card("a", ""));
    let contacts = &served.contacts;
    let secret = contacts.block_on(contacts.add_token("ada", "page", true, None)).unwrap();
    use base64::{Engine, engine::general_purpose::STANDARD};
    let authorization = format!("Basic {}", STANDARD.encode(format!("ada:{secret}")));
    let by = |method: &str, body: &str| {
        send(
            &served.running,
            method,
            &format!("{BOOK}1"),
            &[("authorization", &authorization)],
            body,
        )
        .status
    };
    // The server looks once a second whether another process changed anything.
    contacts.block_on(contacts.add_user("eve", "x")).unwrap();
    while served.ask("PROPFIND", "/dav/principals/eve/", &[("depth", "0")], "").status == 404 {
        std::thread::yield_now();
    }
    assert_eq!((by("GET", ""), by("PUT", "x"), by("DELETE", "")), (200, 403, 403));
}

#[test]
fn books_are_made_described_and_removed() {
    let served = served();
    let body = "<mkcol xmlns='DAV:'><set><prop><resourcetype><collection/><C:addressbook xmlns:C='urn:ietf:params:xml:ns:carddav'/>\
        </resourcetype><displayname>Friends &amp; co</displayname></prop></set></mkcol>";
    let made = served.ask("MKCOL", "/dav/books/ada/friends/", &[], body);
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(served.ask("MKCOL", "/dav/books/ada/friends", &[], "").status, 405);
    assert_eq!(served.by("bob", "MKCOL", "/dav/books/ada/more/", &[], "").status, 403);
    let ask = "<propfind xmlns='DAV:'><prop><displayname/><resourcetype/><x:colour xmlns:x='y:'/></prop></propfind>";
    let told = served.parts("PROPFIND", "/dav/books/ada/friends/", "0", ask);
    assert!(
        told.contains("Friends &amp; co")
            && told.contains("<C:addressbook/>")
            && told.contains("404 Not Found"),
        "{told}"
    );
    let patch = "<propertyupdate xmlns='DAV:'><set><prop><x:colour xmlns:x='y:' xml:lang='en'>re<b>d</b></x:colour></prop></set>\
        <remove><prop><displayname/></prop></remove></propertyupdate>";
    assert!(served.parts("PROPPATCH", "/dav/books/ada/friends/", "0", patch).contains("200 OK"));
    let told = served.parts("PROPFIND", "/dav/books/ada/friends/", "0", ask);
    assert!(
        told.contains("<colour xmlns=\"y:\" xml:lang=\"en\">re<b xmlns=\"DAV:\">d</b></colour>"),
        "{told}"
    );
    assert!(told.contains("<D:displayname>friends</D:displayname>"), "{told}");
    let protected = patch.replace("displayname", "getetag");
    let refused = served.parts("PROPPATCH", "/dav/books/ada/friends/", "0", &protected);
    assert!(
        refused.contains("403 Forbidden") && refused.contains("424 Failed Dependency"),
        "{refused}"
    );
    let added = served.ask("POST", "/dav/books/ada/friends/", &[], &card("a", ""));
    assert_eq!(added.status, 201);
    assert_eq!(served.ask("GET", added.header("location"), &[], "").text(), card("a", ""));
    assert_eq!(served.ask("POST", "/dav/books/ada/friends/", &[], &card("a", "")).status, 403);
    // A copy into another book, a move within one.
    let location = added.header("location");
    let to = format!("{BOOK}1.vcf");
    assert_eq!(served.ask("COPY", location, &[("destination", &to)], "").status, 201);
    assert_eq!(
        served.ask("MOVE", &to, &[("destination", &format!("http://x{BOOK}2.vcf"))], "").status,
        201
    );
    assert_eq!(
        served
            .ask(
                "MOVE",
                location,
                &[("destination", &format!("{BOOK}2.vcf")), ("overwrite", "F")],
                ""
            )
            .status,
        412
    );
    assert_eq!(
        served.ask("COPY", location, &[("destination", &format!("{BOOK}3.vcf"))], "").status,
        403
    );
    assert_eq!(served.ask("DELETE", "/dav/books/ada/friends/", &[], "").status, 204);
    assert_eq!(served.ask("GET", location, &[], "").status, 404);
    // The default book is emptied, and stays.
    assert_eq!(served.ask("DELETE", BOOK, &[], "").status, 204);
    assert_eq!(hrefs(&served.parts("PROPFIND", BOOK, "1", "")), [BOOK]);
}

#[test]
fn a_lock_is_for_who_shows_it() {
    let served = served();
    let path = "/dav/files/ada/note";
    assert_eq!(served.ask("PUT", path, &[("content-type", "text/plain")], "one").status, 201);
    let info = "<lockinfo xmlns='DAV:'><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>";
    let locked = served.ask("LOCK", path, &[("timeout", "Second-60")], info);
    assert_eq!(locked.status, 200, "{}", locked.text());
    let token = locked.header("lock-token").to_owned();
    assert!(
        locked.text().contains("Second-60") || locked.text().contains("Second-59"),
        "{}",
        locked.text()
    );
    for (method, headers) in [
        ("PUT", vec![]),
        ("DELETE", vec![]),
        ("LOCK", vec![]),
        ("MOVE", vec![("destination", "/dav/files/ada/x")]),
    ] {
        let body = if method == "LOCK" { info } else { "two" };
        let refused = served.ask(method, path, &headers, body);
        assert_eq!(refused.status, 423, "{method}: {}", refused.text());
    }
    let shown = format!("({token})");
    assert_eq!(served.ask("PUT", path, &[("if", &shown)], "two").status, 204);
    assert_eq!(served.ask("LOCK", path, &[("if", &shown)], "").status, 200);
    assert_eq!(served.ask("UNLOCK", path, &[("lock-token", "<urn:none>")], "").status, 409);
    assert_eq!(served.ask("UNLOCK", path, &[("lock-token", &token)], "").status, 204);
    assert_eq!(served.ask("PUT", path, &[], "three").status, 204);
    assert_eq!(served.ask("GET", path, &[], "").text(), "three");
}

#[test]
fn what_is_no_request_is_refused() {
    let served = served();
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;'>]><propfind xmlns='DAV:'><prop>&c;</prop></propfind>";
    let deep = format!("<propfind xmlns='DAV:'>{}", "<prop>".repeat(100));
    for (method, body) in [
        ("PROPFIND", "<x"),
        ("PROPFIND", "<x/>"),
        ("PROPFIND", bomb),
        ("PROPFIND", &*deep),
        ("PROPPATCH", ""),
        ("REPORT", ""),
        ("REPORT", "<sync-collection xmlns='DAV:'/>"),
        ("LOCK", "<x/>"),
        ("ACL", "<x/>"),
    ] {
        assert_eq!(
            served.ask(method, BOOK, &[("depth", "0")], body).status,
            400,
            "{method} {body}"
        );
    }
    let infinite = served.ask("PROPFIND", BOOK, &[], "");
    assert!(
        infinite.status == 403 && infinite.text().contains("propfind-finite-depth"),
        "{}",
        infinite.text()
    );
    assert_eq!(served.ask("REPORT", BOOK, &[], "<x xmlns='DAV:'/>").status, 403);
    assert_eq!(served.ask("PATCH", BOOK, &[], "").status, 405);
    assert_eq!(served.ask("GET", BOOK, &[], "").status, 405);
    let hrefs: String = (0..10_000).map(|number| format!("<href>{BOOK}{number}</href>")).collect();
    let many = served.parts("REPORT", BOOK, "1", &format!(
        "<C:addressbook-multiget xmlns='DAV:' xmlns:C='urn:ietf:params:xml:ns:carddav'><prop><getetag/></prop>{hrefs}\
         </C:addressbook-multiget>"));
    assert_eq!(many.matches("404 Not Found").count(), 10_000);
}

#[test]
fn passwords_do_not_cross_the_network_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sakuin.toml");
    let check = |listen: &str, more: &str| {
        let text = format!(
            "[server]\nlisten = \"{listen}\"\n[contacts]\nstore = \"sqlite://c.db\"\n{more}"
        );
        std::fs::write(&file, &text).unwrap();
        let config = Config::read(&file).unwrap();
        let bound = Server::bind(&config, &limits()).map(drop).map_err(|error| error.to_string());
        let checked = sakuin_server::check(&file).map(drop).map_err(|error| error.to_string());
        assert_eq!(bound, checked);
        bound
    };
    let refused = Err("passwords of contacts would cross the network in the clear".to_owned());
    assert_eq!(check("0.0.0.0:0", ""), refused);
    assert_eq!(check("0.0.0.0:0", "insecure = true"), Ok(()));
    assert_eq!(check("127.0.0.1:0", ""), Ok(()));
}

#[test]
fn photos_of_thirty_megabytes_are_kept_or_refused() {
    let photo = format!("PHOTO:data:image/jpeg;base64,{}\r\n", "/9j/".repeat(30 << 18));
    let large = card("a", &photo);
    let few = served();
    let refused = few.put("a.vcf", &large);
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(
        refused.text().contains("max-resource-size") && refused.text().contains("smaller photo")
    );
    assert_eq!(few.ask("GET", &format!("{BOOK}a.vcf"), &[], "").status, 404);

    let folder = tempfile::tempdir().unwrap();
    let served = served_from(folder.path(), "64MiB");
    assert_eq!(served.put("a.vcf", &large).status, 201);
    let got = served.ask("GET", &format!("{BOOK}a.vcf"), &[], "");
    assert!(got.status == 200 && got.text() == large);
    let multiget = |wanted: &str| {
        served.parts("REPORT", BOOK, "1", &format!(
            "<C:addressbook-multiget xmlns='DAV:' xmlns:C='urn:ietf:params:xml:ns:carddav'><prop>{wanted}</prop>\
             <href>{BOOK}a.vcf</href></C:addressbook-multiget>"
        ))
    };
    let whole = multiget("<C:address-data/>");
    let data = between(&whole, "<C:address-data>", "</C:address-data>");
    assert!(data.replace("&#13;", "\r") == large);
    let named = multiget("<C:address-data><C:prop name='FN'/></C:address-data>");
    assert!(named.len() < 2_000 && named.contains("FN:Name of a"));
}

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let Some(disk) = Small::mount() else {
        eprintln!("not run: only root may mount a small disk");
        return;
    };
    let served = served_from(disk.path(), "1MiB");
    let more = format!("NOTE:{}\r\n", "x".repeat(100_000));
    let put = |number: usize| {
        let put = served.put(&number.to_string(), &card(&format!("u{number}"), &more));
        (put.status, put.header("retry-after").to_owned())
    };
    let acknowledged = (0..1000).take_while(|number| put(*number).0 == 201).count();
    assert!((1..1000).contains(&acknowledged), "{acknowledged}");
    assert_eq!(put(acknowledged), (503, "5".to_owned()));
    let all_there = |served: &Served, count: usize| {
        for number in 0..count {
            let got = served.ask("GET", &format!("{BOOK}{number}"), &[], "");
            assert!(
                got.status == 200 && got.text() == card(&format!("u{number}"), &more),
                "{number}"
            );
        }
    };
    all_there(&served, acknowledged);
    // Without a restart.
    disk.grow();
    assert_eq!(put(acknowledged).0, 201);
    all_there(&served, acknowledged + 1);
    drop(served);
    all_there(&served_again(disk.path()), acknowledged + 1);
}

fn served_again(folder: &Path) -> Served {
    let url = format!("sqlite://{}", folder.join("contacts.db").display());
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"sqlite://contacts.db\"\n";
    let config = Config::parse(text, "test.toml", folder).unwrap();
    let contacts = Arc::new(Contacts::open(&url, Servers::Many).unwrap());
    Served { running: Running::start(&config, &limits()), contacts, _folder: None }
}

#[test]
fn a_person_who_comes_to_the_door_of_programs_is_led_to_the_pages() {
    let served = served();
    let html = [("accept", "text/html,*/*;q=0.8")];
    for path in ["/", "/dav/"] {
        let led = send(&served.running, "GET", path, &html, "");
        assert_eq!((led.status, led.header("location")), (303, "/contacts/"), "{path}");
    }
    let files = served.parts(
        "PROPFIND",
        "/dav/files/",
        "1",
        "<propfind xmlns='DAV:'><prop><resourcetype/></prop></propfind>",
    );
    assert_eq!(hrefs(&files), ["/dav/files/", "/dav/files/ada/"]);
}

#[test]
fn no_route_of_a_table_hides_contacts() {
    for (contacts, route, cause) in [
        ("", "/contacts/{id}", "`[contacts]` serves what lies below `/contacts/`"),
        ("path = \"/people/\"", "/people/{id}", "`[contacts]` serves what lies below `/people/`"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[contacts]\nstore = \"sqlite://contacts.db\"\n{contacts}\n[live]\npath = \"live.redb\"\n\
             [tables.t]\nkind = \"live\"\nroute = \"{route}\"\nattributes.a = {{ type = \"int\" }}\n"
        );
        let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
        let refused = Server::bind(&config, &limits()).err().unwrap();
        assert!(refused.to_string().contains(cause), "{refused}");
    }
    let text = "[contacts]\nstore = \"sqlite://contacts.db\"\npath = \"/contacts/dav/\"\n";
    let refused = Config::parse(text, "test.toml", Path::new("")).unwrap_err();
    assert!(refused.hint().unwrap().contains("the pages for people are there"));
}

/// A connection is remembered for who showed what on it, and for nobody and nothing else.
#[test]
fn a_connection_that_is_kept_is_nobodys() {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let served = served();
    served.put("1.vcf", &card("a", ""));
    let agent = agent();
    let get = |name: &str, password: &str| {
        let authorization = format!("Basic {}", STANDARD.encode(format!("{name}:{password}")));
        let url = format!("http://{}{BOOK}1.vcf", served.running.address);
        let request = ureq::http::Request::get(url).header("authorization", authorization);
        let answer = Answer::read(agent.run(request.body(()).unwrap()).unwrap());
        answer.status
    };
    for _ in 0..3 {
        assert_eq!(get("ada", "ada's"), 200);
    }
    assert_eq!([get("bob", "bob's"), get("ada", "bob's"), get("ada", "ada's")], [404, 401, 200]);
    served.contacts.block_on(served.contacts.set_password("ada", "new")).unwrap();
    while get("ada", "ada's") == 200 {
        std::thread::yield_now();
    }
    assert_eq!([get("ada", "ada's"), get("ada", "new"), get("ada", "new")], [401, 200, 200]);
}

#[test]
fn an_address_with_an_empty_segment_is_nothings() {
    let served = served();
    let file = served.ask("PUT", "/dav/files/ada/x", &[], "a file");
    assert_eq!((file.status, served.ask("GET", "/dav/files/ada/x", &[], "").status), (201, 200));
    for address in ["/dav/books/ada//x", "/dav/books//addressbook/x", "/dav//books/ada/x"] {
        for _ in 0..2 {
            let got = served.ask("GET", address, &[], "");
            assert_eq!(got.status, 400, "{address}: {}", got.text());
        }
    }
}
