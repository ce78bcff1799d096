//! Answers of several parts, which are made while they are sent: however many cards there are, and however long, few
//! are in memory at a time.

use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::stream;

use super::{
    property::{Asked, Resource, View, status_element},
    xml::{self, DAV, element, escaped},
};
use crate::body::Body;

/// One part.
pub(crate) enum Item {
    Resource(Resource),
    /// An address, what became of it, and an element that says why.
    Status(String, StatusCode, String),
}

/// How much is made before it is sent.
const CHUNK_BYTES: usize = 32 << 10;

/// What is sent.
struct Parts {
    view: View,
    asked: Asked,
    items: std::vec::IntoIter<Item>,
    is_minimal: bool,
    text: String,
    /// What comes last; none if it was sent.
    end: Option<String>,
}

/// The properties of many resources, with `end` after them.
pub(crate) fn multistatus(
    view: View,
    asked: Asked,
    items: Vec<Item>,
    end: &str,
    is_minimal: bool,
) -> Response<Body> {
    let text = xml::begin("multistatus");
    let end = Some(format!("{end}</D:multistatus>\n"));
    let parts = Parts { view, asked, items: items.into_iter(), is_minimal, text, end };
    let stream = stream::unfold(parts, async |mut parts| {
        let chunk = parts.next().await?;
        // Others have their turn.
        tokio::task::yield_now().await;
        Some((chunk, parts))
    });
    super::xml_response_of(
        StatusCode::MULTI_STATUS,
        Body::from(axum::body::Body::from_stream(stream)),
    )
}

impl Parts {
    async fn next(&mut self) -> Option<Result<Bytes, sakuin_contacts::Error>> {
        while self.text.len() < CHUNK_BYTES
            && let Some(item) = self.items.next()
        {
            if let Err(error) = self.push(item).await {
                // The client sees that its answer is cut, and asks again.
                tracing::error!("an answer was cut: {error}");
                return Some(Err(error));
            }
        }
        if self.items.len() == 0
            && let Some(end) = self.end.take()
        {
            self.text.push_str(&end);
        }
        let text = std::mem::take(&mut self.text);
        (!text.is_empty()).then(|| Ok(text.into()))
    }

    async fn push(&mut self, item: Item) -> Result<(), sakuin_contacts::Error> {
        let text = match item {
            Item::Status(href, status, error) => {
                response(&href, &format!("{}{error}", status_element(status)))
            }
            Item::Resource(resource) => {
                let bytes = match &resource {
                    Resource::Entry(_, collection, entry, _) if self.asked.wants_bytes() => {
                        self.view.dav.contacts.bytes(collection, entry).await?
                    }
                    _ => None,
                };
                self.view.response(&resource, &self.asked, bytes.as_ref(), self.is_minimal)
            }
        };
        self.text.push_str(&text);
        Ok(())
    }
}

/// A part about an address.
pub(crate) fn response(href: &str, inner: &str) -> String {
    element(DAV, "response", &format!("{}{inner}", element(DAV, "href", &escaped(href))))
}
