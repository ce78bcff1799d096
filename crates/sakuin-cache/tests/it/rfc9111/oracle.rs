//! Generated requests and responses, judged here and by the crate `http-cache-semantics`: may it be kept, how
//! old is it, how long does it live, may it be served.
//!
//! The two differ, and each difference is known by name: what brings it about, and the section that says
//! why ours is right or allowed. A case that shows any of them is only compared as far as it is not touched;
//! and for each there is a case in which the two do differ, so that none can stay here without reason.

use std::{fmt::Write, time::Duration};

use http::{HeaderMap, Method, Request as HttpRequest, Response as HttpResponse, StatusCode};
use http_cache_semantics::{CacheOptions, CachePolicy};
use proptest::{
    collection::vec, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner,
};
use sakuin_cache::rfc9111::{
    Freshness, Request, RequestDirectives, Response, Reuse, Selecting, freshness, initial_age,
    reuse, storable,
};

use super::{NOW, at, date, headers};

/// A request, the response that came for it, and a later request.
#[derive(Clone, Debug)]
struct Case {
    method: Method,
    first: String,
    status: u16,
    response: String,
    later: String,
    /// Seconds from the response to the later request.
    after: u32,
}

/// What a cache makes of a [`Case`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    kept: bool,
    /// Seconds, when the later request comes.
    age: u64,
    /// Seconds left, when the later request comes.
    left: u64,
    served: bool,
}

impl Case {
    fn ours(&self) -> Verdict {
        let (first, response, later) = self.headers();
        let status = StatusCode::from_u16(self.status).expect("a status");
        let response = Response { status, headers: &response };
        let kept = storable(Request { method: &self.method, headers: &first }, response);
        let Freshness { lifetimes, strict } = freshness(response, at(0));
        let age = initial_age(response.headers, Duration::ZERO, at(0))
            + Duration::from_secs(self.after.into());
        let freshness = Freshness { lifetimes, strict };
        let selecting = Selecting::of(&first, response.headers);
        let served = selecting.is_some_and(|selecting| selecting.matches(&later))
            && reuse(&RequestDirectives::of(&later), &freshness, age) == Reuse::Serve;
        let left = lifetimes.fresh.saturating_sub(age).as_secs();
        Verdict { kept, age: age.as_secs(), left, served: kept && served }
    }

    fn theirs(&self) -> Verdict {
        let (first, response, later) = self.headers();
        let request = |method: &Method, headers: HeaderMap| {
            let mut request = HttpRequest::new(());
            *request.uri_mut() = "http://origin/a?b".parse().expect("a URI");
            *request.method_mut() = method.clone();
            *request.headers_mut() = headers;
            request
        };
        let mut answered = HttpResponse::new(());
        *answered.status_mut() = StatusCode::from_u16(self.status).expect("a status");
        *answered.headers_mut() = response;
        let first = request(&self.method, first);
        let policy = CachePolicy::new_options(&first, &answered, at(0), CacheOptions::default());
        let now = at(self.after.into());
        let later = request(&self.method, later);
        let served = policy.before_request(&later, now).satisfies_without_revalidation();
        let kept = policy.is_storable();
        let left = policy.time_to_live(now).as_secs();
        Verdict { kept, age: policy.age(now).as_secs(), left, served: kept && served }
    }

    fn headers(&self) -> (HeaderMap, HeaderMap, HeaderMap) {
        (headers(&self.first), headers(&self.response), headers(&self.later))
    }

    fn said(&self, part: &str) -> bool {
        self.response.contains(part)
    }

    fn asked(&self, part: &str) -> bool {
        self.first.contains(part) || self.later.contains(part)
    }
}

/// A way in which the two differ.
struct Difference {
    name: &'static str,
    /// Where the RFC says why; or what else does.
    why: &'static str,
    /// Whether a case may show it.
    shows: fn(&Case) -> bool,
    /// What cannot be compared then: storing, ages, times left, serving.
    touches: fn(&mut Verdict),
    /// A case that does: method, request, status, response, later request, seconds.
    example: (&'static str, &'static str, u16, &'static str, &'static str, u32),
}

fn everything(verdict: &mut Verdict) {
    *verdict = Verdict { kept: false, age: 0, left: 0, served: false };
}

fn time(verdict: &mut Verdict) {
    (verdict.left, verdict.served) = (0, false);
}

fn ages(verdict: &mut Verdict) {
    (verdict.age, verdict.left, verdict.served) = (0, 0, false);
}

fn serving(verdict: &mut Verdict) {
    verdict.served = false;
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "only GET is kept",
        why: "3: storing is never an obligation; HEAD is answered from GET",
        shows: |case| case.method != Method::GET,
        touches: everything,
        example: ("HEAD", "", 200, "cache-control: max-age=60", "", 0),
    },
    Difference {
        name: "other statuses are kept when their lifetime is said",
        why: "3: any final status, where must-understand does not stand",
        shows: |case| {
            ![200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501]
                .contains(&case.status)
        },
        touches: everything,
        example: ("GET", "", 403, "cache-control: max-age=60", "", 0),
    },
    Difference {
        name: "must-understand",
        why: "5.2.2.3: no-store gives way to it where the status is understood; unknown there",
        shows: |case| case.said("must-understand"),
        touches: everything,
        example: ("GET", "", 200, "cache-control: max-age=60, no-store, must-understand", "", 0),
    },
    Difference {
        name: "cookies",
        why: "7.3: what sets one and is not public is not kept at all; there it is kept and never fresh, but for `immutable`",
        shows: |case| case.said("set-cookie"),
        touches: everything,
        example: ("GET", "", 200, "set-cookie: a=b\ncache-control: max-age=60", "", 0),
    },
    Difference {
        name: "Vary: *",
        why: "4.1: can never match, so it is not kept; there it is kept and never fresh",
        shows: |case| case.said("vary: *"),
        touches: everything,
        example: ("GET", "", 200, "vary: *\ncache-control: max-age=60", "", 0),
    },
    Difference {
        name: "apparent age",
        why: "4.2.3: a Date in the past counts; there only Age does",
        shows: |case| {
            case.said("date: ")
                && initial_age(&headers(&case.response), Duration::ZERO, at(0))
                    != initial_age(
                        &headers(
                            &case
                                .response
                                .replace("date: ", "x-date: ")
                                .replace("last-modified: ", "x: "),
                        ),
                        Duration::ZERO,
                        at(0),
                    )
        },
        touches: ages,
        example: (
            "GET",
            "",
            200,
            "cache-control: max-age=60\ndate: Fri, 15 Jan 2027 07:59:50 GMT",
            "",
            0,
        ),
    },
    Difference {
        name: "a list of ages",
        why: "5.1: the first member counts; there none",
        shows: |case| case.said("age: 7, "),
        touches: ages,
        example: ("GET", "", 200, "cache-control: max-age=60\nage: 7, 8", "", 0),
    },
    Difference {
        name: "proxy-revalidate",
        why: "5.2.2.8: forbids staleness, not freshness; there it ends the lifetime",
        shows: |case| case.said("proxy-revalidate"),
        touches: time,
        example: ("GET", "", 200, "cache-control: max-age=60, proxy-revalidate", "", 0),
    },
    Difference {
        name: "s-maxage forbids staleness",
        why: "5.2.2.10: it carries proxy-revalidate",
        shows: |case| case.said("s-maxage") && case.later.contains("max-stale"),
        touches: serving,
        example: ("GET", "", 200, "cache-control: s-maxage=5", "cache-control: max-stale", 9),
    },
    Difference {
        name: "no-cache forbids staleness",
        why: "5.2.2.4: `MUST NOT be used … without forwarding it for validation`, max-stale or not",
        shows: |case| case.said("no-cache") && case.later.contains("max-stale"),
        touches: serving,
        example: ("GET", "", 200, "cache-control: no-cache", "cache-control: max-stale", 9),
    },
    Difference {
        name: "a limit of staleness is reached",
        why: "5.2.1.2: `no more than the specified number of seconds`; there less",
        shows: |case| case.later.contains("max-stale="),
        touches: serving,
        example: ("GET", "", 200, "cache-control: max-age=5", "cache-control: max-stale=4", 9),
    },
    Difference {
        name: "min-fresh is never met by the stale",
        why: "5.2.1.3: lifetime no less than current age plus min-fresh, whatever max-stale says",
        shows: |case| case.later.contains("min-fresh=0"),
        touches: serving,
        example: (
            "GET",
            "",
            200,
            "cache-control: max-age=5",
            "cache-control: min-fresh=0, max-stale",
            9,
        ),
    },
    Difference {
        name: "stale-while-revalidate",
        why: "RFC 5861 3, which is unknown there",
        shows: |case| case.said("stale-while-revalidate"),
        touches: serving,
        example: ("GET", "", 200, "cache-control: max-age=5, stale-while-revalidate=60", "", 9),
    },
    Difference {
        name: "CDN-Cache-Control",
        why: "RFC 9213, which is unknown there",
        shows: |case| case.said("cdn-cache-control"),
        touches: everything,
        example: ("GET", "", 200, "cache-control: max-age=5\ncdn-cache-control: max-age=60", "", 9),
    },
    Difference {
        name: "names in any case",
        why: "5.2: directives are case-insensitive; there they are not",
        shows: |case| case.said("Max-Age") || case.asked("No-Cache"),
        touches: everything,
        example: ("GET", "", 200, "cache-control: Max-Age=60", "", 9),
    },
    Difference {
        name: "a directive with two arguments",
        why: "4.2.1: considered stale; there the first counts, and must-revalidate is put in",
        shows: |case| repeats(&case.response) || repeats(&case.later),
        touches: everything,
        example: ("GET", "", 200, "cache-control: max-age=60, max-age=61", "", 9),
    },
    Difference {
        name: "an argument that is missing",
        why: "4.2.1: an invalid lifetime is considered stale; there the next header counts",
        shows: |case| case.said("max-age,") || case.said("max-age\n"),
        touches: time,
        example: (
            "GET",
            "",
            200,
            "cache-control: max-age\nexpires: Fri, 15 Jan 2027 09:00:00 GMT",
            "",
            9,
        ),
    },
    Difference {
        name: "a request with an argument that is no number",
        why: "our choice: what is damaged asks for most; there it asks for nothing",
        shows: |case| case.later.contains("=x"),
        touches: serving,
        example: ("GET", "", 200, "cache-control: max-age=60", "cache-control: max-age=x", 9),
    },
    Difference {
        name: "commas within quotes",
        why: "RFC 9110 5.6.4; there the quotes are not looked at",
        shows: |case| case.said("x=\"a, no-store, b\""),
        touches: everything,
        example: ("GET", "", 200, "cache-control: max-age=60, x=\"a, no-store, b\"", "", 9),
    },
    Difference {
        name: "a date that stands twice",
        why: "4.2.1: considered stale; there the first counts",
        shows: |case| {
            ["expires: ", "last-modified: ", "\ndate: "]
                .iter()
                .any(|date| format!("\n{}", case.response).matches(date).count() > 1)
        },
        touches: time,
        example: (
            "GET",
            "",
            200,
            "expires: Fri, 15 Jan 2027 09:00:00 GMT\nexpires: Fri, 15 Jan 2027 10:00:00 GMT",
            "",
            9,
        ),
    },
    Difference {
        name: "older forms of dates",
        why: "RFC 9110 5.6.7: all three MUST be read; there one is",
        shows: |case| case.said("Friday, ") || case.said("Fri Jan "),
        touches: time,
        example: ("GET", "", 200, "expires: Friday, 15-Jan-27 09:00:00 GMT", "", 9),
    },
    Difference {
        name: "a guess is at most a day",
        why: "4.2.2: our choice, as the RFC wishes a warning above a day",
        shows: |case| case.left_by_guess() > 24 * 60 * 60,
        touches: time,
        example: ("GET", "", 200, "last-modified: Fri, 15 Jan 2016 09:00:00 GMT", "", 9),
    },
    Difference {
        name: "immutable",
        why: "RFC 8246 2: it says nothing of how long; there it is a day",
        shows: |case| case.said("immutable"),
        touches: time,
        example: ("GET", "", 200, "cache-control: immutable", "", 9),
    },
    Difference {
        name: "Pragma beside Cache-Control",
        why: "5.4: where Cache-Control stands, Pragma says nothing; there it does, in requests",
        shows: |case| case.later.contains("pragma") && case.later.contains("cache-control"),
        touches: serving,
        example: (
            "GET",
            "",
            200,
            "cache-control: max-age=60",
            "pragma: no-cache\ncache-control: max-stale=5",
            9,
        ),
    },
    Difference {
        name: "coded alike",
        why: "4.1: a request is compared by what it takes, not by how it says so",
        shows: |case| case.said("accept-encoding") && case.asked("accept-encoding"),
        touches: serving,
        example: (
            "GET",
            "accept-encoding: gzip, br",
            200,
            "cache-control: max-age=60\nvary: accept-encoding",
            "accept-encoding: br, gzip",
            9,
        ),
    },
    Difference {
        name: "every line of a nominated field",
        why: "4.1: fields of several lines are compared whole; there by their first line",
        shows: |case| case.nominates_a_repeated_field(),
        touches: serving,
        example: (
            "GET",
            "accept-language: de",
            200,
            "cache-control: max-age=60\nvary: accept-language",
            "accept-language: de\naccept-language: fr",
            9,
        ),
    },
];

/// Whether a directive stands twice, with different arguments, or quoted: theirs takes one that is quoted
/// for different from itself.
fn repeats(lines: &str) -> bool {
    let all = headers(lines);
    let lines = all.get_all("cache-control").iter().filter_map(|line| line.to_str().ok());
    let directives: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    let name = |directive: &str| directive.split('=').next().map(str::to_lowercase);
    (1..directives.len()).any(|at| {
        let (before, one) = (&directives[..at], directives[at]);
        let alike = |other: &&str| *other == one && !one.contains('"');
        before.iter().any(|other| name(other) == name(one) && !alike(other))
    })
}

impl Case {
    /// What a guess would give here, without its limit.
    fn left_by_guess(&self) -> u64 {
        let changed = headers(&self.response).remove("last-modified");
        let changed = changed.and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        let unchanged = changed.and_then(|changed| at(0).duration_since(changed).ok());
        unchanged.unwrap_or_default().as_secs() / 10
    }

    fn nominates_a_repeated_field(&self) -> bool {
        let (first, response, later) = self.headers();
        let Some(selecting) = Selecting::of(&first, &response) else { return false };
        let repeated =
            |name| [&first, &later].iter().any(|all| all.get_all(name).iter().count() > 1);
        selecting.fields().any(|(name, _)| repeated(name))
    }

    fn of(difference: &Difference) -> Case {
        let (method, first, status, response, later, after) = difference.example;
        let [first, response, later] = [first, response, later].map(str::to_owned);
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Case { method, first, status, response, later, after }
    }
}

#[test]
fn every_known_difference_is_one() {
    for difference in DIFFERENCES {
        let (name, why) = (difference.name, difference.why);
        let case = Case::of(difference);
        assert!((difference.shows)(&case), "{name} ({why}) does not show in its example");
        let (mut ours, mut theirs) = (case.ours(), case.theirs());
        assert_ne!(ours, theirs, "{name} ({why}) is no difference any more");
        for verdict in [&mut ours, &mut theirs] {
            (difference.touches)(verdict);
        }
        assert_eq!(ours, theirs, "{name} ({why}) touches more than it says");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn both_judge_alike(case in case()) {
        let (mut ours, mut theirs) = (case.ours(), case.theirs());
        for difference in DIFFERENCES.iter().filter(|difference| (difference.shows)(&case)) {
            (difference.touches)(&mut ours);
            (difference.touches)(&mut theirs);
        }
        // Theirs multiplies a guess in single precision.
        if ours.left.abs_diff(theirs.left) == 1 && case.said("last-modified") {
            time(&mut ours);
            time(&mut theirs);
        }
        // What is not kept has no times.
        if !ours.kept && !theirs.kept {
            (ours.left, theirs.left) = (0, 0);
        }
        prop_assert_eq!(ours, theirs);
    }
}

/// Comparing must not come down to nothing: half of all cases show no difference, and enough are served.
#[test]
fn most_cases_are_compared_whole() {
    let mut runner = TestRunner::deterministic();
    let cases = (0..2_000).map(|_| case().new_tree(&mut runner).expect("a case").current());
    let whole: Vec<Case> = cases
        .filter(|case| !DIFFERENCES.iter().any(|difference| (difference.shows)(case)))
        .collect();
    let served = whole.iter().filter(|case| case.ours().served).count();
    let kept = whole.iter().filter(|case| case.ours().kept).count();
    assert!(whole.len() > 1_000 && kept > 700 && served > 100);
}

/// Mostly plain headers, now and then a strange one.
fn case() -> impl Strategy<Value = Case> {
    let method = prop_oneof![60 => Just(Method::GET), 1 => Just(Method::HEAD)];
    let status = prop_oneof![
        16 => Just(200_u16),
        4 => select(vec![203, 204, 206, 300, 301, 302, 303, 304, 307, 308, 404, 405, 410, 414, 501]),
        1 => select(vec![201, 403, 418, 500, 503]),
    ];
    let after = prop_oneof![2 => 0..20_u32, 2 => 0..200_u32, 1 => 0..200_000_u32];
    (method, request(), status, response(), request(), after).prop_map(
        |(method, first, status, response, later, after)| Case {
            method,
            first,
            status,
            response,
            later,
            after,
        },
    )
}

fn request() -> impl Strategy<Value = String> {
    let directive = prop_oneof![
        8 => (select(vec!["max-age", "min-fresh"]), 0..100_u32).prop_map(|(name, seconds)| format!("{name}={seconds}")),
        3 => select(vec!["no-cache", "max-stale", "only-if-cached", "unknown"]).prop_map(str::to_owned),
        1 => select(vec!["no-store", "max-stale=50", "No-Cache", "max-age=x", "min-fresh=0"]).prop_map(str::to_owned),
    ];
    let line = prop_oneof![
        4 => select(vec!["accept-language: de", "accept-language: en", "accept: text/html"]).prop_map(str::to_owned),
        4 => vec(directive, 0..3).prop_map(|all| format!("cache-control: {}", all.join(", "))),
        1 => select(vec![
            "authorization: Basic eDp5", "pragma: no-cache", "accept-encoding: gzip, br",
            "accept-encoding: br;q=1.0,gzip", "accept-language: fr", "cookie: a=b",
        ]).prop_map(str::to_owned),
    ];
    vec(line, 0..4).prop_map(|lines| lines.join("\n"))
}

fn response() -> impl Strategy<Value = String> {
    let timed = (select(vec!["max-age", "max-age", "max-age", "s-maxage"]), 0..200_u32);
    let directive = prop_oneof![
        12 => timed.prop_map(|(name, seconds)| format!("{name}={seconds}")),
        4 => select(vec!["public", "must-revalidate", "unknown", "unknown=\"x\"", "must-revalidate=1"]).prop_map(str::to_owned),
        1 => select(vec![
            "private", "no-store", "no-cache", "proxy-revalidate", "must-understand", "immutable",
            "max-age=\"30\"", "max-age=-1", "max-age=x", "max-age", "Max-Age=30", "x=\"a, no-store, b\"",
            "stale-while-revalidate=50", "stale-if-error=50", "private=\"x\"",
        ]).prop_map(str::to_owned),
    ];
    let dated = prop_oneof![
        4 => (select(vec!["expires", "last-modified"]), -2_000..2_000_i64),
        1 => (Just("date"), -20..20_i64),
        1 => (Just("last-modified"), -400_000_000..0_i64),
    ];
    let line = prop_oneof![
        6 => vec(directive, 0..3).prop_map(|all| format!("cache-control: {}", all.join(", "))),
        4 => dated.prop_map(|(name, seconds)| format!("{name}: {}", date(seconds))),
        2 => (0..100_u32).prop_map(|age| format!("age: {age}")),
        2 => select(vec!["vary: accept-language", "vary: Accept, accept-language", "etag: \"a\"", "vary: cookie"]).prop_map(str::to_owned),
        1 => select(vec![
            "vary: *", "vary: accept-encoding", "set-cookie: a=b", "pragma: no-cache", "expires: 0",
            "age: x", "age: 7, 8", "cdn-cache-control: max-age=90",
            "expires: Friday, 15-Jan-27 09:00:00 GMT",
        ]).prop_map(str::to_owned),
    ];
    vec(line, 0..5).prop_map(|lines| {
        let mut all = String::new();
        for line in lines {
            writeln!(all, "{line}").expect("a string takes it");
        }
        all
    })
}

/// The examples are written for this moment.
#[test]
fn the_examples_know_their_time() {
    assert_eq!((NOW, date(0).as_str()), (1_800_000_000, "Fri, 15 Jan 2027 08:00:00 GMT"));
}
