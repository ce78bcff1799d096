//! Who signs in.

use sakuin_contacts::{Root, Servers, SignInError, UserError};

use super::*;

on_both!(
    passwords_are_checked_and_changed,
    tokens_are_made_and_revoked,
    another_process_changes_a_password,
    names_are_plain,
);

fn signs_in(contacts: &Contacts, name: &str, secret: &str) -> bool {
    let root = contacts.block_on(contacts.root()).unwrap();
    contacts.block_on(contacts.sign_in(&root, name, secret)).is_ok()
}

fn passwords_are_checked_and_changed(store: &Store) {
    let (contacts, ..) = store.ada();
    assert!(signs_in(&contacts, "ada", "secret"));
    let root = contacts.block_on(contacts.root()).unwrap();
    assert!(is_known(&contacts, &root, "ada", "secret"));
    for (name, secret) in [("ada", "Secret"), ("ada", ""), ("bob", "secret"), ("", "")] {
        assert!(!signs_in(&contacts, name, secret), "{name} {secret}");
        assert!(!is_known(&contacts, &root, name, secret));
    }
    contacts.block_on(contacts.set_password("ada", "other")).unwrap();
    let root = contacts.block_on(contacts.root()).unwrap();
    assert!(!is_known(&contacts, &root, "ada", "secret"));
    assert!(!signs_in(&contacts, "ada", "secret") && signs_in(&contacts, "ada", "other"));
    // Ten wrong ones cost nothing; then even the right one waits, unless it is known.
    for attempt in 0..12 {
        let root = contacts.block_on(contacts.root()).unwrap();
        let wrong = contacts.block_on(contacts.sign_in(&root, "ada", &attempt.to_string()));
        match wrong {
            Err(SignInError::Wrong | SignInError::TooMany { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    let wrong = contacts.block_on(contacts.sign_in(&root, "ada", "new"));
    assert!(matches!(wrong, Err(SignInError::TooMany { .. })), "{wrong:?}");
    assert!(signs_in(&contacts, "ada", "other"));
}

fn tokens_are_made_and_revoked(store: &Store) {
    let (contacts, ..) = store.ada();
    let make = |label, is_read_only, expires| {
        contacts.block_on(contacts.add_token("ada", label, is_read_only, expires))
    };
    let phone = make("phone", false, None).unwrap();
    let page = make("page", true, Some(i64::MAX)).unwrap();
    let old = make("old", false, Some(1)).unwrap();
    assert!(make("phone", false, None).is_err());
    let contacts = store.open(Servers::One);
    let root = contacts.block_on(contacts.root()).unwrap();
    let who = |secret: &str| contacts.block_on(contacts.sign_in(&root, "ada", secret));
    assert!(!who(&phone).unwrap().is_read_only && who(&page).unwrap().is_read_only);
    assert!(who(&old).is_err() && !signs_in(&contacts, "bob", &phone));
    contacts.block_on(contacts.revoke_token("ada", "phone")).unwrap();
    assert!(!signs_in(&contacts, "ada", &phone) && signs_in(&contacts, "ada", &page));
    assert!(contacts.block_on(contacts.revoke_token("ada", "phone")).is_err());
}

fn another_process_changes_a_password(store: &Store) {
    let (contacts, ..) = store.ada();
    drop(contacts);
    let (one, other) = (store.open(Servers::Many), store.open(Servers::One));
    assert!(signs_in(&one, "ada", "secret"));
    other.block_on(other.set_password("ada", "new")).unwrap();
    assert!(!signs_in(&one, "ada", "secret") && signs_in(&one, "ada", "new"));
}

fn names_are_plain(store: &Store) {
    let (contacts, ..) = store.ada();
    for name in ["", "a/b", "..", ".", "a b", "a:b", &"x".repeat(65)] {
        let added = contacts.block_on(contacts.add_user(name, "x"));
        assert!(matches!(added, Err(UserError::Name { .. })), "{name}");
    }
    assert!(matches!(contacts.block_on(contacts.add_user("bob", "")), Err(UserError::NoPassword)));
    for name in ["bob@example.org", "Zoë", "a.b-c_d"] {
        contacts.block_on(contacts.add_user(name, "x")).unwrap();
    }
    assert!(contacts.block_on(contacts.add_user("ada", "x")).is_err());
}

/// Whether somebody signs in without waiting.
fn is_known(contacts: &Contacts, root: &Root, name: &str, secret: &str) -> bool {
    contacts.recall(name, secret).is_some_and(|sign_in| sign_in.holder(root).is_some())
}
