//! `POST /v1/scan`: plain text in, every word and name of it out, as `sakuin japanese scan` prints it.

use axum::{body::Body, extract::State, response::Response};

use sakuin_japanese::text::Text;

use super::Reader;
use crate::reply::{Asked, Fault, read_body, utf8};

/// The longest text that is scanned, in bytes.
const SCAN_BYTES_MAX: usize = 1 << 20;

/// Scans a text of at most 1 MiB of UTF-8. The answer may be two hundred times as long.
pub(super) async fn scan(
    State(reader): State<Reader>,
    asked: Asked,
    body: Body,
) -> Result<Response, Fault> {
    let text = utf8(read_body(body, SCAN_BYTES_MAX).await?)?;
    let shared = reader.shared.clone();
    let work = move || {
        asked.reply_with("application/json", |mut to| {
            Ok(shared.dictionary.answer(&Text::plain(&text), &mut to)?)
        })
    };
    reader.shared.pool.run(work).await?
}
