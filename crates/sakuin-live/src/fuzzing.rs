//! What fuzzers reach into, past the sums that would stop them.

use std::sync::Arc;

use crate::{
    IndexKind, Metric, Schema, Type,
    bytes::{Reader, seal, sealable},
    frame::{self, Frame},
    layout::{Layout, Stored},
    ring::Change,
};

/// Reads bytes as all that is in a file; what is a group of commits is written and read again.
pub fn frame(bytes: &[u8]) {
    let layout = layout();
    let mut sealed = sealable();
    sealed.extend_from_slice(bytes);
    seal(&mut sealed, frame::row_key(0, 7));
    let _ = frame::row(&sealed, 0, 7, &layout);
    seal(&mut sealed, 7);
    let _ = frame::answers(&sealed, 7);
    let _ = Stored::read(Reader::new(bytes));
    let Ok(commits) = frame::commits(Reader::new(bytes), 1, &layout) else { return };
    let mut again = Frame::new();
    for commit in &commits {
        let changes = commit.records.iter().map(|(table, id, after)| Change {
            table: *table,
            id: *id,
            before: None,
            after: after.clone(),
        });
        again.push(&layout, &changes.collect::<Vec<_>>(), commit.known.as_ref());
    }
    let again = frame::group(again.sealed(1), 1, &layout).expect("it was written by this");
    assert!(again == commits, "read again it is another");
}

fn layout() -> Layout {
    let one = Type::ALL.into_iter().fold(Schema::new(), |schema, values| {
        schema.with(values.name(), values, Some(IndexKind::Equal))
    });
    let two = Schema::new().with_vectors(2, Metric::Cosine);
    let (one, two) = (Arc::new(one), Arc::new(two));
    Stored::default().agree(&[("one", &one), ("two", &two)]).expect("nothing is there yet")
}
