//! The messages of communication management, field by field as `viaduct_spec::cm` lays them out. Reserved bits are not looked
//! at, and 0 in what is sent.

use viaduct_spec::{
    cm::{attribute, dreq, mra, rej, rep, req, rtu, sidr_rep, sidr_req, MESSAGE_BYTES},
    packet::Member,
};

use super::wrong::Wrong;

/// A message's bytes behind the MAD's header.
pub type Bytes = [u8; MESSAGE_BYTES];

/// Defines a message: numbers, then runs of bytes, each with its member of the layout.
macro_rules! message {
    ($(#[doc = $doc:literal])+ $name:ident, $layout:ident {
        $($number:ident: $type:ty = $member:ident,)*
    } $($run:ident: $length:literal = $bytes:ident),*) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name {
            $(#[doc = concat!("`", stringify!($layout), "::", stringify!($member), "`")]
            pub $number: $type,)*
            $(#[doc = concat!("`", stringify!($layout), "::", stringify!($bytes), "`")]
            pub $run: [u8; $length],)*
        }

        impl $name {
            /// All zero.
            pub fn blank() -> Self {
                Self::read(&[0; MESSAGE_BYTES])
            }

            fn read(from: &Bytes) -> Self {
                Self {
                    $($number: $layout::$member.get(from) as $type,)*
                    $($run: run(from, &$layout::$bytes),)*
                }
            }

            fn write(&self, to: &mut Bytes) {
                $($layout::$member.put(to, self.$number.into());)*
                $(to[$layout::$bytes.bytes()].copy_from_slice(&self.$run);)*
            }
        }
    };
}

/// A member that is a run of bytes: inside the message, as long as the field is, by the layout.
fn run<const N: usize>(from: &Bytes, member: &Member) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&from[member.bytes()]);
    bytes
}

message! {
    /// REQ: a request for a connection.
    Req, req {
        local_id: u32 = LOCAL_ID,
        service: u64 = SERVICE,
        guid: u64 = GUID,
        qkey: u32 = QKEY,
        queue_pair: u32 = QUEUE_PAIR,
        responder_resources: u8 = RESPONDER_RESOURCES,
        local_eec: u32 = LOCAL_EEC,
        initiator_depth: u8 = INITIATOR_DEPTH,
        remote_eec: u32 = REMOTE_EEC,
        remote_timeout: u8 = REMOTE_TIMEOUT,
        transport: u8 = TRANSPORT,
        flow_control: u8 = FLOW_CONTROL,
        psn: u32 = PSN,
        local_timeout: u8 = LOCAL_TIMEOUT,
        retries: u8 = RETRIES,
        pkey: u16 = PKEY,
        mtu: u8 = MTU,
        rdc_exists: u8 = RDC_EXISTS,
        rnr_retries: u8 = RNR_RETRIES,
        max_cm_retries: u8 = MAX_CM_RETRIES,
        srq: u8 = SRQ,
        extended_transport: u8 = EXTENDED_TRANSPORT,
        local_lid: u16 = LOCAL_LID,
        remote_lid: u16 = REMOTE_LID,
        flow_label: u32 = FLOW_LABEL,
        rate: u8 = RATE,
        traffic_class: u8 = TRAFFIC_CLASS,
        hop_limit: u8 = HOP_LIMIT,
        service_level: u8 = SERVICE_LEVEL,
        subnet_local: u8 = SUBNET_LOCAL,
        ack_timeout: u8 = ACK_TIMEOUT,
    } local_gid: 16 = LOCAL_GID, remote_gid: 16 = REMOTE_GID, alternate: 44 = ALTERNATE, private: 92 = PRIVATE
}

message! {
    /// MRA: the answer takes longer.
    Mra, mra {
        local_id: u32 = LOCAL_ID,
        remote_id: u32 = REMOTE_ID,
        subject: u8 = SUBJECT,
        service_timeout: u8 = SERVICE_TIMEOUT,
    } private: 222 = PRIVATE
}

message! {
    /// REJ: no.
    Rej, rej {
        local_id: u32 = LOCAL_ID,
        remote_id: u32 = REMOTE_ID,
        subject: u8 = SUBJECT,
        additional_length: u8 = ADDITIONAL_LENGTH,
        reason: u16 = REASON,
    } additional: 72 = ADDITIONAL, private: 148 = PRIVATE
}

message! {
    /// REP: yes.
    Rep, rep {
        local_id: u32 = LOCAL_ID,
        remote_id: u32 = REMOTE_ID,
        qkey: u32 = QKEY,
        queue_pair: u32 = QUEUE_PAIR,
        local_eec: u32 = LOCAL_EEC,
        psn: u32 = PSN,
        responder_resources: u8 = RESPONDER_RESOURCES,
        initiator_depth: u8 = INITIATOR_DEPTH,
        ack_delay: u8 = ACK_DELAY,
        failover: u8 = FAILOVER,
        flow_control: u8 = FLOW_CONTROL,
        rnr_retries: u8 = RNR_RETRIES,
        srq: u8 = SRQ,
        guid: u64 = GUID,
    } private: 196 = PRIVATE
}

message! {
    /// RTU: the REP has come and this end is ready. DREP: the DREQ has come.
    Rtu, rtu {
        local_id: u32 = LOCAL_ID,
        remote_id: u32 = REMOTE_ID,
    } private: 224 = PRIVATE
}

message! {
    /// DREQ: the connection ends.
    Dreq, dreq {
        local_id: u32 = LOCAL_ID,
        remote_id: u32 = REMOTE_ID,
        remote_queue_pair: u32 = REMOTE_QUEUE_PAIR,
    } private: 220 = PRIVATE
}

message! {
    /// SIDR_REQ: a request for a datagram service.
    SidrReq, sidr_req {
        request: u32 = REQUEST,
        pkey: u16 = PKEY,
        service: u64 = SERVICE,
    } private: 216 = PRIVATE
}

message! {
    /// SIDR_REP: the answer to that.
    SidrRep, sidr_rep {
        request: u32 = REQUEST,
        status: u8 = STATUS,
        additional_length: u8 = ADDITIONAL_LENGTH,
        queue_pair: u32 = QUEUE_PAIR,
        service: u64 = SERVICE,
        qkey: u32 = QKEY,
    } additional: 72 = ADDITIONAL, private: 136 = PRIVATE
}

/// Any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is its type")]
pub enum Message {
    Req(Req),
    Mra(Mra),
    Rej(Rej),
    Rep(Rep),
    Rtu(Rtu),
    Dreq(Dreq),
    Drep(Rtu),
    SidrReq(SidrReq),
    SidrRep(SidrRep),
}

impl Message {
    /// Its number in the MAD's header.
    pub fn attribute(&self) -> u16 {
        match self {
            Self::Req(_) => attribute::REQ,
            Self::Mra(_) => attribute::MRA,
            Self::Rej(_) => attribute::REJ,
            Self::Rep(_) => attribute::REP,
            Self::Rtu(_) => attribute::RTU,
            Self::Dreq(_) => attribute::DREQ,
            Self::Drep(_) => attribute::DREP,
            Self::SidrReq(_) => attribute::SIDR_REQ,
            Self::SidrRep(_) => attribute::SIDR_REP,
        }
    }

    /// Reads the message that `number` names.
    pub(super) fn read(number: u16, bytes: &Bytes) -> Result<Self, Wrong> {
        Ok(match number {
            attribute::REQ => Self::Req(Req::read(bytes)),
            attribute::MRA => Self::Mra(Mra::read(bytes)),
            attribute::REJ => Self::Rej(Rej::read(bytes)),
            attribute::REP => Self::Rep(Rep::read(bytes)),
            attribute::RTU => Self::Rtu(Rtu::read(bytes)),
            attribute::DREQ => Self::Dreq(Dreq::read(bytes)),
            attribute::DREP => Self::Drep(Rtu::read(bytes)),
            attribute::SIDR_REQ => Self::SidrReq(SidrReq::read(bytes)),
            attribute::SIDR_REP => Self::SidrRep(SidrRep::read(bytes)),
            _ => {
                let rule = "not a message that is known here";
                return Err(Wrong { field: "the MAD's attribute", value: number.into(), rule });
            }
        })
    }

    /// Writes it.
    ///
    /// # Panics
    /// A number too wide for its field: one that was read fits.
    pub(super) fn write(&self, bytes: &mut Bytes) {
        match self {
            Self::Req(message) => message.write(bytes),
            Self::Mra(message) => message.write(bytes),
            Self::Rej(message) => message.write(bytes),
            Self::Rep(message) => message.write(bytes),
            Self::Rtu(message) | Self::Drep(message) => message.write(bytes),
            Self::Dreq(message) => message.write(bytes),
            Self::SidrReq(message) => message.write(bytes),
            Self::SidrRep(message) => message.write(bytes),
        }
    }
}
