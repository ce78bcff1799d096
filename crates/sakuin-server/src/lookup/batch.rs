//! `POST /v1/tables/{table}:batchGet`: many keys in one request, answered in their order.
//!
//! Keys that must wait for an origin wait together, and every key has its own outcome: one that fails leaves
//! the others their answers.

use std::sync::Arc;

use axum::{
    body::Body as RequestBody,
    http::{Response, StatusCode, header},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use futures_util::{StreamExt, stream};
use sakuin::{Answer, Table};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::record::words;
use crate::{
    body::Body,
    pool::Pool,
    reply::{Fault, problem, read_body},
};

/// The most keys of one request, the most of them that wait for an origin at once, and how long the keys
/// together and the answers together may be.
const KEYS_MAX: usize = 1000;
const WAITING_MAX: usize = 64;
const BODY_BYTES_MAX: usize = 1 << 20;
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// After so many keys, other requests have their turn.
const TURN: usize = 32;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Keys {
    keys: Vec<String>,
}

#[derive(Serialize)]
struct Answers {
    table: String,
    answers: Vec<Outcome>,
}

#[derive(Serialize)]
struct Outcome {
    key: String,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "status")]
enum What {
    Found {
        #[serde(flatten)]
        value: Value,
        #[serde(flatten)]
        about: About,
    },
    Missing {
        #[serde(flatten)]
        about: Option<About>,
    },
    Error {
        error: serde_json::Value,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Value {
    #[serde(rename = "value")]
    Json(Box<RawValue>),
    Text(String),
    Base64(String),
}

#[derive(Serialize)]
struct About {
    version: String,
    age: u64,
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<u64>,
}

/// Reads the keys and answers them.
pub(crate) async fn batch(
    name: String,
    table: Arc<Table>,
    pool: Pool,
    body: RequestBody,
) -> Result<Response<Body>, Fault> {
    let bytes = read_body(body, BODY_BYTES_MAX).await?;
    let Keys { keys } = pool.run(move || parse(&bytes)).await??;
    let mut answers = Vec::with_capacity(keys.len());
    let mut length = 0;
    let asked = keys.into_iter().map(|key| outcome(&table, key));
    let mut asked = stream::iter(asked).buffered(WAITING_MAX);
    while let Some(mut outcome) = asked.next().await {
        length += outcome.what.length();
        if length > ANSWER_BYTES_MAX {
            outcome.what = What::error(&full());
        }
        answers.push(outcome);
        if answers.len() % TURN == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(asked);
    let write = move || serde_json::to_vec(&Answers { table: name, answers });
    let json = pool.run(write).await?.expect("strings, numbers and raw values can be written");
    Ok(Body::json(json.into()))
}

fn parse(bytes: &[u8]) -> Result<Keys, Fault> {
    let hint = "send `{\"keys\": [\"one\", \"two\"]}`";
    let keys: Keys = serde_json::from_slice(bytes).map_err(|error| {
        Fault::bad_request(format!("the body is no list of keys: {error}"), hint)
    })?;
    if keys.keys.len() > KEYS_MAX {
        let found = format!("there are {} keys, and {KEYS_MAX} is the most", keys.keys.len());
        return Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, found, "send them in parts"));
    }
    Ok(keys)
}

async fn outcome(table: &Table, key: String) -> Outcome {
    let what = match table.key_rule().check(&key) {
        Err(error) => What::error(&Fault::of_key(&error)),
        Ok(key) => {
            let answer = match table.peek(&key) {
                Some(answer) => answer,
                None => table.answer(&key).await,
            };
            match answer {
                Ok(Some(answer)) => What::of_answer(&answer),
                Ok(None) => What::Missing { about: None },
                Err(error) => What::error(&error.into()),
            }
        }
    };
    Outcome { key, what }
}

impl What {
    fn of_answer(answer: &Answer) -> What {
        let about = About {
            version: answer.version().to_owned(),
            age: answer.age.as_secs(),
            source: words(answer.source).0,
            published: answer.published(),
        };
        if answer.is_missing() {
            return What::Missing { about: Some(about) };
        }
        What::Found { value: Value::of_answer(answer), about }
    }

    fn error(fault: &Fault) -> What {
        What::Error { error: problem(fault) }
    }

    /// About how long it is when written.
    fn length(&self) -> usize {
        match self {
            What::Found { value: Value::Json(json), .. } => json.get().len(),
            What::Found { value: Value::Text(text) | Value::Base64(text), .. } => text.len(),
            What::Missing { .. } | What::Error { .. } => 128,
        }
    }
}

impl Value {
    /// JSON as it is, text as a string, the rest in base64.
    fn of_answer(answer: &Answer) -> Value {
        let body = answer.body();
        let headers = answer.prepared().representation(|_| false).headers();
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
        match str::from_utf8(body) {
            Ok(text) if is_json => match RawValue::from_string(text.to_owned()) {
                Ok(json) => Value::Json(json),
                Err(_) => Value::Text(text.to_owned()),
            },
            Ok(text) if kind.is_some_and(|kind| kind.starts_with("text/")) => {
                Value::Text(text.to_owned())
            }
            _ => Value::Base64(BASE64.encode(body)),
        }
    }
}

fn full() -> Fault {
    Fault::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the answers before this one take {ANSWER_BYTES_MAX} bytes"),
        "ask for this key again, with fewer others",
    )
}
