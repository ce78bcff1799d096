//! A dictionary, some stories, and a server over them.

use std::{
    fs,
    net::SocketAddr,
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    thread::JoinHandle,
    time::Duration,
};

use sakuin_japanese::pack::Packer;
use sakuin_server::{Config, Error, Limits, Reloader, Report, Server, import};
use tempfile::TempDir;
use tokio::sync::oneshot;
use ureq::http;

const WORDS: &str = "　？？？ /EDICT, EDICT_SUB(P), EDICT2 Japanese-English Electronic Dictionary Files/Created: 2021-02-03/
朝 [あさ] /(n-adv,n-t) morning/(P)/
犬 [いぬ] /(n) dog (Canis <lupus> familiaris)/(P)/
公園 [こうえん] /(n) (public) park/(P)/
散歩 [さんぽ] /(n,vs) walk/stroll/(P)/
食べる [たべる] /(v1,vt) (1) to eat/(2) to live on (e.g. a salary)/(P)/
好き [すき] /(adj-na,n) liked/well-liked/favorite/(P)/
";

const KANJI: &str = "\
# KANJIDIC JIS X 0208 Kanji Information File/Created: 2022-08-23/
食 3F29 U98df B184 G2 S9 F328 N5154 V6720 ショク ジキ く.う く.らう た.べる は.む {eat} {food}
犬 3824 U72ac B94 G1 S4 F1326 ケン いぬ いぬ- {dog}
";

pub(crate) const STORIES: &str = r#"{"date":"2026-11-18","title":"<ruby>朝<rt>あさ</rt></ruby>の<ruby>犬<rt>いぬ</rt></ruby>","content":"<p>朝、犬は公園を散歩した。</p><p>それから<ruby>食<rt>た</rt></ruby>べた。</p>","source":"https://example.org/1"}
{"date":"2026-11-20","title":"公園《こうえん》","content":"公園で犬を見た。\n犬が好きだ。","image":"https://example.org/park.jpg","audio":"/sound/2.mp3"}
{"date":"2026-11-20","title":"食べたくない","content":"<p>犬は &lt;何も&gt; 食べたくなかった &amp; 寝た。</p>"}
"#;

/// A packed dictionary of a few words, made once.
pub(crate) fn dictionary() -> &'static Path {
    static MADE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let mut packer = Packer::default();
        packer.kanji(&file("kanjidic", KANJI)).unwrap();
        packer.words(&file("edict", WORDS)).unwrap();
        let packed = folder.path().join("japanese.skn");
        packer.write(&packed).unwrap();
        (folder, packed)
    });
    &MADE.1
}

/// How the tests' servers differ from those of users: they stop sooner.
pub(crate) fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.announce_time = Duration::from_millis(50);
    limits
}

/// A server, stopped when dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) url: String,
    pub(crate) reloader: Reloader,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    pub(crate) fn start(config: &Config, limits: &Limits) -> Running {
        let server = Server::bind(config, limits).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        Running {
            address: server.address(),
            admin: server.admin_address(),
            url: server.url(),
            reloader: server.reloader(),
            stop: Some(stop),
            running: Some(std::thread::spawn(move || {
                server.run(async {
                    let _ = stopped.await;
                })
            })),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, &[])
    }

    pub(crate) fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        get(self.address, path, headers)
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Answer {
        Answer::read(agent().post(format!("http://{}{path}", self.address)).send(body).unwrap())
    }

    /// What the admin door answers.
    pub(crate) fn admin(&self, path: &str) -> Answer {
        get(self.admin.unwrap(), path, &[])
    }

    /// The sum of a metric over all its labels that `filter` picks.
    pub(crate) fn metric(&self, name: &str, filter: &str) -> f64 {
        let metrics = self.admin("/metrics");
        let lines = metrics.text().lines();
        let values = lines.filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (found, labels) = series.split_once('{').unwrap_or((series, ""));
            (found == name && labels.contains(filter)).then(|| value.parse::<f64>().unwrap())
        });
        values.sum()
    }

    /// Tells the server to stop; does not wait.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until the server has stopped.
    pub(crate) fn join(&mut self) -> Result<(), Error> {
        self.running.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.stop.is_some() {
            self.stop();
        }
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

/// A server of the reading site over its own folder.
pub(crate) struct Site {
    pub(crate) folder: TempDir,
    running: Running,
}

impl Site {
    pub(crate) fn with_stories() -> Site {
        Site::start(STORIES, "/", &limits())
    }

    pub(crate) fn start(stories: &str, path: &str, limits: &Limits) -> Site {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n[reader]\ndictionary = {:?}\npath = {path:?}\n",
            dictionary()
        );
        let config = Config::parse(&text, "test.toml", folder.path()).unwrap();
        import(&config.reader.as_ref().unwrap().stories, "test.jsonl", stories.as_bytes()).unwrap();
        Site { running: Running::start(&config, limits), folder }
    }

    pub(crate) fn add(&self, stories: &str) -> Report {
        import(&self.folder.path().join("stories.db"), "more.jsonl", stories.as_bytes()).unwrap()
    }
}

impl Deref for Site {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl DerefMut for Site {
    fn deref_mut(&mut self) -> &mut Running {
        &mut self.running
    }
}

pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = agent().get(format!("http://{address}{path}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::read(request.call().unwrap())
}

pub(crate) fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder();
    let config = config.http_status_as_error(false).max_redirects(0);
    config.allow_non_standard_methods(true).build().new_agent()
}

/// An answer, read whole.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(response: http::Response<ureq::Body>) -> Answer {
        let (parts, mut body) = response.into_parts();
        let body = body.with_config().limit(64 << 20).read_to_vec().unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Every line of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The block of data that a page carries.
    pub(crate) fn sub_dictionary(&self) -> serde_json::Value {
        let start = "<script type=\"application/json\" id=\"sub-dictionary\">";
        let (_, after) = self.text().split_once(start).expect("the page has a sub-dictionary");
        let (json, _) = after.split_once("</script>").unwrap();
        assert!(!json.contains('<'), "{json}");
        serde_json::from_str(json).unwrap()
    }
}

/// A file system in memory of a few megabytes; gone when dropped.
pub(crate) struct Small {
    folder: TempDir,
}

impl Small {
    /// None where mounting is not allowed, as it is to root.
    pub(crate) fn mount() -> Option<Small> {
        let small = Small { folder: tempfile::tempdir().unwrap() };
        small.run("mount", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).then_some(small)
    }

    pub(crate) fn grow(&self) {
        assert!(self.run("mount", &["-o", "remount,size=256m"]));
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn run(&self, command: &str, arguments: &[&str]) -> bool {
        let ran = Command::new(command).args(arguments).arg(self.folder.path()).output();
        ran.is_ok_and(|output| output.status.success())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        self.run("umount", &[]);
    }
}
