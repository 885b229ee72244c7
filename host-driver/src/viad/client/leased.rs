//! A session that viad trusts with the function: this process maps its memory by itself, at DMA addresses that it has leased, and rings the
//! function's own doorbells. The rows of its regions are viad's.

use std::{
    collections::BTreeMap,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::{
    event::{poll, PollFd, PollFlags},
    io::Errno,
    process::{pidfd_open, Pid, PidfdFlags},
    time::Timespec,
};

use super::{
    super::{
        doorbell_page::Kind,
        protocol::{Answer, Function, Request},
        socket::Buffer,
    },
    exchange::{exchange, of_number, unexpected},
    Client,
};
use crate::{
    device::{sharing::OpenSpace, DeviceError, DmaAccess, PciDevice},
    dma_space::DmaSpace,
    kernel_agent::{AgentError, Limits, MemoryAttributes},
    memory,
    pages::{whole_pages, Cover},
    queues::doorbells::Doorbells,
    vfio::Vfio,
};

/// How long a viad that has closed its socket may take to end: the kernel closes files first.
const DEATH: Duration = Duration::from_secs(1);

/// The function, and a lease of its DMA addresses.
pub(super) struct Leased {
    device: Arc<dyn PciDevice>,
    /// The NIC's own sizes.
    nic: Limits,
    /// Maps at a time.
    most: usize,
    /// Bytes of all of them together.
    bytes: u64,
    state: Mutex<State>,
    /// viad's process, where it can be seen from here.
    viad: Option<OwnedFd>,
    /// The function is let go of. Who comes while another thread does so waits until it has.
    is_over: Mutex<bool>,
}

struct State {
    /// Addresses where nothing is mapped.
    space: DmaSpace,
    /// Maps, with those that are being made or undone.
    count: usize,
    /// By handles.
    maps: BTreeMap<u32, Map>,
    /// Of regions that are deregistered, and that the kernel did not unmap.
    stuck: Vec<(u32, Map)>,
}

/// Memory that is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Map {
    iova: u64,
    bytes: u64,
}

impl Leased {
    /// Asks viad, which is this process, for the function, at the beginning of a session. `gone` is the error of a viad that says what it should
    /// not.
    pub(super) fn ask(
        socket: &OwnedFd,
        buffer: &mut Buffer,
        viad: Option<Pid>,
        gone: &dyn Fn(String) -> DeviceError,
    ) -> Result<Self, AgentError> {
        // It is connected with us: so the number is its own. Without the descriptor nobody hears of its end but by the socket.
        let viad = viad.and_then(|viad| pidfd_open(viad, PidfdFlags::empty()).ok());
        let (reply, files) = exchange(socket, buffer, &Request::Function, &[]).map_err(gone)?;
        let function = match reply? {
            Answer::Function(function) => function,
            other => return Err(gone(unexpected(&other)).into()),
        };
        let [device, space] = of_number(files).map_err(gone)?;
        let space = match function.ioas {
            None => OpenSpace::Container(space),
            Some(ioas) => OpenSpace::Iommufd { iommufd: space, ioas },
        };
        let device = Vfio::of_descriptors(&function.address, device, space)?;
        Ok(Self::of(Arc::new(device), &function, viad))
    }

    fn of(device: Arc<dyn PciDevice>, function: &Function, viad: Option<OwnedFd>) -> Self {
        let last = function.first.saturating_add(function.bytes.saturating_sub(1));
        let space = DmaSpace::new(&[function.first..=last]);
        let state = State { space, count: 0, maps: BTreeMap::new(), stuck: Vec::new() };
        let Function { nic, bytes, maps, .. } = *function;
        let (most, state, is_over) = (maps as usize, Mutex::new(state), Mutex::new(false));
        Self { device, nic, most, bytes, state, viad, is_over }
    }

    /// viad has ended the session, or itself. If it is dead nobody drives the NIC any more, which may still do what was posted: its DMA is
    /// stopped before the memory is unmapped. The next viad can have it when all who had it have let go of it.
    pub(super) fn orphaned(&self) {
        self.let_go(|| self.viad.as_ref().is_some_and(|viad| ends_within(viad, DEATH)));
    }

    /// Lets go of the function, once. Whether its DMA is to be stopped before, `stop` says.
    fn let_go(&self, stop: impl FnOnce() -> bool) {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *is_over, true) {
            return;
        }
        let stop = stop();
        let Some(sharing) = self.device.sharing() else { return };
        if let Err(error) = sharing.let_go(stop) {
            tracing::warn!(%error, "the function is held until its NIC is closed");
        }
    }

    /// Bytes of memory that may be registered at a time.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // It holds together after each step: what a thread that panicked left is usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The function's doorbell page of a VI or completion queue.
    pub(super) fn doorbells(&self, kind: Kind, index: u16) -> Doorbells {
        let page = match kind {
            Kind::Vi => self.nic.vi_page(index),
            Kind::Cq => self.nic.cq_page(index),
        };
        Doorbells::of_device(Arc::clone(&self.device), page)
    }

    /// Maps whole pages of this process's memory.
    ///
    /// # Safety
    /// As [`PciDevice::map_dma`], until [`Leased::unmap`] has returned without an error.
    unsafe fn map(&self, start: u64, bytes: u64, access: DmaAccess) -> Result<Map, AgentError> {
        let map = {
            let mut state = self.state();
            if state.count >= self.most {
                return Err(AgentError::Maps(self.most));
            }
            let all = state.space.bytes();
            let found =
                Cover::all(start, bytes).find_map(|cover| state.space.allocate(bytes, start, cover.size()));
            let iova = found.ok_or(AgentError::DmaAddresses { length: bytes, all })?;
            state.count += 1;
            Map { iova, bytes }
        };
        // Others map meanwhile.
        // SAFETY: the caller's promise.
        let mapped = unsafe { self.device.map_dma(map.iova, start as usize, bytes as usize, access) };
        mapped.inspect_err(|_| self.free(map))?;
        Ok(map)
    }

    /// Takes memory back. Its addresses are used again only if the kernel has unmapped all of it.
    fn unmap(&self, map: Map) -> Result<(), DeviceError> {
        self.device.unmap_dma(map.iova, map.bytes as usize)?;
        self.free(map);
        Ok(())
    }

    fn free(&self, map: Map) {
        let mut state = self.state();
        state.space.release(map.iova, map.bytes);
        state.count -= 1;
    }

    /// A region that viad has no row of any more, but that the kernel did not unmap.
    fn take_stuck(&self, handle: u32) -> Option<Map> {
        let mut state = self.state();
        let n = state.stuck.iter().position(|(stuck, _)| *stuck == handle)?;
        Some(state.stuck.swap_remove(n).1)
    }
}

impl Client {
    /// Maps memory, and has viad write its rows.
    ///
    /// # Safety
    /// As [`crate::kernel_agent::KernelAgent::register`].
    pub(super) unsafe fn register_leased(
        &self,
        leased: &Leased,
        address: u64,
        length: u64,
        attributes: MemoryAttributes,
    ) -> Result<u32, AgentError> {
        self.check_here()?;
        let (start, bytes) = whole_pages(address, length).ok_or(AgentError::Range { address, length })?;
        let access = memory::access(start, start + bytes)?;
        // SAFETY: the caller's promise.
        let map = unsafe { leased.map(start, bytes, access) }?;
        let (iova, read_only) = (map.iova, access == DmaAccess::Read);
        let request = Request::RegisterLeased(iova, address, length, read_only, attributes);
        match self.handle(&request) {
            Ok(handle) => {
                leased.state().maps.insert(handle, map);
                Ok(handle)
            }
            Err(error) => {
                // Whether viad has a row of it or not: what is not mapped is not reached.
                leased.unmap(map)?;
                Err(error)
            }
        }
    }

    /// Has viad clear a row, and unmaps the memory behind that.
    pub(super) fn deregister_leased(&self, leased: &Leased, handle: u32) -> Result<(), AgentError> {
        let map = match leased.take_stuck(handle) {
            Some(map) => map,
            None => {
                self.done(&Request::Deregister(handle))?;
                // From here on viad may give the handle to other memory.
                leased.state().maps.remove(&handle).ok_or(AgentError::UnknownHandle(handle))?
            }
        };
        leased.unmap(map).inspect_err(|_| leased.state().stuck.push((handle, map)))?;
        Ok(())
    }

    /// Ends the registrations that are left, unmaps their memory, and tells viad, which may lease the addresses to others then. If that fails, viad waits
    /// for this process's end.
    pub(super) fn end_lease(&self) {
        let Some(leased) = &self.leased else { return };
        if self.bell.check().is_err() {
            // A viad that has died has ended no VI: this thread must not unmap before the watch has stopped the DMA.
            return leased.orphaned();
        }
        let (maps, stuck) = {
            let mut state = leased.state();
            (std::mem::take(&mut state.maps), std::mem::take(&mut state.stuck))
        };
        let stuck = stuck.into_iter().map(|(_, map)| map);
        // What viad has a row of the NIC may reach. All of them, whatever the first error is.
        let rows = maps.into_iter().map(|(handle, map)| {
            self.done(&Request::Deregister(handle))?;
            Ok(leased.unmap(map)?)
        });
        let all = stuck.map(|map| Ok(leased.unmap(map)?)).chain(rows);
        if all.filter(Result::<(), AgentError>::is_err).count() == 0 {
            let _ = self.done(&Request::EndLease);
            leased.let_go(|| false);
        }
    }
}

/// Whether a process ends in this time.
fn ends_within(pidfd: &OwnedFd, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    let mut files = [PollFd::new(pidfd, PollFlags::IN)];
    loop {
        match poll(&mut files, limit.as_ref()) {
            Err(Errno::INTR) => {}
            ended => return ended.is_ok_and(|count| count > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Deed, Ledger};

    const FIRST: u64 = 1 << 30;

    fn leased(bytes: u64, maps: u32) -> (Arc<Ledger>, Leased) {
        let ledger = Arc::new(Ledger::new());
        let nic = Limits {
            vis: 4,
            cqs: 3,
            regions: 8,
            pages: 16,
            doorbell_shift: 12,
            receive_ahead: 4,
            read_depth: 4,
        };
        let function = Function { address: String::new(), ioas: None, nic, first: FIRST, bytes, maps };
        let leased = Leased::of(Arc::clone(&ledger) as _, &function, None);
        (ledger, leased)
    }

    fn map(leased: &Leased, start: u64, bytes: u64) -> Result<Map, AgentError> {
        // SAFETY: the ledger never touches what is mapped.
        unsafe { leased.map(start, bytes, DmaAccess::ReadWrite) }
    }

    #[test]
    fn maps_lie_in_the_lease_and_are_congruent_where_there_is_room() {
        let (ledger, leased) = leased(16 << 12, 100);
        let one = map(&leased, 0x7000_3000, 0x3000).expect("room");
        assert_eq!(one.iova % 0x4000, 0x3000);
        let books = ledger.books().maps.clone();
        assert!(books.iter().all(|(at, (bytes, _))| *at >= FIRST && at + bytes <= FIRST + (16 << 12)));
        let error = map(&leased, 0x7000_0000, 16 << 12).expect_err("less is free").to_string();
        assert!(error.contains("0x10000 bytes"), "{error}");
        leased.unmap(one).expect("it is mapped");
        let all = map(&leased, 0x7000_0000, 16 << 12).expect("all of it is free");
        assert_eq!(all.iova, FIRST);
    }

    #[test]
    fn no_more_maps_than_viad_has_room_for() {
        let (_ledger, leased) = leased(1 << 20, 2);
        let [one, _two] = [0, 1].map(|n| map(&leased, 0x1000 * n, 0x1000).expect("two"));
        assert!(matches!(map(&leased, 0x5000, 0x1000), Err(AgentError::Maps(2))));
        leased.unmap(one).expect("it is mapped");
        map(&leased, 0x5000, 0x1000).expect("one may be made again");
    }

    #[test]
    fn addresses_that_the_kernel_did_not_unmap_are_not_used_again() {
        let (ledger, leased) = leased(0x2000, 10);
        let one = map(&leased, 0x1000, 0x2000).expect("all of it");
        let kept = std::mem::take(&mut ledger.books().maps);
        leased.unmap(one).expect_err("the ledger does not know it");
        ledger.books().maps = kept;
        assert!(map(&leased, 0x1000, 0x1000).is_err(), "there is no room");
        leased.unmap(one).expect("it is mapped");
        map(&leased, 0x1000, 0x1000).expect("room");
    }

    #[test]
    fn a_map_that_fails_leaves_its_addresses_free() {
        let (ledger, leased) = leased(0x1000, 1);
        ledger.books().maps_left = 0;
        assert!(matches!(map(&leased, 0, 0x1000), Err(AgentError::Device(_))));
        ledger.books().maps_left = 1;
        map(&leased, 0, 0x1000).expect("room");
        assert_eq!(ledger.take_deeds().iter().filter(|deed| matches!(deed, Deed::Map { .. })).count(), 1);
    }

    #[test]
    fn who_is_orphaned_lets_go_once_and_stops_the_dma_of_a_viad_that_died() {
        let (ledger, mut leased) = leased(0x1000, 1);
        let mut viad = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
        let pid = Pid::from_child(&viad);
        leased.viad = Some(pidfd_open(pid, PidfdFlags::empty()).expect("it lives"));
        assert!(!ends_within(leased.viad.as_ref().expect("set"), Duration::ZERO));
        viad.kill().expect("it lives");
        leased.orphaned();
        leased.orphaned();
        leased.let_go(|| false);
        assert_eq!(ledger.take_deeds(), [Deed::LetGo(true)]);
        viad.wait().expect("it has ended");
        // One that nobody can see may live: its NIC is left as it is.
        let (ledger, leased) = self::leased(0x1000, 1);
        leased.orphaned();
        assert_eq!(ledger.take_deeds(), [Deed::LetGo(false)]);
    }

    #[test]
    fn who_comes_while_the_dma_is_being_stopped_waits() {
        let (ledger, leased) = leased(0x1000, 1);
        std::thread::scope(|scope| {
            let (told, under_way) = std::sync::mpsc::channel();
            let leased = &leased;
            scope.spawn(move || {
                leased.let_go(|| {
                    told.send(()).expect("it is waited for");
                    std::thread::sleep(Duration::from_millis(50));
                    true
                });
            });
            under_way.recv().expect("it begins");
            leased.orphaned();
            assert_eq!(ledger.take_deeds(), [Deed::LetGo(true)]);
        });
    }

    #[test]
    fn doorbells_are_the_function_s_own() {
        let (ledger, leased) = leased(0x1000, 1);
        leased.doorbells(Kind::Vi, 3).store(8, 5).expect("a store");
        leased.doorbells(Kind::Cq, 2).store(0, 6).expect("a store");
        let rung = [Deed::Doorbell { offset: 0x3008, token: 5 }, Deed::Doorbell { offset: 0x6000, token: 6 }];
        assert_eq!(ledger.take_deeds(), rung);
    }
}
