//! `Sakuin::Bits`: arrays of integers in as few bits as they need, frozen.

use magnus::{
    Error, RArray, RModule, RString, Ruby, TryConvert, Value, function, method, prelude::*,
};

use crate::error::IntoRuby;

#[magnus::wrap(class = "Sakuin::Bits", free_immediately, frozen_shareable, size)]
struct Bits(sakuin_bits::Bits);

pub(crate) fn define(ruby: &Ruby, module: RModule) -> Result<(), Error> {
    let class = module.define_class("Bits", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_singleton_method("_pack", function!(Bits::pack, 2))?;
    class.define_singleton_method("_load", function!(Bits::load, 1))?;
    class.define_method("_at", method!(Bits::at, 1))?;
    class.define_method("unpack", method!(Bits::unpack, 0))?;
    class.define_method("size", method!(Bits::size, 0))?;
    class.define_method("sorted?", method!(Bits::is_sorted, 0))?;
    class.define_method("to_s", method!(Bits::to_s, 0))?;
    Ok(())
}

impl Bits {
    fn pack(ruby: &Ruby, integers: RArray, is_sorted: bool) -> Result<Bits, Error> {
        let mut numbers = Vec::with_capacity(integers.len());
        for (at, integer) in integers.into_iter().enumerate() {
            numbers.push(number(ruby, at, integer)?);
        }
        let packed = match is_sorted {
            true => sakuin_bits::Bits::pack_sorted(&numbers),
            false => sakuin_bits::Bits::pack(&numbers),
        };
        packed.map(Bits).map_err(IntoRuby::into_ruby)
    }

    fn load(bytes: RString) -> Result<Bits, Error> {
        // Safety: the bytes are copied, and nothing of Ruby runs meanwhile.
        let bytes = unsafe { bytes.as_slice() }.to_vec();
        sakuin_bits::Bits::from_bytes(bytes).map(Bits).map_err(IntoRuby::into_ruby)
    }

    fn at(&self, at: usize) -> Option<u64> {
        self.0.get(at)
    }

    fn unpack(ruby: &Ruby, this: &Self) -> Result<RArray, Error> {
        let array = ruby.ary_new_capa(this.0.len());
        for number in this.0.unpack() {
            array.push(number)?;
        }
        Ok(array)
    }

    fn size(&self) -> usize {
        self.0.len()
    }

    fn is_sorted(&self) -> bool {
        self.0.is_sorted()
    }

    fn to_s(ruby: &Ruby, this: &Self) -> RString {
        ruby.str_from_slice(this.0.as_bytes())
    }
}

fn number(ruby: &Ruby, at: usize, integer: Value) -> Result<u64, Error> {
    if let Some(integer) = magnus::Integer::from_value(integer)
        && let Ok(number) = u64::try_convert(integer.as_value())
        && (number <= i64::MAX as u64 || !is_negative(integer))
    {
        return Ok(number);
    }
    let message = format!("integer {at} is {}, and not from 0 to 2**64 - 1", integer.inspect());
    Err(Error::new(ruby.exception_range_error(), message))
}

/// Ruby takes small negative numbers for large ones.
fn is_negative(integer: magnus::Integer) -> bool {
    integer.to_i64().is_ok_and(|number| number < 0)
}
