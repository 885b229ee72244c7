//! What the provider offers, and whether that is what a program asks for.

use std::ffi::c_int;

use crate::via::{
    error::Errno,
    ffi::{
        self, FI_COMPLETION, FI_DELIVERY_COMPLETE, FI_INJECT, FI_INJECT_COMPLETE, FI_LOCAL_COMM,
        FI_MR_ALLOCATED, FI_MR_LOCAL, FI_MR_PROV_KEY, FI_MR_VIRT_ADDR, FI_MSG, FI_ORDER_RAR, FI_ORDER_RAS,
        FI_ORDER_RAW, FI_ORDER_RMA_RAR, FI_ORDER_RMA_RAW, FI_ORDER_RMA_WAW, FI_ORDER_SAS, FI_ORDER_SAW,
        FI_ORDER_STRICT, FI_ORDER_WAS, FI_ORDER_WAW, FI_READ, FI_RECV, FI_REMOTE_COMM, FI_REMOTE_READ,
        FI_REMOTE_WRITE, FI_RMA, FI_RX_CQ_DATA, FI_SEND, FI_TRANSMIT_COMPLETE, FI_WRITE, SHARED_CONTEXT,
    },
};

/// Operations that may be posted in each direction, unless the program says how many.
const DEPTH: usize = 256;
/// And the most: a work queue has no more slots.
const MOST: usize = 1024;
/// Pieces of memory of one message.
pub const SEGMENTS: usize = 4;
/// Bytes of an injected message.
pub const INJECT: usize = 64;
/// Bytes of remote CQ data: VIA's immediate data.
pub const DATA_BYTES: usize = 4;
/// Bytes of a key of registered memory: libfabric's own type of it. A handle fits into half of them.
pub const KEY_BYTES: usize = 8;
/// Bytes of data with fi_connect and the others: what a request has room for whose two discriminators are ports.
pub const CM_DATA: usize = vipl::connections::REQUEST_ROOM - 4;
/// Bytes of a message: a descriptor of a VI with the largest MaxTransferSize.
pub const MESSAGE: usize = 1 << 30;
/// What the endpoints speak: no other provider's protocol. (0x5649 is "VI".)
pub const PROTOCOL: u32 = 1 << 31 | 0x5649;

const TX_CAPS: u64 = FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE;
const RX_CAPS: u64 = FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
/// Peers on this host and on others.
pub const DOMAIN_CAPS: u64 = FI_LOCAL_COMM | FI_REMOTE_COMM;
const CAPS: u64 = TX_CAPS | RX_CAPS | DOMAIN_CAPS;
/// Flags of operations that send.
pub const TX_FLAGS: u64 =
    FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;
/// And of those that receive.
pub const RX_FLAGS: u64 = FI_COMPLETION;
/// A VI executes what is posted in its order, and a read of the peer's bus passes no write. Only what is posted behind a read may be executed before that
/// has its data.
pub const ORDER: u64 = FI_ORDER_SAS
    | FI_ORDER_SAW
    | FI_ORDER_WAS
    | FI_ORDER_WAW
    | FI_ORDER_RMA_WAW
    | FI_ORDER_RAS
    | FI_ORDER_RAW
    | FI_ORDER_RMA_RAW
    | FI_ORDER_RAR
    | FI_ORDER_RMA_RAR;
/// And completes it in that order.
pub const COMPLETION_ORDER: u64 = FI_ORDER_STRICT;
/// VIA's way to register memory: the program registers all that the NIC reaches, the NIC gives the handles, and addresses are virtual ones.
const MR_MODE: u64 = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

/// FI_MR_BASIC, and the mode FI_LOCAL_MR: libfabric 2 has no names for them any more.
const MR_BASIC: c_int = 1;
const LOCAL_MR: u64 = 1 << 55;

/// Version 1.5, which has taken [`MR_MODE`] apart: FI_MR_BASIC stood for it before, and FI_LOCAL_MR for its first bit.
const SEPARATE_MR_MODES: u32 = 1 << 16 | 5;

/// What one program is offered: of what may differ between programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Capabilities.
    pub caps: u64,
    /// FI_MR_BASIC stands for the modes of registration.
    is_basic: bool,
    /// Operations that may be posted to send, and to receive.
    pub depths: [usize; 2],
    /// Flags of each operation that the program gives none for: those that send, and those that receive.
    pub flags: [u64; 2],
    /// How the program uses threads; any way is right.
    pub threading: ffi::fi_threading,
    /// Who has control and data go on: the NIC and the library, whatever the program asks for.
    pub progress: [ffi::fi_progress; 2],
}

impl Offer {
    /// What a program gets that asks with `hints`, and knows this version of libfabric's interface.
    ///
    /// # Errors
    /// [`Errno::NO_DATA`]: something that is not offered.
    ///
    /// # Safety
    /// The pointers in `hints` are NULL, or what libfabric has them for.
    pub unsafe fn to(version: u32, hints: Option<&ffi::fi_info>) -> Result<Self, Errno> {
        let mut offer = Self { is_basic: version < SEPARATE_MR_MODES, ..Self::plain() };
        let Some(hints) = hints else { return Ok(offer) };
        within(hints.caps, CAPS)?;
        offer.caps = match hints.caps {
            // Who does not care, and has no receives for remote data, gets no RMA.
            0 if hints.mode & FI_RX_CQ_DATA == 0 => FI_MSG | FI_SEND | FI_RECV | DOMAIN_CAPS,
            0 => CAPS,
            some => whole(some) | DOMAIN_CAPS,
        };
        let formats = [ffi::FI_FORMAT_UNSPEC, ffi::FI_SOCKADDR, ffi::FI_SOCKADDR_IN];
        need(formats.contains(&hints.addr_format))?;
        // SAFETY: the caller's promise, here and below.
        unsafe {
            offer.domain(version, hints.domain_attr.as_ref())?;
            offer.endpoint(hints.ep_attr.as_ref())?;
            offer.sends(hints.tx_attr.as_ref())?;
            offer.receives(hints.rx_attr.as_ref())?;
        }
        within(offer.mode(), hints.mode)?;
        Ok(offer)
    }

    /// What an information is about that a program has from here, and may have changed.
    ///
    /// # Errors
    /// As [`Offer::to`].
    ///
    /// # Safety
    /// As [`Offer::to`].
    pub unsafe fn of(info: &ffi::fi_info) -> Result<Self, Errno> {
        let mut offer = Self { caps: info.caps, ..Self::plain() };
        // SAFETY: the caller's promise, here and below.
        unsafe {
            if let Some(domain) = info.domain_attr.as_ref() {
                offer.is_basic = domain.mr_mode & MR_BASIC != 0;
                (offer.threading, offer.progress) =
                    (domain.threading, [domain.control_progress, domain.data_progress]);
            }
            offer.endpoint(info.ep_attr.as_ref())?;
            offer.sends(info.tx_attr.as_ref())?;
            offer.receives(info.rx_attr.as_ref())?;
        }
        Ok(offer)
    }

    /// What who says nothing gets.
    fn plain() -> Self {
        Self {
            caps: CAPS,
            is_basic: false,
            depths: [DEPTH; 2],
            flags: [0; 2],
            threading: ffi::FI_THREAD_SAFE,
            progress: [ffi::FI_PROGRESS_AUTO; 2],
        }
    }

    /// What the program must do: post receives for remote data, where there is RMA; register its own memory.
    pub fn mode(&self) -> u64 {
        let data = if self.caps & FI_RMA != 0 { FI_RX_CQ_DATA } else { 0 };
        data | if self.is_basic { LOCAL_MR } else { 0 }
    }

    /// How memory is registered.
    pub fn mr_mode(&self) -> c_int {
        if self.is_basic {
            MR_BASIC
        } else {
            MR_MODE as c_int
        }
    }

    /// Capabilities of what sends.
    pub fn tx_caps(&self) -> u64 {
        self.caps & TX_CAPS
    }

    /// Capabilities of what receives.
    pub fn rx_caps(&self) -> u64 {
        self.caps & RX_CAPS
    }

    /// Whether an endpoint sends, by messages or to and from remote memory, and whether it receives messages.
    pub fn directions(&self) -> [bool; 2] {
        let caps = whole(self.caps);
        [FI_SEND | FI_READ | FI_WRITE, FI_RECV].map(|direction| caps & direction != 0)
    }

    fn domain(&mut self, version: u32, hints: Option<&ffi::fi_domain_attr>) -> Result<(), Errno> {
        let Some(hints) = hints else { return Ok(()) };
        let modes = hints.mr_mode as u32;
        // Programs of before 1.5 say nothing, or BASIC; later ones say BASIC, or each bit.
        let says_basic = hints.mr_mode & MR_BASIC != 0;
        if says_basic || (version < SEPARATE_MR_MODES && modes == 0) {
            self.is_basic = true;
        } else {
            need(version >= SEPARATE_MR_MODES)?;
            within(MR_MODE, modes.into())?;
        }
        within(hints.caps, CAPS)?;
        let sizes = [
            (hints.mr_key_size, KEY_BYTES),
            (hints.cq_data_size, DATA_BYTES),
            (hints.mr_iov_limit, 1),
            (hints.cntr_cnt, 0),
            (hints.max_ep_stx_ctx, 0),
            (hints.max_ep_srx_ctx, 0),
            (hints.max_ep_tx_ctx, 1),
            (hints.max_ep_rx_ctx, 1),
        ];
        need(sizes.iter().all(|(wanted, most)| wanted <= most))?;
        if hints.threading != ffi::FI_THREAD_UNSPEC {
            self.threading = hints.threading;
        }
        for (progress, wanted) in self.progress.iter_mut().zip([hints.control_progress, hints.data_progress])
        {
            if wanted != ffi::FI_PROGRESS_UNSPEC {
                *progress = wanted;
            }
        }
        Ok(())
    }

    fn endpoint(&mut self, hints: Option<&ffi::fi_ep_attr>) -> Result<(), Errno> {
        let Some(hints) = hints else { return Ok(()) };
        need([ffi::FI_EP_UNSPEC, ffi::FI_EP_MSG].contains(&hints.type_))?;
        need([0, PROTOCOL].contains(&hints.protocol))?;
        let sizes = [hints.max_msg_size, hints.max_order_waw_size, hints.max_order_raw_size];
        need(sizes.iter().all(|size| *size <= MESSAGE) && hints.max_order_war_size == 0)?;
        let contexts = [hints.tx_ctx_cnt, hints.rx_ctx_cnt];
        need(contexts.iter().all(|count| *count != SHARED_CONTEXT && *count <= 1))?;
        need(hints.auth_key_size == 0)
    }

    fn sends(&mut self, hints: Option<&ffi::fi_tx_attr>) -> Result<(), Errno> {
        let Some(hints) = hints else { return Ok(()) };
        within(hints.caps, CAPS)?;
        within(hints.op_flags, TX_FLAGS)?;
        within(hints.msg_order, ORDER)?;
        within(hints.comp_order, COMPLETION_ORDER)?;
        need(hints.inject_size <= INJECT && hints.size <= MOST)?;
        need(hints.iov_limit <= SEGMENTS && hints.rma_iov_limit <= 1)?;
        self.flags[0] = hints.op_flags;
        if hints.size != 0 {
            self.depths[0] = hints.size;
        }
        Ok(())
    }

    fn receives(&mut self, hints: Option<&ffi::fi_rx_attr>) -> Result<(), Errno> {
        let Some(hints) = hints else { return Ok(()) };
        within(hints.caps, CAPS)?;
        within(hints.op_flags, RX_FLAGS)?;
        within(hints.msg_order, ORDER)?;
        within(hints.comp_order, COMPLETION_ORDER)?;
        need(hints.size <= MOST && hints.iov_limit <= SEGMENTS)?;
        self.flags[1] = hints.op_flags;
        if hints.size != 0 {
            self.depths[1] = hints.size;
        }
        Ok(())
    }
}

/// The capabilities that a program means which says some: who names no direction means both.
fn whole(caps: u64) -> u64 {
    let all_of = |of: u64, parts: u64| if caps & of != 0 && caps & parts == 0 { parts } else { 0 };
    caps | all_of(FI_MSG, FI_SEND | FI_RECV)
        | all_of(FI_RMA, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
}

/// Fails unless all `bits` are among `all`.
fn within(bits: u64, all: u64) -> Result<(), Errno> {
    need(bits & !all == 0)
}

fn need(is: bool) -> Result<(), Errno> {
    is.then_some(()).ok_or(Errno::NO_DATA)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hints that say nothing, with these attributes of the domain's.
    fn ask(
        version: u32,
        caps: u64,
        mode: u64,
        domain: Option<&mut ffi::fi_domain_attr>,
    ) -> Result<Offer, Errno> {
        let domain_attr = domain.map_or(std::ptr::null_mut(), |domain| &raw mut *domain);
        // SAFETY: a structure of C's, of which nothing but zeros is a value.
        let hints = ffi::fi_info { caps, mode, domain_attr, ..unsafe { std::mem::zeroed() } };
        // SAFETY: its pointers are NULL, or to what lives here.
        unsafe { Offer::to(version, Some(&hints)) }
    }

    fn domain(mr_mode: u64) -> ffi::fi_domain_attr {
        // SAFETY: a structure of C's, of which nothing but zeros is a value.
        ffi::fi_domain_attr { mr_mode: mr_mode as c_int, ..unsafe { std::mem::zeroed() } }
    }

    const NEW: u32 = 1 << 16 | 17;
    const OLD: u32 = 1 << 16 | 4;

    #[test]
    fn hints_without_a_domain_are_answered() {
        let offer = ask(NEW, 0, u64::MAX, None).expect("all is offered");
        assert_eq!((offer.caps, offer.mr_mode()), (CAPS, 0x74));
        assert_eq!(offer.mode(), FI_RX_CQ_DATA);
        // SAFETY: no hints.
        assert_eq!(unsafe { Offer::to(NEW, None) }, Ok(offer));
    }

    #[test]
    fn programs_of_before_1_5_say_nothing_of_registration_and_get_what_stood_for_it() {
        let offer = ask(OLD, FI_MSG, LOCAL_MR, Some(&mut domain(0))).expect("offered");
        assert_eq!((offer.mr_mode(), offer.mode()), (MR_BASIC, LOCAL_MR));
        let scalable = 2;
        assert_eq!(ask(OLD, FI_MSG, LOCAL_MR, Some(&mut domain(scalable))), Err(Errno::NO_DATA));
        // A later one may say the same.
        let basic = MR_BASIC as u64;
        let offer = ask(NEW, FI_MSG, LOCAL_MR, Some(&mut domain(basic))).expect("offered");
        assert_eq!(offer.mr_mode(), MR_BASIC);
        assert_eq!(
            ask(NEW, FI_MSG, 0, Some(&mut domain(basic))),
            Err(Errno::NO_DATA),
            "it registers nothing"
        );
    }

    #[test]
    fn every_mode_of_registration_is_needed() {
        assert!(ask(NEW, FI_MSG, 0, Some(&mut domain(MR_MODE))).is_ok());
        for bit in [FI_MR_LOCAL, FI_MR_VIRT_ADDR, FI_MR_ALLOCATED, FI_MR_PROV_KEY] {
            let wrong = ask(NEW, FI_MSG, 0, Some(&mut domain(MR_MODE & !bit)));
            assert_eq!(wrong, Err(Errno::NO_DATA), "{bit:#x}");
        }
    }

    #[test]
    fn rma_is_for_those_who_post_receives_for_its_data() {
        let both = FI_MSG | FI_RMA;
        assert_eq!(ask(NEW, both, 0, None), Err(Errno::NO_DATA));
        let offer = ask(NEW, both, FI_RX_CQ_DATA, None).expect("offered");
        assert_eq!((offer.tx_caps(), offer.rx_caps()), (TX_CAPS, RX_CAPS));
        let offer = ask(NEW, 0, 0, None).expect("messages alone");
        assert_eq!(offer.caps & FI_RMA, 0);
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        let bits = || (0..u64::BITS).map(|n| 1u64 << n);
        for caps in bits().filter(|bit| CAPS & bit == 0) {
            assert_eq!(ask(NEW, FI_MSG | caps, u64::MAX, None), Err(Errno::NO_DATA), "{caps:#x}");
        }
        for msg_order in bits() {
            // SAFETY: structures of C's, of which nothing but zeros is a value, here and below.
            let mut sends = ffi::fi_tx_attr { msg_order, ..unsafe { std::mem::zeroed() } };
            // SAFETY: as above.
            let hints = ffi::fi_info { tx_attr: &mut sends, ..unsafe { std::mem::zeroed() } };
            // SAFETY: its pointers are NULL, or to what lives here, here and below.
            let found = unsafe { Offer::to(NEW, Some(&hints)) };
            assert_eq!(found.is_ok(), ORDER & msg_order != 0, "{msg_order:#x}");
        }
        // SAFETY: as above.
        let endpoint = || -> ffi::fi_ep_attr { unsafe { std::mem::zeroed() } };
        let wrong = [
            ffi::fi_ep_attr { type_: ffi::FI_EP_RDM, ..endpoint() },
            ffi::fi_ep_attr { rx_ctx_cnt: SHARED_CONTEXT, ..endpoint() },
            ffi::fi_ep_attr { max_msg_size: MESSAGE + 1, ..endpoint() },
            ffi::fi_ep_attr { max_order_war_size: 1, ..endpoint() },
        ];
        for mut attributes in wrong {
            // SAFETY: as above.
            let hints = ffi::fi_info { ep_attr: &mut attributes, ..unsafe { std::mem::zeroed() } };
            // SAFETY: as above.
            assert_eq!(unsafe { Offer::to(NEW, Some(&hints)) }, Err(Errno::NO_DATA));
        }
    }

    #[test]
    fn a_program_says_how_many_operations_it_posts() {
        // SAFETY: a structure of C's, of which nothing but zeros is a value.
        let mut sends = ffi::fi_tx_attr { size: 128, ..unsafe { std::mem::zeroed() } };
        // SAFETY: as above.
        let mut hints = ffi::fi_info { tx_attr: &mut sends, ..unsafe { std::mem::zeroed() } };
        // SAFETY: its pointers are NULL, or to what lives here, here and below.
        assert_eq!(unsafe { Offer::to(NEW, Some(&hints)) }.expect("offered").depths, [128, DEPTH]);
        sends.size = MOST + 1;
        hints.tx_attr = &mut sends;
        // SAFETY: as above.
        assert_eq!(unsafe { Offer::to(NEW, Some(&hints)) }, Err(Errno::NO_DATA));
    }
}
