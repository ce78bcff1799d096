//! Bodies on their way through: of any length, in memory only as far as they were read.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use tokio::time::Sleep;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// The body of a request or response that passes through.
pub type Body = UnsyncBoxBody<Bytes, Error>;

/// A body that was read as far as it might be kept.
pub(super) enum Read {
    Whole(Bytes),
    /// It is longer; nothing is lost of it.
    Long(Body),
}

/// Reads a body of at most `limit` bytes. One that announces to be longer is not begun.
pub(super) async fn read(
    mut body: reqwest::Body,
    limit: usize,
    patience: Duration,
) -> Result<Read, reqwest::Error> {
    let mut chunks = VecDeque::new();
    let mut length = 0;
    if body.size_hint().lower() > limit as u64 {
        return Ok(Read::Long(Passing::of(body, patience)));
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        length += data.len();
        chunks.push_back(data);
        if length > limit {
            let long = Passing { read: chunks, rest: body, patience, silence: None };
            return Ok(Read::Long(long.boxed_unsync()));
        }
    }
    if chunks.len() == 1 {
        return Ok(Read::Whole(chunks.remove(0).unwrap_or_default()));
    }
    let mut whole = Vec::with_capacity(length);
    chunks.iter().for_each(|chunk| whole.extend_from_slice(chunk));
    Ok(Read::Whole(whole.into()))
}

/// What was read of a body, and then the rest of it. An origin that falls silent for `patience` breaks it.
pub(super) struct Passing {
    read: VecDeque<Bytes>,
    rest: reqwest::Body,
    patience: Duration,
    silence: Option<Pin<Box<Sleep>>>,
}

impl Passing {
    pub(super) fn of(body: reqwest::Body, patience: Duration) -> Body {
        Passing { read: VecDeque::new(), rest: body, patience, silence: None }.boxed_unsync()
    }
}

impl http_body::Body for Passing {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(chunk) = self.read.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.rest).poll_frame(context) {
            self.silence = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Error::from)));
        }
        let patience = self.patience;
        let silence = self.silence.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        silence.as_mut().poll(context).map(|()| Some(Err("the origin fell silent".into())))
    }

    fn size_hint(&self) -> SizeHint {
        if self.read.is_empty() { self.rest.size_hint() } else { SizeHint::default() }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.is_end_stream()
    }
}

/// A body for reqwest, which wants to share what it sends between threads; only one ever has it.
pub(super) struct Sent(Mutex<Body>);

impl Sent {
    pub(super) fn of(body: Body) -> reqwest::Body {
        if body.is_end_stream() {
            return reqwest::Body::default();
        }
        reqwest::Body::wrap(Sent(Mutex::new(body)))
    }
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let body = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        Pin::new(body).poll_frame(context)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }
}
