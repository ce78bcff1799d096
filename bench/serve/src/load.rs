//! Clients besides wrk: h2load for HTTP/2, openssl for handshakes.

use std::process::Command;

pub struct Done {
    pub requests: f64,
    pub per_second: f64,
    pub failed: f64,
}

/// HTTP/2 over TLS: 16 connections with 8 streams each.
pub fn h2load(cores: &str, seconds: usize, url: &str) -> Done {
    let duration = seconds.to_string();
    let output = Command::new("taskset")
        .args(["--cpu-list", cores, "h2load", "--clients", "16", "--max-concurrent-streams", "8"])
        .args(["--threads", "1", "--duration", &duration, url])
        .output()
        .expect("h2load is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let done = || {
        let finished = text.lines().find(|line| line.starts_with("finished in"))?;
        let rate = finished.split(", ").find_map(|part| part.strip_suffix(" req/s"))?;
        let requests = text.lines().find(|line| line.starts_with("requests:"))?;
        let status = text.lines().find(|line| line.starts_with("status codes:"))?;
        Some(Done {
            requests: before(status, " 2xx")?,
            per_second: rate.parse().ok()?,
            failed: before(requests, " failed")?
                + before(requests, " errored")?
                + before(status, " 4xx")?
                + before(status, " 5xx")?,
        })
    };
    done().unwrap_or_else(|| panic!("h2load says: {text}"))
}

fn before(line: &str, label: &str) -> Option<f64> {
    line[..line.find(label)?].rsplit([' ', ':']).next()?.parse().ok()
}

/// Full handshakes, one after the other. Each asks once on its connection.
pub fn handshakes(cores: &str, seconds: usize, port: u16) -> Done {
    let (duration, address) = (seconds.to_string(), format!("127.0.0.1:{port}"));
    let output = Command::new("taskset")
        .args(["--cpu-list", cores, "openssl", "s_time", "-new", "-tls1_3", "-connect", &address])
        .args(["-time", &duration])
        .output()
        .expect("openssl is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let done = || {
        let line = text.lines().find(|line| line.contains("real seconds"))?;
        let connections: f64 = line.split(' ').next()?.parse().ok()?;
        let seconds: f64 = before(line, " real seconds")?;
        Some(Done { requests: connections, per_second: connections / seconds, failed: 0.0 })
    };
    done().unwrap_or_else(|| panic!("openssl says: {text}"))
}
