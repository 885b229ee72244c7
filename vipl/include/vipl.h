/* VIPL: the C interface of Virtual Interface Architecture programs (VI Architecture Specification 1.0).
 *
 * Programs of both naming traditions compile against it: a descriptor's parts are CS and DS[n].Local and DS[n].Remote, and they
 * are Control and Data[n] as well. Builds that define VIPL095 need nothing more, and nothing changes with it.
 *
 * All functions may be called from any thread, unless the program has promised otherwise (vipl_ext.h, VipExtSetThreadSafe). Time-outs are milliseconds; VIP_INFINITE is for ever. `cargo xtask install` makes the
 * manual pages of section 3 of the comments in front of the functions.
 *
 * Each function with a VIP_RETURN also returns:
 *   VIP_INVALID_PARAMETER: a handle does not exist (any more), or NULL stands where a result goes
 *   VIP_ERROR_RESOURCE: the NIC is gone, or the process is a child of the one that has opened it
 *
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

/* Variable length: HostAddressLen bytes of HostAddress, the DiscriminatorLen bytes of the discriminator right behind. The host's address is the Ethernet
 * address of its NIC, 6 bytes; it may be the IPv4 address, 4 bytes, as well, or 16 bytes that stand for an IPv4 address (::ffff:a.b.c.d).
 */
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
    /* Of what is created with this handle: VIP_TRUE, unless VipExtSetThreadSafe of vipl_ext.h was called. */
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

/* Opens a NIC by its name, or by an alias of it: vipl(7) has both.
 * A NIC may be open several times; each handle is closed for itself. What keeps a NIC from being opened is written to
 * stderr.
 * Returns:
 *   VIP_SUCCESS: NicHandle has a handle of the NIC
 *   VIP_INVALID_PARAMETER: DeviceName is NULL, or no NIC has that name; or the variable VIADUCT_LOG has no filter in it
 *   VIP_ERROR_RESOURCE: the NIC does not answer, or belongs to another program
 */
VIP_RETURN VipOpenNic(IN const VIP_CHAR *DeviceName, OUT VIP_NIC_HANDLE *NicHandle);

/* Closes a handle of a NIC, and ends all that was made with it: VIs, completion queues, registrations, tags.
 * Calls that are under way with it return within a moment. When it returns, the NIC can be opened again.
 * Returns:
 *   VIP_SUCCESS: it is closed
 *   VIP_ERROR_RESOURCE: it is closed, but the NIC may still reach memory that was registered
 */
VIP_RETURN VipCloseNic(IN VIP_NIC_HANDLE NicHandle);

/* Tells the attributes of a NIC, and what a program may have of it.
 * Name is the name that the NIC was opened by.
 * Returns:
 *   VIP_SUCCESS: NicAttribs is filled in
 */
VIP_RETURN VipQueryNic(IN VIP_NIC_HANDLE NicHandle, OUT VIP_NIC_ATTRIBUTES *NicAttribs);

/* Would tell what system management knows of the NIC, which is not offered.
 * Returns:
 *   VIP_INVALID_PARAMETER: InfoType is not VIP_SMI_AUTODISCOVERY
 *   VIP_ERROR_NOT_SUPPORTED: in every other case
 */
VIP_RETURN VipQuerySystemManagementInfo(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG InfoType,
                                        OUT VIP_PVOID SysManInfo);

/* Names the function that is called for errors that no descriptor tells.
 * It is called on a thread of the library's, with Context. With a NULL handler, as after VipOpenNic, errors are
 * written to stderr.
 * Returns:
 *   VIP_SUCCESS: errors go there from now on
 */
VIP_RETURN VipErrorCallback(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Context, IN VIP_ERROR_HANDLER Handler);

/* ---- Protection tags and memory ---------------------------------------------------------------------------------- */

/* Makes a protection tag. A VI uses memory of its own tag only.
 * Returns:
 *   VIP_SUCCESS: ProtectionTag has its handle
 *   VIP_ERROR_RESOURCE: there are no more tags
 */
VIP_RETURN VipCreatePtag(IN VIP_NIC_HANDLE NicHandle, OUT VIP_PROTECTION_HANDLE *ProtectionTag);

/* Destroys a protection tag that no VI and no registered memory has any more.
 * Returns:
 *   VIP_SUCCESS: it is destroyed
 *   VIP_INVALID_PARAMETER: the tag was made with another handle of a NIC
 *   VIP_ERROR_RESOURCE: it is in use
 */
VIP_RETURN VipDestroyPtag(IN VIP_NIC_HANDLE NicHandle, IN VIP_PROTECTION_HANDLE ProtectionTag);

/* Registers memory, so that the NIC may reach it: Length bytes at VirtualAddress, of any alignment.
 * The memory stays mapped until VipDeregisterMem. The same memory may be registered several times. What the process
 * may only read, the NIC may only read.
 * Returns:
 *   VIP_SUCCESS: MemoryHandle has its handle
 *   VIP_INVALID_PARAMETER: Length is 0, not all of the memory is mapped, it is read-only and EnableRdmaWrite is set,
 *       or MemAttribs is NULL
 *   VIP_INVALID_PTAG: the tag of MemAttribs does not exist
 *   VIP_ERROR_RESOURCE: the NIC, its IOMMU or the limit on locked memory has no room for it
 */
VIP_RETURN VipRegisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress, IN VIP_ULONG Length,
                          IN VIP_MEM_ATTRIBUTES *MemAttribs, OUT VIP_MEM_HANDLE *MemoryHandle);

/* Ends a registration. When it returns, the NIC reaches the memory no more.
 * VirtualAddress is where the registered memory begins.
 * Returns:
 *   VIP_SUCCESS: the memory is the program's alone
 *   VIP_INVALID_PARAMETER: no memory that begins there has that handle
 *   VIP_ERROR_RESOURCE: another call uses it, or the NIC has not let go of it: it stays registered
 */
VIP_RETURN VipDeregisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
                            IN VIP_MEM_HANDLE MemoryHandle);

/* Changes the tag and the remote rights of registered memory.
 * Returns:
 *   VIP_SUCCESS: the NIC goes by the new attributes
 *   VIP_INVALID_PARAMETER: no memory that begins there has that handle, it is read-only and EnableRdmaWrite is set,
 *       or MemAttribs is NULL
 *   VIP_INVALID_PTAG: the tag of MemAttribs does not exist
 */
VIP_RETURN VipSetMemAttributes(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
                               IN VIP_MEM_HANDLE MemoryHandle, IN VIP_MEM_ATTRIBUTES *MemAttribs);

/* Tells the tag and the remote rights of registered memory.
 * Returns:
 *   VIP_SUCCESS: MemAttribs is filled in
 *   VIP_INVALID_PARAMETER: no memory that begins there has that handle
 */
VIP_RETURN VipQueryMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address, IN VIP_MEM_HANDLE MemoryHandle,
                       OUT VIP_MEM_ATTRIBUTES *MemAttribs);

/* ---- Virtual interfaces ------------------------------------------------------------------------------------------ */

/* Makes a virtual interface: a send queue and a receive queue, idle and empty.
 * SendCQHandle and RecvCQHandle name the completion queues that its completions go to; each may be NULL, and both may
 * be the same.
 * Returns:
 *   VIP_SUCCESS: ViHandle has its handle
 *   VIP_INVALID_PARAMETER: a completion queue does not exist, or belongs to another NIC
 *   VIP_INVALID_RELIABILITY_LEVEL: the NIC does not offer that level
 *   VIP_INVALID_MTU: the NIC does not offer that MaxTransferSize
 *   VIP_INVALID_QOS: QoS is not NULL
 *   VIP_INVALID_PTAG: the tag does not exist
 *   VIP_INVALID_RDMAREAD: EnableRdmaRead is set, and the level has no RDMA read
 *   VIP_ERROR_RESOURCE: the NIC or the process has no room for one more
 */
VIP_RETURN VipCreateVi(IN VIP_NIC_HANDLE NicHandle, IN VIP_VI_ATTRIBUTES *ViAttribs,
                       IN VIP_CQ_HANDLE SendCQHandle, IN VIP_CQ_HANDLE RecvCQHandle,
                       OUT VIP_VI_HANDLE *ViHandle);

/* Destroys a VI that is idle and has nothing on its queues.
 * Returns:
 *   VIP_SUCCESS: it is destroyed
 *   VIP_ERROR_RESOURCE: it is not idle, or descriptors are still on a queue of its
 */
VIP_RETURN VipDestroyVi(IN VIP_VI_HANDLE ViHandle);

/* Changes the attributes of a VI that is idle.
 * Returns:
 *   VIP_SUCCESS: it has the new attributes
 *   VIP_INVALID_STATE: it is not idle, or receives are posted and the tag would be another one
 *   VIP_INVALID_RELIABILITY_LEVEL: the NIC does not offer that level
 *   VIP_INVALID_MTU: the NIC does not offer that MaxTransferSize
 *   VIP_INVALID_QOS: QoS is not NULL
 *   VIP_INVALID_PTAG: the tag does not exist
 *   VIP_INVALID_RDMAREAD: EnableRdmaRead is set, and the level has no RDMA read
 */
VIP_RETURN VipSetViAttributes(IN VIP_VI_HANDLE ViHandle, IN VIP_VI_ATTRIBUTES *ViAttribs);

/* Tells the state and the attributes of a VI, and whether its queues are empty.
 * A queue is empty when nothing is posted to it that the program has not taken off.
 * Returns:
 *   VIP_SUCCESS: all four places are filled in
 */
VIP_RETURN VipQueryVi(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_STATE *State, OUT VIP_VI_ATTRIBUTES *ViAttribs,
                      OUT VIP_BOOLEAN *ViSendQEmpty, OUT VIP_BOOLEAN *ViRecvQEmpty);

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* Waits for a client that asks for a connection with the address LocalAddr of this NIC.
 * RemoteAddr needs room for 6 bytes of address and MaxDiscriminatorLen of discriminator. The request waits until
 * ConnHandle is accepted or rejected.
 * Returns:
 *   VIP_SUCCESS: RemoteAddr, RemoteViAttribs and ConnHandle are filled in
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC
 *   VIP_TIMEOUT: nobody has asked in that time, or the NIC was closed meanwhile
 *   VIP_ERROR_RESOURCE: too many wait, or another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 address that stands for no IPv4 address (vipl(7))
 */
VIP_RETURN VipConnectWait(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *LocalAddr, IN VIP_ULONG Timeout,
                          OUT VIP_NET_ADDRESS *RemoteAddr, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          OUT VIP_CONN_HANDLE *ConnHandle);

/* Accepts a request that VipConnectWait has given, and connects it with an idle VI.
 * When the attributes differ the peer hears nothing, and the program may accept with another VI, or reject.
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and ConnHandle is used up
 *   VIP_INVALID_PARAMETER: the VI is of another NIC
 *   VIP_INVALID_STATE: the VI is not idle, or was disconnected meanwhile
 *   VIP_INVALID_RELIABILITY_LEVEL: the VI has another level than the peer's
 *   VIP_INVALID_MTU: the VI has another MaxTransferSize than the peer's
 *   VIP_TIMEOUT: the peer has given up, or does not answer any more
 *   VIP_REJECT: the peer wants it no more
 */
VIP_RETURN VipConnectAccept(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle);

/* Rejects a request that VipConnectWait has given. The peer gets VIP_REJECT.
 * Returns:
 *   VIP_SUCCESS: ConnHandle is used up
 */
VIP_RETURN VipConnectReject(IN VIP_CONN_HANDLE ConnHandle);

/* Asks a server for a connection of an idle VI, and waits for the answer.
 * LocalAddr is an address of this NIC, RemoteAddr the one that the server waits with.
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and RemoteViAttribs has the attributes of the server's VI
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, or a discriminator is too long
 *   VIP_INVALID_STATE: the VI is not idle, or was disconnected meanwhile
 *   VIP_NO_MATCH: nobody waits there
 *   VIP_REJECT: the server has rejected it
 *   VIP_ERROR_RESOURCE: another user has that discriminator
 *   VIP_TIMEOUT: the server has not decided in that time
 *   VIP_NOT_REACHABLE: there is no way to that address
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 address that stands for no IPv4 address (vipl(7))
 */
VIP_RETURN VipConnectRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                             IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
                             OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/* Asks a peer, who asks in the same way, for a connection of an idle VI, and returns at once.
 * VipConnectPeerDone or VipConnectPeerWait tells how it ended.
 * Returns:
 *   VIP_SUCCESS: the request is on its way
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, or a discriminator is too long
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected
 *   VIP_ERROR_RESOURCE: too many ask, or another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 address that stands for no IPv4 address (vipl(7))
 */
VIP_RETURN VipConnectPeerRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                 IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout);

/* Tells how a peer request ended, if it has. It never waits.
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and RemoteViAttribs has the attributes of the peer's VI
 *   VIP_NOT_DONE: it has not ended
 *   VIP_INVALID_STATE: no request is under way, or the VI was disconnected meanwhile
 *   VIP_REJECT: the peer has rejected it, or its VI has another level or MaxTransferSize
 *   VIP_TIMEOUT: the peer has not asked in the time of the request
 *   VIP_NOT_REACHABLE: there is no way to that address
 */
VIP_RETURN VipConnectPeerDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/* Waits until a peer request ends.
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and RemoteViAttribs has the attributes of the peer's VI
 *   VIP_INVALID_STATE: no request is under way, or the VI was disconnected meanwhile
 *   VIP_REJECT: the peer has rejected it, or its VI has another level or MaxTransferSize
 *   VIP_TIMEOUT: the peer has not asked in the time of the request
 *   VIP_NOT_REACHABLE: there is no way to that address
 */
VIP_RETURN VipConnectPeerWait(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs);

/* Ends the connection of a VI, or the attempt at one, and makes it idle.
 * What is posted is flushed; the peer gets VIP_ERROR_CONN_LOST. An idle VI stays as it is.
 * Returns:
 *   VIP_SUCCESS: the VI is idle
 */
VIP_RETURN VipDisconnect(IN VIP_VI_HANDLE ViHandle);

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

/* Posts a descriptor to the send queue of a VI.
 * MemoryHandle is that of the registered memory in which the descriptor lies. The descriptor is the library's until
 * it is taken off the queue. On an idle VI it is flushed.
 * Returns:
 *   VIP_SUCCESS: it is posted
 *   VIP_INVALID_PARAMETER: DescriptorPtr is no multiple of 64, or lies in no memory of that handle
 *   VIP_ERROR_RESOURCE: as many descriptors are posted as the queue has room for
 */
VIP_RETURN VipPostSend(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *DescriptorPtr,
                       IN VIP_MEM_HANDLE MemoryHandle);

/* Takes the oldest descriptor off the send queue of a VI, if it is complete. It never waits.
 * Returns:
 *   VIP_SUCCESS: DescriptorPtr has a descriptor that is complete without an error
 *   VIP_NOT_DONE: the oldest one is not complete; DescriptorPtr has NULL
 *   VIP_DESCRIPTOR_ERROR: DescriptorPtr has a descriptor whose Status has the error; or NULL, if nothing is posted
 */
VIP_RETURN VipSendDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **DescriptorPtr);

/* Waits until the oldest descriptor of a VI's send queue is complete, and takes it off.
 * Returns:
 *   VIP_SUCCESS: DescriptorPtr has a descriptor that is complete without an error
 *   VIP_DESCRIPTOR_ERROR: DescriptorPtr has a descriptor whose Status has the error; or NULL, if nothing is posted
 *   VIP_TIMEOUT: it is not complete in that time; DescriptorPtr has NULL
 *   VIP_INVALID_PARAMETER: the queue has a completion queue, which is to be waited for
 */
VIP_RETURN VipSendWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout, OUT VIP_DESCRIPTOR **DescriptorPtr);

/* Names a function that takes one completed descriptor off the send queue of a VI.
 * It is called once: at once if the oldest descriptor is complete, else later on a thread of the library's. Handlers
 * of a queue are called in the order of these calls. VipDestroyVi cancels it.
 * Returns:
 *   VIP_SUCCESS: it was called, or will be
 *   VIP_INVALID_PARAMETER: Handler is NULL, or the queue has a completion queue
 *   VIP_ERROR_RESOURCE: there is no thread for it
 *   VIP_ERROR_NOT_SUPPORTED: the VI is not thread-safe (vipl_ext.h, VipExtSetThreadSafe)
 */
VIP_RETURN VipSendNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context, IN VIP_VI_CALLBACK Handler);

/* Posts a descriptor to the receive queue of a VI.
 * MemoryHandle is that of the registered memory in which the descriptor lies. The descriptor is the library's until
 * it is taken off the queue. It may be posted before the VI is connected.
 * Returns:
 *   VIP_SUCCESS: it is posted
 *   VIP_INVALID_PARAMETER: DescriptorPtr is no multiple of 64, or lies in no memory of that handle
 *   VIP_ERROR_RESOURCE: as many descriptors are posted as the queue has room for
 */
VIP_RETURN VipPostRecv(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *DescriptorPtr,
                       IN VIP_MEM_HANDLE MemoryHandle);

/* Takes the oldest descriptor off the receive queue of a VI, if it is complete. It never waits.
 * Returns:
 *   VIP_SUCCESS: DescriptorPtr has a descriptor that is complete without an error
 *   VIP_NOT_DONE: the oldest one is not complete; DescriptorPtr has NULL
 *   VIP_DESCRIPTOR_ERROR: DescriptorPtr has a descriptor whose Status has the error; or NULL, if nothing is posted
 */
VIP_RETURN VipRecvDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **DescriptorPtr);

/* Waits until the oldest descriptor of a VI's receive queue is complete, and takes it off.
 * Returns:
 *   VIP_SUCCESS: DescriptorPtr has a descriptor that is complete without an error
 *   VIP_DESCRIPTOR_ERROR: DescriptorPtr has a descriptor whose Status has the error; or NULL, if nothing is posted
 *   VIP_TIMEOUT: it is not complete in that time; DescriptorPtr has NULL
 *   VIP_INVALID_PARAMETER: the queue has a completion queue, which is to be waited for
 */
VIP_RETURN VipRecvWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout, OUT VIP_DESCRIPTOR **DescriptorPtr);

/* Names a function that takes one completed descriptor off the receive queue of a VI.
 * It is called once: at once if the oldest descriptor is complete, else later on a thread of the library's. Handlers
 * of a queue are called in the order of these calls. VipDestroyVi cancels it.
 * Returns:
 *   VIP_SUCCESS: it was called, or will be
 *   VIP_INVALID_PARAMETER: Handler is NULL, or the queue has a completion queue
 *   VIP_ERROR_RESOURCE: there is no thread for it
 *   VIP_ERROR_NOT_SUPPORTED: the VI is not thread-safe (vipl_ext.h, VipExtSetThreadSafe)
 */
VIP_RETURN VipRecvNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context, IN VIP_VI_CALLBACK Handler);

/* ---- Completion queues ------------------------------------------------------------------------------------------- */

/* Makes a completion queue with room for EntryCount entries.
 * Returns:
 *   VIP_SUCCESS: CQHandle has its handle
 *   VIP_INVALID_PARAMETER: EntryCount is 0, or more than MaxCQEntries
 *   VIP_ERROR_RESOURCE: the NIC or the process has no room for one more
 */
VIP_RETURN VipCreateCQ(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG EntryCount, OUT VIP_CQ_HANDLE *CQHandle);

/* Destroys a completion queue that no VI has, and cancels its handlers.
 * Returns:
 *   VIP_SUCCESS: it is destroyed
 *   VIP_ERROR_RESOURCE: a VI has it
 */
VIP_RETURN VipDestroyCQ(IN VIP_CQ_HANDLE CQHandle);

/* Gives a completion queue room for EntryCount entries. What is on it stays.
 * Returns:
 *   VIP_SUCCESS: it has that room
 *   VIP_INVALID_PARAMETER: EntryCount is 0, or more than MaxCQEntries
 *   VIP_ERROR_RESOURCE: there is no memory for it
 */
VIP_RETURN VipResizeCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG EntryCount);

/* Takes the oldest entry off a completion queue, if there is one. It never waits.
 * The entry says which VI has completed a descriptor, and on which queue: VipSendDone or VipRecvDone then gives that
 * descriptor.
 * Returns:
 *   VIP_SUCCESS: ViHandle has the VI, and RecvQueue is VIP_TRUE if it was the receive queue
 *   VIP_NOT_DONE: there is no entry
 */
VIP_RETURN VipCQDone(IN VIP_CQ_HANDLE CQHandle, OUT VIP_VI_HANDLE *ViHandle, OUT VIP_BOOLEAN *RecvQueue);

/* Waits for an entry of a completion queue, and takes it off.
 * Returns:
 *   VIP_SUCCESS: ViHandle has the VI, and RecvQueue is VIP_TRUE if it was the receive queue
 *   VIP_TIMEOUT: no entry has come in that time
 */
VIP_RETURN VipCQWait(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG Timeout, OUT VIP_VI_HANDLE *ViHandle,
                     OUT VIP_BOOLEAN *RecvQueue);

/* Names a function that takes one entry off a completion queue.
 * It is called once: at once if there is an entry, else later on a thread of the library's. Handlers of a queue are
 * called in the order of these calls. VipDestroyCQ cancels it.
 * Returns:
 *   VIP_SUCCESS: it was called, or will be
 *   VIP_INVALID_PARAMETER: Handler is NULL
 *   VIP_ERROR_RESOURCE: there is no thread for it
 *   VIP_ERROR_NOT_SUPPORTED: the completion queue is not thread-safe (vipl_ext.h, VipExtSetThreadSafe)
 */
VIP_RETURN VipCQNotify(IN VIP_CQ_HANDLE CQHandle, IN VIP_PVOID Context, IN VIP_CQ_CALLBACK Handler);

/* ---- Name service ------------------------------------------------------------------------------------------------ */

/* Reads the hosts file, for the two functions that look names up: vipl(7) says which file that is.
 * NSInitInfo is not looked at. Why a file or a line of it cannot be read is written to stderr.
 * Returns:
 *   VIP_SUCCESS: names can be looked up
 *   VIP_ERROR_NAMESERVICE: the file cannot be read
 */
VIP_RETURN VipNSInit(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID NSInitInfo);

/* Looks up the address of a NIC by the name of its host; NameIndex 0 is the host's first NIC.
 * HostAddressLen of Address is how much room there is: 6 or more, or 0 for enough. The discriminator stays as it is.
 * Returns:
 *   VIP_SUCCESS: Address has the NIC's address of 6 bytes
 *   VIP_INVALID_PARAMETER: Name is NULL, or there is too little room
 *   VIP_ERROR_NAMESERVICE: there is no such host or NIC, or VipNSInit was not called
 */
VIP_RETURN VipNSGetHostByName(IN VIP_NIC_HANDLE NicHandle, IN VIP_CHAR *Name, OUT VIP_NET_ADDRESS *Address,
                              IN VIP_ULONG NameIndex);

/* Looks up the name of a host by the address of one of its NICs.
 * NameLen is how much room Name has in bytes, and then how much it takes with the 0 at its end.
 * Returns:
 *   VIP_SUCCESS: Name has the name
 *   VIP_INVALID_PARAMETER: the address does not have 6 bytes
 *   VIP_ERROR_RESOURCE: there is too little room
 *   VIP_ERROR_NAMESERVICE: no host has that NIC, or VipNSInit was not called
 */
VIP_RETURN VipNSGetHostByAddr(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *Address, OUT VIP_CHAR *Name,
                              IN OUT VIP_ULONG *NameLen);

/* Forgets the hosts that VipNSInit has read.
 * Returns:
 *   VIP_SUCCESS: they are forgotten
 *   VIP_ERROR_NAMESERVICE: VipNSInit was not called
 */
VIP_RETURN VipNSShutdown(IN VIP_NIC_HANDLE NicHandle);

/* ---- Beside VIPL: what programs of one maker's NICs call --------------------------------------------------------- */

/* Gives the word that the program keeps with a VI.
 * Returns:
 *   the word: NULL if none was set, or the VI does not exist
 */
VIP_PVOID VipGetUserData(IN VIP_VI_HANDLE ViHandle);

/* Keeps a word of the program's with a VI. Of a VI that does not exist, nothing is kept.
 * Returns:
 *   nothing
 */
void VipSetUserData(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Data);

/* Starts sends that were deferred. Nothing is ever deferred here, and SendsDeferred becomes VIP_FALSE.
 * Returns:
 *   VIP_SUCCESS: there was nothing to do
 */
VIP_RETURN VipPostDeferredSends(IN VIP_VI_HANDLE ViHandle, IN VIP_BOOLEAN EnableInterrupt,
                                IN OUT VIP_BOOLEAN *SendsDeferred);

/* Would demultiplex a completion queue by tags, which is not offered.
 * Returns:
 *   VIP_ERROR_NOT_SUPPORTED: always
 */
VIP_RETURN VipAddTagCQ(IN VIP_CQ_HANDLE CQHandle, IN OUT VIP_EVENT_HANDLE *Event, IN VIP_ULONG Tag,
                       IN VIP_ULONG Priority);

/* Would end what VipAddTagCQ does, which is not offered.
 * Returns:
 *   VIP_ERROR_NOT_SUPPORTED: always
 */
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

/* As VipConnectRequest, with private data: DataLen bytes at Data. They share VIP_MAX_REQUEST_DATA (44) bytes with both discriminators.
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and RemoteViAttribs has the attributes of the server's VI
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, or a discriminator is too long; or DataLen is
 *       more than there is room for
 *   VIP_INVALID_STATE: the VI is not idle, or was disconnected meanwhile
 *   VIP_NO_MATCH: nobody waits there
 *   VIP_REJECT: the server has rejected it
 *   VIP_ERROR_RESOURCE: another user has that discriminator
 *   VIP_TIMEOUT: the server has not decided in that time
 *   VIP_NOT_REACHABLE: there is no way to that address
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 address that stands for no IPv4 address (vipl(7))
 */
VIP_RETURN VipConnectRequestData(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                 IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
                                 OUT VIP_VI_ATTRIBUTES *RemoteViAttribs, IN const void *Data, IN VIP_ULONG DataLen);

/* As VipConnectPeerRequest, with private data: DataLen bytes at Data. They share VIP_MAX_REQUEST_DATA (44) bytes with both discriminators.
 * Returns:
 *   VIP_SUCCESS: the request is on its way
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, or a discriminator is too long; or DataLen is
 *       more than there is room for
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected
 *   VIP_ERROR_RESOURCE: too many ask, or another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 address that stands for no IPv4 address (vipl(7))
 */
VIP_RETURN VipConnectPeerRequestData(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
                                     IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout, IN const void *Data,
                                     IN VIP_ULONG DataLen);

/* As VipConnectAccept, with private data: DataLen bytes at Data. At most VIP_MAX_ACCEPT_DATA (184).
 * Returns:
 *   VIP_SUCCESS: the VI is connected, and ConnHandle is used up
 *   VIP_INVALID_PARAMETER: the VI is of another NIC, or DataLen is more than there is room for
 *   VIP_INVALID_STATE: the VI is not idle, or was disconnected meanwhile
 *   VIP_INVALID_RELIABILITY_LEVEL: the VI has another level than the peer's
 *   VIP_INVALID_MTU: the VI has another MaxTransferSize than the peer's
 *   VIP_TIMEOUT: the peer has given up, or does not answer any more
 *   VIP_REJECT: the peer wants it no more
 */
VIP_RETURN VipConnectAcceptData(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle, IN const void *Data,
                                IN VIP_ULONG DataLen);

/* As VipConnectReject, with private data: DataLen bytes at Data. At most VIP_MAX_REJECT_DATA (136).
 * Returns:
 *   VIP_SUCCESS: ConnHandle is used up
 *   VIP_INVALID_PARAMETER: DataLen is more than there is room for
 */
VIP_RETURN VipConnectRejectData(IN VIP_CONN_HANDLE ConnHandle, IN const void *Data, IN VIP_ULONG DataLen);

/* Gives the private data of a request that VipConnectWait has given, until it is accepted or rejected.
 * DataLen is how much room Data has, and then how many bytes they are.
 * Returns:
 *   VIP_SUCCESS: Data has them; a DataLen of 0 says that there are none
 *   VIP_ERROR_RESOURCE: there is too little room; DataLen says how much it takes
 */
VIP_RETURN VipGetRequestData(IN VIP_CONN_HANDLE ConnHandle, OUT VIP_PVOID Data, IN OUT VIP_ULONG *DataLen);

/* Gives the private data that the peer of a VI has sent last, until the VI is next connected.
 * They came with its request, or with its answer, also with VIP_REJECT. DataLen is how much room Data has, and then
 * how many bytes they are.
 * Returns:
 *   VIP_SUCCESS: Data has them; a DataLen of 0 says that there are none
 *   VIP_ERROR_RESOURCE: there is too little room; DataLen says how much it takes
 */
VIP_RETURN VipGetPeerData(IN VIP_VI_HANDLE ViHandle, OUT VIP_PVOID Data, IN OUT VIP_ULONG *DataLen);

#ifdef __cplusplus
}
#endif

#endif
