//! Reading dictionary files.

use std::time::Instant;

use sakuin_japanese::read::read;

#[test]
fn debian() {
    for file in ["edict", "enamdict", "kanjidic"] {
        let start = Instant::now();
        let mut count = 0;
        let mut shown = Vec::new();
        let summary = read(format!("/usr/share/edict/{file}").as_ref(), &mut |item| {
            count += 1;
            if count % 40000 == 3 {
                shown.push(item);
            }
        })
        .unwrap();
        println!("{summary:?} {count} {:?}", start.elapsed());
        for item in shown {
            println!("{item:?}");
        }
    }
}
