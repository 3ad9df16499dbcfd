//! A store on a simulated disk, and the keeper driven by hand.

mod closing;
mod keeping;
mod recovering;
mod room;
mod syncing;
mod writing;

use super::*;
use crate::sim::{DiskCall, SimClock, SimDisk};
use crate::store::appender::Refused;
use crate::store::create::{Recipe, create};
use crate::store::layout::{self, HEADER_BYTES, Header};
use crate::store::lock::SlotLock;
use crate::store::record::{Kind, Records, Watermark as WatermarkFile};
use crate::store::tending::Turn;
use crate::store::{dictionary as dictionary_file, names};

const ROOT: &str = "/root/slot";
/// 76 bytes for frames: three of 16 bytes, or one of 68.
const SEGMENT_BYTES: usize = 100;

/// A slot in use.
struct Rig {
    disk: SimDisk,
    clock: SimClock,
    config: SlotConfig,
    opened: Opened,
}

fn config(segments: u64, durability: Durability) -> SlotConfig {
    let segment_bytes = SEGMENT_BYTES as u64;
    SlotConfig {
        dir: PathBuf::from(ROOT),
        sizes: Config { segment_bytes, total_bytes: segments * segment_bytes },
        durability,
        sync_interval: Duration::from_secs(5),
    }
}

impl Rig {
    fn new(segments: u64, durability: Durability) -> Rig {
        Rig::with(&SimDisk::new(), config(segments, durability))
    }

    fn with(disk: &SimDisk, config: SlotConfig) -> Rig {
        let clock = SimClock::new();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        disk.create_dir(&config.dir).unwrap();
        let lock = SlotLock::acquire(&*shared, &config.dir).unwrap();
        let segment_bytes = usize::try_from(config.sizes.segment_bytes).unwrap();
        let recipe = Recipe { segment_bytes, durability: config.durability, created_us: 7, generation: 0 };
        let found = create(&shared, &config.dir, recipe).unwrap();
        let opened = assemble(found, &config, &site(disk, &clock), lock).unwrap();
        disk.take_log();
        Rig { disk: disk.clone(), clock, config, opened }
    }

    fn append(&mut self, payloads: &[&[u8]]) -> std::result::Result<Fsn, Refused> {
        let bounds: Vec<usize> = payloads.iter().map(|payload| payload.len()).collect();
        let mut group = self.opened.appender.begin(&bounds)?;
        for payload in payloads {
            group.frame(payload.len()).unwrap().copy_from_slice(payload);
            group.seal(payload.len());
        }
        group.publish()
    }

    /// Appends one frame of `len` bytes, each of them `byte`; the keeper works while there is no room.
    fn put(&mut self, byte: u8, len: usize) {
        for _ in 0..20 {
            match self.append(&[&vec![byte; len]]) {
                Ok(_) => return,
                Err(Refused::Full { .. }) => drop(self.tend()),
                Err(refused) => panic!("{refused:?}"),
            }
        }
        panic!("no room");
    }

    fn ack(&mut self, fsn: i64) {
        self.opened.cursor.acked(Fsn::new(fsn).unwrap());
    }

    /// Has the keeper do what is due.
    fn tend(&self) -> Deadline {
        for _ in 0..1000 {
            if let Turn::Wait(deadline) = self.opened.storage.tending.turn(self.clock.now()) {
                return deadline;
            }
        }
        panic!("the keeper finds no end");
    }

    /// The keeper at its next deadline.
    fn tend_later(&self, seconds: u64) -> Deadline {
        self.clock.advance(Duration::from_secs(seconds));
        self.tend()
    }

    fn read(&mut self, fsn: i64) -> Option<Vec<u8>> {
        self.opened.cursor.frame(Fsn::new(fsn).unwrap()).unwrap().map(<[u8]>::to_vec)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config.dir.join(name)
    }

    fn names(&self) -> Vec<String> {
        self.disk.list(&self.config.dir).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    fn calls(&self) -> Vec<DiskCall> {
        self.disk.take_log().into_iter().map(|(call, _)| call).collect()
    }

    fn bounds(&self) -> (i64, i64) {
        bounds(&self.disk)
    }

    fn watermark(&self) -> Option<i64> {
        WatermarkFile::read(&self.disk.contents(&self.path(names::WATERMARK)).unwrap()).acked
    }
}

fn site(disk: &SimDisk, clock: &SimClock) -> Site {
    Site {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(clock.clone()),
        keeper: Keeper::new(Arc::new(clock.clone())),
    }
}

fn bounds(disk: &SimDisk) -> (i64, i64) {
    let manifest = disk.contents(&Path::new(ROOT).join(names::MANIFEST)).unwrap();
    let record = Records::read(Kind::Manifest, &manifest).unwrap().newest.unwrap();
    (record.first, record.second)
}

/// The frames of a segment, and where they end.
fn frames(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
    let (mut frames, mut end) = (Vec::new(), HEADER_BYTES);
    while let Some((payload, next)) = layout::checked_frame(bytes, end) {
        frames.push(payload.to_vec());
        end = next;
    }
    (frames, end)
}

/// Reads a slot as strictly as the strictest peer, and returns its first number and frames (2.12).
fn strict(disk: &SimDisk) -> (i64, Vec<Vec<u8>>) {
    let (head, active) = bounds(disk);
    let segments = disk.snapshot().into_iter().filter(|(path, _)| path.to_string_lossy().ends_with(".sfa"));
    let mut chain: Vec<_> = segments
        .filter_map(|(path, bytes)| {
            // A spare of which a power cut left nothing.
            let header = Header::decode(&bytes).ok()?;
            assert!(header.flagged, "{path:?}");
            let (frames, end) = frames(&bytes);
            Some((header.base.as_i64(), frames, bytes[end..].to_vec()))
        })
        .collect();
    assert!(chain.iter().any(|(base, ..)| *base == active), "FMT-22: the active segment is there");
    chain.retain(|(base, frames, _)| {
        // Left over from a trim that was cut short.
        let left_over = base + (frames.len() as i64) <= head && *base != active;
        !frames.is_empty() && !left_over
    });
    chain.sort_by_key(|(base, ..)| *base);
    let (mut next, mut all) = (head, Vec::new());
    for (base, frames, rest) in chain {
        assert_eq!(base, next, "FMT-22: contiguous from the head on");
        assert!(base <= active, "FMT-22: no frames above the active base");
        assert!(base == active || rest.iter().all(|&byte| byte == 0), "FMT-23");
        next += frames.len() as i64;
        all.extend(frames);
    }
    assert!(next >= active, "FMT-22: the chain reaches the active base");
    (head, all)
}

fn texts(disk: &SimDisk) -> Vec<String> {
    let file = disk.contents(&Path::new(ROOT).join(names::DICTIONARY)).unwrap();
    dictionary_file::read(&file).texts.iter().map(str::to_owned).collect()
}
