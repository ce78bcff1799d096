//! A server asked over HTTP: `/v1/tables/{table}/{key}`. Answers are as JSON has them: times are text, and bytes base64.

use std::{collections::HashMap, fmt::Write as _};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH},
};
use sakuin_live::Value;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Failure, Found, Key, request_id};
use crate::value::Fields;

/// Keys of one question.
const KEYS_MAX: usize = 1000;
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(super) struct Door {
    client: Client,
    /// `http://host:port/v1/tables/`
    tables: String,
}

/// A refusal in the form of RFC 9457.
#[derive(Deserialize)]
struct Problem {
    detail: String,
    hint: Option<String>,
}

#[derive(Deserialize)]
struct Answers {
    answers: Vec<Answer>,
}

#[derive(Deserialize)]
struct Answer {
    key: String,
    status: String,
    value: Option<Box<RawValue>>,
    text: Option<String>,
    base64: Option<String>,
    error: Option<Problem>,
}

impl Door {
    pub(super) fn new(url: &str, headers: HashMap<String, String>) -> Result<Door, String> {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            // What a value is may be secret.
            let wrong = || format!("header {name:?} cannot be sent");
            let mut value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            value.set_sensitive(true);
            all.insert(HeaderName::try_from(&*name).map_err(|_| wrong())?, value);
        }
        let url: reqwest::Url = url.parse().map_err(|error| format!("{url:?}: {error}"))?;
        let client = Client::builder().default_headers(all).no_proxy().tcp_nodelay(true).build();
        let tables = format!("{}/v1/tables/", url.as_str().trim_end_matches('/'));
        Ok(Door { client: client.map_err(|error| error.to_string())?, tables })
    }

    fn ask(&self, method: Method, table: &str, key: Option<&str>) -> RequestBuilder {
        let mut url = format!("{}{}", self.tables, utf8_percent_encode(table, SEGMENT));
        if let Some(key) = key {
            url.extend(["/", &utf8_percent_encode(key, SEGMENT).to_string()]);
        }
        let request = self.client.request(method.clone(), url);
        // Sent again under the same name, it is done once.
        if method == Method::GET {
            request
        } else {
            request.header("idempotency-key", request_id())
        }
    }

    pub(super) async fn get(&self, table: &str, key: &Key) -> Result<Option<Found>, Failure> {
        let key = key.to_string();
        let response = sent(self.ask(Method::GET, table, Some(&key))).await?;
        if response.status() == StatusCode::NOT_FOUND {
            let refused = refused(response).await;
            return if refused.message.starts_with("there is no table") {
                Err(refused)
            } else {
                Ok(None)
            };
        }
        let response = accepted(response).await?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        Ok(Some(Found::of(&kind, response.bytes().await.map_err(lost)?)))
    }

    pub(super) async fn get_many(
        &self,
        table: &str,
        keys: &[Key],
    ) -> Result<Vec<Option<Found>>, Failure> {
        let mut all = Vec::with_capacity(keys.len());
        for part in keys.chunks(KEYS_MAX) {
            let keys: Vec<String> = part.iter().map(Key::to_string).collect();
            let body = serde_json::json!({ "keys": keys }).to_string();
            let url = format!("{}{}:batchGet", self.tables, utf8_percent_encode(table, SEGMENT));
            let request = self.client.post(url).header(CONTENT_TYPE, "application/json").body(body);
            let body = accepted(sent(request).await?).await?.bytes().await.map_err(lost)?;
            let found: Answers = serde_json::from_slice(&body).map_err(strange)?;
            for answer in found.answers {
                all.push(answer.found()?);
            }
        }
        match all.len() == keys.len() {
            true => Ok(all),
            false => Err(Failure::new(
                "Error",
                "the server answered other keys than those it was asked",
                None,
            )),
        }
    }

    pub(super) async fn add(&self, table: &str, fields: &Fields) -> Result<u64, Failure> {
        #[derive(Deserialize)]
        struct Added {
            id: u64,
        }
        let response = sent(json(self.ask(Method::POST, table, None), fields)?).await?;
        let body = accepted(response).await?.bytes().await.map_err(lost)?;
        let Added { id } = serde_json::from_slice(&body).map_err(strange)?;
        Ok(id)
    }

    pub(super) async fn put(&self, table: &str, id: u64, fields: &Fields) -> Result<(), Failure> {
        let id = id.to_string();
        let request = || json(self.ask(Method::PUT, table, Some(&id)), fields);
        let response = sent(request()?).await?;
        let response = match response.status() {
            StatusCode::NOT_FOUND => sent(request()?.header(IF_NONE_MATCH, "*")).await?,
            _ => response,
        };
        accepted(response).await.map(drop)
    }

    pub(super) async fn patch(&self, table: &str, id: u64, fields: &Fields) -> Result<(), Failure> {
        let request = json(self.ask(Method::PATCH, table, Some(&id.to_string())), fields)?;
        accepted(sent(request).await?).await.map(drop)
    }

    pub(super) async fn delete(&self, table: &str, id: u64) -> Result<(), Failure> {
        let request = self.ask(Method::DELETE, table, Some(&id.to_string()));
        accepted(sent(request).await?).await.map(drop)
    }
}

impl Answer {
    fn found(self) -> Result<Option<Found>, Failure> {
        if let Some(problem) = self.error {
            let message = format!("key {:?}: {}", self.key, problem.detail);
            return Err(Failure::new("Error", message, problem.hint.as_deref()));
        }
        Ok(match (self.status.as_str(), self.value, self.text, self.base64) {
            ("found", Some(json), _, _) => Some(Found::Json(json.get().to_owned().into())),
            ("found", _, Some(text), _) => Some(Found::Text(text.into())),
            ("found", _, _, Some(bytes)) => {
                Some(Found::Bytes(BASE64.decode(bytes).map_err(strange)?.into()))
            }
            _ => None,
        })
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Text(text) => formatter.write_str(text),
            Key::Id(id) => write!(formatter, "{id}"),
        }
    }
}

/// Sends, and once more if the connection was gone.
async fn sent(request: RequestBuilder) -> Result<Response, Failure> {
    let again = request.try_clone();
    match (request.send().await, again) {
        (Err(error), Some(again)) if !error.is_timeout() => again.send().await.map_err(lost),
        (answer, _) => answer.map_err(lost),
    }
}

async fn accepted(response: Response) -> Result<Response, Failure> {
    match response.status().is_success() {
        true => Ok(response),
        false => Err(refused(response).await),
    }
}

async fn refused(response: Response) -> Failure {
    let status = response.status();
    let body = response.bytes().await.unwrap_or_default();
    let class = match status {
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => "InvalidValue",
        StatusCode::PAYLOAD_TOO_LARGE => "TooLarge",
        StatusCode::METHOD_NOT_ALLOWED => "Unsupported",
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => "Conflict",
        status if status.is_server_error() => "Unavailable",
        _ => "Error",
    };
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Failure::new(class, problem.detail, problem.hint.as_deref()),
        Err(_) => Failure::new(class, format!("the server answered {status}"), None),
    }
}

fn lost(error: reqwest::Error) -> Failure {
    let mut cause = error.to_string();
    let mut next = std::error::Error::source(&error);
    while let Some(source) = next {
        let _ = write!(cause, ": {source}");
        next = source.source();
    }
    Failure::unavailable(cause)
}

fn strange(error: impl std::fmt::Display) -> Failure {
    Failure::new("Error", format!("the server's answer cannot be read: {error}"), None)
}

/// A record as JSON has it.
fn json(request: RequestBuilder, fields: &Fields) -> Result<RequestBuilder, Failure> {
    let mut object = serde_json::Map::new();
    for (name, value) in fields {
        let value = match value {
            None => serde_json::Value::Null,
            Some(value) => in_json(value).ok_or_else(|| {
                Failure::new(
                    "InvalidValue",
                    format!("attribute `{name}`: JSON has nothing for {value}"),
                    None,
                )
            })?,
        };
        object.insert(name.clone(), value);
    }
    let body = serde_json::Value::from(object).to_string();
    Ok(request.header(CONTENT_TYPE, "application/json").body(body))
}

/// None for what JSON has nothing for, as numbers that are none.
fn in_json(value: &Value) -> Option<serde_json::Value> {
    let number = |one: f64| serde_json::Number::from_f64(one).map(serde_json::Value::from);
    Some(match value {
        Value::Int(number) => (*number).into(),
        Value::Float(one) => number(*one)?,
        Value::Bool(truth) => (*truth).into(),
        Value::Text(text) => (**text).into(),
        Value::Bytes(bytes) => BASE64.encode(bytes).into(),
        Value::Vector(numbers) => {
            numbers.iter().map(|one| number(f64::from(*one))).collect::<Option<Vec<_>>>()?.into()
        }
        Value::Time(microseconds) => {
            jiff::Timestamp::from_microsecond(*microseconds).ok()?.to_string().into()
        }
        _ => return None,
    })
}
