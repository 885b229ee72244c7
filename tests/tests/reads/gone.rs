//! Descriptors that are gone when the answer comes.

use viaduct_driver::agent::vis::{Direction, ViState};
use viaduct_spec::descriptor::status;
use viaduct_spec::register::event_code;
use viaduct_spec::tables::table;
use viaduct_tests::pages::TwoPages;
use viaduct_tests::raw::Completion;
use viaduct_tests::scene::Scene;

use super::readers::Readers;
use super::READ;

/// REQ-3: where an answer goes is read from its descriptor when it comes.
#[test]
fn a_read_whose_descriptor_is_gone_when_its_answer_comes_breaks_the_vi() {
    let mut readers = Readers::far(4);
    let host = &mut readers.scene.hosts[0];
    let place = host.place(256);
    let region = host.register(place & !0xFFF, 0x1000, host.tag);
    let descriptor = readers.descriptor(0, 0, &[(0x1000, 100), (0x2000, 100), (0x3000, 100)]);
    let host = &readers.scene.hosts[0];
    host.memory.write(place, &descriptor.encode());
    let token = readers.vis[0].token(Direction::Send, &region, host.memory.address(place));
    readers.vis[0].post_token(Direction::Send, token);
    readers.scene.world.run(1000);
    let row = u32::from(region.index());
    readers.scene.world.commit(0, table::REGION, row, &[0; 4]);
    readers.scene.world.settle();
    let codes: Vec<_> = readers.scene.events(0).iter().map(|event| (event.code, event.broke)).collect();
    let expected = vec![(event_code::CONN_LOST, true), (event_code::COMP_PROT, false)];
    assert_eq!((codes, readers.vis[0].state()), (expected, ViState::Error));
    assert!(!Completion::read(&readers.scene.hosts[0].memory, place).is_complete());
    readers.scene.others_go_on();
}

/// Its head is in one page, the rest in the next; the bus has nothing there any more when the answer comes.
#[test]
fn a_read_the_rest_of_whose_descriptor_is_nowhere_when_its_answer_comes_breaks_the_vi() {
    let mut readers = Readers::far(4);
    let place = 0x1DFC0;
    let pages = TwoPages::around(&readers.scene.world, &readers.scene.hosts[0], place);
    let descriptor = readers.descriptor(0, 0, &[(0x1000, 100), (0x2000, 100), (0x3000, 100)]);
    let host = &readers.scene.hosts[0];
    host.memory.write(place, &descriptor.encode());
    let token = readers.vis[0].token(Direction::Send, &pages.region, host.memory.address(place));
    readers.vis[0].post_token(Direction::Send, token);
    readers.scene.world.run(1000);
    pages.lose_second(&readers.scene.world, &readers.scene.hosts[0]);
    readers.scene.world.settle();
    let (vi, events) = (&readers.vis[0], readers.scene.events(0));
    let event = vi.event(event_code::CONN_LOST, false, true);
    assert_eq!((events, readers.status(0, place)), (vec![event], READ | status::TRANSPORT_ERROR));
    // The bus has told what is not there; nothing else happened to the NIC.
    let Scene { world, hosts, bystanders } = &mut readers.scene;
    world.exchange(hosts, bystanders, 3000);
}
