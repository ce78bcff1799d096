//! Any bytes as what stands in a repository and in a follower's folder: refused with a reason, or read; and whatever is
//! read, a collection deletes nothing outside it.
//!
//! The bytes are parted by `0xff`, which no JSON has: manifest, announcement, pin, plan, state.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use object_store::{ObjectStoreExt, memory::InMemory};
use sakuin_publish::{Folder, Repository};
use tokio::runtime::Builder;

const NAMES: [&str; 4] = ["versions", "channels/stable", "pins", "collect"];

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.split(|byte| *byte == 0xff);
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime is made");
    runtime.block_on(async {
        let store = Arc::new(InMemory::new());
        for (folder, part) in NAMES.iter().zip(&mut parts) {
            let name = format!("{folder}/00000000000000000001.json").into();
            store.put(&name, part.to_vec().into()).await.expect("memory takes all");
        }
        let repository = Repository::with_store(store, "memory:///");
        if let Ok(Some(head)) = repository.head("stable", 0).await {
            assert_eq!(head.number, 1);
            if let Ok(manifest) = repository.announced(&head).await {
                assert_eq!((manifest.number, head.version), (1, 1));
            }
        }
        let _ = repository.versions().await;
        if let Ok(collection) = repository.collect(true).await {
            assert!(collection.deletions.is_empty());
        }
    });
    if let Some(state) = parts.next() {
        let folder = tempfile::tempdir().expect("there is room");
        std::fs::write(folder.path().join("state.json"), state).expect("there is room");
        if let Ok(folder_there) = Folder::open(folder.path()) {
            for (_, table) in folder_there.tables() {
                assert!(table.file.starts_with(folder.path().join("objects")));
            }
        }
    }
});
