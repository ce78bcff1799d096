//! Requests a day, across restarts.
//!
//! A hundredth of the quota is reserved in a file before any of it is used: a process that is killed loses
//! what it had reserved and not used, and none is ever used twice. The file holds the day (UTC, counted from
//! 1970) and what is reserved of it. A day that the wall clock has left stays used when the clock goes back.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
    time::{Duration, SystemTime},
};

use super::Quota;
use crate::Tick;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Ledger {
    quota: Quota,
    /// The day that is being used, from when on, and how far; none before the first request.
    current: Option<Current>,
}

#[derive(Clone, Copy)]
struct Current {
    day: u64,
    since: Tick,
    used: u64,
    reserved: u64,
}

/// Why nothing could be taken.
pub(super) struct Over {
    pub(super) cause: String,
    pub(super) wait: Duration,
}

impl Ledger {
    pub(super) fn new(quota: Quota) -> Ledger {
        Ledger { quota, current: None }
    }

    /// What is left of the day.
    pub(super) fn left(&self) -> u64 {
        self.quota.requests.saturating_sub(self.current.map_or(0, |current| current.used))
    }

    /// Takes one request. Once in a hundredth of the quota this waits for the disk.
    pub(super) fn take(&mut self, unix: SystemTime, now: Tick) -> Result<(), Over> {
        let time = unix.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let today = time.as_secs() / DAY.as_secs();
        let wait = DAY - Duration::from_secs(time.as_secs() % DAY.as_secs());
        let mut current = match self.current {
            Some(current) if current.goes_on(today, now) => current,
            _ => Current { day: today, since: now, used: 0, reserved: 0 },
        };
        if current.used == current.reserved {
            let left = self.current.map(|before| before.day).filter(|day| *day != current.day);
            current = self.reserve(current, left).map_err(|error| Over {
                cause: format!("the day's quota cannot be kept: {}", error.kind()),
                wait: Duration::from_secs(10),
            })?;
        }
        let over = current.used >= self.quota.requests;
        if !over {
            current.used += 1;
        }
        self.current = Some(current);
        match over {
            true => Err(Over { cause: "the day's quota is used up".to_owned(), wait }),
            false => Ok(()),
        }
    }

    /// Reserves a block beyond what the file says, which another process may have written meanwhile. What it
    /// says of the day that was `left` is over, even if that day has not come yet.
    fn reserve(&self, mut current: Current, left: Option<u64>) -> io::Result<Current> {
        let path = &self.quota.state;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = File::create(path.with_added_extension("lock"))?;
        lock.lock()?;
        if let Some((day, reserved)) = read(path)?
            && day >= current.day
            && Some(day) != left
        {
            let known = if day == current.day { current.used } else { 0 };
            current = Current { day, used: reserved.max(known), ..current };
        }
        let block = (self.quota.requests / 100).max(1);
        current.reserved = (current.used + block).min(self.quota.requests).max(current.used);
        if current.reserved > current.used {
            replace(path, &format!("{} {}\n", current.day, current.reserved))?;
        }
        Ok(current)
    }
}

impl Current {
    /// Whether this is still the day to be used. A wall clock that went back goes on in the day it had
    /// reached, but not for longer than a day: it may have been ahead by a year.
    fn goes_on(&self, today: u64, now: Tick) -> bool {
        today == self.day || today < self.day && now.since(self.since) < DAY
    }
}

fn read(path: &Path) -> io::Result<Option<(u64, u64)>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let numbers = text.strip_suffix('\n').and_then(|line| line.split_once(' '));
    let parsed =
        numbers.and_then(|(day, reserved)| Some((day.parse().ok()?, reserved.parse().ok()?)));
    parsed.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_added_extension("new");
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent() {
        Some(folder) if folder != Path::new("") => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}
