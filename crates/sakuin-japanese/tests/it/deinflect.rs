//! The oracle against the authored cases.
use sakuin_japanese::deinflect::deinflect;

#[test]
fn measure() {
    let Ok(path) = std::env::var("CASES") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let (mut all, mut bad) = (0, 0);
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let mut c = line.split('\t');
        let (surface, form, classes) =
            (c.next().unwrap(), c.next().unwrap(), c.next().unwrap_or(""));
        all += 1;
        let ok = deinflect(surface).iter().any(|i| {
            i.form == form
                && (classes.is_empty()
                    || i.classes.iter().any(|c| classes.split('|').any(|d| d == *c)))
        });
        if !ok {
            bad += 1;
            println!("{line}");
        }
    }
    println!("{bad} of {all} fail");
}
