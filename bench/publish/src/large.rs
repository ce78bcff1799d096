//! A table of 1 GB into a store on the disk, beside a plain copy; and the memory that takes.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use bench_sampler::Sampler;
use object_store::{ObjectStoreExt, WriteMultipart, local::LocalFileSystem};
use sakuin_publish::{Facts, Opened, Publication, Repository, Rules};

use crate::SAKUIN;

const TABLE_BYTES: usize = 1 << 30;
const KEYS: usize = 1_000_000;

/// A file that is only as long as a table.
struct Long(u64);

impl Opened for Long {
    fn facts(&self) -> Facts {
        Facts {
            bytes: self.0,
            keys: 1,
            content: "bytes".to_owned(),
            content_id: self.0.to_string(),
        }
    }

    fn get(&self, _: &[u8]) -> Result<Option<Vec<u8>>, String> {
        Ok(None)
    }

    fn each(&self, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
        Ok(())
    }
}

pub async fn measure(sampler: &mut Sampler, folder: &Path) {
    copied(sampler, folder).await;
    memory(sampler, folder);
}

async fn copied(sampler: &mut Sampler, folder: &Path) {
    let file = folder.join("table");
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..3_u8 {
        let bytes: Vec<u8> = (0..TABLE_BYTES).map(|at| (at ^ at >> 11) as u8 ^ round).collect();
        fs::write(&file, &bytes).expect("there is room");
        drop(bytes);
        let begun = Instant::now();
        copy(&file, &folder.join("copied")).await;
        plain.push(TABLE_BYTES as f64 / 1e6 / begun.elapsed().as_secs_f64());
        let url = format!("file://{}", folder.join(format!("bucket{round}")).display());
        let repository = Repository::open(&url).expect("there is room");
        let publication = Publication {
            files: BTreeMap::from([("table".to_owned(), file.clone())]),
            channel: "stable".to_owned(),
            rules: Rules::default(),
            allow: BTreeMap::new(),
            by: "a bench".to_owned(),
        };
        let open =
            |file: &Path| Ok(Long(fs::metadata(file).map_err(|error| error.to_string())?.len()));
        let begun = Instant::now();
        repository.publish(&publication, open, |_| ()).await.expect("there is room");
        ours.push(TABLE_BYTES as f64 / 1e6 / begun.elapsed().as_secs_f64());
        fs::remove_dir_all(folder.join(format!("bucket{round}"))).expect("it is there");
    }
    let row = "a table of 1 GB into a store on the disk: checked, hashed, sent and announced";
    sampler.samples(row, "MB/s", "sakuin", &ours);
    sampler.samples(row, "MB/s", "a plain copy through the same client", &plain);
    sampler.target_least_ratio(row, 0.8, "a plain copy through the same client");
}

/// A file in parts of 8 MiB, as ours are.
async fn copy(file: &Path, to: &Path) {
    fs::create_dir_all(to).expect("there is room");
    let store = LocalFileSystem::new_with_prefix(to).expect("it is there").with_fsync(true);
    let upload = store.put_multipart(&"table".into()).await.expect("there is room");
    let mut write = WriteMultipart::new_with_chunk_size(upload, 8 << 20);
    let mut file = fs::File::open(file).expect("it is there");
    let mut buffer = vec![0; 8 << 20];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).expect("it is there") {
            0 => break,
            count => {
                write.wait_for_capacity(4).await.expect("there is room");
                write.write(&buffer[..count]);
            }
        }
    }
    write.finish().await.expect("there is room");
}

/// The most that the command has in memory of its own while it publishes and pulls a table of some 1 GB. What it maps of
/// files is the system's to take back, and does not count.
fn memory(sampler: &mut Sampler, folder: &Path) {
    let (lines, table) = (folder.join("table.jsonl"), folder.join("table.skn"));
    let mut random = fastrand::Rng::with_seed(7);
    let mut out = std::io::BufWriter::new(fs::File::create(&lines).expect("there is room"));
    for key in 0..KEYS {
        let value: String = (0..1_300).map(|_| random.alphanumeric()).collect();
        writeln!(out, "[\"key{key}\",\"{value}\"]").expect("there is room");
    }
    out.flush().expect("there is room");
    let at = |path: &Path| path.display().to_string();
    run(&["pack", &at(&lines), "--content-type", "text", "-o", &at(&table)]);
    fs::remove_file(lines).expect("it is there");
    let (url, pulled) =
        (format!("file://{}", at(&folder.join("large"))), at(&folder.join("pulled")));
    let megabytes = fs::metadata(&table).expect("it is packed").len() as f64 / 1e6;
    let row = "memory of its own, at most, while the command publishes and pulls a table of 1 GB";
    let publishing = run(&["publish", &url, &format!("table={}", at(&table))]);
    let pulling = run(&["pull", &url, &pulled]);
    sampler.samples(row, "MB", "sakuin", &[publishing.max(pulling)]);
    sampler.samples(row, "MB", "the table itself", &[megabytes]);
    sampler.target(row, 128.0, None);
    for made in [folder.join("large"), folder.join("pulled")] {
        fs::remove_dir_all(made).expect("it is there");
    }
}

/// Runs the command; returns the most memory of its own, in megabytes.
fn run(arguments: &[&str]) -> f64 {
    let mut command = Command::new(SAKUIN);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it is built");
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0_f64;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let own = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kilobytes = own.and_then(|own| own.split_whitespace().next()?.parse::<f64>().ok());
        most = most.max(kilobytes.unwrap_or_default() * 1024.0 / 1e6);
        if let Some(status) = child.try_wait().expect("it can be asked") {
            assert!(status.success(), "sakuin {arguments:?}");
            return most;
        }
        thread::sleep(Duration::from_millis(2));
    }
}
