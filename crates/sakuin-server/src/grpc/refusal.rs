//! Why a call is not answered, as gRPC's richer error model says it: a code, a reason for programs, a sentence for
//! people, and the details that help to mend it.

use std::{collections::HashMap, time::Duration};

use axum::http::StatusCode;
use sakuin_live::{CommitError, Conflict, FilterError, ValueError};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::{pool, reply::Fault};

/// The domain of every reason.
const DOMAIN: &str = "sakuin";

/// So many records of a conflict are named.
const NAMED_MAX: usize = 20;

/// A call that is not answered.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    facts: Vec<(&'static str, String)>,
    details: Box<ErrorDetails>,
}

impl Refusal {
    pub(crate) fn new(code: Code, reason: &'static str, message: impl Into<String>) -> Refusal {
        let (facts, details) = (Vec::new(), Box::default());
        Refusal { code, reason, message: short(message.into()), facts, details }
    }

    /// A field of the request that cannot be as it is.
    pub(crate) fn field(
        field: impl Into<String>,
        cause: impl Into<String>,
        cure: impl Into<String>,
    ) -> Refusal {
        Refusal::of_field(Code::InvalidArgument, "INVALID_FIELD", field, cause, cure)
    }

    /// More than one call may ask for.
    pub(crate) fn too_large(
        field: impl Into<String>,
        cause: impl Into<String>,
        cure: impl Into<String>,
    ) -> Refusal {
        Refusal::of_field(Code::InvalidArgument, "TOO_LARGE", field, cause, cure)
    }

    pub(crate) fn of_field(
        code: Code,
        reason: &'static str,
        field: impl Into<String>,
        cause: impl Into<String>,
        cure: impl Into<String>,
    ) -> Refusal {
        let (field, cause, cure) = (short(field.into()), short(cause.into()), cure.into());
        let mut refusal = Refusal::new(code, reason, format!("`{field}`: {cause}; {cure}"));
        refusal.details.add_bad_request_violation(field, format!("{cause}; {cure}"));
        refusal
    }

    pub(crate) fn of_filter(field: &str, error: &FilterError) -> Refusal {
        let refusal = Refusal::of_field(
            Code::InvalidArgument,
            "INVALID_FILTER",
            field,
            error.to_string(),
            &error.hint,
        );
        refusal.with("position", error.position.to_string())
    }

    pub(crate) fn no_table(table: &str) -> Refusal {
        let cause = format!("there is no live table `{table}`");
        let mut refusal = Refusal::new(Code::NotFound, "TABLE_NOT_FOUND", cause);
        let name = short(format!("tables/{table}"));
        refusal.details.set_resource_info("sakuin.live.v1/Table", name, "", "it is not there");
        refusal
    }

    pub(crate) fn no_record(table: &str, id: u64) -> Refusal {
        let cause = format!("table `{table}` has no record {id}");
        let mut refusal = Refusal::new(Code::NotFound, "RECORD_NOT_FOUND", cause);
        let name = short(super::name::record(table, id));
        refusal.details.set_resource_info("sakuin.live.v1/Record", name, "", "it is not there");
        refusal
    }

    /// What was read has changed.
    pub(crate) fn conflict(conflict: &Conflict) -> Refusal {
        Refusal::new(Code::Aborted, "CONFLICT", conflict.to_string()).naming(conflict)
    }

    /// The record has another version than its client knows.
    pub(crate) fn etag(conflict: &Conflict) -> Refusal {
        let cause = "the record has another etag by now; read it again";
        Refusal::new(Code::Aborted, "ETAG_MISMATCH", cause).naming(conflict)
    }

    fn naming(mut self, conflict: &Conflict) -> Refusal {
        for (table, id, version) in conflict.records.iter().take(NAMED_MAX) {
            let now = match version {
                Some(version) => format!("its version is {version}"),
                None => "it is not there".to_owned(),
            };
            let name = super::name::record(table, *id);
            self.details.add_precondition_failure_violation("RECORD", name, now);
        }
        for search in conflict.searches.iter().take(NAMED_MAX) {
            let subject = search.to_string();
            let now = "its answer is another";
            self.details.add_precondition_failure_violation("SEARCH", subject, now);
        }
        self.with("retry_at", conflict.retry_at.to_string()).after(Duration::from_millis(1))
    }

    pub(crate) fn expired(at: u64, cause: impl Into<String>) -> Refusal {
        let refusal = Refusal::new(Code::FailedPrecondition, "SNAPSHOT_EXPIRED", cause);
        refusal.with("snapshot", at.to_string())
    }

    /// An answer that would be longer than a message may be.
    pub(crate) fn too_long(subject: &str, cure: &str) -> Refusal {
        let cause = format!("the answer is longer than {} bytes", super::MESSAGE_BYTES_MAX);
        let message = format!("{cause}; {cure}");
        let mut refusal = Refusal::new(Code::ResourceExhausted, "ANSWER_TOO_LARGE", message);
        refusal.details.add_quota_failure_violation(subject, cause);
        refusal
    }

    /// The server ends; `snapshot` is what a stream has told.
    pub(crate) fn stopping(snapshot: u64) -> Refusal {
        let refusal =
            Refusal::new(Code::Unavailable, "STOPPING", "the server ends; go on elsewhere");
        refusal.with("snapshot", snapshot.to_string())
    }

    /// The store was closed while it wrote.
    pub(crate) fn unknown(cause: &str) -> Refusal {
        let message = format!(
            "whether this was written is unknown: {cause}; sent again with the same `request_id` once the server is \
             back, it is answered as if this had not happened"
        );
        Refusal::new(Code::Unavailable, "OUTCOME_UNKNOWN", message)
    }

    /// The time that the client gave is over.
    pub(crate) fn deadline() -> Refusal {
        Refusal::new(Code::DeadlineExceeded, "DEADLINE", "the time that was given is over")
    }

    /// A fact for programs.
    pub(crate) fn with(mut self, name: &'static str, fact: String) -> Refusal {
        self.facts.push((name, fact));
        self
    }

    /// When the same may go well.
    fn after(mut self, delay: Duration) -> Refusal {
        self.details.set_retry_info(Some(delay));
        self
    }
}

/// A text of which a client may have written a part: a status travels in headers, which are short.
fn short(mut text: String) -> String {
    const BYTES_MAX: usize = 512;
    if text.len() > BYTES_MAX {
        text.truncate(text.floor_char_boundary(BYTES_MAX));
        text.push('…');
    }
    text
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        let Refusal { code, reason, message, facts, mut details } = refusal;
        let facts: HashMap<String, String> =
            facts.into_iter().map(|(name, fact)| (name.to_owned(), fact)).collect();
        details.set_error_info(reason, DOMAIN, facts);
        Status::with_error_details(code, message, *details)
    }
}

impl From<ValueError> for Refusal {
    fn from(error: ValueError) -> Refusal {
        let cause = error.to_string();
        let values = |attribute: &str| format!("values.{attribute}");
        match &error {
            ValueError::Unknown { attribute, known } => {
                let cause = format!("there is no attribute `{attribute}`");
                Refusal::field(values(attribute), cause, format!("there are {}", known.join(", ")))
            }
            ValueError::Type { attribute, wanted, .. } => {
                Refusal::field(values(attribute), cause, format!("send a finite value of {wanted}"))
            }
            ValueError::NoSum { attribute, .. } => {
                Refusal::field(values(attribute), cause, "set it instead")
            }
            ValueError::TooLarge { attribute } => {
                Refusal::field(values(attribute), cause, "nothing was changed")
            }
            ValueError::Dimensions { wanted, .. } => {
                Refusal::field("vector", cause, format!("send {wanted} numbers"))
            }
            ValueError::NoDirection => Refusal::field("vector", cause, "send one that has one"),
            ValueError::NoVectors => {
                Refusal::field("vector", cause, "give the table a `vector` in the configuration")
            }
            ValueError::Table { table } => Refusal::no_table(table),
            _ => Refusal::field("values", cause, "send a value that fits"),
        }
    }
}

impl From<CommitError> for Refusal {
    fn from(error: CommitError) -> Refusal {
        let message = error.to_string();
        match error {
            CommitError::Conflict(conflict) => Refusal::conflict(&conflict),
            CommitError::Value(error) => error.into(),
            CommitError::NotFound { table, id } => Refusal::no_record(&table, id),
            CommitError::SnapshotExpired { at, .. } => Refusal::expired(at, message),
            CommitError::ReadOnly { .. } => Refusal::new(Code::Unavailable, "READ_ONLY", message),
            CommitError::Unknown { cause } => Refusal::unknown(&cause),
            CommitError::TooLarge { .. } | CommitError::TooManyBytes { .. } => {
                Refusal::too_large("writes", message, "write it in several transactions")
            }
            _ => Refusal::new(Code::Internal, "INTERNAL", message),
        }
    }
}

impl From<pool::Refused> for Refusal {
    fn from(refused: pool::Refused) -> Refusal {
        match refused {
            pool::Refused::Full => {
                let cause = "too much is asked of this server at the moment";
                let refusal = Refusal::new(Code::ResourceExhausted, "BUSY", cause);
                refusal.after(Duration::from_secs(1))
            }
            pool::Refused::Panicked => {
                let cause = "this answer failed; the cause is in the server's log";
                Refusal::new(Code::Internal, "INTERNAL", cause)
            }
        }
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        let (code, reason) = match fault.status {
            StatusCode::BAD_REQUEST => (Code::InvalidArgument, "INVALID_FIELD"),
            StatusCode::NOT_FOUND => (Code::NotFound, "KEY_NOT_FOUND"),
            StatusCode::TOO_MANY_REQUESTS => (Code::ResourceExhausted, "BUSY"),
            StatusCode::INTERNAL_SERVER_ERROR => (Code::Internal, "INTERNAL"),
            _ => (Code::Unavailable, "ORIGIN_UNAVAILABLE"),
        };
        let message = format!("{}; {}", fault.cause, fault.cure);
        let refusal = Refusal::new(code, reason, message);
        match fault.retry_after {
            Some(seconds) => refusal.after(Duration::from_secs(seconds)),
            None => refusal,
        }
    }
}
