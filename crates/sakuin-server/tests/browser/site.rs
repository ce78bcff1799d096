//! A server with the demo stories and a dictionary of its own, stopped when the test ends.

use std::{fs, path::PathBuf, sync::LazyLock, thread::JoinHandle, time::Duration};

use sakuin_japanese::pack::Packer;
use sakuin_server::{Config, Error, Limits, Server, import};
use tempfile::TempDir;
use tokio::sync::oneshot;

const STORIES: &str = include_str!("../../../../examples/reader/stories.jsonl");

const WORDS: &str = "　？？？ /EDICT, a few words/Created: 2026-11-01/
の /(prt) joins two nouns/(P)/
は /(prt) marks the topic/(P)/
が /(prt) marks the subject/(P)/
に /(prt) marks place, time or aim/(P)/
いる /(v1,vi) to be (of living things)/(P)/
祖母 [そぼ] /(n) grandmother/(P)/
孫 [まご] /(n) grandchild/(P)/
メッセージ /(n) message/(P)/
写真 [しゃしん] /(n) photograph/(P)/
使い方 [つかいかた] /(n) way of using/(P)/
使う [つかう] /(v5u,vt) to use/(P)/
方 [かた] /(n) way/(P)/
見る [みる] /(v1,vt) (1) to see/(2) to look after/(P)/
言う [いう] /(v5u) to say/(P)/
間違える [まちがえる] /(v1,vt) to make a mistake/(P)/
夜中 [よなか] /(n-adv,n-t) middle of the night/(P)/
昨日 [きのう] /(n-adv,n-t) yesterday/(P)/
練習 [れんしゅう] /(n,vs) practice/(P)/
一時間 [いちじかん] /(n) one hour/(P)/
一時 [いちじ] /(n) one o'clock/
時間 [じかん] /(n) time/(P)/
返事 [へんじ] /(n,vs) reply/(P)/
泣く [なく] /(v5k,vi) to cry/to weep/(P)/
会う [あう] /(v5u,vi) to meet/(P)/
行く [いく] /(v5k-s,vi) to go/(P)/
電車 [でんしゃ] /(n) train/(P)/
消える [きえる] /(v1,vi) to go out/to vanish/(P)/
";

const NAMES: &str = "　？？？ /ENAMDICT, a few names/Created: 2026-11-01/
一時 [かずとき] /(u) Kazutoki/
使 [つかい] /(s) Tsukai/
";

const KANJI: &str = "\
# KANJIDIC, a few kanji/Created: 2026-11-01/
一 306C U4e00 B1 G1 S1 F2 イチ ひと- {one}
時 3B7E U6642 B72 G2 S10 F16 ジ とき {time} {hour}
間 3456 U9593 B169 G2 S12 F33 カン あいだ ま {interval}
泣 3563 U6ce3 B85 G4 S8 F1380 キュウ な.く {cry} {weep}
違 3063 U9055 B162 G8 S13 F344 イ ちが.う {differ}
使 3B48 U4f7f B9 G3 S8 F219 シ つか.う {use} {employ}
方 4A7D U65b9 B70 G2 S4 F46 ホウ かた {way}
電 4545 U96fb B173 G2 S13 F268 デン {electricity}
車 3C56 U8eca B159 G1 S7 F333 シャ くるま {car}
";

/// A running site.
pub(crate) struct Site {
    /// The address of its first page.
    pub(crate) url: String,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<Result<(), Error>>>,
    _folder: TempDir,
}

impl Site {
    pub(crate) fn start() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::of_folder(folder.path());
        config.listen_on("127.0.0.1:0").unwrap();
        let reader = config.reader.clone().unwrap();
        fs::copy(dictionary(), &reader.dictionary).unwrap();
        import(&reader.stories, "stories.jsonl", STORIES.as_bytes()).unwrap();
        Site::of(&config, folder)
    }

    /// What a configuration serves, out of a folder that goes with it.
    pub(crate) fn of(config: &Config, folder: TempDir) -> Site {
        let mut limits = Limits::default();
        limits.announce_time = Duration::ZERO;
        let server = Server::bind(config, &limits).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        Site {
            url: server.url(),
            stop: Some(stop),
            running: Some(std::thread::spawn(move || {
                server.run(async {
                    let _ = stopped.await;
                })
            })),
            _folder: folder,
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

/// The packed dictionary, made once for all tests.
fn dictionary() -> PathBuf {
    static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let mut packer = Packer::default();
        packer.kanji(&file("kanjidic", KANJI)).unwrap();
        packer.words(&file("edict", WORDS)).unwrap();
        packer.names(&file("enamdict", NAMES)).unwrap();
        packer.write(&folder.path().join("japanese.skn")).unwrap();
        folder
    });
    FOLDER.path().join("japanese.skn")
}
