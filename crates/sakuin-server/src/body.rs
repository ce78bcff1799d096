//! The body of an answer: bytes that are there already, or what a page's handler streams.
//!
//! A hit is answered with the first, which costs nothing to make and one write to send.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    BoxError,
    http::{HeaderValue, Response, StatusCode, header},
};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::grpc;

/// The body of an answer.
pub(crate) enum Body {
    /// Whole; none once it is sent.
    Full(Option<Bytes>),
    /// Piece by piece.
    Streamed(axum::body::Body),
    /// The messages of a call.
    Call(grpc::Body),
}

impl Body {
    /// No body.
    pub(crate) const fn empty() -> Body {
        Body::Full(None)
    }

    /// An answer in JSON that nobody keeps.
    pub(crate) fn json(bytes: Bytes) -> Response<Body> {
        let length = HeaderValue::from(bytes.len());
        let mut response = Response::new(Body::from(bytes));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_LENGTH, length);
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }

    /// An answer that leads to another address.
    pub(crate) fn redirect(status: StatusCode, to: &str) -> Response<Body> {
        let to = HeaderValue::try_from(to).expect("a path is ASCII");
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        response.headers_mut().insert(header::LOCATION, to);
        response
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Body {
        Body::Full(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl From<grpc::Body> for Body {
    fn from(body: grpc::Body) -> Body {
        Body::Call(body)
    }
}

impl From<axum::body::Body> for Body {
    fn from(body: axum::body::Body) -> Body {
        Body::Streamed(body)
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.get_mut() {
            Body::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Streamed(body) => {
                Pin::new(body).poll_frame(context).map_err(axum::Error::into_inner)
            }
            Body::Call(body) => Pin::new(body).poll_frame(context).map_err(BoxError::from),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Full(bytes) => bytes.is_none(),
            Body::Streamed(body) => body.is_end_stream(),
            Body::Call(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Body::Streamed(body) => body.size_hint(),
            Body::Call(body) => body.size_hint(),
        }
    }
}
