//! Servers as processes, and wrk upon them: what a request costs a server, its workers and whatever stands behind it.

use std::{
    collections::HashMap,
    fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A server with all its children; asked to end when dropped, with its whole process group.
pub struct Server {
    process: Child,
    /// Processes that are not its children and work for it, as a database does.
    behind: Vec<u32>,
}

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("it is bound").port()
}

/// CPU time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub user_seconds: f64,
    pub system_seconds: f64,
}

/// What a run of wrk came to.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub requests: f64,
    pub per_second: f64,
    pub p99_ms: f64,
    /// If a script printed it: wrk does not.
    pub p999_ms: Option<f64>,
    pub max_ms: f64,
    /// Answers other than 2xx and 3xx, and broken connections.
    pub failed: u64,
}

impl Server {
    /// Starts a server on some cores (as `taskset` names them) and waits until its port takes connections.
    pub fn start(cores: &str, port: u16, command: &str, arguments: &[&str]) -> Server {
        let mut server = Server::spawn(cores, command, arguments);
        let deadline = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let ended = server.process.try_wait().expect("it can be asked");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "{command} does not listen on {port}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Starts a server that prints a line when it listens, and gives that line.
    pub fn start_printing(cores: &str, command: &str, arguments: &[&str]) -> (Server, String) {
        let mut server = Server::spawn(cores, command, arguments);
        let mut line = String::new();
        let out = server.process.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut line).expect("the server prints where it listens");
        (server, line.trim().to_owned())
    }

    fn spawn(cores: &str, command: &str, arguments: &[&str]) -> Server {
        let mut all = Command::new("taskset");
        all.args(["--cpu-list", cores, command]).args(arguments);
        all.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let process =
            all.spawn().unwrap_or_else(|error| panic!("{command} does not start: {error}"));
        Server { process, behind: Vec::new() }
    }

    /// Counts another process and its children as part of this server.
    pub fn with(mut self, process: u32) -> Server {
        self.behind.push(process);
        self
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// CPU time of all its processes so far.
    pub fn cpu(&self) -> Cpu {
        Cpu::of(&self.roots())
    }

    /// The most memory its processes ever had, each at its own time, in megabytes.
    pub fn memory_peak(&self) -> f64 {
        let peak = |id: u32| {
            let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
            line.split_whitespace().nth(1)?.parse::<f64>().ok()
        };
        processes(&self.roots()).into_iter().filter_map(peak).sum::<f64>() / 1e3
    }

    fn roots(&self) -> Vec<u32> {
        std::iter::once(self.id()).chain(self.behind.clone()).collect()
    }
}

/// Processes with all below them.
fn processes(roots: &[u32]) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("there is one").flatten() {
        let id = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((id, fields)) = id.and_then(|id| Some((id, stat(id)?))) {
            children.entry(fields[1] as u32).or_default().push(id);
        }
    }
    let mut found = roots.to_vec();
    let mut next = 0;
    while let Some(id) = found.get(next) {
        found.extend(children.get(id).into_iter().flatten());
        next += 1;
    }
    found
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = format!("-{}", self.id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
        let _ = self.process.wait();
    }
}

/// The numbers of `/proc/ID/stat` after the name; the first, a letter, reads as 0.
fn stat(id: u32) -> Option<Vec<u64>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields = stat.rsplit(") ").next()?.split_whitespace();
    Some(fields.map(|field| field.parse().unwrap_or(0)).collect())
}

impl std::ops::Sub for Cpu {
    type Output = Cpu;

    fn sub(self, earlier: Cpu) -> Cpu {
        Cpu {
            user_seconds: self.user_seconds - earlier.user_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
        }
    }
}

impl Cpu {
    /// Of processes with all below them.
    pub fn of(roots: &[u32]) -> Cpu {
        let mut cpu = Cpu::default();
        for id in processes(roots) {
            let Some(fields) = stat(id) else { continue };
            // Time of its own, then of children it has buried.
            cpu.user_seconds += (fields[11] + fields[13]) as f64 / 100.0;
            cpu.system_seconds += (fields[12] + fields[14]) as f64 / 100.0;
        }
        cpu
    }

    pub fn microseconds_each(self, requests: f64) -> f64 {
        (self.user_seconds + self.system_seconds) * 1e6 / requests
    }

    pub fn user_microseconds_each(self, requests: f64) -> f64 {
        self.user_seconds * 1e6 / requests
    }
}

/// Runs wrk on some cores; `more` are further arguments, as a script.
pub fn wrk(cores: &str, connections: usize, seconds: usize, url: &str, more: &[&str]) -> Load {
    let threads = cores.split(',').count().to_string();
    let (connections, duration) = (connections.to_string(), seconds.to_string());
    let output = Command::new("taskset")
        .args(["--cpu-list", cores, "wrk", "--latency", "--threads", &threads])
        .args(["--connections", &connections, "--duration", &duration])
        .args(more)
        .arg(url)
        .output()
        .expect("wrk is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    load(&text)
        .unwrap_or_else(|| panic!("wrk says: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn load(text: &str) -> Option<Load> {
    let words = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label))?;
        Some(line.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>())
    };
    let number = |text: &String| text.trim_end_matches(',').parse::<f64>().ok();
    let requests = text.lines().find(|line| line.contains(" requests in "))?;
    let failed = |label: &str| {
        let words = words(label)?;
        Some(words.iter().filter_map(number).sum::<f64>() as u64)
    };
    Some(Load {
        requests: requests.split_whitespace().next()?.parse().ok()?,
        per_second: number(words("Requests/sec:")?.get(1)?)?,
        p99_ms: milliseconds(words("99%")?.get(1)?)?,
        p999_ms: words("99.9%").and_then(|words| milliseconds(words.get(1)?)),
        max_ms: milliseconds(words("Latency")?.get(3)?)?,
        failed: failed("Non-2xx").unwrap_or(0) + failed("Socket errors").unwrap_or(0),
    })
}

fn milliseconds(time: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((time.strip_suffix(unit)?, factor)))?;
    Some(number.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_wrk_prints() {
        let text = "Running 1s test @ http://127.0.0.1:8080/\n  1 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency   129.97us  100.07us   4.11ms   92.30%\n    Req/Sec    62.05k     4.40k   66.36k    90.91%\n  Latency Distribution\n     50%  112.00us\n     75%  127.00us\n     90%  188.00us\n     99%  458.00us\n  67902 requests in 1.10s, 152.50MB read\n  Socket errors: connect 0, read 2, write 0, timeout 1\n  Non-2xx or 3xx responses: 5\nRequests/sec:  61732.80\nTransfer/sec:    138.65MB\n";
        let load = load(text).unwrap();
        assert_eq!((load.requests, load.per_second), (67902.0, 61732.8));
        assert_eq!((load.p99_ms, load.max_ms, load.failed), (0.458, 4.11, 8));
    }
}
