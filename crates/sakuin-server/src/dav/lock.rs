//! LOCK and UNLOCK (RFC 4918, sections 9.10 and 9.11).

use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use bytes::Bytes;
use sakuin_contacts::Lock;

use super::{
    Request,
    condition::Depth,
    empty,
    path::Area,
    refusal::Refusal,
    xml::{self, DAV, Element, element},
    xml_response,
};
use crate::body::Body;

/// How long a lock holds if nobody says so, and at most.
const SECONDS: i64 = 600;
const SECONDS_MAX: i64 = 3600;

impl Request {
    pub(crate) async fn lock(&self, body: Option<Element>) -> Result<Response<Body>, Refusal> {
        let (within, id) = self.within()?;
        let seconds = seconds(&self.headers);
        let Some(info) = body else {
            let refreshed = self.change(vec![id], move |change, guard| {
                let cure = "show the lock's token in `If`, or send `lockinfo`";
                let token = guard
                    .conditions
                    .token()
                    .ok_or_else(|| Refusal::bad_request("there is no body", cure))?;
                let mut locks = change.collection(id)?.locks(&within.path, change.now());
                let lock = locks
                    .find(|lock| *lock.token == *token && lock.principal == guard.who.id)
                    .cloned();
                drop(locks);
                let lock = lock.ok_or_else(|| {
                    Refusal::precondition("no such lock is in force here").of(
                        DAV,
                        "lock-token-matches-request-uri",
                        "",
                    )
                })?;
                let lock = Lock { expires: change.now() + seconds, ..Lock::clone(&lock) };
                change.lock(id, lock.clone())?;
                Ok((lock, within))
            });
            let (lock, within) = refreshed.await?;
            return Ok(self.discovery(StatusCode::OK, &within, &lock));
        };
        let scope = info.child(DAV, "lockscope").filter(|_| info.is(DAV, "lockinfo"));
        let scope = scope.ok_or_else(|| Refusal::body("it is not `lockinfo`"))?;
        let is_shared = scope.child(DAV, "shared").is_some();
        if info.child(DAV, "locktype").is_none_or(|of| of.child(DAV, "write").is_none()) {
            return Err(Refusal::body("it locks something else than writing"));
        }
        let owner = info.child(DAV, "owner").map(Element::inner_xml).unwrap_or_default();
        let is_deep = match Depth::of(&self.headers, Depth::Infinity)? {
            Depth::One => {
                return Err(Refusal::bad_request("a lock has no depth of 1", "send 0 or infinity"));
            }
            depth => depth == Depth::Infinity,
        };
        let token = uuid::Uuid::new_v4().urn().to_string();
        let locked = self.change(vec![id], move |change, guard| {
            let collection = change.collection(id)?;
            guard.conditions.check(&guard.prefix, &within, collection, change.now())?;
            let is_there = within.path.is_empty() || collection.entry(&within.path).is_some();
            let others: Vec<_> = match is_deep {
                true => collection.locks_within(&within.path, change.now()).cloned().collect(),
                false => collection.locks(&within.path, change.now()).cloned().collect(),
            };
            if let Some(other) = others.iter().find(|other| !(is_shared && other.is_shared)) {
                let href = element(
                    DAV,
                    "href",
                    &xml::escaped(&within.at(&other.path).href(&guard.prefix, false)),
                );
                return Err(Refusal::locked("").of(DAV, "no-conflicting-lock", &href));
            }
            if !is_there {
                guard.check_locks(change, id, &within, false)?;
                if within.area == Area::Books {
                    return Err(Refusal::not_found());
                }
                change.put_file(id, &within.path, &Bytes::new(), "")?;
            }
            let lock = Lock {
                token: token.into(),
                path: within.path.as_str().into(),
                is_deep,
                is_shared,
                owner: owner.into(),
                principal: guard.who.id,
                expires: change.now() + seconds,
            };
            change.lock(id, lock.clone())?;
            Ok((lock, within, is_there))
        });
        let (lock, within, is_there) = locked.await?;
        let status = if is_there { StatusCode::OK } else { StatusCode::CREATED };
        let mut response = self.discovery(status, &within, &lock);
        let token = HeaderValue::try_from(format!("<{}>", lock.token)).expect("a token is ASCII");
        response.headers_mut().insert("lock-token", token);
        Ok(response)
    }

    fn discovery(
        &self,
        status: StatusCode,
        within: &super::path::Within,
        lock: &Lock,
    ) -> Response<Body> {
        let active = element(DAV, "lockdiscovery", &self.view().active_lock(within, lock));
        xml_response(status, format!("{}{active}</D:prop>\n", xml::begin("prop")))
    }

    pub(crate) async fn unlock(&self) -> Result<Response<Body>, Refusal> {
        let (within, id) = self.within()?;
        let token = self.headers.get("lock-token").and_then(|it| it.to_str().ok());
        let token = token
            .map(|token| token.trim().trim_start_matches('<').trim_end_matches('>').to_owned());
        let cure = "send the lock's token in `Lock-Token`";
        let token = token.ok_or_else(|| Refusal::bad_request("there is no `Lock-Token`", cure))?;
        let is_owner = self.is_owner(&within);
        self.change(vec![id], move |change, guard| {
            let mut locks = change.collection(id)?.locks(&within.path, change.now());
            let lock = locks.find(|lock| *lock.token == *token).cloned();
            drop(locks);
            let lock = lock.ok_or_else(|| {
                Refusal::new(StatusCode::CONFLICT, "no such lock is in force here", cure).of(
                    DAV,
                    "lock-token-matches-request-uri",
                    "",
                )
            })?;
            if lock.principal != guard.who.id && !is_owner {
                return Err(Refusal::forbidden("the lock is another's", "wait until it runs out"));
            }
            Ok(change.unlock(id, &token)?)
        })
        .await?;
        Ok(empty(StatusCode::NO_CONTENT))
    }
}

fn seconds(headers: &HeaderMap) -> i64 {
    let timeout = headers.get("timeout").and_then(|it| it.to_str().ok()).unwrap_or_default();
    let wanted = timeout.split(',').find_map(|one| match one.trim() {
        one if one.eq_ignore_ascii_case("infinite") => Some(SECONDS_MAX),
        one => one
            .get(..7)
            .filter(|name| name.eq_ignore_ascii_case("second-"))
            .and_then(|_| one[7..].parse().ok()),
    });
    wanted.unwrap_or(SECONDS).clamp(1, SECONDS_MAX)
}
