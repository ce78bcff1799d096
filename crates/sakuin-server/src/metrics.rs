//! Metrics in the text of OpenMetrics, which Prometheus reads. Nothing is kept for them: what loops and tables
//! count anyway is summed when somebody asks. Labels name doors and tables, never keys.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::SystemTime,
};

use jiff::Timestamp;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet, text},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};
use sakuin::Table;
use sakuin_cache::Stats;

use crate::{
    counters::{Counters, Door},
    state::State,
};

/// All metrics of a server as text.
pub(crate) fn metrics(state: &Arc<State>) -> String {
    let mut registry = Registry::with_prefix("sakuin");
    registry.register_collector(Box::new(Server(state.clone())));
    let mut written = String::new();
    text::encode(&mut written, &registry).expect("a string takes every write");
    written
}

struct Server(Arc<State>);

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Server")
    }
}

impl Collector for Server {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.server(&mut encoder)?;
        self.loops(&mut encoder)?;
        self.tables(&mut encoder)?;
        self.live(&mut encoder)?;
        self.repositories(&mut encoder)
    }
}

type Counter = fn(&Counters) -> &AtomicU64;
type Count = fn(&Stats) -> u64;

impl Server {
    fn server(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let state = &*self.0;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        encoder
            .encode_descriptor("build", "What runs", None, MetricType::Info)?
            .encode_info(&version)?;
        let reloads = &state.reloads;
        gauge(
            encoder,
            "reload_success",
            "Whether the last reload was accepted, or none was asked for",
            i64::from(!reloads.failing.load(Relaxed)),
        )?;
        let mut family = encoder.encode_descriptor(
            "reloads",
            "Reloads by outcome",
            None,
            MetricType::Counter,
        )?;
        for (outcome, count) in [("done", &reloads.done), ("refused", &reloads.refused)] {
            let labels = [("outcome", outcome)];
            ConstCounter::new(count.load(Relaxed)).encode(family.encode_family(&labels)?)?;
        }
        if let Some(expires) = state.identity.load().as_ref().and_then(|identity| identity.expires)
        {
            let left = expires.duration_since(SystemTime::now()).unwrap_or_default().as_secs();
            gauge(encoder, "tls_expiry_seconds", "Until the certificate ends", left as i64)?;
        }
        Ok(())
    }

    fn loops(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let loops = &self.0.loops;
        let mut family = encoder.encode_descriptor(
            "requests",
            "Requests by door and first digit of the status",
            None,
            MetricType::Counter,
        )?;
        for door in Door::ALL {
            for class in 0..5 {
                let count: u64 = loops.iter().map(|one| one.requests(door)[class]).sum();
                let status = ["1xx", "2xx", "3xx", "4xx", "5xx"][class];
                let labels = [("door", door.name()), ("status", status)];
                ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "connections",
            "Open connections by loop",
            None,
            MetricType::Gauge,
        )?;
        for (number, one) in loops.iter().enumerate() {
            let labels = [("loop", number.to_string())];
            let open = i64::try_from(one.open.load(Relaxed)).unwrap_or(i64::MAX);
            ConstGauge::new(open).encode(family.encode_family(&labels)?)?;
        }
        let counts: [(&str, &str, Counter); 5] = [
            ("connections_accepted", "Connections accepted by loop", |one| &one.accepted),
            ("connections_handed_over", "Connections handed to another loop", |one| {
                &one.handed_over
            }),
            ("connections_timed_out", "Connections closed for being slow or silent", |one| {
                &one.timed_out
            }),
            ("tls_handshakes_failed", "TLS handshakes that failed", |one| &one.handshakes_failed),
            ("panics", "Handlers that panicked", |one| &one.panics),
        ];
        for (name, help, count) in counts {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (number, one) in loops.iter().enumerate() {
                let labels = [("loop", number.to_string())];
                let count = ConstCounter::new(count(one).load(Relaxed));
                count.encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn tables(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let serving = self.0.serving.load();
        let tables = serving.lookup.tables();
        let proxies = tables.proxies().map(|(name, proxy)| (name, proxy.stats()));
        let tables = tables.iter().filter_map(|(name, table)| Some((name, table.stats()?)));
        let tables: Vec<(&str, Stats)> = tables.chain(proxies).collect();
        if tables.is_empty() {
            return Ok(());
        }
        let counts: [(&str, &str, Count); 7] = [
            ("table_hits", "Answers from the table, fresh", |stats| stats.hits),
            ("table_misses", "Answers that waited for the origin", |stats| stats.misses),
            ("table_stale", "Answers past their freshness", |stats| stats.stale),
            ("table_refused", "Requests that got no answer", |stats| stats.refused),
            ("table_fetches", "Fetches begun", |stats| stats.fetches),
            ("table_fetch_failures", "Fetches that failed", |stats| stats.failures),
            ("table_evictions", "Entries dropped for room", |stats| stats.evictions),
        ];
        let gauges: [(&str, &str, Count); 3] = [
            ("table_flights", "Fetches under way", |stats| stats.flights),
            ("table_entries", "Entries kept", |stats| stats.entries),
            ("table_bytes", "Bytes they take", |stats| stats.bytes),
        ];
        for (name, help, count) in counts {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (table, stats) in &tables {
                let labels = [("table", *table)];
                ConstCounter::new(count(stats)).encode(family.encode_family(&labels)?)?;
            }
        }
        for (name, help, count) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (table, stats) in &tables {
                let labels = [("table", *table)];
                ConstGauge::new(count(stats) as i64).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "table_stale_cover_seconds",
            "While fetches fail: until the first entry can no longer be served",
            None,
            MetricType::Gauge,
        )?;
        for (table, stats) in &tables {
            if let Some(left) = stats.stale_cover {
                let labels = [("table", *table)];
                ConstGauge::new(left.as_secs_f64()).encode(family.encode_family(&labels)?)?;
            }
        }
        let mut family = encoder.encode_descriptor(
            "table_fetch_seconds",
            "Fetch times",
            None,
            MetricType::Histogram,
        )?;
        for (table, stats) in &tables {
            latency(stats, family.encode_family(&[("table", *table)])?)?;
        }
        Ok(())
    }

    fn repositories(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let serving = self.0.serving.load();
        let now = Timestamp::now();
        let seconds = |since: Timestamp| now.duration_since(since).as_secs().max(0);
        let rows: Vec<_> = serving
            .lookup
            .tables()
            .repositories()
            .map(|(name, follower)| (name, follower.current(), follower.status()))
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        type Figure<'r> = (&'static str, &'static str, Vec<(&'r str, Option<i64>)>);
        let each = |figure: &dyn Fn(usize) -> Option<i64>| {
            rows.iter().enumerate().map(|(at, (name, ..))| (*name, figure(at))).collect()
        };
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let current = |at: usize| rows[at].1.as_ref();
        let status = |at: usize| &rows[at].2;
        let figures: [Figure<'_>; 5] = [
            (
                "repository_version",
                "The version that is served",
                each(&|at| current(at).map(|current| number(current.number))),
            ),
            (
                "repository_announced",
                "The version that was announced last",
                each(&|at| status(at).announced.map(number)),
            ),
            (
                "repository_age_seconds",
                "Since the version that is served was made",
                each(&|at| current(at).map(|current| seconds(current.made))),
            ),
            (
                "repository_lag_seconds",
                "Since the store last answered",
                each(&|at| status(at).looked.map(seconds)),
            ),
            (
                "repository_refused",
                "Whether what was announced last was refused",
                each(&|at| Some(i64::from(status(at).refused.is_some()))),
            ),
        ];
        for (name, help, rows) in figures {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (repository, figure) in rows {
                if let Some(figure) = figure {
                    let labels = [("repository", repository)];
                    ConstGauge::new(figure).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }

    fn live(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let serving = self.0.serving.load();
        let tables = serving.lookup.tables();
        let Some(store) = tables.store() else { return Ok(()) };
        let status = store.status();
        let metric = encoder.encode_descriptor(
            "live_commits",
            "Commits since the store was begun",
            None,
            MetricType::Counter,
        )?;
        ConstCounter::new(status.sequence).encode(metric)?;
        let read_only = i64::from(status.read_only.is_some());
        gauge(
            encoder,
            "live_read_only",
            "Whether the disk failed, so that nothing is written",
            read_only,
        )?;
        let mut family = encoder.encode_descriptor(
            "live_records",
            "Records by table",
            None,
            MetricType::Gauge,
        )?;
        for (name, table) in tables.iter() {
            if let Table::Live(live) = &**table
                && let Ok(count) = live.count()
            {
                let labels = [("table", name)];
                ConstGauge::new(count as i64).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> fmt::Result {
    let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    ConstGauge::new(value).encode(metric)
}

fn latency(stats: &Stats, mut metric: MetricEncoder<'_>) -> fmt::Result {
    let bounds = Stats::LATENCY_BOUNDS.iter().map(|&bound| bound as f64 / 1000.0);
    let buckets: Vec<_> =
        bounds.chain(std::iter::once(f64::MAX)).zip(stats.latency.iter().copied()).collect();
    let count = stats.latency.iter().sum();
    metric.encode_histogram::<NoLabelSet>(stats.latency_sum.as_secs_f64(), count, &buckets, None)
}
