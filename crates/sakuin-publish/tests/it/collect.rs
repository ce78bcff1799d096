use std::time::Duration;

use super::*;

/// Makes everything in the bucket older.
fn days_pass(shop: &Shop, days: u64) {
    let mut folders = vec![shop.path("bucket")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            let then = modified - Duration::from_secs(days * 24 * 3600);
            fs::File::options().append(true).open(path).unwrap().set_modified(then).unwrap();
        }
    }
}

#[tokio::test]
async fn what_nobody_needs_goes_and_nothing_else() {
    let shop = shop();
    for number in 1..=15 {
        shop.publish(&[("words", &format!("a={number}\n")), ("names", "b=1\n")]).await.unwrap();
    }
    days_pass(&shop, 1);
    let young = shop.repository.collect(true).await.unwrap();
    assert_eq!((young.deletions.len(), young.stays.len()), (0, 15));
    shop.repository.pin(2, "an audit").await.unwrap();
    assert!(matches!(shop.repository.pin(99, "").await, Err(Error::NoVersion(99))));
    days_pass(&shop, 39);
    let told = shop.repository.collect(false).await.unwrap();
    let names: Vec<&str> = told.deletions.iter().map(|one| &*one.name).collect();
    // Of 15 the last ten and the pinned one stay: four manifests go, then their objects.
    assert_eq!(told.deletions.len(), 8);
    assert!(names[..4].iter().all(|name| name.starts_with("versions/")), "{names:?}");
    assert!(names[4..].iter().all(|name| name.starts_with("objects/")), "{names:?}");
    assert_eq!(
        (told.is_done, told.stays[&2].as_str(), told.stays.len()),
        (false, "it is pinned", 11)
    );
    assert_eq!(shop.repository.versions().await.unwrap().manifests.len(), 15);
    let done = shop.repository.collect(true).await.unwrap();
    assert_eq!((done.is_done, &done.deletions), (true, &told.deletions));
    let left = shop.repository.versions().await.unwrap();
    assert_eq!(
        left.manifests.iter().map(|one| one.number).collect::<Vec<_>>(),
        [2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    );
    assert_eq!(left.pins[&2], "an audit");
    for manifest in left.manifests {
        assert!(manifest.tables.values().all(|object| shop.object(&object.blake3).exists()));
    }
    let plan = fs::read_to_string(shop.path("bucket/collect/00000000000000000001.json")).unwrap();
    assert!(done.deletions.iter().all(|one| plan.contains(&one.name)));
    assert_eq!(shop.repository.collect(true).await.unwrap().deletions, []);
    shop.repository.unpin(2).await.unwrap();
    assert_eq!(shop.repository.collect(false).await.unwrap().deletions.len(), 2);
    // Publishing goes on where it was.
    assert_eq!(shop.publish(&[("words", "a=16\n"), ("names", "b=1\n")]).await.unwrap().version, 16);
}

#[tokio::test]
async fn what_was_taken_back_stays_while_it_is_young_in_its_channel() {
    let shop = shop();
    for number in 1..=14 {
        shop.publish(&[("words", &format!("a={number}\n"))]).await.unwrap();
    }
    shop.repository.rollback("stable", Some(1), "no", "ada").await.unwrap();
    days_pass(&shop, 29);
    let within = shop.repository.collect(false).await.unwrap();
    assert_eq!(within.deletions, []);
    days_pass(&shop, 2);
    let after = shop.repository.collect(false).await.unwrap();
    assert!(after.stays[&1].contains("serves it") && after.stays.contains_key(&14));
    assert_eq!(after.stays.len(), 10);
}
