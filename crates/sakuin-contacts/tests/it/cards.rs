//! What is put is there, byte for byte, now and after a restart.

use bytes::Bytes;
use sakuin_contacts::{Kind, PropertyKey, Put, Refused, Rights, Servers};

use super::*;

on_both!(
    a_card_is_kept_byte_for_byte,
    a_uid_is_of_one_card,
    long_bodies_come_from_the_store,
    files_have_folders,
    cards_move_with_what_was_said_of_them,
    a_refused_change_leaves_nothing,
    collections_come_and_go,
    a_change_that_panics_harms_nobody,
    many_cards_are_one_commit,
);

fn a_card_is_kept_byte_for_byte(store: &Store) {
    let (contacts, book, _) = store.ada();
    let odd = "begin:vcard\nVERSION:3.0\nuid:a\nX-Odd;;=: \t\\\nnote:a\r\n\tb\nend:vcard";
    let odd = Card::parse(odd.into()).unwrap();
    let Put::Created(etag) = put(&contacts, book, "ä b.vcf", &odd).unwrap() else { panic!() };
    assert_eq!(put(&contacts, book, "ä b.vcf", &odd), Ok(Put::Unchanged(etag)));
    let seq = |contacts: &Contacts| {
        contacts.block_on(contacts.root_with(&[book])).unwrap().collection(book).unwrap().seq()
    };
    assert_eq!(seq(&contacts), 1);
    let other = card("a", "x");
    assert!(
        matches!(put(&contacts, book, "ä b.vcf", &other), Ok(Put::Replaced(new)) if new != etag)
    );
    put(&contacts, book, "ä b.vcf", &odd).unwrap();
    put(&contacts, book, "2", &card("b", "y")).unwrap();
    remove(&contacts, book, "2").unwrap();
    let missing = Refused::NoEntry { name: "2".to_owned() };
    assert_eq!(remove(&contacts, book, "2"), Err(missing.into()));
    let wanted = [("ä b.vcf".to_owned(), odd.text().to_owned())];
    assert_eq!(all(&contacts, book), wanted);
    drop(contacts);
    let contacts = store.open(Servers::One);
    assert_eq!(all(&contacts, book), wanted);
    assert_eq!(seq(&contacts), 5);
    assert_eq!(put(&contacts, book, "ä b.vcf", &odd), Ok(Put::Unchanged(etag)));
}

fn a_uid_is_of_one_card(store: &Store) {
    let (contacts, book, files) = store.ada();
    put(&contacts, book, "1", &card("a", "")).unwrap();
    let taken = Refused::UidTaken { name: "1".to_owned() };
    assert_eq!(put(&contacts, book, "2", &card("a", "")), Err(taken.into()));
    let changed = Refused::UidChanged { name: "1".to_owned() };
    assert_eq!(put(&contacts, book, "1", &card("b", "")), Err(changed.into()));
    assert_eq!(put(&contacts, files, "1", &card("b", "")), Err(Refused::Kind.into()));
    remove(&contacts, book, "1").unwrap();
    put(&contacts, book, "2", &card("a", "")).unwrap();
}

fn long_bodies_come_from_the_store(store: &Store) {
    let (contacts, book, _) = store.ada();
    let photo = card("a", &"p".repeat(200_000));
    put(&contacts, book, "1", &photo).unwrap();
    for contacts in [&contacts, &store.open(Servers::One)] {
        let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
        let collection = root.collection(book).unwrap();
        let entry = collection.entry("1").unwrap();
        assert!(entry.bytes().is_none());
        assert_eq!(entry.lean(), card("a", "").text().replace("NOTE:\r\n", ""));
        assert_eq!(all(contacts, book)[0].1, photo.text());
        // What was seen is another by now: the store says so, and not something else.
        put(contacts, book, "1", &card("a", &"q".repeat(200_000))).unwrap();
        assert_eq!(contacts.block_on(contacts.bytes(collection, entry)).unwrap(), None);
        put(contacts, book, "1", &photo).unwrap();
    }
}

fn files_have_folders(store: &Store) {
    let (contacts, _, files) = store.ada();
    let make = |path: &'static str| {
        contacts.block_on(
            contacts
                .change(&[files], move |change| Ok::<_, Failed>(change.make_folder(files, path)?)),
        )
    };
    let write = |path: &'static str, text: &'static str| {
        contacts.block_on(contacts.change(&[files], move |change| {
            Ok::<_, Failed>(change.put_file(
                files,
                path,
                &Bytes::from_static(text.as_bytes()),
                "text/plain",
            )?)
        }))
    };
    let no_folder = |name: &str| Err(Refused::NoFolder { name: name.to_owned() }.into());
    assert_eq!(make("a/b"), no_folder("a/b"));
    make("a").unwrap();
    make("a/b").unwrap();
    assert_eq!(make("a"), Err(Refused::Exists { name: "a".to_owned() }.into()));
    write("a/b/c", "1").unwrap();
    write("ab", "2").unwrap();
    assert_eq!(write("a/b", "3"), Err(Refused::Exists { name: "a/b".to_owned() }.into()));
    assert_eq!(write("ab/c", "3").map(drop), no_folder("ab/c"));
    let copy = |from: &'static str, to: &'static str, is_alone| {
        contacts.block_on(contacts.change(&[files], move |change| {
            Ok::<_, Failed>(change.copy((files, from), (files, to), is_alone)?)
        }))
    };
    copy("a", "z", false).unwrap();
    copy("a", "y", true).unwrap();
    remove(&contacts, files, "a").unwrap();
    let names =
        |contacts: &Contacts| all(contacts, files).into_iter().map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(names(&contacts), ["ab", "y", "z", "z/b", "z/b/c"]);
    drop(contacts);
    let contacts = store.open(Servers::One);
    assert_eq!(names(&contacts), ["ab", "y", "z", "z/b", "z/b/c"]);
    assert_eq!(all(&contacts, files)[4].1, "1");
}

fn cards_move_with_what_was_said_of_them(store: &Store) {
    let (contacts, book, _) = store.ada();
    let colour = |path: &str| PropertyKey {
        path: path.into(),
        namespace: "x:".into(),
        name: "colour".into(),
    };
    put(&contacts, book, "1", &card("a", &"n".repeat(100_000))).unwrap();
    let key = colour("1");
    let moved = contacts.block_on(contacts.change(&[book], move |change| {
        change.set_property(book, key, Some("<red/>".into()))?;
        change.rename((book, "1"), (book, "2"))?;
        let owner = change.root().directory().principals().next().unwrap().id;
        let other = change.create_collection(owner, "other", Kind::Book)?;
        change.copy((book, "2"), (other, "2"), false)?;
        change.rename((book, "2"), (other, "3")).unwrap_err();
        Ok::<_, Failed>(other)
    }));
    let other = moved.unwrap();
    for contacts in [&contacts, &store.open(Servers::One)] {
        for id in [book, other] {
            assert_eq!(
                all(contacts, id),
                [("2".to_owned(), card("a", &"n".repeat(100_000)).text().to_owned())]
            );
            let root = contacts.block_on(contacts.root_with(&[id])).unwrap();
            let collection = root.collection(id).unwrap();
            assert_eq!(collection.property("2", "x:", "colour"), Some("<red/>"));
            assert_eq!(collection.properties("1").count(), 0);
            assert!(collection.of_uid("a").is_some());
        }
    }
}

fn a_refused_change_leaves_nothing(store: &Store) {
    let (contacts, book, _) = store.ada();
    let refused = contacts.block_on(contacts.change(&[book], move |change| {
        change.put_card(book, "1", &card("a", ""))?;
        change.remove(book, "2")?;
        Ok::<_, Failed>(())
    }));
    assert!(refused.is_err());
    assert_eq!(all(&contacts, book), []);
    assert_eq!(all(&store.open(Servers::One), book), []);
}

fn collections_come_and_go(store: &Store) {
    let (contacts, book, _) = store.ada();
    let bob = contacts.block_on(contacts.add_user("bob", "x")).unwrap();
    put(&contacts, book, "1", &card("a", "")).unwrap();
    let token = |contacts: &Contacts| {
        contacts.block_on(contacts.root_with(&[book])).unwrap().collection(book).unwrap().token()
    };
    let before = token(&contacts);
    contacts
        .block_on(contacts.change(&[book], move |change| {
            change.set_share(book, bob, Some(Rights::Read))?;
            Ok::<_, Failed>(change.empty_collection(book)?)
        }))
        .unwrap();
    for contacts in [&contacts, &store.open(Servers::One)] {
        let root = contacts.block_on(contacts.root_with(&[book])).unwrap();
        let collection = root.collection(book).unwrap();
        assert!(collection.is_empty() && collection.changes(Some(before), None).is_err());
        assert_eq!(root.directory().shares(book).collect::<Vec<_>>(), [(bob, Rights::Read)]);
    }
    contacts
        .block_on(
            contacts
                .change(&[book], move |change| Ok::<_, Failed>(change.remove_collection(book)?)),
        )
        .unwrap();
    contacts.block_on(contacts.remove_user("bob")).unwrap();
    let again = store.open(Servers::One);
    let root = again.block_on(again.root_with(&[book])).unwrap();
    assert!(root.collection(book).is_none() && root.directory().principal("bob").is_none());
    assert_eq!(root.directory().principals().count(), 1);
    assert_eq!(put(&contacts, book, "1", &card("a", "")), Err(Refused::NoCollection.into()));
}

fn a_change_that_panics_harms_nobody(store: &Store) {
    let (contacts, book, _) = store.ada();
    let panicked = contacts.block_on(contacts.change(&[book], move |change| {
        change.put_card(book, "1", &card("a", ""))?;
        if change.now() > 0 {
            panic!("in a change");
        }
        Ok::<(), Failed>(())
    }));
    assert!(matches!(panicked, Err(Failed::Store(_))), "{panicked:?}");
    put(&contacts, book, "2", &card("a", "")).unwrap();
    assert_eq!(all(&contacts, book).len(), 1);
}

fn many_cards_are_one_commit(store: &Store) {
    let (contacts, book, _) = store.ada();
    contacts
        .block_on(contacts.change(&[book], move |change| {
            for number in 0..1_000 {
                change.put_card(
                    book,
                    &format!("{number}"),
                    &card(&format!("u{}", number / 2 * 2 + number % 2), ""),
                )?;
            }
            for number in 0..10 {
                change.put_card(
                    book,
                    &format!("{number}"),
                    &card(&format!("u{number}"), "again"),
                )?;
            }
            Ok::<_, Failed>(())
        }))
        .unwrap();
    let there = all(&store.open(Servers::One), book);
    assert_eq!(there.len(), 1_000);
    assert_eq!(there, all(&contacts, book));
}
