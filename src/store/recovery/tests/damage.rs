//! The damage of store-and-forward.md 4.4, done to a slot on a simulated disk.

use super::*;
use crate::store::layout::{self, ENVELOPE_BYTES, HEADER_BYTES};
use crate::store::record::{self, Kind, Record};

/// A slot that is being damaged.
pub(super) struct Damage {
    pub(super) disk: SimDisk,
    pub(super) slot: PathBuf,
}

/// A segment with frames: name, base, and where each frame begins; the end of the last one behind it.
pub(super) struct Data {
    pub(super) name: String,
    pub(super) base: i64,
    pub(super) offsets: Vec<usize>,
}

impl Data {
    fn end(&self) -> usize {
        *self.offsets.last().unwrap()
    }
}

impl Damage {
    pub(super) fn contents(&self, name: &str) -> Vec<u8> {
        self.disk.contents(&self.slot.join(name)).unwrap_or_else(|| panic!("no {name}"))
    }

    pub(super) fn put(&self, name: &str, at: usize, bytes: &[u8]) {
        let file = self.disk.open(&self.slot.join(name), Access::Write).unwrap();
        file.write_at(bytes, at as u64).unwrap();
    }

    pub(super) fn make(&self, name: &str, bytes: &[u8]) {
        self.disk.put(&self.slot.join(name), bytes);
    }

    pub(super) fn cut(&self, name: &str, len: usize) {
        self.disk.open(&self.slot.join(name), Access::Write).unwrap().truncate(len as u64).unwrap();
    }

    pub(super) fn remove(&self, name: &str) {
        self.disk.unlink(&self.slot.join(name)).unwrap();
    }

    fn segment_names(&self) -> Vec<String> {
        names_in(&self.disk, &self.slot).into_iter().filter(|name| names::is_segment(name)).collect()
    }

    /// The segments with frames by their bases.
    pub(super) fn data(&self) -> Vec<Data> {
        let mut all = Vec::new();
        for name in self.segment_names() {
            let bytes = self.contents(&name);
            let base = i64::from_le_bytes(bytes[8..16].try_into().unwrap());
            let mut offsets = vec![HEADER_BYTES];
            while let Some((_, end)) = layout::checked_frame(&bytes, *offsets.last().unwrap()) {
                offsets.push(end);
            }
            if offsets.len() > 1 {
                all.push(Data { name, base, offsets });
            }
        }
        all.sort_by_key(|data| data.base);
        all
    }

    fn nth(&self, index: usize) -> Data {
        self.data().swap_remove(index)
    }

    fn active(&self) -> Data {
        self.data().pop().unwrap()
    }

    fn flip(&self, data: &Data, frame: usize) {
        self.put(&data.name, data.offsets[frame] + 12, &[0xff; 4]);
    }

    fn hole(&self, data: &Data, frame: usize) {
        let (from, to) = (data.offsets[frame], data.offsets[frame + 1]);
        self.put(&data.name, from, &vec![0; to - from]);
    }

    /// Zeroes the second half of the last frame, or gives its place.
    fn middle_of_last(data: &Data) -> usize {
        let [.., from, to] = data.offsets[..] else { panic!("no frame") };
        from + ENVELOPE_BYTES + (to - from - ENVELOPE_BYTES) / 2
    }

    fn manifest(&self, first: i64, second: i64) {
        let record = Record { generation: 40, first, second };
        self.put(names::MANIFEST, 0, &record.encode(Kind::Manifest));
    }

    fn watermark(&self, acked: i64) {
        let record = Record { generation: 5, first: acked, second: 0 };
        self.put(names::WATERMARK, 4096, &record.encode(Kind::Watermark));
    }

    /// Where the newest record of the manifest stands.
    fn newest(&self) -> usize {
        let records = record::Records::read(Kind::Manifest, &self.contents(names::MANIFEST)).unwrap();
        usize::try_from(records.newest.unwrap().offset()).unwrap()
    }

    fn defer(&self, data: &Data, frame: usize) {
        let (from, to) = (data.offsets[frame], data.offsets[frame + 1]);
        let mut payload = self.contents(&data.name)[from + ENVELOPE_BYTES..to].to_vec();
        // The flags of a message.
        payload[5] |= 0x01;
        let envelope = super::super::testing::sealed_envelope(&payload);
        self.put(&data.name, from, &[&envelope[..], &payload].concat());
    }

    /// Does what the case of that name says.
    pub(super) fn case(&self, name: &str) {
        let done = self.to_active(name)
            || self.to_sealed(name)
            || self.to_files(name)
            || self.to_manifest(name)
            || self.to_watermark(name)
            || self.to_dictionary(name)
            || self.to_the_rest(name);
        assert!(done, "no such case: {name}");
        self.disk.sync_all();
    }

    fn to_active(&self, name: &str) -> bool {
        let active = self.active();
        let frames = active.offsets.len() - 1;
        let middle = Damage::middle_of_last(&active);
        match name {
            "active_torn_last" => self.put(&active.name, middle, &vec![0; active.end() - middle]),
            "active_cut_file" => self.cut(&active.name, middle),
            "active_bad_length_last" => {
                self.put(&active.name, active.offsets[frames - 1] + 4, &i32::MAX.to_le_bytes());
            }
            "active_flip_interior" => self.flip(&active, 1),
            "active_hole_interior" => self.hole(&active, 1),
            "active_zero_header_interior" => self.put(&active.name, active.offsets[1], &[0; 8]),
            "active_empty_payload_frame" => {
                let empty = [&layout::crc(&[0; 4]).to_le_bytes()[..], &[0; 4]].concat();
                self.put(&active.name, active.end(), &empty);
            }
            "active_flip_first" => self.flip(&active, 0),
            "active_hole_first" => self.hole(&active, 0),
            "active_missing" => self.remove(&active.name),
            "active_bad_magic" => self.put(&active.name, 0, b"ABCD"),
            "active_version2" => self.put(&active.name, 4, &[2]),
            "active_unknown_flag" => self.put(&active.name, 5, &[3]),
            "active_reserved_nonzero" => self.put(&active.name, 6, &[1, 0]),
            _ => return false,
        }
        true
    }

    fn to_sealed(&self, name: &str) -> bool {
        let (head, sealed) = (self.nth(0), self.nth(1));
        let frames = sealed.offsets.len() - 1;
        match name {
            "head_hole_first" => self.hole(&head, 0),
            "sealed_hole_first" => self.hole(&sealed, 0),
            "sealed_flip_last" => self.flip(&sealed, frames - 1),
            "sealed_hole" => {
                let size = self.contents(&sealed.name).len();
                self.put(&sealed.name, sealed.offsets[2], &vec![0; size - sealed.offsets[2]]);
            }
            "sealed_residue" => self.put(&sealed.name, sealed.end(), &[0x11; 4]),
            "middle_missing" => self.remove(&sealed.name),
            "head_missing" => self.remove(&head.name),
            "head_bad_magic" => self.put(&head.name, 0, b"ABCD"),
            _ => return false,
        }
        true
    }

    fn to_files(&self, name: &str) -> bool {
        match name {
            "zero_length_sfa" => self.make("sf-00000000000000ff.sfa", b""),
            "short_sfa" => self.make("sf-00000000000000ff.sfa", b"SF01\x01\0\0\0"),
            "foreign_sfa" => self.make("hello.sfa", &b"not ours".repeat(100)),
            "foreign_files" => {
                self.make("notes.txt", b"x");
                self.disk.create_dir(&self.slot.join("subdir")).unwrap();
            }
            "stray_version2" => {
                let mut bytes = layout::header(Fsn::FIRST).to_vec();
                (bytes[4], bytes[5]) = (2, 1);
                bytes.extend([0; 1000]);
                self.make("sf-00000000000000ff.sfa", &bytes);
            }
            "segments_gone_manifest_left" => self.segment_names().iter().for_each(|name| self.remove(name)),
            _ => return false,
        }
        true
    }

    fn to_manifest(&self, name: &str) -> bool {
        let data = self.data();
        let [head, second, .., last] = &data[..] else { panic!("several segments") };
        match name {
            "manifest_missing" => self.remove(names::MANIFEST),
            "manifest_missing_unflagged" => {
                self.remove(names::MANIFEST);
                self.segment_names().iter().for_each(|name| self.put(name, 5, &[0]));
            }
            "manifest_both_bad" => {
                for at in [60, 4096 + 60] {
                    self.put(names::MANIFEST, at, &[0xde, 0xad, 0xbe, 0xef]);
                }
            }
            "manifest_newest_bad" => {
                self.put(names::MANIFEST, self.newest() + 60, &[0xde, 0xad, 0xbe, 0xef]);
            }
            "manifest_torn_in_rotation" => {
                let size = self.contents(&last.name).len();
                self.put(&last.name, HEADER_BYTES, &vec![0; size - HEADER_BYTES]);
                self.put(names::MANIFEST, self.newest() + 24, &[0xff; 8]);
            }
            "manifest_short" => self.cut(names::MANIFEST, 100),
            "manifest_head_moved_files_left" => self.manifest(second.base, last.base),
            "manifest_active_behind" => self.manifest(head.base, second.base),
            "manifest_active_beyond" => self.manifest(head.base, last.base + 100),
            _ => return false,
        }
        true
    }

    fn to_watermark(&self, name: &str) -> bool {
        let data = self.data();
        match name {
            "watermark_mid" => self.watermark(data[2].base + 1),
            "watermark_all" => self.watermark(29),
            "watermark_beyond" => self.watermark(1000),
            "watermark_below_minus_one" => self.watermark(-5),
            "watermark_missing" => self.remove(names::WATERMARK),
            "watermark_legacy16" => {
                self.make(names::WATERMARK, &[&b"AKW1\0\0\0\0"[..], &17_i64.to_le_bytes()].concat());
            }
            _ => return false,
        }
        true
    }

    fn to_dictionary(&self, name: &str) -> bool {
        let bytes = || self.contents(names::DICTIONARY);
        match name {
            "dict_missing" => self.remove(names::DICTIONARY),
            "dict_torn" => self.cut(names::DICTIONARY, bytes().len() / 2),
            "dict_zero_length" => self.cut(names::DICTIONARY, 0),
            "dict_bad_magic" => self.put(names::DICTIONARY, 0, b"ABCD"),
            "dict_unknown_version" => self.put(names::DICTIONARY, 4, &[9]),
            "dict_zero_tail" => self.put(names::DICTIONARY, bytes().len(), &[0; 4096]),
            "dict_disagrees" => {
                // the first chunk: two varints of a byte each, then the entries
                let mut bytes = bytes();
                let end = 10 + usize::from(bytes[9]);
                bytes[11] = b'Z';
                let crc = layout::crc(&bytes[8..end]);
                bytes[end..end + 4].copy_from_slice(&crc.to_le_bytes());
                self.make(names::DICTIONARY, &bytes);
            }
            "dict_lost_after_trim" => {
                let data = self.data();
                data[..2].iter().for_each(|data| self.remove(&data.name));
                self.manifest(data[2].base, data[data.len() - 1].base);
                self.watermark(data[2].base - 1);
                self.remove(names::DICTIONARY);
            }
            _ => return false,
        }
        true
    }

    fn to_the_rest(&self, name: &str) -> bool {
        match name {
            "deferred_tail" => {
                let active = self.active();
                let frames = active.offsets.len() - 1;
                (frames - 2..frames).for_each(|frame| self.defer(&active, frame));
            }
            "all_deferred" => {
                for data in self.data() {
                    (0..data.offsets.len() - 1).for_each(|frame| self.defer(&data, frame));
                }
            }
            "only_lock_left" => {
                for name in names_in(&self.disk, &self.slot).iter().filter(|name| *name != names::LOCK) {
                    self.remove(name);
                }
            }
            "failed_marker" => self.make(names::FAILED, b"test marker"),
            "node_owner_directory" => {
                let folder = self.slot.join(names::NODE_OWNER);
                self.disk.create_dir(&folder).unwrap();
                let json = br#"{"pid":1,"host":"elsewhere","token":"t","instance":"i"}"#;
                self.disk.put(&folder.join("owner"), json);
            }
            "node_temp_files" => {
                for name in ["sf-0000000000000009.sfa.tmp-1-x", ".symbol-dict.tmp-1-x"] {
                    self.make(name, &[0; 64]);
                }
            }
            _ => return false,
        }
        true
    }
}
