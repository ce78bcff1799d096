use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use sakuin_publish::upload;

use super::*;

#[tokio::test]
async fn files_are_there_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(from.join("deep/er")).unwrap();
    let files = [("a.txt", "1"), ("deep/b c.txt", ""), ("deep/er/ü%20.txt", "3")];
    for (name, text) in files {
        fs::write(from.join(name), text).unwrap();
    }
    let (told, address) = (AtomicU64::new(0), url(&to));
    let done = upload(&from, &address, |bytes, all| {
        assert_eq!(all, 2);
        told.fetch_add(bytes, Relaxed);
    });
    let done = done.await.unwrap();
    assert_eq!((done.sent, done.bytes, done.unchanged, told.into_inner()), (3, 2, 0, 2));
    let there = Repository::open(&url(&to)).unwrap();
    drop(there);
    assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "1");
    assert_eq!(fs::read_dir(to.join("deep")).unwrap().count(), 2);
    let missing = upload(&folder.path().join("nowhere"), &url(&to), |_, _| ()).await.unwrap_err();
    assert!(matches!(missing, Error::File { .. }));
}

#[tokio::test]
async fn of_a_large_folder_only_what_changed_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(&from).unwrap();
    for number in 0..200 {
        fs::write(from.join(number.to_string()), number.to_string().repeat(10_000)).unwrap();
    }
    fs::write(from.join("long"), vec![7; 20 << 20]).unwrap();
    let send = async || upload(&from, &url(&to), |_, _| ()).await.unwrap();
    assert_eq!(send().await.sent, 201);
    let again = send().await;
    assert_eq!((again.sent, again.bytes, again.unchanged), (0, 0, 201));
    fs::write(from.join("7"), "seven").unwrap();
    fs::write(from.join("new"), "new").unwrap();
    // What another has changed there is sent, though it is as long.
    fs::write(to.join("8"), "x".repeat(10_000)).unwrap();
    fs::remove_file(to.join("9")).unwrap();
    let changed = send().await;
    assert_eq!((changed.sent, changed.unchanged), (4, 198));
    assert_eq!(fs::read_to_string(to.join("8")).unwrap(), "8".repeat(10_000));
    assert_eq!(fs::read(to.join("long")).unwrap().len(), 20 << 20);
    // An index that cannot be read is none.
    fs::write(to.join(".sakuin-upload.json"), "{").unwrap();
    assert_eq!(send().await.sent, 202);
}
