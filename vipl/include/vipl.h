/* VIPL: the C interface of Virtual Interface Architecture programs (VI Architecture Specification 1.0).
 *
 * Programs of both naming traditions compile against it: a descriptor's parts are CS and DS[n].Local and DS[n].Remote, and they
 * are Control and Data[n] as well. Builds that define VIPL095 need nothing more, and nothing changes with it.
 *
 * All functions may be called from any thread; each answers with a VIP_RETURN. Time-outs are milliseconds.
 * Compiles as C89 with GNU's anonymous unions, C99, C11, and C++98 and later.
 */
#ifndef VIADUCT_VIPL_H
#define VIADUCT_VIPL_H

#if defined(__GNUC__)
/* Unions without a name are C only since 2011; compilers have taken them for longer, but not silently. */
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

/* The direction of a parameter. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Plain types ------------------------------------------------------------------------------------------------- */

typedef void *VIP_PVOID;
typedef int VIP_BOOLEAN;
typedef char VIP_CHAR;
typedef unsigned char VIP_UCHAR;
typedef short VIP_SHORT;
typedef unsigned short VIP_USHORT;
typedef long VIP_LONG;
typedef unsigned long VIP_ULONG;
typedef uint64_t VIP_UINT64;
typedef uint32_t VIP_UINT32;
typedef uint16_t VIP_UINT16;
typedef uint8_t VIP_UINT8;

#define VIP_TRUE 1
#define VIP_FALSE 0

/* Time-outs: for ever. ~0UL means the same. */
#define VIP_INFINITE ((VIP_ULONG)0xFFFFFFFFUL)

/* Quality of service: VIA does not say what it is. NULL is the only value. */
typedef VIP_PVOID VIP_QOS;

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* Names for what the library keeps. None is an address, none is ever used again, and none is NULL. */
typedef VIP_PVOID VIP_NIC_HANDLE;
typedef VIP_PVOID VIP_VI_HANDLE;
typedef VIP_PVOID VIP_CQ_HANDLE;
typedef VIP_PVOID VIP_PROTECTION_HANDLE;
typedef VIP_PVOID VIP_CONN_HANDLE;
typedef VIP_PVOID VIP_EVENT_HANDLE;

/* Registered memory: the one handle that the NIC sees, and that programs tell their peers. Never 0. */
typedef VIP_UINT32 VIP_MEM_HANDLE;

/* ---- What calls answer ------------------------------------------------------------------------------------------- */

typedef enum {
    VIP_SUCCESS = 0,
    /* The head of the queue is not complete. */
    VIP_NOT_DONE = 1,
    /* A handle that does not exist (any more), or an argument that cannot be. */
    VIP_INVALID_PARAMETER = 2,
    /* No more of it, still in use, or the NIC is gone. */
    VIP_ERROR_RESOURCE = 3,
    VIP_TIMEOUT = 4,
    /* The peer does not want the connection. */
    VIP_REJECT = 5,
    VIP_INVALID_RELIABILITY_LEVEL = 6,
    /* MaxTransferSize is not offered, or the two sides have different ones. */
    VIP_INVALID_MTU = 7,
    VIP_INVALID_QOS = 8,
    VIP_INVALID_PTAG = 9,
    VIP_INVALID_RDMAREAD = 10,
    /* The descriptor completed in error; or nothing is posted, and the descriptor is NULL. */
    VIP_DESCRIPTOR_ERROR = 11,
    /* The VI's state does not allow it. */
    VIP_INVALID_STATE = 12,
    VIP_ERROR_NAMESERVICE = 13,
    /* Nobody waits for the connection at the other side. */
    VIP_NO_MATCH = 14,
    VIP_NOT_REACHABLE = 15,
    VIP_ERROR_NOT_SUPPORTED = 16,
    VIP_ERROR = VIP_DESCRIPTOR_ERROR
} VIP_RETURN;
/* Programs ask by #ifndef which of these there are: each enumerator of this header is a macro of its own name, too. */
#define VIP_SUCCESS VIP_SUCCESS
#define VIP_NOT_DONE VIP_NOT_DONE
#define VIP_INVALID_PARAMETER VIP_INVALID_PARAMETER
#define VIP_ERROR_RESOURCE VIP_ERROR_RESOURCE
#define VIP_TIMEOUT VIP_TIMEOUT
#define VIP_REJECT VIP_REJECT
#define VIP_INVALID_RELIABILITY_LEVEL VIP_INVALID_RELIABILITY_LEVEL
#define VIP_INVALID_MTU VIP_INVALID_MTU
#define VIP_INVALID_QOS VIP_INVALID_QOS
#define VIP_INVALID_PTAG VIP_INVALID_PTAG
#define VIP_INVALID_RDMAREAD VIP_INVALID_RDMAREAD
#define VIP_DESCRIPTOR_ERROR VIP_DESCRIPTOR_ERROR
#define VIP_INVALID_STATE VIP_INVALID_STATE
#define VIP_ERROR_NAMESERVICE VIP_ERROR_NAMESERVICE
#define VIP_NO_MATCH VIP_NO_MATCH
#define VIP_NOT_REACHABLE VIP_NOT_REACHABLE
#define VIP_ERROR_NOT_SUPPORTED VIP_ERROR_NOT_SUPPORTED
#define VIP_ERROR VIP_ERROR

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

/* Descriptors lie at multiples of this. */
#define VIP_DESCRIPTOR_ALIGNMENT 64

struct _VIP_DESCRIPTOR;

/* An address of 64 bits, whatever a pointer has. */
typedef union {
    VIP_UINT64 AddressBits;
    VIP_PVOID Address;
    struct _VIP_DESCRIPTOR *Descriptor;
} VIP_PVOID64;

/* What a descriptor begins with: 32 bytes. */
typedef struct {
    /* The provider's, from post to completion. */
    VIP_PVOID64 Next;
    VIP_MEM_HANDLE NextHandle;
    /* Segments behind this one; with RDMA the address segment counts. */
    VIP_UINT16 SegCount;
    /* VIP_CONTROL_... */
    VIP_UINT16 Control;
    /* 0. */
    VIP_UINT32 Reserved;
    /* Travels with the message, if VIP_CONTROL_IMMEDIATE says so. */
    VIP_UINT32 ImmediateData;
    /* Posted: bytes in all data segments. Completed: bytes transferred. */
    VIP_UINT32 Length;
    /* Posted: 0. Completed: VIP_STATUS_..., and written last. */
    VIP_UINT32 Status;
} VIP_CONTROL_SEGMENT;

/* The peer's memory, in an RDMA descriptor: its first segment. */
typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    /* 0. */
    VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

/* Memory of one's own. */
typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    /* Bytes. */
    VIP_UINT32 Length;
} VIP_DATA_SEGMENT;

typedef union {
    VIP_ADDRESS_SEGMENT Remote;
    VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/* Two segments have room in it; longer ones go on behind it. */
typedef struct _VIP_DESCRIPTOR {
    union {
        VIP_CONTROL_SEGMENT CS;
        VIP_CONTROL_SEGMENT Control;
    };
    union {
        VIP_DESCRIPTOR_SEGMENT DS[2];
        VIP_DATA_SEGMENT Data[2];
    };
} VIP_DESCRIPTOR;

/* The control word. */
#define VIP_CONTROL_OP_SENDRECV 0x0
#define VIP_CONTROL_OP_RDMAWRITE 0x1
#define VIP_CONTROL_OP_RDMAREAD 0x2
#define VIP_CONTROL_OP_RESERVED 0x3
#define VIP_CONTROL_OP_MASK 0x3
/* ImmediateData is sent. */
#define VIP_CONTROL_IMMEDIATE 0x4
/* Starts when all RDMA reads before it are complete. */
#define VIP_CONTROL_QFENCE 0x8
#define VIP_CONTROL_RESERVED 0xFFF0

/* The status word. */
#define VIP_STATUS_DONE 0x1
#define VIP_STATUS_FORMAT_ERROR 0x2
#define VIP_STATUS_PROTECTION_ERROR 0x4
#define VIP_STATUS_LENGTH_ERROR 0x8
#define VIP_STATUS_PARTIAL_ERROR 0x10
#define VIP_STATUS_DESC_FLUSHED_ERROR 0x20
#define VIP_STATUS_TRANSPORT_ERROR 0x40
#define VIP_STATUS_RDMA_PROT_ERROR 0x80
#define VIP_STATUS_REMOTE_DESC_ERROR 0x100
#define VIP_STATUS_ERROR_MASK 0x1FE
#define VIP_STATUS_OP_SEND 0x00000
#define VIP_STATUS_OP_RECEIVE 0x10000
#define VIP_STATUS_OP_RDMA_WRITE 0x20000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE 0x30000
#define VIP_STATUS_OP_RDMA_READ 0x40000
#define VIP_STATUS_OP_MASK 0x70000
/* ImmediateData has come. */
#define VIP_STATUS_IMMEDIATE 0x80000
#define VIP_STATUS_RESERVED 0xFFF0FE00

/* ---- Attributes -------------------------------------------------------------------------------------------------- */

/* A set of them for a NIC, one of them for a VI. */
typedef VIP_USHORT VIP_RELIABILITY_LEVEL;

#define VIP_SERVICE_UNRELIABLE 0x01
#define VIP_SERVICE_RELIABLE_DELIVERY 0x02
#define VIP_SERVICE_RELIABLE_RECEPTION 0x04
#define VIP_BASE_SERVICES \
    (VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION)
/* Levels of one maker's, not offered here. */
#define VIP_SERVICE_ACK (1 << 14)
#define VIP_SERVICE_DFC (1 << 15)

/* Variable length: HostAddressLen bytes of HostAddress, the DiscriminatorLen bytes of the discriminator right behind. */
typedef struct _VIP_NET_ADDRESS {
    VIP_UINT16 HostAddressLen;
    VIP_UINT16 DiscriminatorLen;
    VIP_UINT8 HostAddress[1];
} VIP_NET_ADDRESS;

typedef struct _VIP_NIC_ATTRIBUTES {
    VIP_CHAR Name[64];
    VIP_ULONG HardwareVersion;
    VIP_ULONG ProviderVersion;
    VIP_UINT16 NicAddressLen;
    /* Stays as long as the NIC is open. */
    const VIP_UINT8 *LocalNicAddress;
    VIP_BOOLEAN ThreadSafe;
    VIP_UINT16 MaxDiscriminatorLen;
    VIP_ULONG MaxRegisterBytes;
    VIP_ULONG MaxRegisterRegions;
    VIP_ULONG MaxRegisterBlockBytes;
    VIP_ULONG MaxVI;
    VIP_ULONG MaxDescriptorsPerQueue;
    VIP_ULONG MaxSegmentsPerDesc;
    VIP_ULONG MaxCQ;
    VIP_ULONG MaxCQEntries;
    VIP_ULONG MaxTransferSize;
    VIP_ULONG NativeMTU;
    VIP_ULONG MaxPtags;
    VIP_RELIABILITY_LEVEL ReliabilityLevelSupport;
    VIP_RELIABILITY_LEVEL RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

typedef struct _VIP_VI_ATTRIBUTES {
    VIP_RELIABILITY_LEVEL ReliabilityLevel;
    VIP_ULONG MaxTransferSize;
    VIP_QOS QoS;
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

typedef struct _VIP_MEM_ATTRIBUTES {
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef enum {
    VIP_STATE_IDLE = 0,
    VIP_STATE_CONNECTED = 1,
    VIP_STATE_CONNECT_PENDING = 2,
    VIP_STATE_ERROR = 3
} VIP_VI_STATE;
#define VIP_STATE_IDLE VIP_STATE_IDLE
#define VIP_STATE_CONNECTED VIP_STATE_CONNECTED
#define VIP_STATE_CONNECT_PENDING VIP_STATE_CONNECT_PENDING
#define VIP_STATE_ERROR VIP_STATE_ERROR

/* What VipQuerySystemManagementInfo may be asked for. */
#define VIP_SMI_AUTODISCOVERY ((VIP_ULONG)1)

typedef struct {
    VIP_ULONG NumberOfHops;
    VIP_NET_ADDRESS **ADAddrArray;
    VIP_ULONG NumAdAddrs;
} VIP_AUTODISCOVERY_LIST;

/* ---- Errors that no descriptor tells ----------------------------------------------------------------------------- */

typedef enum _VIP_RESOURCE_CODE {
    VIP_RESOURCE_NIC = 0,
    VIP_RESOURCE_VI = 1,
    VIP_RESOURCE_CQ = 2,
    VIP_RESOURCE_DESCRIPTOR = 3
} VIP_RESOURCE_CODE;
#define VIP_RESOURCE_NIC VIP_RESOURCE_NIC
#define VIP_RESOURCE_VI VIP_RESOURCE_VI
#define VIP_RESOURCE_CQ VIP_RESOURCE_CQ
#define VIP_RESOURCE_DESCRIPTOR VIP_RESOURCE_DESCRIPTOR

typedef enum _VIP_ERROR_CODE {
    /* A posted descriptor does not lie in live memory of the VI's tag. */
    VIP_ERROR_POST_DESC = 0,
    /* The VI is in the Error state. */
    VIP_ERROR_CONN_LOST = 1,
    /* A message found no receive and was dropped. */
    VIP_ERROR_RECVQ_EMPTY = 2,
    VIP_ERROR_VI_OVERRUN = 3,
    VIP_ERROR_RDMAW_PROT = 4,
    VIP_ERROR_RDMAW_DATA = 5,
    VIP_ERROR_RDMAW_ABORT = 6,
    VIP_ERROR_RDMAR_PROT = 7,
    /* A descriptor's completion could not be written. */
    VIP_ERROR_COMP_PROT = 8,
    VIP_ERROR_RDMA_TRANSPORT = 9,
    VIP_ERROR_CATASTROPHIC = 10
} VIP_ERROR_CODE;
#define VIP_ERROR_POST_DESC VIP_ERROR_POST_DESC
#define VIP_ERROR_CONN_LOST VIP_ERROR_CONN_LOST
#define VIP_ERROR_RECVQ_EMPTY VIP_ERROR_RECVQ_EMPTY
#define VIP_ERROR_VI_OVERRUN VIP_ERROR_VI_OVERRUN
#define VIP_ERROR_RDMAW_PROT VIP_ERROR_RDMAW_PROT
#define VIP_ERROR_RDMAW_DATA VIP_ERROR_RDMAW_DATA
#define VIP_ERROR_RDMAW_ABORT VIP_ERROR_RDMAW_ABORT
#define VIP_ERROR_RDMAR_PROT VIP_ERROR_RDMAR_PROT
#define VIP_ERROR_COMP_PROT VIP_ERROR_COMP_PROT
#define VIP_ERROR_RDMA_TRANSPORT VIP_ERROR_RDMA_TRANSPORT
#define VIP_ERROR_CATASTROPHIC VIP_ERROR_CATASTROPHIC

typedef struct _VIP_ERROR_DESCRIPTOR {
    VIP_NIC_HANDLE NicHandle;
    VIP_VI_HANDLE ViHandle;
    VIP_CQ_HANDLE CQHandle;
    VIP_DESCRIPTOR *DescriptorPtr;
    VIP_ULONG OpCode;
    VIP_RESOURCE_CODE ResourceCode;
    VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

/* Handlers run on threads of the library's. They may call it. */
typedef void (*VIP_ERROR_HANDLER)(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc);
typedef void (*VIP_VI_CALLBACK)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                VIP_DESCRIPTOR *Descriptor);
typedef void (*VIP_CQ_CALLBACK)(VIP_PVOID Context, VIP_NIC_HANDLE NicHandle, VIP_VI_HANDLE ViHandle,
                                VIP_BOOLEAN RecvQueue);

/* ---- NICs -------------------------------------------------------------------------------------------------------- */

VIP_RETURN VipOpenNic(IN const VIP_CHAR *DeviceName, OUT VIP_NIC_HANDLE *NicHandle);
VIP_RETURN VipCloseNic(IN VIP_NIC_HANDLE NicHandle);
VIP_RETURN VipQueryNic(IN VIP_NIC_HANDLE NicHandle, OUT VIP_NIC_ATTRIBUTES *NicAttribs);
VIP_RETURN VipQuerySystemManagementInfo(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG InfoType,
                                        OUT VIP_PVOID SysManInfo);
/* A NULL handler: errors are written to stderr. */
VIP_RETURN VipErrorCallback(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Context, IN VIP_ERROR_HANDLER Handler);

/* ---- Protection tags and memory ---------------------------------------------------------------------------------- */

VIP_RETURN VipCreatePtag(IN VIP_NIC_HANDLE NicHandle, OUT VIP_PROTECTION_HANDLE *ProtectionTag);
VIP_RETURN VipDestroyPtag(IN VIP_NIC_HANDLE NicHandle, IN VIP_PROTECTION_HANDLE ProtectionTag);
VIP_RETURN VipRegisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress, IN VIP_ULONG Length,
                          IN VIP_MEM_ATTRIBUTES *MemAttribs, OUT VIP_MEM_HANDLE *MemoryHandle);
VIP_RETURN VipDeregisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
                            IN VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipSetMemAttributes(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
                               IN VIP_MEM_HANDLE MemoryHandle, IN VIP_MEM_ATTRIBUTES *MemAttribs);
VIP_RETURN VipQueryMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address, IN VIP_MEM_HANDLE MemoryHandle,
                       OUT VIP_MEM_ATTRIBUTES *MemAttribs);

/* ---- Virtual interfaces ------------------------------------------------------------------------------------------ */

/* A completion queue may be NULL. */
VIP_RETURN VipCreateVi(IN VIP_NIC_HANDLE NicHandle, IN VIP_VI_ATTRIBUTES *ViAttribs,
                       IN VIP_CQ_HANDLE SendCQHandle, IN VIP_CQ_HANDLE RecvCQHandle,
                       OUT VIP_VI_HANDLE *ViHandle);
VIP_RETURN VipDestroyVi(IN VIP_VI_HANDLE ViHandle);
VIP_RETURN VipSetViAttributes(IN VIP_VI_HANDLE ViHandle, IN VIP_VI_ATTRIBUTES *ViAttribs);
VIP_RETURN VipQueryVi(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_STATE *State, OUT VIP_VI_ATTRIBUTES *ViAttribs,
                      OUT VIP_BOOLEAN *ViSendQEmpty, OUT VIP_BOOLEAN *ViRecvQEmpty);

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* By discriminators, over the wire. Who waits, asks, or has asked finds out when the NIC is closed, and by VipDisconnect. */
VIP_RETURN VipConnectWait(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *LocalAddr, IN VIP_ULONG Timeout,
                          OUT VIP_NET_ADDRESS *RemoteAddr, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          OUT VIP_CONN_HANDLE *ConnHandle);
VIP_RETURN VipConnectAccept(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle);
VIP_RETURN VipConnectReject(IN VIP_CONN_HANDLE ConnHandle);
VIP_RETURN VipConnectRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                             IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
                             OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipConnectPeerRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                 IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout);
VIP_RETURN VipConnectPeerDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipConnectPeerWait(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipDisconnect(IN VIP_VI_HANDLE ViHandle);

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

/* The memory handle is that of the region in which the descriptor lies. */
VIP_RETURN VipPostSend(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *DescriptorPtr,
                       IN VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipSendDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipSendWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout, OUT VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipSendNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context, IN VIP_VI_CALLBACK Handler);
VIP_RETURN VipPostRecv(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *DescriptorPtr,
                       IN VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipRecvDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipRecvWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout, OUT VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipRecvNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context, IN VIP_VI_CALLBACK Handler);

/* ---- Completion queues ------------------------------------------------------------------------------------------- */

VIP_RETURN VipCreateCQ(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG EntryCount, OUT VIP_CQ_HANDLE *CQHandle);
VIP_RETURN VipDestroyCQ(IN VIP_CQ_HANDLE CQHandle);
VIP_RETURN VipResizeCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG EntryCount);
VIP_RETURN VipCQDone(IN VIP_CQ_HANDLE CQHandle, OUT VIP_VI_HANDLE *ViHandle, OUT VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCQWait(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG Timeout, OUT VIP_VI_HANDLE *ViHandle,
                     OUT VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCQNotify(IN VIP_CQ_HANDLE CQHandle, IN VIP_PVOID Context, IN VIP_CQ_CALLBACK Handler);

/* ---- Name service ------------------------------------------------------------------------------------------------ */

/* From the hosts file: $VIPL_HOSTS, or else /etc/vip_hosts. NSInitInfo is not looked at. */
VIP_RETURN VipNSInit(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID NSInitInfo);
VIP_RETURN VipNSGetHostByName(IN VIP_NIC_HANDLE NicHandle, IN VIP_CHAR *Name, OUT VIP_NET_ADDRESS *Address,
                              IN VIP_ULONG NameIndex);
VIP_RETURN VipNSGetHostByAddr(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *Address, OUT VIP_CHAR *Name,
                              IN OUT VIP_ULONG *NameLen);
VIP_RETURN VipNSShutdown(IN VIP_NIC_HANDLE NicHandle);

/* ---- Beside VIPL: what programs of one maker's NICs call --------------------------------------------------------- */

/* A word that the program keeps with a VI; NULL at first. */
VIP_PVOID VipGetUserData(IN VIP_VI_HANDLE ViHandle);
void VipSetUserData(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Data);
/* Nothing is ever deferred: answers that. */
VIP_RETURN VipPostDeferredSends(IN VIP_VI_HANDLE ViHandle, IN VIP_BOOLEAN EnableInterrupt,
                                IN OUT VIP_BOOLEAN *SendsDeferred);
/* Not supported. */
VIP_RETURN VipAddTagCQ(IN VIP_CQ_HANDLE CQHandle, IN OUT VIP_EVENT_HANDLE *Event, IN VIP_ULONG Tag,
                       IN VIP_ULONG Priority);
VIP_RETURN VipRemoveTagCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_EVENT_HANDLE Event, IN VIP_ULONG Tag);

/* ---- Beside VIPL: private data ----------------------------------------------------------------------------------- */

/* Extensions of Viaduct's: some bytes of the program's own, which travel with the messages of a connection. A program that calls
 * VIPL's functions alone sends none, and may be connected with one that does. Programs that have to do with other libraries as
 * well ask for this macro.
 */
#define VIP_HAS_PRIVATE_DATA 1

/* Most bytes of them. Those of a request share the room with both discriminators: 44 less the bytes of these. */
#define VIP_MAX_REQUEST_DATA 44
#define VIP_MAX_ACCEPT_DATA 184
#define VIP_MAX_REJECT_DATA 136

/* As the functions of the shorter names, with DataLen bytes at Data; more than there is room for is VIP_INVALID_PARAMETER, and
 * nothing is done.
 */
VIP_RETURN VipConnectRequestData(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                 IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
                                 OUT VIP_VI_ATTRIBUTES *RemoteViAttribs, IN const void *Data, IN VIP_ULONG DataLen);
VIP_RETURN VipConnectPeerRequestData(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                     IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout, IN const void *Data,
                                     IN VIP_ULONG DataLen);
VIP_RETURN VipConnectAcceptData(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle, IN const void *Data,
                                IN VIP_ULONG DataLen);
VIP_RETURN VipConnectRejectData(IN VIP_CONN_HANDLE ConnHandle, IN const void *Data, IN VIP_ULONG DataLen);

/* What came with a request that VipConnectWait has given, until it is accepted or rejected. DataLen is how much room there is, and
 * then how many bytes they are: none is VIP_SUCCESS with 0, too little room VIP_ERROR_RESOURCE.
 */
VIP_RETURN VipGetRequestData(IN VIP_CONN_HANDLE ConnHandle, OUT VIP_PVOID Data, IN OUT VIP_ULONG *DataLen);
/* What the peer of a VI has sent last: with its request, or with its answer, VIP_REJECT too; until the VI is next connected. */
VIP_RETURN VipGetPeerData(IN VIP_VI_HANDLE ViHandle, OUT VIP_PVOID Data, IN OUT VIP_ULONG *DataLen);

#ifdef __cplusplus
}
#endif

#endif
