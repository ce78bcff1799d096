//! The servers, each with the configuration a careful operator would write for one hot answer.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
};

use bench_sampler::Server;

pub const STOP: &str = "83139";
const ORIGINAL: &str = "target/release/bus-original";

/// A server and where it answers for [`STOP`].
pub struct Peer {
    pub name: &'static str,
    pub server: Server,
    pub port: u16,
}

/// What the servers are started with.
pub struct Stage {
    folder: tempfile::TempDir,
    sakuin: String,
    pub body: String,
}

/// How a table of ours is kept, and where its origin listens.
pub struct Table<'a> {
    pub origin: u16,
    /// More than the origin takes.
    pub timeout: &'a str,
    pub times: &'a str,
}

/// The origin, with what it is to suffer: `["--delay", "200"]`.
pub struct Origin {
    _server: Server,
    pub port: u16,
}

impl Stage {
    /// Writes an answer of 2,048 bytes for [`STOP`] and as many others as wanted.
    pub fn new(sakuin: &str, others: usize) -> Stage {
        let folder = tempfile::tempdir().expect("a folder");
        let body = body(STOP);
        let mut list = String::new();
        let stops = std::iter::once(STOP.to_owned());
        for stop in stops.chain((0..others).map(|stop| format!("{stop:05}"))) {
            fs::write(folder.path().join(format!("{stop}.json")), self::body(&stop))
                .expect("it can be written");
            list += &format!(
                "[[answer]]\ntarget = \"/stops/{stop}\"\nfiles = [\"{stop}.json\"]\n\
                 headers.content-type = \"application/json\"\n"
            );
        }
        fs::write(folder.path().join("replay.toml"), list).expect("it can be written");
        Stage { folder, sakuin: sakuin.to_owned(), body }
    }

    /// A certificate by its own authority, on the curve everybody uses, and its key.
    pub fn certificate(&self) -> (PathBuf, PathBuf) {
        let (cert, key) = (self.path("cert.pem"), self.path("key.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&cert)
            .output()
            .expect("openssl is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (cert, key)
    }

    /// `sakuin replay`, on all cores.
    pub fn origin(&self, weather: &[&str]) -> Origin {
        let port = free_port();
        let (folder, listen) = (self.folder.path().to_str().expect("UTF-8"), address(port));
        let arguments = [&["replay", folder, "--listen", &listen][..], weather].concat();
        Origin { _server: Server::start("0,1", port, &self.sakuin, &arguments), port }
    }

    pub fn sakuin(&self, cores: &str, table: &Table<'_>, tls: Option<&(PathBuf, PathBuf)>) -> Peer {
        let port = free_port();
        let admin = free_port();
        let tls = tls.map_or(String::new(), |(cert, key)| {
            format!("tls = {{ cert = {:?}, key = {:?} }}\n", cert, key)
        });
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\nadmin = \"127.0.0.1:{admin}\"\n{tls}\
             [origins.bus]\nurl = \"http://127.0.0.1:{}/stops/{{stop}}\"\ntimeout = \"{}\"\n\
             [tables.timings]\nkind = \"cached\"\norigin = \"bus\"\n\
             route = \"/api/v1/timings/{{stop}}\"\nkey.stop = {{ pattern = \"[0-9]{{5}}\" }}\n{}\n",
            table.origin, table.timeout, table.times
        );
        let config = self.path(&format!("sakuin-{port}.toml"));
        fs::write(&config, text).expect("it can be written");
        let config = config.to_str().expect("UTF-8").to_owned();
        fs::write(self.path(&format!("admin-{port}")), admin.to_string()).expect("written");
        let server = Server::start(cores, port, &self.sakuin, &["serve", &config]);
        Peer { name: "sakuin", server, port }
    }

    /// Where the admin door of a server of ours listens.
    pub fn admin(&self, peer: &Peer) -> u16 {
        let text = fs::read_to_string(self.path(&format!("admin-{}", peer.port)));
        text.expect("ours").parse().expect("a port")
    }

    pub fn nginx_return(&self, cores: &str, tls: Option<&(PathBuf, PathBuf)>) -> Peer {
        let location = format!("default_type application/json; return 200 '{}';", self.body);
        self.nginx("nginx return", cores, &location, "", tls)
    }

    pub fn nginx_proxy_cache(&self, cores: &str, origin: u16) -> Peer {
        let path = self.path("nginx-cache");
        let cache = format!(
            "proxy_cache_path {} keys_zone=bus:10m max_size=64m use_temp_path=off;\n\
             open_file_cache max=1000; open_file_cache_valid 60s;",
            path.display()
        );
        let location = format!(
            "proxy_pass http://127.0.0.1:{origin}; rewrite ^/api/v1/timings/(.*)$ /stops/$1 break; \
             proxy_cache bus; proxy_cache_valid 200 1h; proxy_cache_lock on; \
             proxy_ignore_headers Cache-Control Expires;"
        );
        self.nginx("nginx proxy_cache", cores, &location, &cache, None)
    }

    fn nginx(
        &self,
        name: &'static str,
        cores: &str,
        location: &str,
        http: &str,
        tls: Option<&(PathBuf, PathBuf)>,
    ) -> Peer {
        let port = free_port();
        let (folder, workers) = (self.path(&format!("nginx-{port}")), cores.split(',').count());
        fs::create_dir(&folder).expect("a folder");
        let (ssl, lines) = match tls {
            None => ("", String::new()),
            Some((cert, key)) => (
                " ssl http2",
                format!(
                    "ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3; \
                     ssl_session_cache off; ssl_session_tickets off;",
                    cert.display(),
                    key.display()
                ),
            ),
        };
        let text = format!(
            "daemon off; pid {0}/pid; error_log {0}/error.log; worker_processes {workers};\n\
             worker_rlimit_nofile 65536;\n\
             events {{ worker_connections 32768; }}\n\
             http {{ access_log off; sendfile on; tcp_nopush on; tcp_nodelay on;\n\
             keepalive_requests 1000000000; keepalive_timeout 75s; {http}\n\
             client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/f;\n\
             uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;\n\
             server {{ listen 127.0.0.1:{port}{ssl} reuseport backlog=32768; {lines}\n\
             location / {{ {location} }} }} }}\n",
            folder.display()
        );
        let config = folder.join("nginx.conf");
        fs::write(&config, text).expect("it can be written");
        let config = config.to_str().expect("UTF-8").to_owned();
        let folder = folder.to_str().expect("UTF-8").to_owned();
        let arguments = ["-p", &folder, "-e", "error.log", "-c", &config];
        Peer { name, server: Server::start(cores, port, "/usr/sbin/nginx", &arguments), port }
    }

    pub fn varnish(&self, cores: &str, origin: u16) -> Peer {
        let port = free_port();
        let folder = self.path(&format!("varnish-{port}"));
        let vcl = self.path(&format!("varnish-{port}.vcl"));
        let text = format!(
            "vcl 4.1;\nbackend origin {{ .host = \"127.0.0.1\"; .port = \"{origin}\"; }}\n\
             sub vcl_recv {{ set req.url = regsub(req.url, \"^/api/v1/timings/\", \"/stops/\"); }}\n\
             sub vcl_backend_response {{ set beresp.ttl = 1h; }}\n"
        );
        fs::write(&vcl, text).expect("it can be written");
        let (listen, folder) = (address(port), folder.to_str().expect("UTF-8").to_owned());
        let vcl = vcl.to_str().expect("UTF-8").to_owned();
        let arguments = ["-F", "-a", &listen, "-f", &vcl, "-n", &folder, "-s", "malloc,64m"];
        let server = Server::start(cores, port, "/usr/sbin/varnishd", &arguments);
        Peer { name: "Varnish", server, port }
    }

    pub fn original(&self, cores: &str) -> Peer {
        let (port, workers) = (free_port(), cores.split(',').count().to_string());
        let body = self.path(&format!("{STOP}.json"));
        let (port_text, body) = (port.to_string(), body.to_str().expect("UTF-8").to_owned());
        let server = Server::start(cores, port, ORIGINAL, &[&port_text, &body, &workers]);
        Peer { name: "actix-web", server, port }
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(self.folder.path()).join(name)
    }
}

impl Peer {
    pub fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}{}", self.port, path(STOP))
    }
}

impl Origin {
    /// How often a stop was asked for.
    pub fn calls(&self, stop: &str) -> u64 {
        let text = get(self.port, "/_replay/calls").1;
        let counts: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        counts["targets"][format!("/stops/{stop}")].as_u64().expect("it is counted")
    }
}

pub fn path(stop: &str) -> String {
    format!("/api/v1/timings/{stop}")
}

/// The status and body of one request on its own connection.
pub fn get(port: u16, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    (head.split(' ').nth(1).expect("a status").to_owned(), body.to_owned())
}

/// JSON of 2,048 bytes, written as jq would: short enough to show that the kernel's part is the larger one.
fn body(stop: &str) -> String {
    let bus = |number: usize| {
        format!(
            "{{\"service_no\":\"{number}\",\"operator\":\"GAS\",\"next\":\"2024-08-14T16:41:48+08:00\",\
             \"load\":\"SeatsAvailable\"}}"
        )
    };
    let buses: Vec<String> = (100..119).map(bus).collect();
    let start = format!("{{\"stop\":\"{stop}\",\"services\":[{}],\"rest\":\"", buses.join(","));
    assert!(start.len() < 2_046, "{} bytes", start.len());
    format!("{start}{}\"}}", "x".repeat(2_046 - start.len()))
}

fn address(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").port()
}
