//! Messages as words: how a payload travels between processes.
//!
//! The bytes of a payload in memory cannot be sent: an enum has padding, and where its tag lies is the compiler's choice. What is
//! written here is the same everywhere: fields in their order, each as wide as its type and little-endian, a byte before each choice of
//! an enum or option. A payload always encodes to [`MESSAGE_WORDS`] words; the mail leaves out the zeros at their end and says how many are left.
//!
//! ```
//! use engine::words::Message;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
//! enum Ball {
//!     Thrown { to: u32, spin: Option<i16> },
//!     Lost,
//! }
//!
//! let ball = Ball::Thrown { to: 7, spin: Some(-2) };
//! assert_eq!(Ball::from_words(&ball.to_words()), Ok(ball));
//! assert_ne!(ball.to_words(), Ball::Lost.to_words());
//! ```

use crate::{MESSAGE_BYTES, kept::Damaged, state::Row};
use serde::{
    de::{self, DeserializeOwned, IntoDeserializer},
    ser::{self, Serialize},
};
use std::fmt::{self, Display};

/// Words that every message takes.
pub const MESSAGE_WORDS: usize = MESSAGE_BYTES / 8;

/// A message as it travels.
pub type Words = [u64; MESSAGE_WORDS];

/// A payload that can travel between processes: any plain old data of at most [`MESSAGE_BYTES`] bytes.
pub trait Message: Row {
    /// The payload as words; those that it does not need are 0.
    ///
    /// # Panics
    /// If it does not fit, or holds something without a fixed size: a fault of the model.
    fn to_words(&self) -> Words;

    /// The payload that was made words of.
    ///
    /// # Errors
    /// If these are no words of such a payload.
    fn from_words(words: &Words) -> Result<Self, Damaged>;
}

impl<T: Row> Message for T {
    fn to_words(&self) -> Words {
        encode(self)
    }

    fn from_words(words: &Words) -> Result<Self, Damaged> {
        decode(words)
    }
}

fn encode<T: Serialize>(value: &T) -> Words {
    // Through bytes of a fixed order, not through memory: the machine at the other end may order its words otherwise.
    let mut to = Writer { bytes: [0; MESSAGE_BYTES], used: 0 };
    value.serialize(&mut to).expect("messages are plain data of a fixed size");
    std::array::from_fn(|word| u64::from_le_bytes(std::array::from_fn(|byte| to.bytes[8 * word + byte])))
}

fn decode<T: DeserializeOwned>(words: &Words) -> Result<T, Damaged> {
    let mut from =
        Reader { bytes: std::array::from_fn(|byte| words[byte / 8].to_le_bytes()[byte % 8]), used: 0 };
    let value = T::deserialize(&mut from).map_err(|_| Damaged)?;
    // What is left over was never written.
    if from.bytes[from.used..].iter().all(|&b| b == 0) { Ok(value) } else { Err(Damaged) }
}

/// Why something is no message.
#[derive(Debug)]
struct Refused(String);

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

impl de::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

fn no_fixed_size<T>() -> Result<T, Refused> {
    Err(Refused("a message holds something without a fixed size".to_owned()))
}

struct Writer {
    bytes: [u8; MESSAGE_BYTES],
    used: usize,
}

impl Writer {
    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        // Refused, not cut off: a payload that has grown beyond its place must show in the first test that sends it.
        let place = self.bytes.get_mut(self.used..self.used + bytes.len());
        place
            .ok_or_else(|| Refused(format!("a message takes more than {MESSAGE_BYTES} bytes")))?
            .copy_from_slice(bytes);
        self.used += bytes.len();
        Ok(())
    }

    /// One of at most 256 choices.
    fn choose(&mut self, variant: u32) -> Result<&mut Self, Refused> {
        // Serde numbers variants in their order: a byte is enough, and is the same on every machine.
        let tag = u8::try_from(variant).map_err(|_| Refused("too many choices".to_owned()))?;
        self.put(&[tag])?;
        Ok(self)
    }
}

macro_rules! write_numbers {
    ($($name:ident: $type:ty),*) => {$(
        #[inline]
        fn $name(self, value: $type) -> Result<(), Refused> {
            self.put(&value.to_le_bytes())
        }
    )*};
}

impl ser::Serializer for &mut Writer {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = ser::Impossible<(), Refused>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), Refused>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    write_numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64
    }

    fn serialize_bool(self, value: bool) -> Result<(), Refused> {
        self.put(&[u8::from(value)])
    }

    fn serialize_char(self, value: char) -> Result<(), Refused> {
        self.serialize_u32(value.into())
    }

    // Text, sequences and maps have no fixed size: whoever receives could not know where the next message begins.
    fn serialize_str(self, _: &str) -> Result<(), Refused> {
        no_fixed_size()
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Refused> {
        no_fixed_size()
    }

    // A byte also for nothing: what follows stands after it either way.
    fn serialize_none(self) -> Result<(), Refused> {
        self.put(&[0])
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Refused> {
        self.put(&[1])?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Refused> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Refused> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Result<(), Refused> {
        self.choose(variant).map(|_| ())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Refused> {
        value.serialize(self.choose(variant)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Refused> {
        no_fixed_size()
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        self.choose(variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Refused> {
        no_fixed_size()
    }

    // Names and numbers of fields are the same in every process of a run, so only the fields travel.
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refused> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refused> {
        self.choose(variant)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! write_parts {
    ($($trait:ident: $method:ident),*) => {$(
        impl ser::$trait for &mut Writer {
            type Ok = ();
            type Error = Refused;

            // Parts follow each other without anything between: their types say how long each is.
            #[inline]
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Refused> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Refused> {
                Ok(())
            }
        }
    )*};
}
write_parts!(
    SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field, SerializeTupleVariant: serialize_field
);

macro_rules! write_fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for &mut Writer {
            type Ok = ();
            type Error = Refused;

            #[inline]
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, value: &T) -> Result<(), Refused> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Refused> {
                Ok(())
            }
        }
    )*};
}
write_fields!(SerializeStruct, SerializeStructVariant);

struct Reader {
    bytes: [u8; MESSAGE_BYTES],
    used: usize,
}

impl Reader {
    #[inline]
    fn get<const N: usize>(&mut self) -> Result<[u8; N], Refused> {
        let place = self.bytes.get(self.used..self.used + N);
        let bytes = place.ok_or_else(|| Refused("the words are at their end".to_owned()))?;
        self.used += N;
        Ok(bytes.try_into().expect("so many bytes were asked for"))
    }
}

/// Hands out the parts of a value, so many and no more.
struct Parts<'a> {
    from: &'a mut Reader,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Parts<'_> {
    type Error = Refused;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Refused> {
        if self.left == 0 {
            return Ok(None);
        }
        // Counted here, as the words do not say where a value ends.
        self.left -= 1;
        seed.deserialize(&mut *self.from).map(Some)
    }
}

macro_rules! read_numbers {
    // The counterpart of `write_numbers`: the same width and order for each type.
    ($($name:ident: $visit:ident $type:ty),*) => {$(
        #[inline]
        fn $name<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
            visitor.$visit(<$type>::from_le_bytes(self.get()?))
        }
    )*};
}

macro_rules! read_nothing_like {
    ($($name:ident),*) => {$(
        fn $name<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, Refused> {
            no_fixed_size()
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Reader {
    type Error = Refused;

    read_numbers! {
        deserialize_i8: visit_i8 i8, deserialize_i16: visit_i16 i16, deserialize_i32: visit_i32 i32,
        deserialize_i64: visit_i64 i64, deserialize_i128: visit_i128 i128, deserialize_u8: visit_u8 u8,
        deserialize_u16: visit_u16 u16, deserialize_u32: visit_u32 u32, deserialize_u64: visit_u64 u64,
        deserialize_u128: visit_u128 u128, deserialize_f32: visit_f32 f32, deserialize_f64: visit_f64 f64
    }

    read_nothing_like! {
        deserialize_any, deserialize_str, deserialize_string, deserialize_bytes, deserialize_byte_buf, deserialize_seq,
        deserialize_map, deserialize_identifier, deserialize_ignored_any
    }

    fn deserialize_bool<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.get()? {
            [0] => visitor.visit_bool(false),
            [1] => visitor.visit_bool(true),
            _ => Err(Refused("neither true nor false".to_owned())),
        }
    }

    fn deserialize_char<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        // Not every number is a character: words from elsewhere may be damaged.
        let code = u32::from_le_bytes(self.get()?);
        visitor.visit_char(char::from_u32(code).ok_or_else(|| Refused("no character".to_owned()))?)
    }

    fn deserialize_option<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.get()? {
            [0] => visitor.visit_none(),
            [1] => visitor.visit_some(self),
            _ => Err(Refused("neither something nor nothing".to_owned())),
        }
    }

    fn deserialize_unit<V: de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_tuple<V: de::Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_seq(Parts { from: self, left: len })
    }

    fn deserialize_tuple_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_struct<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        self.deserialize_tuple(fields.len(), visitor)
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

impl<'de> de::EnumAccess<'de> for &mut Reader {
    type Error = Refused;
    type Variant = Self;

    fn variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Refused> {
        // Serde takes the number of a choice as a value of its own, and refuses those that do not exist.
        let [tag] = self.get()?;
        let choice = seed.deserialize(u32::from(tag).into_deserializer())?;
        Ok((choice, self))
    }
}

impl<'de> de::VariantAccess<'de> for &mut Reader {
    type Error = Refused;

    fn unit_variant(self) -> Result<(), Refused> {
        Ok(())
    }

    fn newtype_variant_seed<T: de::DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Refused> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: de::Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Refused> {
        de::Deserializer::deserialize_tuple(self, len, visitor)
    }

    fn struct_variant<V: de::Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refused> {
        de::Deserializer::deserialize_tuple(self, fields.len(), visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        wide: u64,
        pair: (u8, i32),
        may: Option<u32>,
        flag: bool,
    }

    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    enum Payload {
        Nothing,
        Row(Inner),
        Two(u32, [u16; 3]),
        Named { real: f64, next: u32 },
    }

    fn all() -> [Payload; 5] {
        let inner = Inner { wide: u64::MAX - 5, pair: (9, -70_000), may: Some(4), flag: true };
        [
            Payload::Nothing,
            Payload::Row(inner),
            Payload::Row(Inner { may: None, ..inner }),
            Payload::Two(1 << 31, [1, 2, 3]),
            Payload::Named { real: -0.5, next: 8 },
        ]
    }

    #[test]
    fn payloads_come_back_and_differ() {
        for (i, payload) in all().into_iter().enumerate() {
            let words = payload.to_words();
            assert_eq!(Payload::from_words(&words), Ok(payload));
            assert!(all().iter().enumerate().all(|(j, p)| (p.to_words() == words) == (i == j)));
        }
    }

    #[test]
    fn fields_lie_one_after_the_other() {
        let words = Payload::Two(0x0403_0201, [0x0605, 0x0807, 9]).to_words();
        assert_eq!(words[..3], [0x0706_0504_0302_0102, 0x0908, 0]);
    }

    #[test]
    fn what_is_no_payload_is_refused() {
        let mut words = Payload::Nothing.to_words();
        words[MESSAGE_WORDS - 1] = 1;
        assert_eq!(Payload::from_words(&words), Err(Damaged), "something is left over");
        words = [u64::MAX; MESSAGE_WORDS];
        assert_eq!(Payload::from_words(&words), Err(Damaged), "there are not so many choices");
    }

    #[test]
    #[should_panic(expected = "more than 80 bytes")]
    fn what_is_too_large_is_refused() {
        let _ = [0u64; 11].to_words();
    }
}
