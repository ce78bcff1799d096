//! The reading site under load: pages of four stories, their sub-dictionaries computed each time.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bench_sampler::Sampler;

use crate::{SAKUIN, STORIES};

const PAGES: usize = 10_000;
const SECONDS: &str = "10";

/// Serves a day of four stories and asks for it with `wrk`, two threads and four connections on the same machine.
pub fn site(sampler: &mut Sampler, folder: &Path, dictionary: &Path) {
    let stories = std::fs::read_to_string(STORIES).expect("the stories are there");
    let four: Vec<String> = stories.lines().take(4).map(on_one_day).collect();
    let (file, config) = (folder.join("four.jsonl"), folder.join("sakuin.toml"));
    std::fs::write(&file, four.join("\n")).expect("the stories can be written");
    let text =
        format!("[server]\nlisten = \"127.0.0.1:0\"\n[reader]\ndictionary = {:?}\n", dictionary);
    std::fs::write(&config, text).expect("the configuration can be written");
    let added =
        Command::new(SAKUIN).args(["stories", "add", "--config"]).args([&config, &file]).status();
    assert!(added.expect("the command runs").success());

    let mut server = Command::new(SAKUIN)
        .arg("serve")
        .arg(&config)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut url = String::new();
    let out = server.stdout.take().expect("it is piped");
    BufReader::new(out).read_line(&mut url).expect("the server prints its address");

    let (mut rates, mut cpu, mut asked) = (Vec::new(), Vec::new(), 0);
    while rates.len() < 5 || asked < PAGES {
        let before = cpu_ticks(&server);
        let (pages, rate) = wrk(url.trim());
        asked += pages;
        rates.push(rate);
        cpu.push((cpu_ticks(&server) - before) as f64 * 1e4 / pages as f64);
    }
    let row = "pages of four stories, sub-dictionaries computed each time";
    sampler.samples(row, "pages/s", "sakuin", &rates);
    sampler.target_least(row, 2000.0);
    sampler.samples("server CPU for a page of four stories", "µs", "sakuin", &cpu);
    let row = "private memory of the server after 10,000 page views";
    sampler.samples(row, "MB", "sakuin", &[private_megabytes(&server)]);
    sampler.target(row, 30.0, None);
    server.kill().expect("the server was running");
    server.wait().expect("the server was running");
}

fn on_one_day(line: &str) -> String {
    let mut story: serde_json::Value = serde_json::from_str(line).expect("a story a line");
    story["date"] = "2026-11-20".into();
    story.to_string()
}

/// Pages answered and pages a second; nothing but answers of 200 may come.
fn wrk(url: &str) -> (usize, f64) {
    let output = Command::new("wrk")
        .args(["--threads", "2", "--connections", "4", "--duration", SECONDS, url])
        .output()
        .expect("wrk is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
    let number_after = |label: &str| {
        let rest = text.split(label).nth(1).expect("wrk prints it");
        rest.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let line = text.lines().find(|line| line.contains("requests in")).expect("wrk prints it");
    let pages = line.split_whitespace().next().and_then(|number| number.parse().ok());
    (pages.expect("a number"), number_after("Requests/sec:"))
}

/// User and system time of a process, in hundredths of a second.
fn cpu_ticks(process: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<u64>().expect("a number");
    ticks(11) + ticks(12)
}

/// Memory that only this process can have: pages that differ from every file. The mapped dictionary is the system's,
/// even while one process alone maps it.
fn private_megabytes(process: &Child) -> f64 {
    let rollup =
        std::fs::read_to_string(format!("/proc/{}/smaps_rollup", process.id())).expect("it runs");
    let lines = rollup.lines().filter(|line| line.starts_with("Private_Dirty"));
    let kilobytes = lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.sum::<f64>() / 1e3
}

/// CPU seconds of a whole process, by the shell's `time`.
pub fn cpu_seconds_of(command: &mut Command) -> f64 {
    let program = command.get_program().to_owned();
    let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null 2>&1", "time"])
        .arg(program)
        .args(arguments)
        .output()
        .expect("bash runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split_whitespace().filter_map(|number| number.parse::<f64>().ok()).sum()
}
