//! The servers with a book of so many cards, each filled in the way that is quickest for it.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use bench_sampler::{Postgres, Server, free_port};

use crate::book::card;

pub const SAKUIN: &str = "../target/release/sakuin";
/// `ada:secret`
pub const ADA: &str = "Basic YWRhOnNlY3JldA==";

/// A server and the address of its book, with a slash at the end.
pub struct Served {
    pub server: Server,
    /// `http://127.0.0.1:PORT`
    pub origin: String,
    /// Of the book, below the origin.
    pub book: &'static str,
    /// What comes before and after a number in a card's name.
    pub name: (&'static str, &'static str),
    pub agent: ureq::Agent,
}

pub const BOOK: &str = "/dav/books/ada/addressbook/";
const NAME: (&str, &str) = ("card-", ".vcf");

impl Served {
    fn new(server: Server, origin: String, book: &'static str) -> Served {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(600)))
            .allow_non_standard_methods(true);
        Served { server, origin, book, name: NAME, agent: config.build().new_agent() }
    }

    /// A request, as its status and body.
    pub fn ask(&self, method: &str, path: &str, depth: &str, body: &str) -> (u16, Vec<u8>) {
        // Some servers hang up on some of many connections that come at once.
        let asked = (0..10).find_map(|_| self.try_ask(method, path, depth, body).ok());
        asked.unwrap_or_else(|| panic!("{}{path} does not answer {method}", self.origin))
    }

    fn try_ask(
        &self,
        method: &str,
        path: &str,
        depth: &str,
        body: &str,
    ) -> Result<(u16, Vec<u8>), ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header("authorization", ADA)
            .header("content-type", if method == "PUT" { "text/vcard" } else { "application/xml" })
            .header("depth", depth);
        let answer = match body {
            "" => self.agent.run(request.body(()).expect("a request")),
            body => self.agent.run(request.body(body.to_owned()).expect("a request")),
        };
        let mut answer = answer?;
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec()?;
        Ok((answer.status().as_u16(), body))
    }

    /// A report of its book.
    pub fn report(&self, depth: &str, body: &str) -> String {
        let (status, answer) = self.ask("REPORT", self.book, depth, body);
        let answer = String::from_utf8(answer).expect("it is UTF-8");
        assert_eq!(status, 207, "{answer}");
        answer
    }

    pub fn card_path(&self, number: usize) -> String {
        format!("{}{}{number}{}", self.book, self.name.0, self.name.1)
    }
}

/// Ours, over a store, with a packed table of the same cards beside the book.
pub fn sakuin(folder: &Path, store: &str, more: &str, cards: usize) -> Served {
    let config = folder.join("sakuin.toml");
    let pairs =
        (0..cards).map(|number| serde_json::json!([format!("card-{number}.vcf"), card(number)]));
    let pairs: Vec<_> = pairs.map(|pair| pair.to_string()).collect();
    fs::write(folder.join("cards.jsonl"), pairs.join("\n")).expect("a file");
    let file = |name: &str| folder.join(name).display().to_string();
    run(
        SAKUIN,
        &["pack", &file("cards.jsonl"), "--output", &file("cards.skn"), "--content-type", "text"],
        "",
    );
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[contacts]\nstore = \"{store}\"\n{more}\
         [tables.cards]\nkind = \"packed\"\nfile = \"cards.skn\"\nroute = \"/cards/{{key}}\"\n"
    );
    fs::write(&config, text).expect("a file");
    let config = config.display().to_string();
    run(
        SAKUIN,
        &["contacts", "user", "add", "ada", "--password-stdin", "--config", &config],
        "secret\n",
    );
    let served = serve_sakuin(&config);
    std::thread::scope(|scope| {
        for part in 0..64 {
            let served = &served;
            scope.spawn(move || {
                for number in (part..cards).step_by(64) {
                    let (status, answer) =
                        served.ask("PUT", &served.card_path(number), "0", &card(number));
                    assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
                }
            });
        }
    });
    served
}

/// Ours, over what its configuration names.
pub fn serve_sakuin(config: &str) -> Served {
    let (server, url) = Server::start_printing("0,1", SAKUIN, &["serve", config]);
    Served::new(server, url.trim_end_matches('/').to_owned(), BOOK)
}

pub fn sqlite(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("contacts.db").display())
}

/// A database of its own in a cluster.
pub fn database(postgres: &Postgres, name: &str) -> String {
    postgres.run(&format!("create database {name}"));
    let url = postgres.url();
    format!("{}/{name}", url.strip_suffix("/postgres").expect("it ends with the database"))
}

/// Radicale with its own server and files, a password in a file, and its cache of sign-ins.
pub fn radicale(peers: &str, folder: &Path, cards: usize) -> Served {
    let port = free_port();
    let book = folder.join("collections/collection-root/ada/addressbook");
    fs::create_dir_all(&book).expect("a folder");
    fs::write(book.join(".Radicale.props"), "{\"tag\": \"VADDRESSBOOK\"}").expect("a file");
    fill(&book, cards);
    fs::write(folder.join("users"), "ada:secret\n").expect("a file");
    let config = format!(
        "[server]\nhosts = 127.0.0.1:{port}\nmax_connections = 100\n[auth]\ntype = htpasswd\nhtpasswd_filename = {}\nhtpasswd_encryption = plain\n\
         cache_logins = True\n[storage]\nfilesystem_folder = {}\n[logging]\nlevel = error\n",
        folder.join("users").display(),
        folder.join("collections").display(),
    );
    fs::write(folder.join("config"), config).expect("a file");
    let config = folder.join("config").display().to_string();
    let server = Server::start("0,1", port, peers, &["-m", "radicale", "--config", &config]);
    Served::new(server, format!("http://127.0.0.1:{port}"), "/ada/addressbook/")
}

/// Xandikos, which has no passwords, with a book in git.
pub fn xandikos(peers: &str, folder: &Path, cards: usize) -> Served {
    let port = free_port();
    let directory = folder.join("dav").display().to_string();
    let port_text = port.to_string();
    let arguments = [
        "-m",
        "xandikos",
        "serve",
        "--defaults",
        "--directory",
        &directory,
        "--port",
        &port_text,
        "--listen-address",
        "127.0.0.1",
    ];
    let home = format!("HOME={}", folder.display());
    let start = || {
        let arguments = [&[&*home, peers][..], &arguments[..]].concat();
        Server::start("0,1", port, "env", &arguments)
    };
    let served =
        Served::new(start(), format!("http://127.0.0.1:{port}"), "/user/contacts/addressbook/");
    // It makes its books when it is first asked.
    let deadline = Instant::now() + Duration::from_secs(20);
    let book = folder.join("dav/user/contacts/addressbook");
    while !book.exists() {
        served.ask("PROPFIND", "/", "1", "");
        assert!(Instant::now() < deadline, "{} is not made", book.display());
    }
    drop(served);
    fill(&book, cards);
    let book = book.display().to_string();
    run("git", &["-C", &book, "add", "."], "");
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    run(
        "git",
        &[&["-C", &book][..], &who, &["commit", "--quiet", "--message", "filled"]].concat(),
        "",
    );
    Served::new(start(), format!("http://127.0.0.1:{port}"), "/user/contacts/addressbook/")
}

fn fill(folder: &Path, cards: usize) {
    for number in 0..cards {
        fs::write(folder.join(format!("card-{number}.vcf")), card(number)).expect("a file");
    }
}

/// Runs a program to its end.
pub fn run(program: &str, arguments: &[&str], input: &str) {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child =
        command.spawn().unwrap_or_else(|error| panic!("{program} does not start: {error}"));
    let mut to = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut to, input.as_bytes()).expect("it reads");
    drop(to);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
}
