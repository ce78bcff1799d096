//! The dictionaries of Debian's packages `edict`, `enamdict` and `kanjidic`, packed once for all tests.

use std::path::Path;
use std::sync::LazyLock;

use sakuin_japanese::dictionary::Dictionary;
use sakuin_japanese::pack::Packer;

pub(crate) const EDICT: &str = "/usr/share/edict/edict";
pub(crate) const ENAMDICT: &str = "/usr/share/edict/enamdict";
pub(crate) const KANJIDIC: &str = "/usr/share/edict/kanjidic";

/// All three in one.
///
/// # Panics
/// If the packages are not installed: `apt-get install edict enamdict kanjidic`.
pub(crate) fn dictionary() -> &'static Dictionary {
    static DICTIONARY: LazyLock<Dictionary> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("japanese.skn");
        let mut packer = Packer::default();
        for file in [EDICT, ENAMDICT, KANJIDIC] {
            assert!(
                Path::new(file).exists(),
                "{file} is not there: apt-get install edict enamdict kanjidic"
            );
        }
        packer.kanji(KANJIDIC.as_ref()).unwrap();
        packer.words(EDICT.as_ref()).unwrap();
        packer.names(ENAMDICT.as_ref()).unwrap();
        packer.write(&path).unwrap();
        Dictionary::open(&path).unwrap()
    });
    &DICTIONARY
}
