//! The whole of a profile: the last virtual interface and the last region that its tables have, on NICs of both kinds; and as many
//! regions as it has, registered by the library.
//!
//! `cargo test -p viaduct-tests --features large --test profile` is the same for the large profile.

use std::path::Path;

use rustix::process::{getrlimit, prlimit, setrlimit, Pid, Resource, Rlimit};
use viaduct_driver::address::Service;
use viaduct_driver::agent::vis::ViState;
use viaduct_driver::device_protocol::rows;
use viaduct_sim::served::Served;
use viaduct_sim::setup::Kind::{self, Model, Rtl};
use viaduct_sim::setup::Setup;
use viaduct_spec::descriptor::status;
use viaduct_spec::handle::memory_handle;
use viaduct_spec::profile::{PAGES, REGIONS, VIS};
use viaduct_spec::tables::table;
use viaduct_tests::memory::difference;
use viaduct_tests::program::program;
use viaduct_tests::raw::{Completion, Descriptor, RawVi, Region};
use viaduct_tests::scene::Scene;
use viaduct_tests::world::{quick, Host, World};
use vipl::{MemAttributes, ViAttributes};

const LENGTH: usize = 3000;
/// Where messages come from, where they go, and the part of memory that is the last region.
const FROM: usize = 0x100;
const TO: usize = 0x4000;
const AT: usize = 0x8000;
const BYTES: usize = 0x4000;
const PAGE_BYTES: usize = 0x1000;

/// The last VI; all before it exist too.
fn last_vi(host: &Host) -> RawVi {
    loop {
        let vi = RawVi::open(host, Service::ReliableDelivery, 1024);
        if usize::from(vi.index()) == VIS - 1 {
            return vi;
        }
    }
}

/// The last region that the tables have room for, in their last pages. No agent would take so long to come to it.
fn last_region(world: &World, host: &Host) -> Region {
    let pages = (BYTES / PAGE_BYTES) as u64;
    let (row, first_page) = (REGIONS as u32 - 1, PAGES as u64 - pages);
    let (address, length) = (host.memory.address(AT), BYTES as u64);
    let words = rows::Region {
        base: address,
        length,
        tag: host.tag,
        key: 0x1234,
        first_page: first_page as u16,
        page_shift: PAGE_BYTES.ilog2(),
        rdma_write: true,
        rdma_read: true,
        system: false,
        read_only: false,
    };
    let start = host.map(AT, BYTES);
    for page in 0..pages {
        let row = (first_page + page) as u32;
        world.commit(host.index, table::PAGE, row, &[start + page * PAGE_BYTES as u64]);
    }
    world.commit(host.index, table::REGION, row, &words.words());
    let mut handle = [0];
    memory_handle::INDEX.put(&mut handle, row.into());
    memory_handle::KEY.put(&mut handle, 0x1234);
    Region { handle: handle[0] as u32, address, length }
}

/// A piece of the last region.
fn inside(region: &Region, offset: usize, length: usize) -> Descriptor {
    Descriptor::new().segment(region.address + offset as u64, region.handle, length)
}

/// Between the last VIs, in the last region: sends, RDMA writes and RDMA reads, both ways.
fn between(kinds: [Kind; 2]) {
    let mut scene = Scene::on(World::new(&Setup { kinds: kinds.to_vec(), ..quick(61) }));
    let start = scene.world.now();
    let regions = scene.hosts.each_ref().map(|host| last_region(&scene.world, host));
    let mut vis = scene.hosts.each_ref().map(last_vi);
    println!("{kinds:?}: all made in {} cycles", scene.world.now() - start);
    let [a, b] = &mut vis;
    a.connect(b);
    for (from, to) in [(0, 1), (1, 0)] {
        // A send from the last region into the peer's.
        let receive = vis[to].receive(&mut scene.hosts[to], &inside(&regions[to], TO - 0x3000, LENGTH));
        scene.world.settle();
        let send = vis[from].send(&mut scene.hosts[from], &inside(&regions[from], FROM, LENGTH).immediate(7));
        let sent = scene.world.complete(&scene.hosts[from], send);
        let received = scene.world.complete(&scene.hosts[to], receive);
        assert_eq!(sent.status, status::DONE | status::OP_SEND);
        let good = status::DONE | status::OP_RECEIVE | status::IMMEDIATE;
        assert_eq!(received, Completion { status: good, length: LENGTH as u32, immediate: 7 });
        same(&scene, [from, to], [AT + FROM, AT + TO - 0x3000]);
        // An RDMA write into the peer's last region, and an RDMA read from it.
        let remote = regions[to];
        let write = Descriptor::of(&scene.hosts[from], FROM, LENGTH).write_to(remote.address, remote.handle);
        let send = vis[from].send(&mut scene.hosts[from], &write);
        let sent = scene.world.complete(&scene.hosts[from], send);
        assert_eq!(sent.status, status::DONE | status::OP_RDMA_WRITE);
        same(&scene, [from, to], [FROM, AT]);
        let there = remote.address + 0x2000;
        let read = Descriptor::of(&scene.hosts[from], TO, LENGTH).read_from(there, remote.handle);
        let send = vis[from].send(&mut scene.hosts[from], &read);
        let sent = scene.world.complete(&scene.hosts[from], send);
        assert_eq!(sent.status, status::DONE | status::OP_RDMA_READ);
        same(&scene, [to, from], [AT + 0x2000, TO]);
    }
    assert!(vis.iter().all(|vi| vi.state() == ViState::Connected));
    assert_eq!([scene.events(0), scene.events(1)], [[], []]);
    // What VI 0 and region 1 do is nobody else's.
    scene.others_go_on();
}

fn same(scene: &Scene, [from, to]: [usize; 2], [source, sink]: [usize; 2]) {
    let [sent, arrived] =
        [(from, source), (to, sink)].map(|(host, at)| scene.hosts[host].memory.read(at, LENGTH));
    assert_eq!(difference(&arrived, &sent), None);
}

#[test]
fn the_last_vi_and_the_last_region_of_rtl_nics() {
    between([Rtl, Rtl]);
}

#[test]
fn the_last_vi_and_the_last_region_of_a_model_beside_either() {
    between([Model, Model]);
    between([Rtl, Model]);
}

/// Two models behind their sockets in this process, which, with whatever it starts, may have 1024 open files, as is usual.
fn served(folder: &Path) -> Served {
    let limit = Rlimit { current: Some(1024), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).expect("a lower limit");
    let setup = Setup { kinds: vec![Model], ..Setup::default() };
    Served::start(setup.build().expect("nothing is recorded"), folder).expect("sockets")
}

/// Registers so many regions with the second NIC, and uses some: what the first one sends arrives in them.
fn register(names: [&str; 2], most: usize) {
    let open = |name: &str| {
        let nic = vipl::Nic::open(name).expect("it serves");
        let ptag = nic.create_ptag().expect("a tag");
        let memory = nic.allocate(1 << 20, &MemAttributes::new(&ptag)).expect("memory");
        let vi = nic.create_vi(&ViAttributes::new(&ptag)).expect("a VI");
        (nic, ptag, memory, vi)
    };
    let ((_, _, from, sender), (nic, ptag, memory, receiver)) = (open(names[0]), open(names[1]));
    assert!(nic.attributes().max_register_regions as usize >= most);
    let place = |n: usize| {
        let byte = n * 251 % (memory.length() - 200);
        std::ptr::NonNull::new((memory.address() + byte) as *mut u8).expect("not null")
    };
    // The memory itself is registered once. They overlap, at any alignment.
    let register = |n: usize| {
        // SAFETY: inside the region's memory, which outlives them; nobody has references into it.
        unsafe { nic.register(place(n), 200, &MemAttributes::new(&ptag)) }
    };
    let regions: Vec<vipl::Region> = (1..most).map(|n| register(n).expect("there is room")).collect();
    println!("{} regions", regions.len() + 1);
    let infos = [sender.connection_info(), receiver.connection_info()];
    sender.connect(&infos[1]).expect("idle");
    receiver.connect(&infos[0]).expect("idle");
    let describe = |at: &vipl::Region, offset, region: &vipl::Region, length| {
        let one = vipl::Descriptor::new().segment(region, offset, length).expect("inside");
        one.build(at, (1 << 20) - 64).expect("aligned")
    };
    for region in [&regions[0], &regions[regions.len() / 2], &regions[regions.len() - 1]] {
        let message: Vec<u8> = (0..200).map(|n| (n as u32 ^ region.handle()) as u8).collect();
        from.write(77, &message).expect("inside");
        receiver.post_recv(describe(&memory, 0, region, 200)).expect("room");
        nic.check().expect("it is posted");
        sender.post_send(describe(&from, 77, &from, 200)).expect("room");
        sender.send_wait(None).expect("it is sent");
        receiver.recv_wait(None).expect("it is received");
        let mut arrived = vec![0; 200];
        region.read(0, &mut arrived).expect("inside");
        assert_eq!(arrived, message);
    }
}

/// What the library says that it can register is there: 4092 regions in the large profile. The simulator is the same process.
#[test]
fn every_region_is_registered_with_the_usual_file_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let simulator = served(folder.path());
    // Row 0 is none, two are the agent's, one is for connections.
    register([&simulator.name(0), &simulator.name(1)], REGIONS - 4);
}

/// The same through a viad, which has one more, for the rings of its client: 4091.
#[test]
fn every_region_is_registered_through_viad_with_the_usual_file_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let simulator = served(folder);
    let (config, socket, log) = (folder.join("viad.toml"), folder.join("viad.sock"), folder.join("viad.log"));
    std::fs::write(&config, format!("[user]\nregions = {REGIONS}\n")).expect("written");
    struct Viad(std::process::Child);
    impl Drop for Viad {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let viad = program("viad")
        .args(["--nic", &format!("{},ip=10.0.0.2,mac=02:00:00:00:00:02", simulator.name(1))])
        .arg("--config")
        .arg(&config)
        .arg("--socket")
        .arg(&socket)
        .stderr(std::fs::File::create(&log).expect("a file"))
        .spawn();
    let viad = Viad(viad.expect("it starts"));
    // It takes as many files as it may; it is to do with the usual number.
    let text = || std::fs::read_to_string(&log).unwrap_or_default();
    let start = std::time::Instant::now();
    while !text().contains("serving") {
        assert!(start.elapsed() < std::time::Duration::from_secs(60), "viad does not serve: {}", text());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let limit = Rlimit { current: Some(1024), ..getrlimit(Resource::Nofile) };
    prlimit(Some(Pid::from_child(&viad.0)), Resource::Nofile, limit).expect("a lower limit");
    register([&simulator.name(0), &format!("viad:{}", socket.display())], REGIONS - 5);
    drop(viad);
}
