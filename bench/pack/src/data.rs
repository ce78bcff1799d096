//! Keys, values and the order in which they are asked for, all from fixed seeds.

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Strings one after the other in memory, so that asking for them costs as little as it can.
pub struct Strings {
    bytes: String,
    ends: Vec<usize>,
}

impl Strings {
    pub fn new(strings: impl IntoIterator<Item = String>) -> Strings {
        let mut all = Strings { bytes: String::new(), ends: vec![0] };
        for string in strings {
            all.bytes.push_str(&string);
            all.ends.push(all.bytes.len());
        }
        all
    }

    pub fn get(&self, index: usize) -> &str {
        &self.bytes[self.ends[index]..self.ends[index + 1]]
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|index| self.get(index))
    }

    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn shuffled(&self) -> Strings {
        let mut order: Vec<usize> = (0..self.len()).collect();
        let mut random = Random(7);
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        Strings::new(order.into_iter().map(|index| self.get(index).to_owned()))
    }
}

/// Names of settings: `service-17.region-3.k9x2m`, 18 to 28 bytes.
pub fn keys(count: usize, salt: &str) -> Strings {
    let mut random = Random(42);
    Strings::new((0..count).map(|index| {
        let (one, two) = (random.next() % 100, random.next() % 10);
        format!("service-{one}.region-{two}.{salt}{}", base_36(index as u64))
    }))
}

/// Values of 10 to 50 bytes, no two equal.
pub fn values(count: usize) -> Strings {
    let mut random = Random(43);
    Strings::new((0..count).map(|index| {
        let filling = (random.next() % 40) as usize;
        format!("{}:{}", base_36(index as u64 + 60_466_176), "v".repeat(filling))
    }))
}

fn base_36(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.reverse();
    String::from_utf8(digits).expect("digits are ASCII")
}
