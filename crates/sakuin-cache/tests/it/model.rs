//! Random histories against a table written plainly: one thread, one map, and no way to be clever. Every answer,
//! its source and age, every call of the origin and every count must be the same, for every strategy.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};

use proptest::{collection::vec, prelude::*, strategy::Strategy};
use sakuin_cache::{
    CacheError, Depth, FailureKind, Fetched, Kind, Lifetimes, Options, Peek, Purge, Source, State,
    Tick,
};

use crate::support::{Table, fill, lifetimes, options, refusal, seconds, settle, table};

#[derive(Clone, Debug)]
enum Step {
    Ask(usize),
    Peek(usize),
    /// The request asked so many requests ago leaves.
    Leave(usize),
    Advance(u64),
    Reply(usize, Reply),
    Purge(Scope, Depth),
}

#[derive(Clone, Copy, Debug)]
enum Reply {
    Found,
    /// With times of its own and an age.
    Dated(u64, u64, u64, u64),
    Missing,
    Unstorable,
    NotModified,
    Failure(Option<u64>),
    Panic,
}

#[derive(Clone, Copy, Debug)]
enum Scope {
    Key(usize),
    Prefix,
    Tag,
    All,
}

/// Two share a prefix.
const KEYS: [&str; 3] = ["bus/1", "bus/2", "tram/1"];
const PREFIX: &str = "bus/";
/// Odd values carry it.
const TAG: &str = "odd";

/// How a request ended: the value with its age and source, or the error.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Value(u32, Duration, Source),
    Failed(FailureKind),
    Crowded,
    Late,
}

/// The plain table.
struct Model {
    options: Options,
    now: Tick,
    kept: BTreeMap<usize, Rc<RefCell<Kept>>>,
    unstorable: BTreeMap<usize, Tick>,
    calls: BTreeMap<usize, VecDeque<Call>>,
    made: Vec<(usize, Option<u32>)>,
    ends: BTreeMap<usize, End>,
}

#[derive(Debug)]
struct Kept {
    value: u32,
    missing: bool,
    asked: Tick,
    age: Duration,
    lifetimes: Lifetimes,
    purged: Option<Depth>,
    retry_at: Tick,
    failures: u32,
}

struct Call {
    asked: Tick,
    previous: Option<Rc<RefCell<Kept>>>,
    purged: Option<Depth>,
    /// Whether it is one request's own.
    alone: bool,
    waiting: Vec<Waiting>,
}

#[derive(Clone)]
struct Waiting {
    request: usize,
    found: Option<Rc<RefCell<Kept>>>,
    until: Tick,
    collapsed: bool,
    outdated: bool,
}

impl Kept {
    fn age(&self, now: Tick) -> Duration {
        now.since(self.asked) + self.age
    }

    fn state(&self, now: Tick) -> State {
        let by_age = self.lifetimes.state_of_age(self.age(now));
        match self.purged {
            None => by_age,
            Some(Depth::Soft) => by_age.max(State::Failing),
            Some(Depth::Hard) => State::Gone,
        }
    }

    /// What it can be served as without waiting.
    fn at_once(&self, now: Tick) -> Option<Source> {
        match self.state(now) {
            State::Fresh => Some(Source::Hit),
            State::Stale => Some(Source::Stale),
            State::Failing if now < self.retry_at => Some(Source::Stale),
            _ => None,
        }
    }

    fn end(&self, now: Tick, source: Source) -> End {
        End::Value(self.value, self.age(now), source)
    }
}

impl Model {
    /// The answer, if there is one at once.
    fn peek(&mut self, key: usize) -> Option<End> {
        let entry = self.kept.get(&key)?.clone();
        let kept = entry.borrow();
        let source = kept.at_once(self.now)?;
        if kept.state(self.now) == State::Stale && self.now >= kept.retry_at {
            self.flight(key);
        }
        Some(kept.end(self.now, source))
    }

    fn ask(&mut self, key: usize, request: usize) {
        if let Some(end) = self.peek(key) {
            self.ends.insert(request, end);
            return;
        }
        let found = self.kept.get(&key).cloned();
        let until = self.now + self.options.wait;
        self.board(key, Waiting { request, found, until, collapsed: false, outdated: false });
    }

    fn board(&mut self, key: usize, mut waiting: Waiting) {
        if self.is_unstorable(key) {
            let alone = self.calls.values().flatten().filter(|call| call.alone).count();
            if alone >= self.options.max_waiters {
                return self.give_up(&waiting, End::Crowded);
            }
            let waiting = Waiting { collapsed: false, outdated: false, ..waiting };
            self.call(key, None, true).waiting.push(waiting);
            return;
        }
        let max_waiters = self.options.max_waiters;
        waiting.collapsed = self.calls.entry(key).or_default().iter().any(|call| !call.alone);
        let call = self.flight(key);
        if call.waiting.len() >= max_waiters {
            return self.give_up(&waiting, End::Crowded);
        }
        waiting.outdated = call.purged.is_some();
        call.waiting.push(waiting);
    }

    /// The flight of a key, begun if there is none.
    fn flight(&mut self, key: usize) -> &mut Call {
        let there = self.calls.entry(key).or_default().iter().position(|call| !call.alone);
        match there {
            Some(place) => &mut self.calls.get_mut(&key).unwrap()[place],
            None => self.call(key, self.kept.get(&key).cloned(), false),
        }
    }

    fn call(&mut self, key: usize, previous: Option<Rc<RefCell<Kept>>>, alone: bool) -> &mut Call {
        self.made.push((key, previous.as_ref().map(|kept| kept.borrow().value)));
        let call = Call { asked: self.now, previous, purged: None, alone, waiting: Vec::new() };
        let calls = self.calls.entry(key).or_default();
        calls.push_back(call);
        calls.back_mut().unwrap()
    }

    /// Stale if that may be, else the error.
    fn give_up(&mut self, waiting: &Waiting, error: End) {
        let rest = waiting.found.as_ref().map(|kept| kept.borrow());
        let rest = rest.filter(|kept| kept.state(self.now) != State::Gone);
        let end = rest.map_or(error, |kept| kept.end(self.now, Source::Stale));
        self.ends.insert(waiting.request, end);
    }

    fn is_unstorable(&self, key: usize) -> bool {
        self.unstorable.get(&key).is_some_and(|until| self.now < *until)
    }

    fn advance(&mut self, time: Duration) {
        self.now = self.now + time;
        let mut late = Vec::new();
        for call in self.calls.values_mut().flatten() {
            late.extend(call.waiting.extract_if(.., |waiting| waiting.until <= self.now));
        }
        for waiting in late {
            self.give_up(&waiting, End::Late);
        }
    }

    fn leave(&mut self, request: usize) {
        for call in self.calls.values_mut().flatten() {
            call.waiting.retain(|waiting| waiting.request != request);
        }
    }

    fn reply(&mut self, key: usize, value: u32, reply: Reply) {
        let Some(call) = self.calls.entry(key).or_default().pop_front() else { return };
        let Call { asked, previous, purged, alone, waiting } = call;
        let made = |missing, lifetimes, age| Kept {
            value,
            missing,
            asked,
            age,
            lifetimes,
            purged: purged.map(|_| Depth::Soft),
            retry_at: Tick::default(),
            failures: 0,
        };
        let absence = lifetimes(5, 0, 0);
        let failed = |kind, retry_after| (Err(End::Failed(kind)), retry_after);
        let (came, retry_after) = match reply {
            Reply::Found => (Ok(made(false, self.options.lifetimes, seconds(0))), None),
            Reply::Dated(age, fresh, stale, failing) => {
                (Ok(made(false, lifetimes(fresh, stale, failing), seconds(age))), None)
            }
            Reply::Missing => (Ok(made(true, absence, seconds(0))), None),
            Reply::Unstorable => (Ok(made(false, lifetimes(0, 0, 0), seconds(0))), None),
            Reply::NotModified => match &previous {
                Some(previous) => {
                    let previous = previous.borrow();
                    let usual = if previous.missing { absence } else { self.options.lifetimes };
                    let kept = made(previous.missing, usual, seconds(0));
                    (Ok(Kept { value: previous.value, ..kept }), None)
                }
                None => failed(FailureKind::BadAnswer, None),
            },
            Reply::Failure(after) => failed(FailureKind::Refused, after.map(seconds)),
            Reply::Panic => failed(FailureKind::Broken, None),
        };
        let came = came.map(|kept| Rc::new(RefCell::new(kept)));
        match &came {
            _ if alone => {
                if came.is_ok() && !matches!(reply, Reply::Unstorable) {
                    self.unstorable.remove(&key);
                }
            }
            Ok(_) if matches!(reply, Reply::Unstorable) => {
                self.kept.remove(&key);
                self.unstorable.insert(key, self.now + seconds(120));
            }
            Ok(_) if matches!((reply, &previous), (Reply::NotModified, None)) => {}
            Ok(kept) => {
                if purged != Some(Depth::Hard) {
                    self.kept.insert(key, kept.clone());
                }
            }
            // An origin that confirms what nobody has: there is nothing to hold back.
            Err(_) => {
                if let Some(previous) = previous {
                    let mut kept = previous.borrow_mut();
                    let pause = seconds((1 << kept.failures.min(5)).min(30));
                    kept.retry_at = self.now + retry_after.unwrap_or(pause);
                    kept.failures += 1;
                }
            }
        }
        for waiting in waiting {
            if waiting.outdated {
                self.come_again(key, waiting);
                continue;
            }
            match &came {
                Ok(kept) => {
                    let source = Source::Miss { collapsed: waiting.collapsed };
                    self.ends.insert(waiting.request, kept.borrow().end(self.now, source));
                }
                Err(error) => self.give_up(&waiting, error.clone()),
            }
        }
    }

    /// The flight that a request waited for had begun before a purge.
    fn come_again(&mut self, key: usize, waiting: Waiting) {
        if !self.is_unstorable(key)
            && !self.calls.entry(key).or_default().iter().any(|call| !call.alone)
            && let Some(kept) = self.kept.get(&key).cloned()
        {
            let kept = kept.borrow();
            let held_back = self.now < kept.retry_at;
            let end = match kept.state(self.now) {
                State::Fresh => Some(Source::Hit),
                State::Stale | State::Failing if held_back => Some(Source::Stale),
                _ => None,
            };
            if let Some(source) = end {
                self.ends.insert(waiting.request, kept.end(self.now, source));
                return;
            }
        }
        self.board(key, Waiting { outdated: false, ..waiting });
    }

    fn purge(&mut self, scope: Scope, depth: Depth) -> usize {
        let covers = |key: usize, value: Option<u32>| match scope {
            Scope::Key(only) => key == only,
            Scope::Prefix => KEYS[key].starts_with(PREFIX),
            Scope::Tag => value.is_none_or(|value| value % 2 == 1),
            Scope::All => true,
        };
        for (key, calls) in &mut self.calls {
            for call in calls.iter_mut().filter(|call| !call.alone && covers(*key, None)) {
                call.purged = call.purged.max(Some(depth));
            }
        }
        let mut found = 0;
        self.kept.retain(|key, kept| {
            let mut kept = kept.borrow_mut();
            if !covers(*key, Some(kept.value)) {
                return true;
            }
            found += 1;
            kept.purged = kept.purged.max(Some(depth));
            depth == Depth::Soft
        });
        found
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        6 => Just(Reply::Found),
        2 => (0..20u64, 0..20u64, 0..20u64, 0..20u64)
            .prop_map(|(age, fresh, stale, failing)| Reply::Dated(age, fresh, stale, failing)),
        2 => Just(Reply::Missing),
        1 => Just(Reply::Unstorable),
        2 => Just(Reply::NotModified),
        3 => proptest::option::of(1..60u64).prop_map(Reply::Failure),
        1 => Just(Reply::Panic),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let scope = prop_oneof![
        (0..KEYS.len()).prop_map(Scope::Key),
        Just(Scope::Prefix),
        Just(Scope::Tag),
        Just(Scope::All)
    ];
    prop_oneof![
        6 => (0..KEYS.len()).prop_map(Step::Ask),
        2 => (0..KEYS.len()).prop_map(Step::Peek),
        1 => (1..8usize).prop_map(Step::Leave),
        5 => prop_oneof![0..2_000u64, 0..12_000u64, 0..130_000u64].prop_map(Step::Advance),
        6 => (0..KEYS.len(), reply()).prop_map(|(key, reply)| Step::Reply(key, reply)),
        1 => (scope, prop_oneof![Just(Depth::Soft), Just(Depth::Hard)])
            .prop_map(|(scope, depth)| Step::Purge(scope, depth)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_history_is_the_models(steps in vec(step(), 1..60)) {
        for strategy in sakuin_cache::Strategy::ALL {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(check(strategy, &steps));
        }
    }
}

/// Plays the steps on a table and on the model, and compares after each.
async fn check(strategy: sakuin_cache::Strategy, steps: &[Step]) {
    quiet_panics();
    let (table, clock, origin) = table(options(strategy));
    let mut model = Model {
        options: options(strategy),
        now: Tick::default(),
        kept: BTreeMap::new(),
        unstorable: BTreeMap::new(),
        calls: BTreeMap::new(),
        made: Vec::new(),
        ends: BTreeMap::new(),
    };
    let ends = Arc::new(Mutex::new(BTreeMap::new()));
    let mut requests = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let value = number as u32;
        match step {
            Step::Ask(key) => {
                let request = requests.len();
                model.ask(*key, request);
                let (table, ends, key) = (table.clone(), ends.clone(), KEYS[*key]);
                requests.push(tokio::spawn(async move {
                    let end = ask(&table, key).await;
                    ends.lock().unwrap().insert(request, end);
                }));
            }
            Step::Peek(key) => {
                let wanted = model.peek(*key);
                let now = model.now;
                let got = match table.peek(KEYS[*key]) {
                    Peek::Fresh(entry) => Some((entry, Source::Hit)),
                    Peek::Stale(entry) => Some((entry, Source::Stale)),
                    Peek::Absent => None,
                };
                let got =
                    got.map(|(entry, source)| End::Value(*entry.value(), entry.age(now), source));
                assert_eq!(got, wanted, "{strategy}, step {number} of {steps:?}");
            }
            Step::Leave(ago) => {
                if let Some(request) = requests.len().checked_sub(*ago) {
                    model.leave(request);
                    requests[request].abort();
                }
            }
            Step::Advance(milliseconds) => {
                let time = Duration::from_millis(*milliseconds);
                model.advance(time);
                clock.advance(time);
            }
            Step::Reply(key, reply) => {
                model.reply(*key, value, *reply);
                answer(&origin, KEYS[*key], value, *reply);
            }
            Step::Purge(scope, depth) => {
                let purge = match scope {
                    Scope::Key(key) => Purge::Key(KEYS[*key]),
                    Scope::Prefix => Purge::Prefix(PREFIX),
                    Scope::Tag => Purge::Tag(TAG),
                    Scope::All => Purge::All,
                };
                let wanted = model.purge(*scope, *depth);
                let got = table.purge(purge, *depth);
                assert_eq!(got, wanted, "{strategy}, step {number} of {steps:?}");
            }
        }
        settle().await;
        let calls: Vec<_> =
            model.made.iter().map(|(key, value)| (KEYS[*key].to_owned(), *value)).collect();
        assert_eq!(origin.calls(), calls, "{strategy}, step {number} of {steps:?}");
        assert_eq!(*ends.lock().unwrap(), model.ends, "{strategy}, step {number} of {steps:?}");
        assert_eq!(table.stats().entries, model.kept.len() as u64, "{strategy}, {steps:?}");
    }
}

async fn ask(table: &Table, key: &str) -> End {
    match table.answer(key).await {
        Ok(answer) => End::Value(*answer.entry.value(), answer.age, answer.source),
        Err(CacheError::Origin(failure)) => End::Failed(failure.kind),
        Err(CacheError::Crowded) => End::Crowded,
        Err(_) => End::Late,
    }
}

fn answer(origin: &crate::support::Scripted, key: &str, value: u32, reply: Reply) {
    let tags = if value % 2 == 1 { vec![TAG.into()] } else { Vec::new() };
    let new = |kind, times: Option<(u64, Lifetimes)>| {
        let (age, lifetimes) = times.unzip();
        let age = seconds(age.unwrap_or(0));
        Ok(Fetched::New(sakuin_cache::Fill { tags, lifetimes, age, ..fill(value, kind) }))
    };
    let reply = match reply {
        Reply::Found => new(Kind::Found, None),
        Reply::Dated(age, fresh, stale, failing) => {
            new(Kind::Found, Some((age, lifetimes(fresh, stale, failing))))
        }
        Reply::Missing => new(Kind::Missing, None),
        Reply::Unstorable => new(Kind::Unstorable, None),
        Reply::NotModified => Ok(Fetched::NotModified(None)),
        Reply::Failure(after) => Err(refusal(after.map(seconds))),
        Reply::Panic => {
            origin.panic(key);
            return;
        }
    };
    origin.reply(key, reply);
}

/// Fetches panic here on purpose; only other panics are worth printing.
fn quiet_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let on_purpose = "the test lets this fetch panic";
            if !info.payload_as_str().is_some_and(|text| text.starts_with(on_purpose)) {
                usual(info);
            }
        }));
    });
}
