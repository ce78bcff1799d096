//! Every MUST of RFC 9111, sections 3 to 5, that these functions decide, in the RFC's order. Those that only
//! a whole cache can keep are tested at the door.

use http::{HeaderMap, Method, StatusCode};
use sakuin_cache::rfc9111::{
    RequestDirectives, Response, Reuse, Selecting, confirms, invalidated, only_for_the_origin,
    refreshed, strip_hop_by_hop, validate,
};
use url::Url;

use super::{age, date, fresh, get, headers, kept, kept_of, life};

const KEPT: &str = "cache-control: max-age=60";

/// 3: "a cache MUST NOT store a response to a request unless …"
mod storing {
    use super::*;

    #[test]
    fn the_method_is_understood() {
        assert!(kept("", 200, KEPT));
        for method in ["POST", "PUT", "DELETE", "PURGE", "HEAD"] {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            assert!(!kept_of(&method, "", 200, KEPT), "{method}");
        }
    }

    #[test]
    fn the_status_is_final_and_understood_where_it_matters() {
        assert!(!kept("", 100, KEPT));
        assert!(!kept("", 103, KEPT));
        assert!(!kept("", 206, KEPT));
        assert!(!kept("", 304, KEPT));
        assert!(kept("", 404, KEPT));
        assert!(kept("", 499, KEPT), "an unknown status counts as x00 of its class");
        assert!(!kept("", 500, KEPT));
        assert!(!kept("", 499, "cache-control: max-age=60, must-understand"));
        assert!(kept("", 200, "cache-control: max-age=60, must-understand, no-store"));
        assert!(!kept("", 499, "cache-control: max-age=60, must-understand, no-store"));
    }

    #[test]
    fn nobody_said_no_store() {
        assert!(!kept("", 200, "cache-control: max-age=60, no-store"));
        assert!(!kept("cache-control: no-store", 200, KEPT));
    }

    #[test]
    fn it_is_not_private() {
        assert!(!kept("", 200, "cache-control: max-age=60, private"));
        assert!(!kept("", 200, "cache-control: max-age=60, private=\"x-name\""));
    }

    /// 3.5 too.
    #[test]
    fn what_was_asked_for_with_authorization_is_allowed() {
        let asked = "authorization: Basic Zm9vOmJhcg==";
        assert!(!kept(asked, 200, KEPT));
        for allowed in ["must-revalidate", "public", "s-maxage=60"] {
            assert!(
                kept(asked, 200, &format!("cache-control: max-age=60, {allowed}")),
                "{allowed}"
            );
        }
        assert!(!kept(asked, 200, "cache-control: max-age=60, proxy-revalidate"));
    }

    #[test]
    fn something_says_how_long_it_lives() {
        assert!(kept("", 200, ""), "by default");
        assert!(!kept("", 302, ""));
        assert!(!kept("", 403, ""));
        for allowed in ["cache-control: public", "cache-control: max-age=1", "expires: 0"] {
            assert!(kept("", 302, allowed), "{allowed}");
        }
        assert!(kept("", 302, "cache-control: s-maxage=1"));
    }

    /// 3.1: "the Connection header field and fields whose names are listed in it".
    #[test]
    fn fields_of_one_hop_are_left_out() {
        let mut response = headers(
            "connection: close, X-Hop\nx-hop: 1\nkeep-alive: timeout=5\ntransfer-encoding: chunked
             upgrade: h2c\nte: trailers\ntrailer: x\nproxy-connection: close
             proxy-authenticate: Basic\nproxy-authentication-info: x\nproxy-authorization: Basic x
             etag: \"a\"\nunknown: kept",
        );
        strip_hop_by_hop(&mut response);
        assert_eq!(response, headers("etag: \"a\"\nunknown: kept"));
    }

    /// 3.2: "MUST add each header field in the provided response to the stored response, replacing …"
    #[test]
    fn a_304_replaces_fields_but_not_those_of_the_body() {
        let stored = headers(
            "age: 9\ncache-control: max-age=1\netag: \"a\"\ncontent-length: 5\nx-old: 1
             content-type: text/plain\ncontent-encoding: gzip\nlink: <a>\nlink: <b>",
        );
        let confirmation = headers(
            "cache-control: max-age=60\netag: \"a\"\ncontent-length: 0\nlink: <c>\nlink: <d>
             content-type: text/html\ncontent-encoding: br\ncontent-range: bytes 0-1/2\nx-new: 2",
        );
        let expected = headers(
            "cache-control: max-age=60\netag: \"a\"\ncontent-length: 5\nx-old: 1
             content-type: text/plain\ncontent-encoding: gzip\nlink: <c>\nlink: <d>\nx-new: 2",
        );
        assert_eq!(refreshed(&stored, &confirmation), expected);
    }
}

/// 4: "a cache MUST NOT reuse a stored response unless …"
mod constructing {
    use super::*;

    /// 4.1: "MUST NOT use that stored response without revalidation unless all the presented request header
    /// fields nominated by that Vary field value match".
    #[test]
    fn the_nominated_fields_match() {
        let first = headers("accept-language: de");
        let chosen =
            Selecting::of(&first, &headers("vary: accept-language")).expect("it can match");
        assert!(chosen.matches(&first));
        assert!(!chosen.matches(&headers("accept-language: en")));
        assert!(!chosen.matches(&headers("")), "absent matches absent alone");
        let absent = Selecting::of(&headers(""), &headers("vary: cookie")).expect("it can match");
        assert!(absent.matches(&headers("")));
        assert!(!absent.matches(&headers("cookie: a=b")));
    }

    /// 4.1: "a stored response with a Vary field value containing a member `*` always fails to match".
    #[test]
    fn a_star_never_matches() {
        assert!(!kept("", 200, "cache-control: max-age=60\nvary: *"));
        assert!(!kept("", 200, "cache-control: max-age=60\nvary: accept, *"));
    }

    #[test]
    fn it_is_fresh_or_stale_with_leave_or_validated() {
        assert_eq!(get("", KEPT, 59), Reuse::Serve);
        assert_eq!(get("", KEPT, 60), Reuse::Validate);
        let leave = "cache-control: max-age=60, stale-while-revalidate=30";
        assert_eq!(get("", leave, 89), Reuse::Serve);
        assert_eq!(get("", leave, 90), Reuse::Validate);
        assert_eq!(get("", "cache-control: no-cache, max-age=60", 0), Reuse::Validate);
    }

    /// 4.2.1: "evaluate … and using the first match".
    #[test]
    fn lifetimes_come_in_order() {
        let all = format!(
            "cache-control: max-age=60, s-maxage=90\nexpires: {}\ndate: {}\nlast-modified: {}",
            date(30),
            date(0),
            date(-1000)
        );
        assert_eq!(fresh(&all), 90);
        assert_eq!(fresh(&all.replace("s-maxage", "x")), 60);
        let dated = all.replace("cache-control", "x");
        assert_eq!(fresh(&dated), 30);
        assert_eq!(fresh(&dated.replace("expires", "x")), 100);
        assert_eq!(fresh(&dated.replace("expires", "x").replace("last-modified", "x")), 0);
        assert_eq!(fresh(&format!("expires: {}", date(30))), 30, "without Date: since it came");
    }

    /// 4.2.1: several values, or invalid ones: "considered stale".
    #[test]
    fn what_disagrees_is_stale() {
        assert_eq!(fresh(&format!("expires: {}\nexpires: {}", date(30), date(31))), 0);
        assert_eq!(fresh(&format!("expires: {}\nexpires: {}", date(30), date(30))), 30);
        assert_eq!(fresh("cache-control: max-age=60\ncache-control: max-age=61"), 0);
        assert_eq!(get("", "cache-control: max-age=60, no-cache", 0), Reuse::Validate);
    }

    /// 4.2.2: "MUST NOT use heuristics … when an explicit expiration time is present", and not for other
    /// statuses unless `public`.
    #[test]
    fn a_guess_is_only_made_where_it_may_be() {
        let changed = format!("date: {}\nlast-modified: {}", date(0), date(-1000));
        assert_eq!(fresh(&changed), 100);
        assert_eq!(fresh(&format!("{changed}\ncache-control: max-age=0")), 0);
        assert_eq!(fresh(&format!("{changed}\nexpires: 0")), 0);
        let years = format!("date: {}\nlast-modified: {}", date(0), date(-100_000_000));
        assert_eq!(fresh(&years), 24 * 60 * 60);
        assert_eq!(fresh(&format!("date: {}\nlast-modified: {}", date(0), date(50))), 0);
        let of = |status: u16, extra: &str| {
            let all = headers(&format!("{changed}\n{extra}"));
            let status = StatusCode::from_u16(status).expect("a status");
            let response = Response { status, headers: &all };
            sakuin_cache::rfc9111::freshness(response, super::super::at(0))
                .lifetimes
                .fresh
                .as_secs()
        };
        assert_eq!(of(302, ""), 0);
        assert_eq!(of(302, "cache-control: public"), 100);
        assert_eq!(of(404, ""), 100);
    }

    /// 4.2.3.
    #[test]
    fn age_is_the_greater_of_two_reckonings() {
        assert_eq!(age(""), 2, "at least the time it was waited for");
        assert_eq!(age("age: 10"), 12);
        assert_eq!(age(&format!("age: 10\ndate: {}", date(-50))), 50);
        assert_eq!(age(&format!("age: 10\ndate: {}", date(-5))), 12);
        assert_eq!(age(&format!("date: {}", date(500))), 2, "a clock that goes ahead");
    }

    /// 4.2.4: "MUST NOT generate a stale response if it is prohibited by an explicit in-protocol directive".
    #[test]
    fn strict_responses_are_never_stale() {
        for directive in ["must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"] {
            let response = format!(
                "cache-control: max-age=60, stale-while-revalidate=9, stale-if-error=9, {directive}"
            );
            let life = life(&response);
            assert!(life.strict, "{directive}");
            assert!(life.lifetimes.stale_while_revalidate.is_zero(), "{directive}");
            assert!(life.lifetimes.stale_if_error.is_zero(), "{directive}");
            assert_eq!(
                get("cache-control: max-stale", &response, 61),
                Reuse::Validate,
                "{directive}"
            );
        }
    }

    /// 4.3.1.
    #[test]
    fn a_validation_carries_the_stored_validators_and_no_others() {
        let mut request = headers(
            "if-none-match: \"other\"\nif-modified-since: x\nif-match: \"a\"\nif-unmodified-since: x
             if-range: \"a\"\nrange: bytes=0-1\naccept: text/html",
        );
        let changed = date(-100);
        let stored = headers(&format!("etag: W/\"a\"\nlast-modified: {changed}"));
        assert!(validate(&mut request, &stored));
        let expected =
            format!("accept: text/html\nif-none-match: W/\"a\"\nif-modified-since: {changed}");
        assert_eq!(request, headers(&expected));
        assert!(!validate(&mut request, &HeaderMap::new()));
        assert_eq!(request, headers("accept: text/html"));
    }

    /// 4.3.2: "A cache MUST NOT evaluate conditional header fields that only apply to an origin server".
    #[test]
    fn some_conditions_are_the_origins() {
        assert!(only_for_the_origin(&headers("if-match: \"a\"")));
        assert!(only_for_the_origin(&headers("if-unmodified-since: x")));
        assert!(!only_for_the_origin(&headers("if-none-match: \"a\"\nif-modified-since: x")));
    }

    /// 4.3.4: "MUST NOT use the new response to update any stored responses".
    #[test]
    fn a_304_must_be_about_what_is_stored() {
        assert!(confirms(&headers("etag: \"a\""), &headers("etag: \"a\"")));
        assert!(!confirms(&headers("etag: \"b\""), &headers("etag: \"a\"")));
        assert!(!confirms(&headers("etag: \"b\""), &headers("last-modified: x")));
        assert!(confirms(&headers("etag: W/\"a\""), &headers("etag: \"a\"")));
        assert!(confirms(&headers("last-modified: x"), &headers("last-modified: x")));
        assert!(!confirms(&headers("last-modified: y"), &headers("last-modified: x")));
        assert!(confirms(&headers(""), &headers("etag: \"a\"")));
    }

    /// 4.4: "MUST invalidate the target URI … when it receives a non-error response to … an unsafe method".
    #[test]
    fn unsafe_methods_make_untrue() {
        let after = |method: &str, status: u16, response: &str| {
            let target = Url::parse("http://origin:9100/a/b?c").expect("a URL");
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            let status = StatusCode::from_u16(status).expect("a status");
            let all = invalidated(&method, &target, status, &headers(response));
            all.into_iter().map(String::from).collect::<Vec<_>>()
        };
        let target = "http://origin:9100/a/b?c";
        for method in ["POST", "PUT", "DELETE", "PATCH", "INVENTED"] {
            assert_eq!(after(method, 200, ""), [target], "{method}");
            assert_eq!(after(method, 303, ""), [target], "{method}");
            assert!(after(method, 404, "").is_empty(), "{method}");
            assert!(after(method, 500, "").is_empty(), "{method}");
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
            assert!(after(method, 200, "location: /x").is_empty(), "{method}");
        }
        let named =
            after("POST", 201, "location: ../new#part\ncontent-location: http://ORIGIN:9100/list");
        assert_eq!(named, [target, "http://origin:9100/new", "http://origin:9100/list"]);
        // "A cache MUST NOT trigger an invalidation under these conditions if the origin … differs".
        for elsewhere in ["http://other:9100/a", "https://origin:9100/a", "//origin/a", "http://[/"]
        {
            assert_eq!(after("POST", 201, &format!("location: {elsewhere}")), [target]);
        }
    }
}

/// 5.1 and 5.2.
mod fields {
    use super::*;

    #[test]
    fn the_first_age_counts_and_no_age_that_is_no_number() {
        assert_eq!(age("age: 10, 20"), 12);
        assert_eq!(age("age: 10\nage: 20"), 12);
        assert_eq!(age("age: x"), 2);
        assert_eq!(age("age: -5"), 2);
        assert_eq!(age("age: 1.5"), 2);
    }

    /// 5.2: "A cache MUST obey the Cache-Control directives defined in this section."
    #[test]
    fn requests_say_what_they_take() {
        let ask = |request: &str, age| {
            get(&format!("cache-control: {request}"), "cache-control: max-age=60", age)
        };
        assert_eq!(ask("max-age=10", 10), Reuse::Serve);
        assert_eq!(ask("max-age=10", 11), Reuse::Validate);
        assert_eq!(ask("max-age=x", 1), Reuse::Validate, "what is damaged asks for most");
        assert_eq!(ask("max-stale", 1_000_000), Reuse::Serve);
        assert_eq!(ask("max-stale=5", 65), Reuse::Serve);
        assert_eq!(ask("max-stale=5", 66), Reuse::Validate);
        assert_eq!(ask("max-stale=x", 61), Reuse::Validate);
        assert_eq!(ask("min-fresh=10", 50), Reuse::Serve);
        assert_eq!(ask("min-fresh=10", 51), Reuse::Validate);
        assert_eq!(ask("min-fresh=x", 0), Reuse::Validate);
        assert_eq!(ask("max-stale, min-fresh=0", 61), Reuse::Validate);
        assert_eq!(ask("no-cache", 0), Reuse::Validate);
        assert_eq!(ask("no-store", 0), Reuse::Serve, "what is kept already may be used");
        assert_eq!(ask("only-if-cached", 0), Reuse::Serve);
        assert_eq!(ask("only-if-cached", 60), Reuse::Refuse);
        assert_eq!(ask("unknown, also=\"this, no-cache\"", 0), Reuse::Serve);
    }

    /// 5.2.1.1: who asks for an age and says nothing of staleness "does not wish to receive a stale response".
    #[test]
    fn who_asks_for_an_age_takes_nothing_stale() {
        let leave = "cache-control: max-age=60, stale-while-revalidate=30";
        assert_eq!(get("", leave, 70), Reuse::Serve);
        assert_eq!(get("cache-control: max-age=100", leave, 70), Reuse::Validate);
        assert_eq!(get("cache-control: max-age=100, max-stale=20", leave, 70), Reuse::Serve);
    }

    /// 5.3: a recipient "MUST interpret invalid date formats, especially the value `0`, as … in the past"; and
    /// "MUST ignore the Expires header field" beside max-age or s-maxage.
    #[test]
    fn expires_counts_alone() {
        assert_eq!(fresh("expires: 0"), 0);
        assert_eq!(fresh("expires: tomorrow"), 0);
        assert_eq!(fresh(&format!("expires: {}", date(-1))), 0);
        assert_eq!(fresh("cache-control: max-age=60\nexpires: 0"), 60);
        assert_eq!(fresh("cache-control: s-maxage=60\nexpires: 0"), 60);
    }

    /// 5.4.
    #[test]
    fn pragma_counts_where_there_is_no_cache_control() {
        let no_cache = |request: &str| RequestDirectives::of(&headers(request)).no_cache;
        assert!(no_cache("pragma: no-cache"));
        assert!(no_cache("pragma: x=1, No-Cache"));
        assert!(!no_cache("pragma: no-cache\ncache-control: max-stale"));
        assert_eq!(
            get("", &format!("pragma: no-cache\nexpires: {}", date(60)), 0),
            Reuse::Validate
        );
        assert_eq!(get("", "pragma: no-cache\ncache-control: max-age=60", 0), Reuse::Serve);
    }
}
