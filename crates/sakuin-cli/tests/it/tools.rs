//! Programs that no package of the system has: `make tools` builds them into the target folder.

use std::path::{Path, PathBuf};

/// A program in the target folder.
pub(crate) fn built(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let path = target.join(name);
    assert!(path.exists(), "{} is not there: `make tools` builds it", path.display());
    path
}
