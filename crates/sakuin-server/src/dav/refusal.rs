//! What is not done, as WebDAV says it: a status, an element that programs know, and a sentence for people.

use std::fmt::Write;

use axum::http::{HeaderValue, Response, StatusCode, header};
use sakuin_contacts::{CardError, Error, Refused, SignInError, UnknownToken};

use super::xml::{self, CARD, DAV, element};
use crate::{body::Body, pool, reply::Fault};

/// The namespace of what people read.
const OURS: &str = "http://sakuin/ns";

/// A request that is not done.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The element of the condition that does not hold.
    condition: Option<String>,
    cause: String,
    cure: String,
    retry_after: Option<u64>,
    allow: Option<&'static str>,
    is_challenge: bool,
}

impl Refusal {
    pub(crate) fn new(
        status: StatusCode,
        cause: impl Into<String>,
        cure: impl Into<String>,
    ) -> Refusal {
        Refusal {
            status,
            condition: None,
            cause: cause.into(),
            cure: cure.into(),
            retry_after: None,
            allow: None,
            is_challenge: false,
        }
    }

    /// With a condition that an RFC names.
    pub(crate) fn of(self, namespace: &str, name: &str, inner: &str) -> Refusal {
        Refusal { condition: Some(element(namespace, name, inner)), ..self }
    }

    pub(crate) fn bad_request(cause: impl Into<String>, cure: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, cause, cure)
    }

    /// A body that is no XML, or other XML than is asked for.
    pub(crate) fn body(cause: impl Into<String>) -> Refusal {
        Refusal::bad_request(
            format!("the body cannot be read: {}", cause.into()),
            "send the XML that the RFC of this method shows",
        )
    }

    pub(crate) fn not_found() -> Refusal {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "there is nothing at this address",
            "PROPFIND its parent to see what there is",
        )
    }

    pub(crate) fn forbidden(cause: impl Into<String>, cure: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, cause, cure)
    }

    /// A privilege that is missing (RFC 3744, section 7.1.1).
    pub(crate) fn need(href: &str, privilege: &str) -> Refusal {
        let privilege = element(DAV, "privilege", &element(DAV, privilege, ""));
        let href = element(DAV, "href", &xml::escaped(href));
        let inner = element(DAV, "resource", &format!("{href}{privilege}"));
        Refusal::forbidden(
            "this is shared with you to look at only",
            "ask its owner for the right to change it",
        )
        .of(DAV, "need-privileges", &inner)
    }

    pub(crate) fn method(allowed: &'static str) -> Refusal {
        let cause = "this address does not take that method";
        let refusal =
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, cause, format!("it takes {allowed}"));
        Refusal { allow: Some(allowed), ..refusal }
    }

    pub(crate) fn precondition(cause: impl Into<String>) -> Refusal {
        Refusal::new(
            StatusCode::PRECONDITION_FAILED,
            cause,
            "look at it again, and send what you change with its new ETag",
        )
    }

    /// A resource is locked, and the request does not show by which lock.
    pub(crate) fn locked(href: &str) -> Refusal {
        let inner = element(DAV, "href", &xml::escaped(href));
        Refusal::new(StatusCode::LOCKED, "it is locked", "send the token of its lock in `If`").of(
            DAV,
            "lock-token-submitted",
            &inner,
        )
    }

    pub(crate) fn sign_in() -> Refusal {
        let cure = "sign in with your name and your password, or a token in its place";
        Refusal {
            is_challenge: true,
            ..Refusal::new(StatusCode::UNAUTHORIZED, "nobody is signed in", cure)
        }
    }

    pub(crate) fn cause(&self) -> &str {
        &self.cause
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut text = xml::begin("error");
        text.push_str(self.condition.as_deref().unwrap_or_default());
        let cause = xml::escaped(&self.cause);
        let cure = xml::escaped(&self.cure);
        let _ = writeln!(
            text,
            "<message xmlns=\"{OURS}\">{cause}</message><hint xmlns=\"{OURS}\">{cure}</hint></D:error>"
        );
        let mut response = super::xml_response(self.status, text);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(allowed) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
        }
        if self.is_challenge {
            let challenge = "Basic realm=\"contacts\", charset=\"UTF-8\"";
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

impl From<CardError> for Refusal {
    fn from(error: CardError) -> Refusal {
        let condition = match error {
            CardError::Version { .. } => "supported-address-data",
            _ => "valid-address-data",
        };
        let cause = format!("this is not one card: {error}");
        Refusal::forbidden(cause, error.hint()).of(CARD, condition, "")
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        tracing::error!("{error}");
        let cure = "send it again in a moment; sent with the same bytes it does no harm";
        let refusal = Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the store of contacts does not answer",
            cure,
        );
        Refusal { retry_after: Some(5), ..refusal }
    }
}

/// What a change refuses, where it names no other resource.
impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        let cause = refused.to_string();
        match refused {
            Refused::NoCollection | Refused::NoEntry { .. } => Refusal::not_found(),
            Refused::NoFolder { .. } => {
                Refusal::new(StatusCode::CONFLICT, cause, "make the folder first, with MKCOL")
            }
            Refused::Exists { .. } => Refusal::new(
                StatusCode::METHOD_NOT_ALLOWED,
                cause,
                "choose another name",
            )
            .of(DAV, "resource-must-be-null", ""),
            Refused::UidTaken { .. } | Refused::UidChanged { .. } => {
                let cure = "a card keeps its UID, and no other card of its book has it";
                Refusal::forbidden(cause, cure).of(CARD, "no-uid-conflict", "")
            }
            Refused::Kind => Refusal::forbidden(
                cause,
                "put cards into books, and files below `files/`",
            )
            .of(CARD, "supported-address-data", ""),
            _ => Refusal::forbidden(cause, "see that all names are right"),
        }
    }
}

impl From<SignInError> for Refusal {
    fn from(error: SignInError) -> Refusal {
        match error {
            SignInError::TooMany { wait } => {
                let cure = "wait, and see that no program tries with an old password";
                let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, error.to_string(), cure);
                Refusal { retry_after: Some(wait.as_secs().max(1)), ..refusal }
            }
            _ => Refusal::sign_in(),
        }
    }
}

impl From<UnknownToken> for Refusal {
    fn from(_: UnknownToken) -> Refusal {
        Refusal::forbidden(
            "this sync token is not known any more",
            "synchronise anew, with an empty token",
        )
        .of(DAV, "valid-sync-token", "")
    }
}

impl From<pool::Refused> for Refusal {
    fn from(refused: pool::Refused) -> Refusal {
        Fault::from(refused).into()
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        let Fault { status, cause, cure, retry_after, .. } = fault;
        Refusal { retry_after, ..Refusal::new(status, cause, cure) }
    }
}
