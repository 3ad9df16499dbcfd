//! Values of the vectors' `logical` parts.

use crate::wire::ingress::cells::CellColumn;
use crate::wire::ingress::decode::Cell;
use crate::wire::ingress::decode::values::Array;
use crate::wire::types::ColumnType;
use serde_json::Value;

/// The type of a name in the vectors.
pub(crate) fn column_type(name: &Value) -> ColumnType {
    match name.as_str().expect("a type is a string") {
        "TIMESTAMP_NANOS" => ColumnType::TimestampNanos,
        "DOUBLE_ARRAY" => ColumnType::DoubleArray,
        "LONG_ARRAY" => ColumnType::LongArray,
        other => {
            let known = ColumnType::ALL.into_iter().find(|known| known.to_string() == other);
            known.unwrap_or_else(|| panic!("unknown type {other}"))
        }
    }
}

/// A column; `symbol` gives the id of a text. What is not borrowed from the file is leaked.
pub(crate) fn column<'a>(logical: &'a Value, symbol: &dyn Fn(&str) -> u64) -> CellColumn<'a> {
    let column_type = column_type(&logical["type"]);
    let parameter = ["precision_bits", "scale"].into_iter().find_map(|key| logical[key].as_u64());
    let values = logical["values"].as_array().expect("values are a list");
    CellColumn {
        name: logical["name"].as_str().expect("a column has a name"),
        column_type,
        parameter: u8::try_from(parameter.unwrap_or(0)).expect("a small number"),
        cells: values.iter().map(|value| cell(column_type, value, symbol)).collect(),
    }
}

/// A value, `None` for null.
pub(crate) fn cell<'a>(
    column_type: ColumnType,
    value: &'a Value,
    symbol: &dyn Fn(&str) -> u64,
) -> Option<Cell<'a>> {
    if value.is_null() {
        return None;
    }
    let text = || value.as_str().expect("a string");
    Some(match column_type {
        ColumnType::Boolean => Cell::Boolean(value.as_bool().expect("a boolean")),
        ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Int
        | ColumnType::Long
        | ColumnType::Timestamp
        | ColumnType::Date
        | ColumnType::TimestampNanos => Cell::Integer(value.as_i64().expect("an integer")),
        #[expect(clippy::cast_possible_truncation, reason = "the vectors' floats are short")]
        ColumnType::Float => Cell::Float(value.as_f64().expect("a number") as f32),
        ColumnType::Double => Cell::Double(value.as_f64().expect("a number")),
        ColumnType::Symbol => Cell::Unsigned(symbol(text())),
        ColumnType::Uuid => {
            let digits = text().replace('-', "");
            Cell::Uuid(u128::from_str_radix(&digits, 16).expect("hex digits"))
        }
        ColumnType::Long256 | ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
            Cell::Limbs(limbs(text()))
        }
        ColumnType::Geohash => Cell::Unsigned(value.as_u64().expect("an integer")),
        ColumnType::Varchar => Cell::Text(text()),
        ColumnType::Binary => Cell::Bytes(super::bytes(value).leak()),
        ColumnType::Char => Cell::Unsigned(u64::from(u32::from(text().chars().next().expect("a letter")))),
        ColumnType::Ipv4 => {
            let address: std::net::Ipv4Addr = text().parse().expect("an address");
            Cell::Unsigned(u32::from(address).into())
        }
        ColumnType::DoubleArray | ColumnType::LongArray => array(value),
    })
}

fn array(value: &Value) -> Cell<'_> {
    let list = |index: usize| value[index].as_array().expect("lengths and elements");
    let lengths: Vec<[u8; 4]> = list(0)
        .iter()
        .map(|length| u32::try_from(length.as_u64().expect("a length")).expect("a short one").to_le_bytes())
        .collect();
    let elements: Vec<[u8; 8]> = list(1)
        .iter()
        .map(|element| match element.as_i64() {
            Some(long) => long.to_le_bytes(),
            None => element.as_f64().expect("a number").to_le_bytes(),
        })
        .collect();
    Cell::Array(Array { lengths: lengths.leak(), elements: elements.leak() })
}

/// A decimal number of up to 256 bits, two's complement.
pub(crate) fn limbs(text: &str) -> [u64; 4] {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let mut limbs = [0_u64; 4];
    for digit in digits.bytes() {
        let mut carry = u128::from(digit - b'0');
        for limb in &mut limbs {
            carry += u128::from(*limb) * 10;
            *limb = u64::try_from(carry & u128::from(u64::MAX)).expect("masked");
            carry >>= 64;
        }
        assert_eq!(carry, 0, "{text} has 256 bits at most");
    }
    if text.starts_with('-') {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(carry.into());
        }
    }
    limbs
}

/// What stands for NULL in a column without bitmap (wire.md 4.3).
pub(crate) fn is_sentinel(column_type: ColumnType, parameter: u8, cell: Cell<'_>) -> bool {
    match cell {
        Cell::Boolean(value) => !value,
        Cell::Integer(value) => match column_type {
            ColumnType::Byte | ColumnType::Short => value == 0,
            ColumnType::Int => value == i64::from(i32::MIN),
            _ => value == i64::MIN,
        },
        Cell::Float(value) => value.to_bits() == 0x7fc0_0000,
        Cell::Double(value) => value.to_bits() == 0x7ff8_0000_0000_0000,
        Cell::Unsigned(value) => match column_type {
            ColumnType::Geohash => value == (1_u64 << (8 * parameter.div_ceil(8))) - 1,
            _ => value == 0,
        },
        _ => false,
    }
}

#[test]
fn numbers_of_256_bits_are_read_as_limbs() {
    assert_eq!(limbs("0"), [0; 4]);
    assert_eq!(limbs("-1"), [u64::MAX; 4]);
    assert_eq!(limbs("18446744073709551617"), [1, 1, 0, 0]);
    assert_eq!(limbs("-18446744073709551616"), [0, u64::MAX, u64::MAX, u64::MAX]);
}
