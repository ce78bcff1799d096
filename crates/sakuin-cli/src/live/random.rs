//! Records drawn at random, the same for the same seed.

use sakuin_live::{Schema, Type, Value};

/// Records for a table of so many.
pub(super) struct Random<'s> {
    schema: &'s Schema,
    /// Whole numbers are below it.
    numbers: i64,
    /// Where vectors lie.
    places: Vec<Vec<f32>>,
    source: fastrand::Rng,
}

/// Records of one transaction, and how many bytes of vectors.
const RECORDS_MAX: u64 = 10_000;
const BYTES_MAX: u64 = 4 << 20;

/// So many records share a number.
const SHARING: u64 = 10;

const PLACES_MAX: u64 = 1000;
/// How far a vector lies from its place, as a share of its length.
const SPREAD: f32 = 0.5;

/// 2026 in microseconds since 1970.
const YEAR: std::ops::Range<i64> = 1_767_225_600_000_000..1_798_761_600_000_000;

impl<'s> Random<'s> {
    pub(super) fn new(schema: &'s Schema, rows: u64, seed: u64) -> Random<'s> {
        let mut source = fastrand::Rng::with_seed(seed);
        let dimensions = schema.vectors().map_or(0, |vectors| vectors.dimensions);
        let places = if dimensions == 0 { 0 } else { (rows / SHARING).clamp(1, PLACES_MAX) };
        let places = (0..places).map(|_| direction(&mut source, dimensions)).collect();
        Random { schema, numbers: (rows / SHARING).max(1) as i64, places, source }
    }

    pub(super) fn records_at_once(&self) -> u64 {
        let dimensions = self.places.first().map_or(0, Vec::len) as u64;
        (BYTES_MAX / (4 * dimensions).max(1)).clamp(1, RECORDS_MAX)
    }

    pub(super) fn record(&mut self) -> Vec<(&'s str, Value)> {
        let schema = self.schema;
        let attributes = schema.attributes().iter();
        attributes.map(|one| (one.name.as_str(), self.value(one.values))).collect()
    }

    fn value(&mut self, of: Type) -> Value {
        let source = &mut self.source;
        match of {
            Type::Int => Value::Int(source.i64(0..self.numbers)),
            Type::Float => Value::Float(source.f64()),
            Type::Bool => Value::Bool(source.bool()),
            Type::Time => Value::Time(source.i64(YEAR)),
            Type::Bytes => Value::from(&source.u64(..).to_le_bytes()[..]),
            Type::Vector => {
                let place = &self.places[source.usize(0..self.places.len())];
                let away = direction(source, place.len());
                let vector: Vec<_> = place.iter().zip(away).map(|(a, b)| a + SPREAD * b).collect();
                Value::from(&unit(vector)[..])
            }
            _ => Value::from(&*source.i64(0..self.numbers).to_string()),
        }
    }
}

/// A direction, every one as likely: the sum of twelve numbers is near enough to a normal one.
fn direction(source: &mut fastrand::Rng, dimensions: usize) -> Vec<f32> {
    let mut normal = || (0..12).map(|_| source.f32()).sum::<f32>() - 6.0;
    unit((0..dimensions).map(|_| normal()).collect())
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|one| one * one).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|one| *one /= length);
    } else if let Some(first) = vector.first_mut() {
        *first = 1.0;
    }
    vector
}
