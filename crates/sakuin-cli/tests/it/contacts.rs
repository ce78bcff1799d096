//! Contacts as a whole: the command adds people, and programs that others wrote find nothing wrong with what is served
//! to them, whichever database keeps it.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    sync::{
        LazyLock,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use crate::{
    command::Folder,
    postgres::Postgres,
    server::{Reply, Server, send},
    tools,
};

static POSTGRES: LazyLock<Postgres> = LazyLock::new(Postgres::start);
static DATABASES: AtomicU32 = AtomicU32::new(0);

const BOOK: &str = "/dav/books/ada/addressbook/";
/// `ada:secret`
const ADA: &str = "authorization: Basic YWRhOnNlY3JldA==";

fn sqlite(more: &str) -> Folder {
    folder("sqlite://contacts.db", more)
}

fn postgres(more: &str) -> Folder {
    folder(&POSTGRES.url(&database()), more)
}

fn database() -> String {
    let name = format!("dav{}", DATABASES.fetch_add(1, Relaxed));
    psql(&format!("CREATE DATABASE {name}"));
    name
}

fn psql(sql: &str) {
    let mut command = Command::new("psql");
    command.args(["-q", "-o", "/dev/null", "-U", "postgres", "-h"]).arg(POSTGRES.folder());
    assert!(command.args(["-c", sql]).status().unwrap().success());
}

/// A folder with a configuration, and contacts of `ada`.
fn folder(store: &str, more: &str) -> Folder {
    let config =
        format!("[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"{store}\"\n{more}");
    let folder = Folder::with(&[("sakuin.toml", &config)]);
    let at = ["--config", "sakuin.toml"];
    let added = folder.run_with(
        &[&["contacts", "user", "add", "ada", "--password-stdin"], &at[..]].concat(),
        "secret\n",
    );
    assert_eq!((added.code, &*added.stderr), (0, "added `ada`\n"));
    folder
}

fn serve(folder: &Folder) -> Server {
    Server::start(folder, &["serve", "sakuin.toml"])
}

fn card(uid: &str, note: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{uid}\r\nNOTE:{note}\r\nEND:VCARD\r\n")
}

fn put(to: SocketAddr, name: &str, card: &str) -> Option<Reply> {
    send(to, "PUT", &format!("{BOOK}{name}"), &[ADA], card)
}

fn get(from: SocketAddr, name: &str) -> Reply {
    send(from, "GET", &format!("{BOOK}{name}"), &[ADA], "").unwrap()
}

/// Every test on both databases.
macro_rules! on_both {
    ($($test:ident),*) => {
        mod on_sqlite { $(#[test] fn $test() { super::$test(&super::sqlite("")); })* }
        mod on_postgres { $(#[test] fn $test() { super::$test(&super::postgres("")); })* }
    };
}
on_both!(
    litmus_finds_nothing,
    the_tests_of_vdirsyncer_pass,
    two_devices_edit_and_agree,
    kills_lose_nothing_acknowledged,
    cards_come_and_go_by_the_command
);

fn litmus_finds_nothing(folder: &Folder) {
    let server = serve(folder);
    let url = format!("http://{}/dav/files/ada/", server.address);
    let ran = Command::new("litmus")
        .current_dir(folder.path(""))
        .args(["-k", &url, "ada", "secret"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert_eq!(said.matches("0 failed. 100.0%").count(), 5, "{said}");
    assert!(!said.contains("SKIPPED"), "{said}");
}

fn the_tests_of_vdirsyncer_pass(folder: &Folder) {
    let server = serve(folder);
    let source = tools::built("vdirsyncer/source");
    let mut command = Command::new(tools::built("vdirsyncer/bin/python"));
    command.current_dir(source).env("DAV_SERVER", "sakuin");
    command
        .env("SAKUIN_URL", format!("http://{}/dav/", server.address))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let arguments =
        ["-m", "pytest", "-o", "addopts=", "-p", "no:cacheprovider", "--show-capture=no", "-q"];
    let ran = command.args(arguments).arg("tests/storage/dav/test_carddav.py").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    // Two are of calendars, or of servers that are no DAV servers.
    assert!(ran.status.success() && said.contains("34 passed, 2 skipped"), "{said}");
}

/// Two folders that vdirsyncer keeps like the book, and khard as who edits them.
struct Device {
    home: PathBuf,
}

impl Device {
    fn new(folder: &Folder, name: &str, url: &str) -> Device {
        let home = folder.path(name);
        std::fs::create_dir_all(home.join("cards/addressbook")).unwrap();
        let path = |name: &str| home.join(name).display().to_string();
        let config = format!(
            "[general]\nstatus_path = \"{}\"\n[pair contacts]\na = \"here\"\nb = \"there\"\n\
             collections = [\"addressbook\"]\nconflict_resolution = \"b wins\"\n[storage here]\ntype = \"filesystem\"\n\
             path = \"{}\"\nfileext = \".vcf\"\n[storage there]\ntype = \"carddav\"\nurl = \"{url}\"\n\
             username = \"ada\"\npassword = \"secret\"\n",
            path("status"),
            path("cards"),
        );
        std::fs::write(home.join("config"), config).unwrap();
        let khard = format!("[addressbooks]\n[[main]]\npath = {}\n", path("cards/addressbook"));
        std::fs::write(home.join("khard.conf"), khard).unwrap();
        let device = Device { home };
        device.run("vdirsyncer", &["-c", "config", "discover"]);
        device
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(tools::built("vdirsyncer/bin/python"));
        command.current_dir(&self.home).args(["-m", program]).args(arguments);
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned()
            + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{program} {arguments:?}: {said}");
        said
    }

    fn sync(&self) {
        self.run("vdirsyncer", &["-c", "config", "sync"]);
    }

    fn emails(&self) -> Vec<String> {
        let said = self.run("khard", &["-c", "khard.conf", "email", "--parsable"]);
        let mut emails: Vec<_> = said
            .lines()
            .filter_map(|line| line.split('\t').next())
            .filter(|it| it.contains('@'))
            .map(str::to_owned)
            .collect();
        emails.sort();
        emails
    }

    fn add(&self, name: &str, email: &str) {
        let text = format!("First name: {name}\nEmail:\n    work: {email}\n");
        std::fs::write(self.home.join("new.yaml"), text).unwrap();
        self.run("khard", &["-c", "khard.conf", "new", "-a", "main", "-i", "new.yaml"]);
    }
}

fn two_devices_edit_and_agree(folder: &Folder) {
    let server = serve(folder);
    // It finds the book by itself.
    let url = format!("http://{}/", server.address);
    let (desk, phone) = (Device::new(folder, "desk", &url), Device::new(folder, "phone", &url));
    desk.add("Ada", "ada@example.org");
    desk.sync();
    phone.sync();
    assert_eq!(phone.emails(), ["ada@example.org"]);
    phone.add("Grace", "grace@example.org");
    phone.run("khard", &["-c", "khard.conf", "remove", "--force", "Ada"]);
    phone.sync();
    desk.add("Edsger", "edsger@example.org");
    desk.sync();
    phone.sync();
    assert_eq!(desk.emails(), ["edsger@example.org", "grace@example.org"]);
    assert_eq!(phone.emails(), desk.emails());
    drop(server);
    let exported = folder.ok(&["contacts", "export", "ada", "--config", "sakuin.toml"]);
    assert_eq!(exported.matches("BEGIN:VCARD").count(), 2, "{exported}");
}

fn kills_lose_nothing_acknowledged(folder: &Folder) {
    const PUTS: usize = 1_000;
    const KILLS: usize = 5;
    let next = AtomicUsize::new(0);
    let mut acknowledged: Vec<usize> = Vec::new();
    for kill in 1..=KILLS {
        let server = serve(folder);
        let address = server.address;
        let (next, end) = (&next, PUTS * kill / KILLS);
        let client = move || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= end {
                    return done;
                }
                let put = put(address, &number.to_string(), &card(&format!("u{number}"), "x"));
                match put {
                    Some(reply) => assert!(reply.status == 201, "{}", reply.text()),
                    None => return done,
                }
                done.push(number);
            }
        };
        thread::scope(|scope| {
            let clients: Vec<_> = (0..8).map(|_| scope.spawn(client)).collect();
            // In the middle of whatever they do; the last life ends when all is done.
            while kill < KILLS && next.load(Relaxed) < end - PUTS / KILLS / 3 {
                thread::yield_now();
            }
            let mut server = Some(server);
            if kill < KILLS {
                server = None;
            }
            acknowledged.extend(clients.into_iter().flat_map(|client| client.join().unwrap()));
            drop(server);
        });
        next.fetch_max(end, Relaxed);
    }
    assert!(acknowledged.len() > PUTS / 2);
    let server = serve(folder);
    for number in acknowledged {
        let found = get(server.address, &number.to_string());
        assert_eq!(
            (found.status, found.text()),
            (200, &*card(&format!("u{number}"), "x")),
            "{number}"
        );
    }
}

fn cards_come_and_go_by_the_command(folder: &Folder) {
    let at = |arguments: &[&str]| {
        [arguments, &["--config", "sakuin.toml"]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let run = |arguments: &[&str]| {
        let arguments = at(arguments);
        folder.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let server = serve(folder);
    let old = "BEGIN:VCARD\r\nVERSION:2.1\r\nN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:Caf=C3=A9;;;;\r\nEND:VCARD\r\n";
    std::fs::write(folder.path("all.vcf"), format!("{}{old}BEGIN:VCARD\nnone", card("a", "1")))
        .unwrap();
    let imported = run(&["contacts", "import", "ada", "all.vcf"]);
    assert_eq!(
        (imported.code, imported.stderr.contains("imported 2 of 3 cards")),
        (1, true),
        "{}",
        imported.stderr
    );
    let again = run(&["contacts", "import", "ada", "all.vcf"]);
    assert!(again.stderr.contains("imported 2 of 3 cards"));
    let exported = run(&["contacts", "export", "ada"]).stdout;
    assert!(exported.contains(&card("a", "1")) && exported.contains("Café"), "{exported}");
    assert_eq!(exported.matches("END:VCARD").count(), 2);
    // The server sees what the command does.
    let listing = || send(server.address, "PROPFIND", BOOK, &[ADA, "depth: 1"], "").unwrap();
    while listing().text().matches("<D:response>").count() < 3 {
        thread::yield_now();
    }
    let token = run(&["contacts", "token", "create", "ada", "phone"]).stdout;
    assert!(token.starts_with("skn_"), "{token}");
    assert_eq!(run(&["contacts", "token", "revoke", "ada", "phone"]).code, 0);
    assert_eq!(run(&["contacts", "user", "list"]).stdout, "ada\taddressbook\n");
    assert!(
        run(&["contacts", "user", "add", "a/b", "--password-stdin"])
            .stderr
            .contains("hint: a name has")
    );
    assert_eq!(run(&["contacts", "user", "remove", "ada"]).code, 0);
    assert_eq!(run(&["contacts", "user", "list"]).stdout, "");
}

/// Whoever was told that a card is stored finds it at every server, at once.
#[test]
fn three_servers_never_tell_what_is_old() {
    const ROUNDS: usize = 150;
    let folder = postgres("servers = \"many\"\n");
    let servers = [serve(&folder), serve(&folder), serve(&folder)];
    let addresses = servers.each_ref().map(|server| server.address);
    thread::scope(|scope| {
        for client in 0..3 {
            scope.spawn(move || {
                let name = format!("c{client}");
                for round in 0..ROUNDS {
                    let text = card(&name, &round.to_string());
                    let to = addresses[(client + round) % 3];
                    let reply = put(to, &name, &text).unwrap();
                    assert!(matches!(reply.status, 201 | 204), "{}", reply.text());
                    let from = addresses[(client + round + 1 + round / 3 % 2) % 3];
                    assert_eq!(get(from, &name).text(), text, "round {round}");
                }
            });
        }
    });
}

/// A database that goes away costs those who write a word, and those who read nothing; it comes back, and so do they.
#[test]
fn a_database_that_is_away_is_told_and_forgotten() {
    let name = database();
    let folder = folder(&POSTGRES.url(&name), "");
    let server = serve(&folder);
    let (before, after) = (card("a", "before"), card("b", "after"));
    assert_eq!(put(server.address, "1", &before).unwrap().status, 201);
    psql(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"));
    psql(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    ));
    let refused = put(server.address, "2", &after).unwrap();
    assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{}", refused.text());
    assert_eq!(get(server.address, "1").text(), before);
    assert_eq!(get(server.address, "2").status, 404);
    psql(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"));
    assert_eq!(put(server.address, "2", &after).unwrap().status, 201);
    assert_eq!(get(server.address, "2").text(), after);
}
