//! Cards out of files that other programs wrote: of one card or many, or a table with a contact in each row.
//!
//! Reading is forgiving, as [`rescued`] is; what cannot be read is told with its place in the file, and the rest is
//! taken. The same file read again gives the same cards.

use bytes::Bytes;

use crate::{
    Contacts,
    card::Card,
    change::{Put, Refused},
    collection::CollectionId,
    convert::{rescued, split},
    edit::card_of,
    error::Error,
    table::cards_of_table,
};

/// What a file holds.
#[derive(Debug, Default)]
pub struct Import {
    /// The cards, as they are to be stored.
    pub cards: Vec<Card>,
    /// What could not be read, in the order of the file.
    pub unread: Vec<Unread>,
}

/// A part of a file that is no card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Where it is: `card 3`, `row 12`.
    pub place: String,
    /// What is wrong with it.
    pub cause: String,
}

/// What an import came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Cards the book did not have.
    pub created: usize,
    /// Cards that took the place of others with their UIDs.
    pub replaced: usize,
    /// Cards that were there, byte for byte.
    pub unchanged: usize,
}

/// Why an import ended early; the cards of commits before stay.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The book does not take a card.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] Error),
}

/// Cards of one commit.
const CARDS_OF_A_COMMIT: usize = 500;

impl Import {
    /// Reads a file: cards if it has any, else a table with names of columns in its first row.
    ///
    /// ```
    /// use sakuin_contacts::Import;
    /// let table = Import::of(b"First Name,Last Name,E-mail 1 - Value\nAda,Lovelace,ada@example.org\n");
    /// assert!(table.cards[0].text().contains("\r\nFN:Ada Lovelace\r\n"));
    /// assert!(table.cards[0].text().contains("\r\nEMAIL:ada@example.org\r\n"));
    /// ```
    pub fn of(file: &[u8]) -> Import {
        let mut import = Import::default();
        for (at, text) in split(file).enumerate() {
            // What it lacks of a UID follows from what it is, so that it is the same card the next time.
            match rescued(text, &uid_of(text)) {
                Ok(card) => import.cards.push(card),
                Err(error) => import.leave_out(format!("card {}", at + 1), error.to_string()),
            }
        }
        if import.cards.is_empty() && import.unread.is_empty() {
            cards_of_table(file, &mut import);
        }
        import
    }

    /// Adds a card that was made here, of lines without ends.
    pub(crate) fn add(&mut self, place: String, lines: &[String]) {
        match Card::parse(Bytes::from(card_of(lines))) {
            Ok(card) => self.cards.push(card),
            Err(error) => self.leave_out(place, error.to_string()),
        }
    }

    pub(crate) fn leave_out(&mut self, place: String, cause: String) {
        self.unread.push(Unread { place, cause });
    }
}

/// The UID of a contact that came without one.
pub(crate) fn uid_of(text: &[u8]) -> String {
    format!("imported-{}", &blake3::hash(text).to_hex()[..32])
}

impl Contacts {
    /// Puts cards into a book, some hundreds a commit, and tells after each how many are done. A card whose UID the book
    /// has takes that card's place.
    pub async fn import(
        &self,
        book: CollectionId,
        cards: Vec<Card>,
        mut told: impl FnMut(usize),
    ) -> Result<Imported, ImportError> {
        let mut all = Imported::default();
        let mut cards = cards.into_iter();
        loop {
            let part: Vec<_> = cards.by_ref().take(CARDS_OF_A_COMMIT).collect();
            if part.is_empty() {
                return Ok(all);
            }
            let done = self
                .change(&[book], move |change| {
                    let mut done = Imported::default();
                    for card in part {
                        let known = change.collection(book)?.of_uid(card.uid());
                        let name = known.map_or_else(|| card.name().into(), |it| it.name.clone());
                        match change.put_card(book, &name, &card)? {
                            Put::Created(_) => done.created += 1,
                            Put::Replaced(_) => done.replaced += 1,
                            Put::Unchanged(_) => done.unchanged += 1,
                        }
                    }
                    Ok::<_, ImportError>(done)
                })
                .await?;
            all.created += done.created;
            all.replaced += done.replaced;
            all.unchanged += done.unchanged;
            told(all.created + all.replaced + all.unchanged);
        }
    }
}
