//! A calendar day, as stories are filed by and as addresses name it.

use std::fmt;

use jiff::civil::Date;

/// A day that exists; written `2026-11-20`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(Date);

/// A span of days that a book covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// One day.
    Day(Day),
    /// A month of a year.
    Month(i16, i8),
    /// A whole year.
    Year(i16),
}

impl Day {
    /// The day `text` names, in the one form `YYYY-MM-DD`.
    ///
    /// ```
    /// use sakuin_server::Day;
    /// assert_eq!(Day::parse("2026-11-20").unwrap().to_string(), "2026-11-20");
    /// assert!(Day::parse("2026-02-30").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Day> {
        let [year, month, day] = split(text, '-')?;
        Day::from_parts(year, month, day)
    }

    /// The day of an address: `2026`, `11`, `20`, with exactly these numbers of digits.
    pub fn from_parts(year: &str, month: &str, day: &str) -> Option<Day> {
        let date = Date::new(
            year_of(year)?,
            digits(month, 2)?.try_into().ok()?,
            digits(day, 2)?.try_into().ok()?,
        );
        date.ok().map(Day)
    }

    /// The day in Japanese: `2026年11月20日（金）`.
    pub fn japanese(&self) -> String {
        let weekday = ["月", "火", "水", "木", "金", "土", "日"]
            [usize::from(self.0.weekday().to_monday_zero_offset().unsigned_abs())];
        format!("{}年{}月{}日（{weekday}）", self.0.year(), self.0.month(), self.0.day())
    }

    /// How many days lie between this day and a later one.
    pub fn days_until(&self, later: Day) -> i32 {
        self.0.until(later.0).map_or(0, |span| span.get_days())
    }

    /// Today, in UTC.
    pub fn today() -> Day {
        Day(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date())
    }

    /// Midnight UTC, as mail headers and RSS write it.
    pub fn rfc2822(&self) -> String {
        self.0.strftime("%a, %d %b %Y 00:00:00 +0000").to_string()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Period {
    /// The period that the parts of an address name; none if they name no day, month or year.
    pub fn from_parts(year: &str, month: Option<&str>, day: Option<&str>) -> Option<Period> {
        Some(match (month, day) {
            (Some(month), Some(day)) => Period::Day(Day::from_parts(year, month, day)?),
            (Some(month), None) => {
                let first = Day::from_parts(year, month, "01")?;
                Period::Month(first.0.year(), first.0.month())
            }
            _ => Period::Year(year_of(year)?),
        })
    }

    /// What every date of the period begins with: `2026-11`.
    pub fn prefix(&self) -> String {
        match self {
            Period::Day(day) => day.to_string(),
            Period::Month(year, month) => format!("{year:04}-{month:02}"),
            Period::Year(year) => format!("{year:04}"),
        }
    }

    /// The period in Japanese: `2026年11月`.
    pub fn japanese(&self) -> String {
        match self {
            Period::Day(day) => day.japanese(),
            Period::Month(year, month) => format!("{year}年{month}月"),
            Period::Year(year) => format!("{year}年"),
        }
    }
}

fn split(text: &str, border: char) -> Option<[&str; 3]> {
    let mut parts = text.split(border);
    let found = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some(found)
}

fn year_of(text: &str) -> Option<i16> {
    digits(text, 4)
}

fn digits(text: &str, count: usize) -> Option<i16> {
    let plain = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}
