//! Prints every reading of the words given.
fn main() {
    for word in std::env::args().skip(1) {
        for found in sakuin_japanese::deinflect::deinflect(&word) {
            println!(
                "{word}: {} ({}) « {}",
                found.form,
                found.classes.join(" "),
                found.reasons.join(" « ")
            );
        }
    }
}
