//! A changed configuration, a changed table: taken over whole or not at all, and no request notices.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
};

use sakuin_pack::{Builder, Content, Options};
use sakuin_server::{Config, Error};

use crate::support::{Running, agent, dictionary, get, limits};

fn pack(folder: &Path, name: &str, value: &str) {
    let mut builder = Builder::new(Content::Text, Options::new());
    builder.add(b"key", value.as_bytes()).unwrap();
    builder.write(folder.join(name)).unwrap();
}

const CONFIG: &str = "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n";

fn configure(folder: &Path, rest: &str) {
    fs::write(folder.join("sakuin.toml"), format!("{CONFIG}{rest}")).unwrap();
}

fn table(file: &str) -> String {
    format!("[tables.one]\nkind = \"packed\"\nfile = \"{file}\"\nroute = \"/one/{{key}}\"\n")
}

fn start(folder: &Path) -> Running {
    Running::start(&Config::read(folder.join("sakuin.toml")).unwrap(), &limits())
}

#[test]
fn what_is_served_changes_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    pack(folder, "a.skn", "old");
    configure(folder, &table("a.skn"));
    let running = start(folder);
    assert_eq!(running.get("/one/key").text(), "old");
    assert_eq!(running.get("/about/").status, 404);

    pack(folder, "b.skn", "new");
    let reader = format!("[reader]\ndictionary = {:?}\n", dictionary());
    configure(folder, &format!("{}{reader}", table("b.skn")));
    running.reloader.reload().unwrap();
    assert_eq!(running.get("/one/key").text(), "new");
    assert_eq!(running.get("/about/").status, 200);

    // The same file with other content.
    pack(folder, "b.skn", "newer");
    running.reloader.reload().unwrap();
    assert_eq!(running.get("/one/key").text(), "newer");
}

#[test]
fn what_cannot_be_served_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    pack(folder, "a.skn", "old");
    configure(folder, &table("a.skn"));
    let running = start(folder);
    let refused = |rest: &str| {
        configure(folder, rest);
        let post = agent().post(format!("http://{}/reload", running.admin.unwrap()));
        let answer =
            crate::support::Answer::read(post.header("sakuin-admin", "1").send_empty().unwrap());
        assert_eq!(answer.status, 409);
        assert_eq!(running.get("/one/key").text(), "old");
        answer.json()["detail"].as_str().unwrap().to_owned()
    };
    assert!(refused("[tables.one]\nkind = \"pakced\"").contains("sakuin.toml:5: "));
    assert!(refused(&table("absent.skn")).starts_with("cannot open table `one`: "));
    assert_eq!(refused("").split_once(": ").unwrap().1, "`reader` is missing");
    assert_eq!(running.metric("sakuin_reload_success", ""), 0.0);

    let moved = CONFIG.replace("127.0.0.1:0", "127.0.0.2:0");
    fs::write(folder.join("sakuin.toml"), moved + &table("a.skn")).unwrap();
    let error = running.reloader.reload().unwrap_err();
    assert!(matches!(&error, Error::Restart { .. }));
    assert_eq!(error.to_string(), "`server.listen`, `server.admin` cannot be changed by a reload");

    configure(folder, &table("a.skn"));
    running.reloader.reload().unwrap();
    assert_eq!(running.metric("sakuin_reload_success", ""), 1.0);
    assert_eq!(running.metric("sakuin_reloads_total", "refused"), 4.0);
}

#[test]
fn a_hundred_reloads_under_load_fail_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    pack(folder, "a.skn", "first");
    pack(folder, "b.skn", "second");
    configure(folder, &table("a.skn"));
    let running = start(folder);
    let (done, answered) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let agent = agent();
                while !done.load(Relaxed) {
                    let url = format!("http://{}/one/key", running.address);
                    let mut answer = agent.get(url).call().expect("no connection is lost");
                    assert_eq!(answer.status(), 200);
                    let text = answer.body_mut().read_to_string().unwrap();
                    assert!(text == "first" || text == "second", "{text}");
                    answered.fetch_add(1, Relaxed);
                }
            });
        }
        for turn in 0..100 {
            configure(folder, &table(if turn % 2 == 0 { "a.skn" } else { "b.skn" }));
            running.reloader.reload().unwrap();
            // Each configuration answers some requests before the next.
            let before = answered.load(Relaxed);
            while answered.load(Relaxed) < before + 4 {
                thread::yield_now();
            }
        }
        done.store(true, Relaxed);
    });
    assert!(answered.load(Relaxed) >= 400);
    assert_eq!(get(running.address, "/one/key", &[]).text(), "second");
}
