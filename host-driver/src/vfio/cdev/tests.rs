//! Maps of an iommufd, against a stand-in of the kernel's calls: Linux 6.13's answers by `drivers/iommu/iommufd`, and those of kernels before it.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::MetadataExt,
    sync::{atomic::AtomicBool, Arc, Mutex, MutexGuard},
};

use iommufd_bindings::iommufd::iommu_ioas_map_file;

use super::{
    super::{
        info::{DeviceInfo, RegionInfo},
        Vfio,
    },
    memfd::IOAS_MAP_FILE,
    *,
};
use crate::{
    device::{sharing::Sharing, DeviceError, DmaAccess, PciDevice},
    fork::Birth,
    memory::Mapping,
    pci::Machine,
    vfio::region::Region,
};

const IOAS: u32 = 7;
const PAGE: usize = 4096;

/// An iommufd with one address space.
struct StandIn {
    null: File,
    /// What the kernel says to the call that maps a memfd, if it has it not.
    lacks: Option<i32>,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    /// Structures of maps and unmaps that came, as 32-bit words.
    calls: Vec<(libc::Ioctl, Vec<u32>)>,
    /// Bytes by DMA address.
    maps: BTreeMap<u64, u64>,
    /// Inodes of files that were mapped.
    files: BTreeSet<u64>,
    /// What the kernel says to the next map.
    fails: Option<i32>,
    /// DMA addresses that it may map: first and last of each range.
    ranges: Vec<(u64, u64)>,
}

impl StandIn {
    fn new(lacks: Option<i32>) -> Arc<Self> {
        let null = File::open("/dev/null").expect("it is there");
        Arc::new(Self { null, lacks, books: Mutex::default() })
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().expect("no test panics with the books open")
    }

    /// What came since the last time this was asked.
    fn take_calls(&self) -> Vec<(libc::Ioctl, Vec<u32>)> {
        std::mem::take(&mut self.books().calls)
    }

    fn map_file(&self, map: &mut iommu_ioas_map_file) -> Result<(), i32> {
        if map.flags & !7 != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        // The order of the kernel's: the address space, the file, the range.
        if map.ioas_id != IOAS {
            return Err(libc::ENOENT);
        }
        if map.fd < 0 {
            return Err(libc::EBADF);
        }
        // SAFETY: the caller's descriptor, open during the call.
        let file = unsafe { BorrowedFd::borrow_raw(map.fd) }.try_clone_to_owned().expect("it is open");
        let file = File::from(file).metadata().expect("a file");
        if map.start + map.length > file.len() {
            return Err(libc::EINVAL);
        }
        self.map(map.iova, map.length)?;
        self.books().files.insert(file.ino());
        Ok(())
    }

    fn map(&self, iova: u64, length: u64) -> Result<(), i32> {
        let mut books = self.books();
        if let Some(errno) = books.fails.take() {
            return Err(errno);
        }
        if books.maps.iter().any(|(start, bytes)| iova < start + bytes && *start < iova + length) {
            return Err(libc::EEXIST);
        }
        books.maps.insert(iova, length);
        Ok(())
    }

    /// The kernel writes as many ranges as there is room for, says how many there are, and fails if that is more.
    fn ranges(&self, asked: &mut iommu_ioas_iova_ranges) -> Result<(), i32> {
        if asked.ioas_id != IOAS {
            return Err(libc::ENOENT);
        }
        if asked.__reserved != 0 {
            return Err(libc::EOPNOTSUPP);
        }
        let books = self.books();
        let room = std::mem::replace(&mut asked.num_iovas, books.ranges.len() as u32) as usize;
        for (number, (start, last)) in books.ranges.iter().take(room).enumerate() {
            let range = iommu_iova_range { start: *start, last: *last };
            // SAFETY: the caller says that it has room for so many.
            unsafe { (asked.allowed_iovas as *mut iommu_iova_range).add(number).write(range) };
        }
        asked.out_iova_alignment = 4096;
        if room < books.ranges.len() {
            return Err(libc::EMSGSIZE);
        }
        Ok(())
    }

    fn unmap(&self, unmap: &mut iommu_ioas_unmap) -> Result<(), i32> {
        let mut books = self.books();
        let end = unmap.iova + unmap.length;
        let there: Vec<_> =
            books.maps.range(unmap.iova..end).map(|(start, bytes)| (*start, *bytes)).collect();
        if unmap.ioas_id != IOAS || there.is_empty() {
            return Err(libc::ENOENT);
        }
        unmap.length = 0;
        for (start, bytes) in there {
            books.maps.remove(&start);
            unmap.length += bytes;
        }
        Ok(())
    }
}

impl AsFd for StandIn {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.null.as_fd()
    }
}

impl Calls for Arc<StandIn> {
    unsafe fn call(&self, number: libc::Ioctl, argument: *mut c_void) -> io::Result<i32> {
        // SAFETY: each structure begins with its size in bytes, by the kernel's rule.
        let words = unsafe {
            let size = argument.cast::<u32>().read() as usize;
            std::slice::from_raw_parts(argument.cast::<u32>(), size / 4).to_vec()
        };
        self.books().calls.push((number, words));
        // SAFETY: what the number says that it is.
        let answer = unsafe {
            match number {
                IOAS_MAP_FILE => match self.lacks {
                    Some(errno) => Err(errno),
                    None => self.map_file(&mut *argument.cast()),
                },
                IOAS_MAP => {
                    let map = argument.cast::<iommu_ioas_map>().read();
                    self.map(map.iova, map.length)
                }
                IOAS_UNMAP => self.unmap(&mut *argument.cast()),
                IOAS_IOVA_RANGES => self.ranges(&mut *argument.cast()),
                _ => Err(libc::ENOTTY),
            }
        };
        answer.map(|()| 0).map_err(io::Error::from_raw_os_error)
    }
}

/// Low and high word.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The words of a structure of four words of 32 bits and three of 64.
fn words(first: [u32; 4], rest: [u64; 3]) -> Vec<u32> {
    first.into_iter().chain(rest.into_iter().flat_map(halves)).collect()
}

/// A function of nothing but an address space; DMA addresses to 4 GiB.
fn function(kernel: &Arc<StandIn>) -> Vfio {
    let folder = tempfile::tempdir().expect("a folder");
    let root = |name: &str| folder.path().join(name);
    let machine = Machine { sys: root("sys"), dev: root("dev"), proc: root("proc") };
    let sysfs = root("sys/bus/pci/devices/0000:01:00.0");
    std::fs::create_dir_all(&sysfs).expect("room");
    for name in ["vendor", "device"] {
        std::fs::write(sysfs.join(name), "0x1234\n").expect("room");
    }
    let found = machine.function("0000:01:00.0".parse().expect("an address")).expect("a folder");
    let found = found.expect("it is there");
    let device = tempfile::tempfile().expect("a file");
    let none = RegionInfo { accessible: true, size: 0, offset: 0, areas: Vec::new() };
    let region = || Region::new(&device, &none, false).expect("nothing to map");
    let (registers, doorbells, config) = (region(), region(), region());
    Vfio {
        born: Birth::now(),
        name: found.name(),
        machine,
        function: found,
        maps: Mutex::default(),
        interrupts: Mutex::new(false),
        vectors: 0,
        resets: DeviceInfo { pci: true, resets: false }.resets,
        ranges: vec![0..=0xffff_ffff],
        answers: AtomicBool::new(false),
        registers,
        doorbells,
        config,
        device,
        space: Box::new(Space::new(Arc::clone(kernel), IOAS)),
    }
}

#[test]
fn a_kernel_that_maps_memfds_is_asked_once_and_told_each_field() {
    let kernel = StandIn::new(None);
    let space = Space::new(Arc::clone(&kernel), IOAS);
    // linux/iommufd.h: type ';', 0x8f; 40 bytes; FIXED_IOVA 1, WRITEABLE 2, READABLE 4; fd -1.
    let asked = words([40, 1 | 4, IOAS, u32::MAX], [0, 4096, 0]);
    assert_eq!(kernel.take_calls(), [(0x3b8f, asked)]);
    assert!(space.maps_memfds());
    assert!(kernel.books().maps.is_empty(), "the question maps nothing");

    let (view, file) = Mapping::shared("pool", 8 * PAGE).expect("memory");
    let (iova, fd) = (0x1_2345_6000, file.as_raw_fd() as u32);
    // It is the file that is mapped.
    drop(view);
    space.map_memfd(iova, file.as_fd(), 0x3000, 2 * PAGE, true).expect("in the file");
    assert_eq!(
        kernel.take_calls(),
        [(0x3b8f, words([40, 1 | 2 | 4, IOAS, fd], [0x3000, 2 * PAGE as u64, iova]))]
    );
    let inode = File::from(file.try_clone().expect("a descriptor")).metadata().expect("a file").ino();
    assert_eq!(kernel.books().files, [inode].into());
    space.map_memfd(0, file.as_fd(), 0, PAGE, false).expect("in the file");
    assert_eq!(
        kernel.take_calls(),
        [(0x3b8f, words([40, 1 | 4, IOAS, fd], [0, 4096, 0]))],
        "not for writing"
    );

    assert_eq!(space.unmap(iova, 2 * PAGE).expect("it is mapped"), 2 * PAGE as u64);
    let [low, high] = halves(iova);
    assert_eq!(kernel.take_calls(), [(0x3b86, vec![24, IOAS, low, high, 2 * PAGE as u32, 0])]);
    assert_eq!(kernel.books().maps, [(0, 4096)].into());
}

#[test]
fn a_kernel_without_the_call_maps_views() {
    for errno in [libc::ENOTTY, libc::EOPNOTSUPP, libc::EINVAL, libc::ENOENT] {
        let kernel = StandIn::new(Some(errno));
        let function = function(&kernel);
        assert!(!function.maps_memfds(), "errno {errno}");
        assert_eq!(kernel.take_calls().len(), 1, "asked once");
        let (view, _file) = Mapping::shared("pool", PAGE).expect("memory");
        let address = view.start().as_ptr() as usize;
        // SAFETY: no device reaches it.
        unsafe { function.map_dma(0x5000, address, PAGE, DmaAccess::ReadWrite) }.expect("memory");
        let calls = kernel.take_calls();
        assert_eq!(calls, [(0x3b85, words([40, 7, IOAS, 0], [address as u64, 4096, 0x5000]))]);
        function.unmap_dma(0x5000, PAGE).expect("it is mapped");
        assert!(kernel.books().maps.is_empty());
    }
}

#[test]
fn a_function_maps_memfds_unmaps_them_and_names_what_the_kernel_refuses() {
    let kernel = StandIn::new(None);
    let function = function(&kernel);
    assert!(function.maps_memfds());
    let (_view, file) = Mapping::shared("pool", 4 * PAGE).expect("memory");
    let map =
        |iova, offset, length| function.map_memfd(iova, file.as_fd(), offset, length, DmaAccess::ReadWrite);
    map(0x5000, 0, 2 * PAGE).expect("in the file");
    let named = |error: DeviceError| {
        let text = error.to_string();
        assert!(text.contains("of a memfd to DMA address"), "{text}");
        text
    };
    let error = named(map(0x6000, 0, PAGE).expect_err("mapped already"));
    assert!(error.contains("part of it is mapped already"), "{error}");
    let error = named(map(0x8000, 0x3000, 2 * PAGE).expect_err("behind the file's end"));
    assert!(error.contains("0x2000 bytes at 0x3000") && error.contains("Invalid argument"), "{error}");
    for (iova, offset) in [(0x8001, 0), (0x8000, 1)] {
        let error = named(map(iova, offset, PAGE).expect_err("no pages"));
        assert!(error.contains("not in whole pages"), "{error}");
    }
    let fails = |errno, iova| {
        kernel.books().fails = Some(errno);
        named(map(iova, 0, PAGE).expect_err("the kernel refuses it"))
    };
    let error = fails(libc::EINVAL, 1 << 32);
    assert!(error.contains("the IOMMU translates 0x0 to 0xffffffff"), "{error}");
    let error = fails(libc::ENOMEM, 0x8000);
    assert!(error.contains("Cannot allocate memory"), "{error}");
    let error = fails(libc::EPERM, 0x8000);
    assert!(error.contains("Operation not permitted"), "{error}");
    assert_eq!(kernel.books().maps, [(0x5000, 2 * PAGE as u64)].into(), "what failed left nothing");

    map(0x8000, 0x1000, PAGE).expect("nothing is there");
    function.unmap_dma(0x5000, PAGE).expect_err("a map is taken back whole");
    function.unmap_dma(0x5000, 2 * PAGE).expect("it is mapped");
    assert_eq!(kernel.books().maps, [(0x8000, 4096)].into());
    drop(function);
    assert!(kernel.books().maps.is_empty(), "its end takes back what is left");
}

#[test]
fn all_ranges_of_dma_addresses_are_found() {
    // Room for 64 is tried first.
    for count in [0, 1, 64, 65, 200] {
        let kernel = StandIn::new(None);
        let ranges: Vec<_> = (0..count).map(|number| (number << 32, (number << 32) + 0xffff)).collect();
        kernel.books().ranges = ranges.clone();
        let space = Space::new(Arc::clone(&kernel), IOAS);
        kernel.take_calls();
        let info = space.info().expect("it answers");
        assert_eq!(info.least_page, Some(4096));
        let expected: Vec<_> = ranges.into_iter().map(|(start, last)| start..=last).collect();
        assert_eq!(info.ranges, Some(expected));
        let asked: Vec<_> =
            kernel.take_calls().into_iter().map(|(number, words)| (number, words[..4].to_vec())).collect();
        // linux/iommufd.h: type ';', 0x84; 32 bytes; the address space, the room, a reserved word.
        let call = |room: u32| (0x3b84, vec![32, IOAS, room, 0]);
        let calls = if count > 64 { vec![call(64), call(count as u32)] } else { vec![call(64)] };
        assert_eq!(asked, calls);
    }
}

#[test]
fn a_function_is_handed_over_and_what_others_have_mapped_is_taken_back() {
    let kernel = StandIn::new(None);
    let function = function(&kernel);
    let handed = function.hand_over().expect("descriptors");
    assert_eq!(handed.address, "0000:01:00.0");
    let OpenSpace::Iommufd { iommufd, ioas } = handed.space else { panic!("it has an iommufd") };
    assert_eq!(ioas, IOAS);
    let inode = |file: &File| file.metadata().expect("a file").ino();
    assert_eq!(inode(&File::from(iommufd)), inode(&kernel.null), "the function is bound to it");
    assert_eq!(inode(&File::from(handed.device)), inode(&function.device));

    // As another process's, which this one knows nothing of.
    kernel.books().maps = [(0x5000, 0x2000), (0x9000, 0x1000), (0x10_0000, 0x1000)].into();
    assert_eq!(function.take_back(0x5000, 0x8000).expect("the kernel answers"), 0x3000);
    assert_eq!(kernel.books().maps, [(0x10_0000, 0x1000)].into());
    assert_eq!(function.take_back(0x5000, 0x8000).expect("nothing is there"), 0);
}
