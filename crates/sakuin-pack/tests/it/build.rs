use sakuin_pack::{Builder, Content, Options, Table, TableOptions};

#[test]
fn handles_sections_and_meta() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.skn");
    let mut builder = Builder::new(Content::Json, Options::new());
    let shared = builder.value(br#"{ "id": 1 }"#).unwrap();
    let lonely = builder.value(b"[2]").unwrap();
    let hidden = builder.value(b"[3]").unwrap();
    builder.point(b"one", shared).unwrap();
    builder.point(b"uno", shared).unwrap();
    builder.point(b"two", lonely).unwrap();
    builder.meta(r#"{"title":"Numbers"}"#).unwrap();
    let mut ids = Vec::new();
    builder
        .write_with(&path, |placed, sections| {
            ids = [shared, lonely, hidden].map(|handle| placed.id(handle)).to_vec();
            sections.add("test.trie", vec![7; 200_000], true)?;
            sections.add("test.note", b"note".to_vec(), false)
        })
        .unwrap();

    assert!(Table::open(&path).unwrap_err().to_string().contains("test.trie"));
    let table = TableOptions::new().section("test.trie").verify(true).open(&path).unwrap();
    let text = |index: usize| table.value(ids[index]).unwrap().text();
    assert_eq!(text(0), Some(r#"{"id":1}"#));
    assert_eq!(text(1), Some("[2]"));
    assert_eq!(text(2), Some("[3]"));
    let found = |key: &[u8]| table.get(key).unwrap().unwrap().first();
    assert_eq!(found(b"one").id(), ids[0]);
    assert_eq!(found(b"uno").id(), ids[0]);
    assert_eq!(found(b"two").bytes(), b"[2]");
    assert_eq!(table.section("test.trie").unwrap(), Some(&[7; 200_000][..]));
    assert_eq!(table.section("test.trie").unwrap().unwrap().as_ptr().addr() % 64, 0);
    assert_eq!(table.section("test.note").unwrap(), Some(&b"note"[..]));
    assert_eq!(table.section("test.none").unwrap(), None);
    assert_eq!(table.meta().unwrap(), Some(r#"{"title":"Numbers"}"#));
    assert!(table.value(sakuin_pack::ValueId(1 << 40)).is_err());
}
