//! From pending rows to frames: who goes where, how large it may get, and the bytes.

use super::buffer::Buffer;
use super::column::{Column, Values};
use super::table::Table;
use crate::value::DecimalWidth;
use crate::wire::frame::{self, Flags};
use crate::wire::ingress::column as wire;
use crate::wire::ingress::table::{self as block, DESIGNATED, FLAGS};
use crate::wire::sink::Sink;
use crate::wire::symbols;
use crate::wire::types::ColumnType;
use crate::wire::varint;
use std::ops::Range;

/// Rows of a table in a frame or a commit group stay below the number at which a server commits by
/// itself (LIM-03).
pub(crate) const MAX_GROUP_ROWS: usize = 999_999;

/// Tables in a frame or a commit group: what a server takes on one connection (LIM-22).
pub(crate) const MAX_GROUP_TABLES: usize = 10_000;

/// Header, delta start and delta count.
const FRAME_HEAD_BYTES: usize = frame::HEADER_BYTES + 2 * varint::MAX_BYTES;

/// What one flush sends. Kept from flush to flush for its memory.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    parts: Vec<Part>,
    pub(crate) frames: Vec<Frame>,
    /// The most bytes that each of them can take.
    pub(crate) bounds: Vec<usize>,
    /// The frames of each commit group.
    pub(crate) groups: Vec<Range<usize>>,
    /// Whether each frame carries all symbols that it uses (REC-13).
    pub(crate) dense: bool,
}

/// Rows of one table in one frame.
#[derive(Debug, Clone)]
struct Part {
    table: usize,
    rows: Range<usize>,
}

/// One frame.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    parts: Range<usize>,
    /// Dictionary entries that go with it.
    symbols: Range<u32>,
    /// The most bytes that it can take.
    pub(crate) bytes_max: usize,
    /// Whether a later frame of its group commits.
    deferred: bool,
}

/// A frame while it is put together.
struct Draft {
    first_part: usize,
    symbols: Range<u32>,
    bytes_max: usize,
}

impl Plan {
    /// Cuts the pending rows into frames of at most `limit` bytes and into commit groups (FLUSH-03).
    /// A row that is larger stands alone. `symbols` is what earlier frames have told the server.
    pub(crate) fn make(&mut self, buffer: &Buffer, symbols: u32, limit: usize) {
        self.parts.clear();
        self.frames.clear();
        self.groups.clear();
        let mut draft = Draft::new(0, symbols);
        let mut first_frame = 0;
        let mut tables_in_group = 0;
        for (number, table) in buffer.tables.iter().enumerate() {
            let mut row = table.first_pending;
            if row == table.rows {
                continue;
            }
            if tables_in_group == MAX_GROUP_TABLES {
                draft = self.close_frame(draft);
                first_frame = self.close_group(first_frame);
                tables_in_group = 0;
            }
            tables_in_group += 1;
            let mut group_end = table.rows.min(row + MAX_GROUP_ROWS);
            while row < table.rows {
                if row == group_end {
                    draft = self.close_frame(draft);
                    first_frame = self.close_group(first_frame);
                    tables_in_group = 1;
                    group_end = table.rows.min(row + MAX_GROUP_ROWS);
                }
                let room = limit.saturating_sub(draft.bytes_max);
                let rows = fit(buffer, table, row..group_end, draft.symbols.end, room);
                let alone = draft.first_part == self.parts.len();
                let rows = if rows.is_empty() && alone { row..row + 1 } else { rows };
                if rows.is_empty() {
                    draft = self.close_frame(draft);
                    continue;
                }
                row = rows.end;
                draft.add(buffer, table, &rows, limit);
                self.parts.push(Part { table: number, rows });
            }
        }
        self.close_frame(draft);
        self.close_group(first_frame);
        self.bounds.clear();
        self.bounds.extend(self.frames.iter().map(|frame| frame.bytes_max));
    }

    fn close_frame(&mut self, draft: Draft) -> Draft {
        let end = self.parts.len();
        let next = Draft::new(end, if self.dense { 0 } else { draft.symbols.end });
        if draft.first_part < end {
            self.frames.push(Frame {
                parts: draft.first_part..end,
                symbols: draft.symbols,
                bytes_max: draft.bytes_max,
                deferred: true,
            });
        }
        next
    }

    fn close_group(&mut self, first_frame: usize) -> usize {
        let end = self.frames.len();
        if first_frame < end {
            if let Some(last) = self.frames.last_mut() {
                last.deferred = false;
            }
            self.groups.push(first_frame..end);
        }
        end
    }

    /// Writes a frame and returns its length, or `None` if `room` is too short.
    pub(crate) fn write(&self, frame: &Frame, buffer: &Buffer, room: &mut [u8]) -> Option<usize> {
        let parts = self.parts.get(frame.parts.clone()).unwrap_or_default();
        let parts = parts.iter().filter_map(|part| Some((buffer.tables.get(part.table)?, part.rows.clone())));
        let mut sink = Sink::new(room);
        write_frame(parts, frame.symbols.clone(), frame.deferred, buffer, &mut sink);
        sink.finish()
    }

    /// Marks the rows of a group as stored.
    pub(crate) fn stored(&self, group: Range<usize>, buffer: &mut Buffer) {
        for frame in self.frames.get(group).unwrap_or_default() {
            for part in self.parts.get(frame.parts.clone()).unwrap_or_default() {
                if let Some(table) = buffer.tables.get_mut(part.table) {
                    table.first_pending = part.rows.end;
                    buffer.rows -= part.rows.len();
                }
            }
        }
    }

    /// The tables of a group's frames, some more than once.
    pub(crate) fn tables<'a>(
        &'a self,
        group: Range<usize>,
        buffer: &'a Buffer,
    ) -> impl Iterator<Item = &'a str> + Clone {
        let frames = self.frames.get(group).unwrap_or_default().iter();
        let parts = frames.flat_map(|frame| self.parts.get(frame.parts.clone()).unwrap_or_default());
        parts.filter_map(|part| buffer.tables.get(part.table).map(Table::name))
    }

    /// How many dictionary entries the frames of a group make known.
    pub(crate) fn symbols_after(&self, group: Range<usize>) -> u32 {
        let frames = self.frames.get(group).unwrap_or_default();
        frames.iter().map(|frame| frame.symbols.end).max().unwrap_or(0)
    }
}

impl Draft {
    fn new(first_part: usize, symbols_known: u32) -> Draft {
        Draft { first_part, symbols: symbols_known..symbols_known, bytes_max: FRAME_HEAD_BYTES }
    }

    /// Counts the rows in. A row that stands alone because it is so large is measured: its bound may
    /// be more than a segment holds.
    fn add(&mut self, buffer: &Buffer, table: &Table, rows: &Range<usize>, limit: usize) {
        let weight = weigh(buffer, table, rows.clone(), self.symbols.end);
        self.bytes_max = match self.bytes_max + weight.bytes {
            bytes if bytes <= limit => bytes,
            _ => measure(buffer, table, rows.clone(), self.symbols.start..weight.symbols_end),
        };
        self.symbols.end = weight.symbols_end;
    }
}

/// The exact length of a frame that holds the last row of a table alone.
pub(crate) fn last_row_bytes(buffer: &Buffer, table: usize, symbols: u32) -> usize {
    let Some(table) = buffer.tables.get(table) else { return 0 };
    let rows = table.rows.saturating_sub(1)..table.rows;
    let symbols = symbols..weigh(buffer, table, rows.clone(), symbols).symbols_end;
    measure(buffer, table, rows, symbols)
}

/// The exact length of a frame with these rows alone.
fn measure(buffer: &Buffer, table: &Table, rows: Range<usize>, symbols: Range<u32>) -> usize {
    let mut nowhere = Sink::new(&mut []);
    write_frame(std::iter::once((table, rows)), symbols, false, buffer, &mut nowhere);
    nowhere.len()
}

fn write_frame<'a>(
    parts: impl Iterator<Item = (&'a Table, Range<usize>)>,
    new: Range<u32>,
    deferred: bool,
    buffer: &Buffer,
    sink: &mut Sink<'_>,
) {
    let frame = frame::open(sink);
    let entries = buffer.symbols.log.wire(new.start, new.end);
    symbols::put_delta(new.start.into(), new.len() as u64, entries, sink);
    let mut blocks = 0;
    for (table, rows) in parts {
        put_block(table, rows, sink);
        // At most MAX_GROUP_TABLES.
        blocks += 1;
    }
    let flags = if deferred { FLAGS.with(Flags::DEFER_COMMIT) } else { FLAGS };
    frame.close(sink, flags, blocks);
}

fn put_block(table: &Table, rows: Range<usize>, sink: &mut Sink<'_>) {
    let designated = has_designated(table, &rows);
    let time = match table.designated.nanos {
        true => ColumnType::TimestampNanos,
        false => ColumnType::Timestamp,
    };
    let schema: Vec<(&str, ColumnType)> = sent(table, &rows)
        .map(|column| (column.name(), column.values.column_type()))
        .chain(designated.then_some((DESIGNATED, time)))
        .collect();
    block::put_head(table.name(), rows.len(), schema.into_iter(), sink);
    for column in sent(table, &rows) {
        put_column(column, rows.clone(), sink);
    }
    if designated {
        let times = &table.designated;
        let values = times.values_before(rows.start)..times.values_before(rows.end);
        let nulls = bits(times.nulls.words(), &rows);
        wire::put_timestamps(Some(nulls), times.values.get(values).unwrap_or_default(), sink);
    }
}

/// Whether any of the rows has a time of its own: else the server is told of no time at all (wire.md 4.5).
fn has_designated(table: &Table, rows: &Range<usize>) -> bool {
    table.designated.values_before(rows.start) < table.designated.values_before(rows.end)
}

/// The columns that these rows are sent with. One without a value among them is left out, since
/// absent is NULL, unless rows have named it and none gave it a value: that creates it. One whose
/// precision or scale is not known is always left out then (FLUSH-22).
fn sent<'a>(table: &'a Table, rows: &Range<usize>) -> impl Iterator<Item = &'a Column> {
    table.columns.iter().filter(move |column| {
        let has_values = column.values_before(rows.start) < column.values_before(rows.end);
        let is_known = match &column.values {
            Values::Geohash(geohashes) => geohashes.precision.is_some(),
            Values::Decimal(decimals) => decimals.scale.is_some(),
            _ => true,
        };
        column.is_set() && is_known && (has_values || column.values.count() == 0)
    })
}

fn bits<'a>(words: &'a [u64], rows: &Range<usize>) -> wire::Bits<'a> {
    wire::Bits { words, first: rows.start, count: rows.len() }
}

/// A column's values for a range of rows.
fn put_column(column: &Column, rows: Range<usize>, sink: &mut Sink<'_>) {
    fn part<T>(values: &[T], range: Range<usize>) -> &[T] {
        values.get(range).unwrap_or_default()
    }
    let at = column.values_before(rows.start)..column.values_before(rows.end);
    let nulls = (column.nulls.len() > 0).then(|| bits(column.nulls.words(), &rows));
    match &column.values {
        Values::Boolean(values) => wire::put_booleans(bits(values.words(), &rows), sink),
        Values::Byte(values) => wire::put_fixed(None, part(values, rows), sink),
        Values::Short(values) => wire::put_fixed(None, part(values, rows), sink),
        Values::Char(values) => wire::put_fixed(None, part(values, rows), sink),
        Values::Int(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Long(values) | Values::Date(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Float(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Double(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Symbol(symbols) => wire::put_symbols(nulls, part(&symbols.ids, at), sink),
        Values::Timestamp(values) | Values::TimestampNanos(values) => {
            wire::put_timestamps(nulls, part(values, at), sink);
        }
        Values::Uuid(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Long256(values) => wire::put_fixed(nulls, part(values, at), sink),
        Values::Geohash(geohashes) => {
            let precision = geohashes.precision.unwrap_or(1);
            wire::put_geohashes(precision, nulls, part(&geohashes.bits, at), sink);
        }
        Values::Varchar(blobs) | Values::Binary(blobs) => {
            wire::put_texts(nulls, part(&blobs.offsets, at.start..at.end + 1), &blobs.bytes, sink);
        }
        Values::Decimal(decimals) => {
            let (scale, values) = (decimals.scale.unwrap_or(0), part(&decimals.unscaled, at));
            match decimals.width {
                DecimalWidth::W64 => wire::put_decimals::<1>(scale, nulls, values, sink),
                DecimalWidth::W128 => wire::put_decimals::<2>(scale, nulls, values, sink),
                DecimalWidth::W256 => wire::put_decimals::<4>(scale, nulls, values, sink),
            }
        }
        Values::Array(arrays) => {
            let ends = part(&arrays.encoded.offsets, at.start..at.end + 1);
            let from = ends.first().map_or(0, |offset| *offset as usize);
            let to = ends.last().map_or(0, |offset| *offset as usize);
            wire::put_arrays(nulls, part(&arrays.encoded.bytes, from..to), sink);
        }
        Values::Ipv4(values) => wire::put_fixed(nulls, part(values, at), sink),
    }
}

/// What rows of a table take in a frame.
#[derive(Debug, Clone, Copy)]
struct Weight {
    /// At most, the dictionary entries they bring included.
    bytes: usize,
    /// Dictionary entries that the server knows behind them.
    symbols_end: u32,
}

/// As many of the rows, from the first on, as fit into `room`.
fn fit(buffer: &Buffer, table: &Table, rows: Range<usize>, symbols: u32, room: usize) -> Range<usize> {
    let mut count = rows.len();
    while count > 0 {
        let weight = weigh(buffer, table, rows.start..rows.start + count, symbols).bytes;
        if weight <= room {
            break;
        }
        // A little less than in proportion, so that the next guess holds as a rule.
        let guess = (count as u128 * room as u128 / weight as u128) as usize;
        count = (guess - guess / 64).min(count - 1);
    }
    rows.start..rows.start + count
}

fn weigh(buffer: &Buffer, table: &Table, rows: Range<usize>, symbols: u32) -> Weight {
    let mut bytes = 0;
    let (mut columns, mut names) = (1, 0);
    let mut symbols_end = symbols;
    for column in sent(table, &rows) {
        columns += 1;
        names += column.name().len();
        bytes += column_bytes(column, &rows, buffer.symbols.len(), &mut symbols_end);
    }
    bytes += wire::timestamps_max_len(rows.len(), rows.len());
    bytes += block::head_max_len(table.name().len(), columns, names);
    bytes += buffer.symbols.log.wire(symbols, symbols_end).map(<[u8]>::len).sum::<usize>();
    Weight { bytes, symbols_end }
}

/// The most bytes of a column's data. Raises `symbols_end` to what its ids need; all of them are below
/// `symbols_all`, so that they need not be looked at once it is reached.
fn column_bytes(column: &Column, rows: &Range<usize>, symbols_all: u32, symbols_end: &mut u32) -> usize {
    let at = column.values_before(rows.start)..column.values_before(rows.end);
    let (row_count, count) = (rows.len(), at.len());
    let span = |offsets: &[u32]| match (offsets.get(at.start), offsets.get(at.end)) {
        (Some(from), Some(to)) => (*to - *from) as usize,
        _ => 0,
    };
    let fixed = |bytes| wire::fixed_max_len(bytes, row_count, count);
    match &column.values {
        Values::Boolean(_) => wire::booleans_len(row_count),
        Values::Byte(_) => fixed(1),
        Values::Short(_) | Values::Char(_) => fixed(2),
        Values::Int(_) | Values::Float(_) | Values::Ipv4(_) => fixed(4),
        Values::Long(_) | Values::Double(_) | Values::Date(_) => fixed(8),
        Values::Uuid(_) => fixed(16),
        Values::Long256(_) => fixed(32),
        Values::Symbol(symbols) => {
            if *symbols_end == symbols_all {
                return wire::symbols_max_len(row_count, count, symbols_all);
            }
            let ids = symbols.ids.get(at).unwrap_or_default();
            let largest = ids.iter().fold(0, |largest, id| largest.max(*id));
            if !ids.is_empty() {
                *symbols_end = (*symbols_end).max(largest + 1);
            }
            wire::symbols_max_len(row_count, count, largest)
        }
        Values::Timestamp(_) | Values::TimestampNanos(_) => wire::timestamps_max_len(row_count, count),
        Values::Geohash(geohashes) => {
            wire::geohashes_max_len(geohashes.precision.unwrap_or(1), row_count, count)
        }
        Values::Varchar(blobs) | Values::Binary(blobs) => {
            wire::texts_max_len(row_count, count, span(&blobs.offsets))
        }
        Values::Decimal(decimals) => {
            let limbs = match decimals.width {
                DecimalWidth::W64 => 1,
                DecimalWidth::W128 => 2,
                DecimalWidth::W256 => 4,
            };
            wire::decimals_max_len(limbs, row_count, count)
        }
        Values::Array(arrays) => wire::arrays_max_len(row_count, span(&arrays.encoded.offsets)),
    }
}
