//! Cards as a program of a telephone writes them.

/// A card of some 450 bytes; each number has its own.
pub fn card(number: usize) -> String {
    let (given, family) = (pick(&GIVEN, number), pick(&FAMILY, number / GIVEN.len()));
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nPRODID:-//Telephones//Contacts 12//EN\r\nUID:{number:08x}-5d1c-4b7e-9f20-1c2d3e4f5a6b\r\n\
         N:{family};{given};;;\r\nFN:{given} {family}\r\nORG:Department {};\r\n\
         EMAIL;type=INTERNET;type=HOME;type=pref:{}.{}.{number}@example.org\r\n\
         TEL;type=CELL;type=VOICE;type=pref:+49 151 {number:08}\r\n\
         ADR;type=HOME;type=pref:;;Long Street {};Springfield;;{:05};Germany\r\n\
         NOTE:Met at the fair of {}\\, wants to be called in the morning.\r\nREV:2026-11-22T08:{:02}:00Z\r\nEND:VCARD\r\n",
        number % 97,
        given.to_lowercase(),
        family.to_lowercase(),
        number % 250,
        number % 90_000,
        1990 + number % 36,
        number % 60,
    )
}

/// The e-mail address of a card.
pub fn email(number: usize) -> String {
    let (given, family) = (pick(&GIVEN, number), pick(&FAMILY, number / GIVEN.len()));
    format!("{}.{}.{number}@example.org", given.to_lowercase(), family.to_lowercase())
}

fn pick(names: &[&'static str], number: usize) -> &'static str {
    names[number % names.len()]
}

const GIVEN: [&str; 12] = [
    "Ada", "Bruno", "Chiara", "David", "Emma", "Felix", "Greta", "Hugo", "Ida", "Jonas", "Klara",
    "Liam",
];
const FAMILY: [&str; 10] = [
    "Ackermann",
    "Brandt",
    "Castelli",
    "Dubois",
    "Eriksson",
    "Fischer",
    "Gruber",
    "Haddad",
    "Ito",
    "Jansen",
];
