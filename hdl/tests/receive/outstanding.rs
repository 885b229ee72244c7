//! The reads of one VI that wait for their answers, as the contract of `receive/reads` has them: the model that `answers` compares with.

use std::collections::VecDeque;

use viaduct_hdl::bus::local;
use viaduct_spec::profile::READ_DEPTH;
use viaduct_spec::wire::syndrome;

/// PSNs are counted modulo this.
const PSNS: u64 = 1 << 24;

/// A read that left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub number: u64,
    pub region: u64,
    pub offset: u64,
    pub segments: u64,
    pub length: u64,
    pub psn: u64,
}

/// An answer from the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub response: bool,
    pub first: bool,
    pub last: bool,
    pub psn: u64,
    pub length: u64,
    pub syndrome: u64,
}

/// Where the payload of an answer goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub region: u64,
    pub offset: u64,
    pub segments: u64,
    pub index: u64,
    pub position: u64,
    pub fresh: bool,
}

/// What an answer that counts is told as.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub psn: u64,
    pub syndrome: u64,
    pub frame: u64,
    pub job: Option<Job>,
    /// It moves the oldest read on, once its payload is placed.
    pub moves: bool,
}

/// How far the oldest read has come.
#[derive(Clone, Debug, Default)]
struct Progress {
    psn: u64,
    left: u64,
    index: u64,
    position: u64,
}

/// What has been asked for with an implied NAK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Missed {
    #[default]
    No,
    Asked,
    /// And the read was sent again for that.
    Sent,
}

/// The reads of a VI.
#[derive(Clone, Debug, Default)]
pub struct Outstanding {
    reads: VecDeque<Read>,
    fresh: u64,
    progress: Option<Progress>,
    again: bool,
    missed: Missed,
}

impl Outstanding {
    /// One more may leave.
    pub fn has_room(&self) -> bool {
        self.reads.len() < READ_DEPTH
    }

    /// The number of the next one.
    pub fn fresh(&self) -> u64 {
        self.fresh
    }

    /// The reads that wait, the oldest first.
    pub fn reads(&self) -> &VecDeque<Read> {
        &self.reads
    }

    /// PSN and bytes that come next, if a read waits.
    pub fn next(&self) -> Option<(u64, u64)> {
        let oldest = self.reads.front()?;
        Some(self.progress.as_ref().map_or((oldest.psn, oldest.length), |p| (p.psn, p.left)))
    }

    /// A part of the oldest has come.
    pub fn started(&self) -> bool {
        self.progress.is_some()
    }

    /// A read leaves, for the first time or again.
    pub fn leave(&mut self, read: &Read) {
        if read.number == self.fresh {
            self.reads.push_back(read.clone());
            self.fresh = (self.fresh + 1) % 8;
        } else if self.reads.front().is_some_and(|oldest| oldest.number == read.number) {
            self.again = true;
            if self.progress.as_ref().is_some_and(|progress| progress.psn != read.psn) {
                // It was on its way when some of the answer came.
                return;
            }
            self.missed = match self.missed {
                Missed::Asked => Missed::Sent,
                Missed::No | Missed::Sent => Missed::No,
            };
        }
    }

    /// What an answer is told as; none if it does not count.
    pub fn judge(&mut self, packet: &Packet, mtu: u64) -> Option<Word> {
        let class = packet.syndrome >> 5 & 3;
        let frame = if packet.response { 2 } else { class };
        let itself = |syndrome: u64| Some(Word { psn: packet.psn, syndrome, frame, job: None, moves: false });
        // The code of a NAK: one that nobody has defined is NAK_OPERATIONAL's.
        let code = match packet.syndrome & 0x1F {
            4.. => u64::from(syndrome::NAK_OPERATIONAL) & 3,
            code => code,
        };
        let nak = (!packet.response && class == 3).then_some(code);
        let next = self.next().filter(|(psn, _)| {
            let distance = (packet.psn + PSNS - psn) % PSNS;
            let acknowledges = !packet.response && class == 0;
            (distance > 0 && distance < PSNS / 2) || (distance == 0 && acknowledges)
        });
        if let Some((psn, _)) = next {
            // Beyond what has not come.
            if let Some(code) = nak.filter(|code| *code != 0) {
                return itself(local::BEHIND | code);
            }
            let before = std::mem::replace(&mut self.missed, Missed::Asked);
            if before != Missed::No {
                self.missed = before;
                return None;
            }
            let syndrome = syndrome::NAK_SEQUENCE.into();
            return Some(Word { psn, syndrome, frame, job: None, moves: false });
        }
        if packet.response {
            return self.response(packet, mtu);
        }
        let told = nak.map_or(packet.syndrome, |code| u64::from(syndrome::NAK_SEQUENCE) | code);
        itself(told).filter(|_| class != 2)
    }

    /// A packet of an answer that is not beyond the one expected.
    fn response(&self, packet: &Packet, mtu: u64) -> Option<Word> {
        let (psn, left) = self.next()?;
        let oldest = self.reads.front()?;
        let is_last = left <= mtu;
        let length = if is_last { left } else { mtu };
        let opcode = if self.started() { !packet.first || self.again } else { packet.first };
        let acknowledges = packet.syndrome >> 5 & 3 == 0 || !(packet.first || packet.last);
        let fits =
            packet.psn == psn && packet.length == length && packet.last == is_last && opcode && acknowledges;
        let (index, position) = self.progress.as_ref().map_or((1, 0), |p| (p.index, p.position));
        let job = (length > 0).then(|| Job {
            region: oldest.region,
            offset: oldest.offset,
            segments: oldest.segments,
            index,
            position,
            fresh: !self.started(),
        });
        fits.then(|| Word { psn, syndrome: syndrome::ACK.into(), frame: 2, job, moves: true })
    }

    /// The packet that was told is placed, up to there.
    pub fn advance(&mut self, bytes: u64, index: u64, position: u64) {
        let (psn, left) = self.next().expect("a read");
        self.missed = Missed::No;
        self.progress = Some(Progress { psn: (psn + 1) % PSNS, left: left - bytes, index, position });
        if left == bytes {
            self.reads.pop_front();
            self.progress = None;
            self.again = false;
        }
    }
}
