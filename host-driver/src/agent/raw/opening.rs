//! The agent opens the raw channel: it takes a tag, a region and a VI for it, as a program would, and then writes the VI's rows for frames. A step
//! that fails gives back what the steps before it have taken.

use std::sync::{Arc, Mutex};

use viaduct_spec::tables::{gather, receive, service, table, transmit};

use super::{
    slots::{self, Slots},
    Filter, RawChannel, LONGEST_FRAME, RECEIVES, SENDS,
};
use crate::{
    address::{Mtu, Service},
    agent::{
        vis::{enter, Change},
        Agent,
    },
    cm::NotReady,
    device_protocol::{commands::Admin, rows},
    kernel_agent::{AgentError, CreatedVi, MemoryAttributes, ViAttributes},
    memory::Mapping,
};

impl Agent {
    /// Opens the raw channel: takes a VI, a tag and a region of the NIC, and posts its receives.
    ///
    /// # Errors
    /// It is open already; no VI, tag, region or memory left; the device's errors.
    pub fn open_raw(self: &Arc<Self>, filter: Filter) -> Result<RawChannel, AgentError> {
        {
            let mut state = self.state()?;
            if std::mem::replace(&mut state.raw_open, true) {
                return Err(AgentError::RawOpen);
            }
        }
        let opened = self.open_raw_once(filter);
        if opened.is_err() {
            self.state()?.raw_open = false;
        }
        opened
    }

    fn open_raw_once(self: &Arc<Self>, filter: Filter) -> Result<RawChannel, AgentError> {
        let memory = Arc::new(Mapping::for_device(slots::BYTES).map_err(AgentError::Arena)?);
        let tag = self.create_tag()?;
        let attributes = MemoryAttributes { tag, rdma_write: false, rdma_read: false };
        // SAFETY: the mapping is accessed through its pointer alone, and stays until it is deregistered without an
        // error: see `RawChannel::close_down`.
        let registered =
            unsafe { self.register(memory.start().as_ptr() as usize, memory.length(), attributes) };
        let slots = match registered {
            Ok(handle) => Slots::new(memory, handle),
            Err(error) => {
                // Of the two errors the first one counts.
                let _ = self.destroy_tag(tag);
                return Err(error);
            }
        };
        let created = self.create_vi(ViAttributes {
            tag,
            // The rows say RAW; nobody connects it.
            service: Service::UnreliableDelivery,
            mtu: Mtu::MAX,
            max_transfer: LONGEST_FRAME as u32,
            send_log2: SENDS.ilog2(),
            receive_log2: RECEIVES.ilog2(),
            rdma_write: false,
            rdma_read: false,
            not_ready: NotReady::Break,
            send_cq: None,
            receive_cq: None,
        });
        let CreatedVi { name: vi, queues: work_queues, .. } = match created {
            Ok(vi) => vi,
            Err(error) => {
                if self.deregister(slots.handle()).is_err() {
                    slots.leak();
                }
                let _ = self.destroy_tag(tag);
                return Err(error);
            }
        };
        let agent = Arc::clone(self);
        let channel =
            RawChannel { agent, vi, work_queues, tag, slots, closed: false, queues: Mutex::default() };
        // From here on dropping it gives everything back.
        channel.connect()?;
        for position in 0..RECEIVES as u64 {
            channel.post_receive(position)?;
        }
        channel.set_filter(filter)?;
        Ok(channel)
    }
}

impl RawChannel {
    /// Writes its rows: service RAW, connected to nobody.
    fn connect(&self) -> Result<(), AgentError> {
        let agent = self.agent();
        let _one_commit = agent.state()?;
        let admin = Admin::of(&*agent.device);
        let vi = u32::from(self.vi.index);
        let raw = u64::from(service::RAW);
        let level = Service::UnreliableDelivery;
        let mut row = rows::gather(self.tag, level, Mtu::MAX, LONGEST_FRAME as u32);
        gather::RAW.put(&mut row, 1);
        admin.commit(table::GATHER, vi, &row)?;
        let mut row = rows::transmit(0, level, false, 0);
        transmit::SERVICE.put(&mut row, raw);
        admin.commit(table::TRANSMIT, vi, &row)?;
        let mut row = [0; 2];
        receive::TAG.put(&mut row, self.tag.into());
        receive::SERVICE.put(&mut row, raw);
        admin.commit(table::RECEIVE, vi, &row)?;
        enter(&admin, self.vi.index, Change::Connect)
    }
}
