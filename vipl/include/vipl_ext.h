/* VIPL's extensions: what Viaduct offers to C programs and VIPL has no word for. All of their names begin with VipExt and VIP_EXT_.
 *
 * A program that calls VIPL's functions alone needs none of them, and may be connected with one that does.
 * As in vipl.h, all functions may be called from any thread, but for what the program has promised by VipExtSetThreadSafe; and each of them also returns
 * what vipl.h says of all.
 */
#ifndef VIADUCT_VIPL_EXT_H
#define VIADUCT_VIPL_EXT_H

#include <vipl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Data path --------------------------------------------------------------------------------------------------- */

/* Posts Count descriptors to the send queue of a VI, in their order, with one doorbell for all of them.
 * MemoryHandles has the handle of the registered memory of each. An error is of the descriptor behind those that Posted counts: these are posted, and their
 * doorbell is rung; it and those behind it are the program's, as they were. One who posts more than the queue has room for calls again with what is left when
 * something has completed. Posted is 0 if ViHandle names no VI.
 * Returns:
 *   VIP_SUCCESS: all are posted, and Posted is Count
 *   VIP_INVALID_PARAMETER: a descriptor is NULL or no multiple of 64, or lies in no memory of its handle
 *   VIP_ERROR_RESOURCE: as many descriptors are posted as the queue has room for
 */
VIP_RETURN VipExtPostSendMany(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *const *Descriptors,
                              IN const VIP_MEM_HANDLE *MemoryHandles, IN VIP_ULONG Count, OUT VIP_ULONG *Posted);

/* Posts Count descriptors to the receive queue of a VI, as VipExtPostSendMany does to the send queue.
 * When it returns, a message that arrives finds them. Through viad it waits once for all of them, where VipPostRecv waits for each.
 * Returns:
 *   VIP_SUCCESS: all are posted, and Posted is Count
 *   VIP_INVALID_PARAMETER: a descriptor is NULL or no multiple of 64, or lies in no memory of its handle
 *   VIP_ERROR_RESOURCE: as many descriptors are posted as the queue has room for
 */
VIP_RETURN VipExtPostRecvMany(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *const *Descriptors,
                              IN const VIP_MEM_HANDLE *MemoryHandles, IN VIP_ULONG Count, OUT VIP_ULONG *Posted);

/* A descriptor that is complete and off its work queue. */
typedef struct _VIP_EXT_COMPLETION {
    VIP_VI_HANDLE ViHandle;
    /* The word that VipSetUserData has given the VI, or NULL. */
    VIP_PVOID Context;
    /* Its Status says how it completed. */
    VIP_DESCRIPTOR *Descriptor;
    /* VIP_TRUE: it was on the receive queue. */
    VIP_BOOLEAN RecvQueue;
} VIP_EXT_COMPLETION;

/* Takes entries off a completion queue, and the descriptors that they tell of off their work queues, several at a time. It never waits for the NIC.
 * Completions gets Room of them at most, the oldest first, and Count says how many. A descriptor that completed in error, or
 * was flushed, is there like any other: its Status says so. An entry whose descriptor VipSendDone or VipRecvDone has taken
 * already is passed over. Of a VI that is destroyed there is nothing.
 * Returns:
 *   VIP_SUCCESS: Count is 1 or more
 *   VIP_NOT_DONE: nothing is complete, and Count is 0
 *   VIP_INVALID_PARAMETER: Room is 0
 */
VIP_RETURN VipExtCQPoll(IN VIP_CQ_HANDLE CQHandle, OUT VIP_EXT_COMPLETION *Completions, IN VIP_ULONG Room,
                        OUT VIP_ULONG *Count);

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* VIs and completion queues are thread-safe: each queue has a lock, which is most of the time that a post takes. A program that does not need it
 * creates them as not thread-safe, and promises of each of them that no two threads are in calls of it at one time. The library takes no atomic exchange then
 * in VipPostSend, VipPostRecv, VipSendDone, VipRecvDone, VipCQDone and VipExtCQPoll.
 *
 * The calls of a VI are the functions that take its handle, and
 *   VipExtCQPoll of a completion queue that the VI has,
 *   VipExtConnQueueDone and VipExtDestroyConnQueue of a connection queue that connects the VI, until VIP_EXT_CONN_CONNECTED or VIP_EXT_CONN_FAILED has been
 *   taken of it, and
 *   VipCloseNic of the NIC handle that it was created with.
 *
 * The calls of a completion queue are the functions that take its handle, VipCloseNic of the NIC handle that it was created with, and of the calls of a VI that
 * has it those that create, connect, disconnect or destroy the VI or set its attributes, and posts to the VI while it is being connected.
 *
 * All else may go on at one time: calls of other VIs and completion queues, of NICs, memory, protection tags and listeners. A thread that is in VipSendWait,
 * VipRecvWait or VipCQWait is in a call until that returns. A handler of VipErrorCallback runs on a thread of the library's, so what it calls is
 * called by another thread. The library's own threads make no call of such a VI or completion queue, whatever happens to the NIC, its viad or a peer;
 * so VipSendNotify, VipRecvNotify and VipCQNotify, whose handlers would need one that does, return VIP_ERROR_NOT_SUPPORTED.
 *
 * One thread may hand a VI or a completion queue over to another in any way that orders memory: a mutex, a pipe, the end of a thread.
 *
 * A promise that is broken may change any memory of the process. A call that finds another one in its queue writes a message to stderr and ends the process
 * by abort(3); not every broken promise is found.
 */

/* Says whether VIs and completion queues that are created with a NIC handle from now on are thread-safe, as they are unless it is called.
 * With VIP_FALSE the program promises of each of them that no two threads are in calls of it at one time: vipl(7) says which calls those are.
 * Posts, and calls that look for completions, are faster then. What exists stays as it was created. ThreadSafe of VipQueryNic says what is set. VipSendNotify,
 * VipRecvNotify and VipCQNotify return VIP_ERROR_NOT_SUPPORTED for what is not thread-safe.
 * Returns:
 *   VIP_SUCCESS: it is set
 */
VIP_RETURN VipExtSetThreadSafe(IN VIP_NIC_HANDLE NicHandle, IN VIP_BOOLEAN ThreadSafe);

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Allocates Length bytes of memory that the NIC can reach whatever stands between it and the program.
 * A NIC of the program's own reaches any memory of the program, and one of viad's does so where the program has handed access to it over, or
 * is trusted. Over VFIO viad reaches no other memory than this, and so does any viad with way=pools in the NIC's name. The
 * memory is 0 at first, begins at a page, and is a whole number of pages; children of a fork do not have it. It is not registered yet:
 * VipRegisterMem takes all of it, or any part. It stays until VipExtFreeMem or VipCloseNic.
 * Returns:
 *   VIP_SUCCESS: Address has the first byte's address
 *   VIP_INVALID_PARAMETER: Length is 0
 *   VIP_ERROR_RESOURCE: there is no memory, or viad lets the user have no more
 */
VIP_RETURN VipExtAllocateMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG Length, OUT VIP_PVOID *Address);

/* Frees memory that VipExtAllocateMem has allocated with this handle of the NIC.
 * Returns:
 *   VIP_SUCCESS: the memory is gone
 *   VIP_INVALID_PARAMETER: Address is not what VipExtAllocateMem gave, or the memory is freed already
 *   VIP_INVALID_STATE: some of it is registered
 */
VIP_RETURN VipExtFreeMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address);

/* ---- Receiver not ready ------------------------------------------------------------------------------------------ */

/* Retries of VipExtSetNotReady: the peer sends again without end. */
#define VIP_EXT_WITHOUT_END 7

/* Says what becomes of a message that finds no receive posted on a VI of a reliable level.
 * With VIP_FALSE, as a VI is created, the connection breaks: that is VIA's way. With VIP_TRUE the VI stays connected, and its peer's NIC sends
 * the message again, after the time of Timer, until a receive is there. Retries says how often in a row the peer does so before it breaks the
 * connection: 0 to 6 times, or VIP_EXT_WITHOUT_END. Timer is InfiniBand's code, 0 to 31: 1 is 10 us, 6 is 80 us, 12 is 640 us, 18 is 5.1 ms,
 * 24 is 41 ms, 0 is 655 ms. The peer is told when it is connected with the VI, so the VI must be idle. VipSetViAttributes leaves it as it is.
 * With Unreliable Delivery such a message is dropped in any case.
 * Returns:
 *   VIP_SUCCESS: the VI does so from its next connection on
 *   VIP_INVALID_PARAMETER: Stay is VIP_TRUE, and Timer or Retries outside its range
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected
 */
VIP_RETURN VipExtSetNotReady(IN VIP_VI_HANDLE ViHandle, IN VIP_BOOLEAN Stay, IN VIP_ULONG Timer, IN VIP_ULONG Retries);

/* ---- Connections ------------------------------------------------------------------------------------------------- */

/* Addresses: a VIP_NET_ADDRESS names its host by the Ethernet address of the host's NIC, HostAddressLen 6, as VIPL has it, or by the IPv4 address of the NIC,
 * HostAddressLen 4: any function that connects or listens takes either, and VipNSGetHostByAddr the former. HostAddressLen 16 is an IPv6 address: one that stands for an IPv4 address, ::ffff:a.b.c.d,
 * is taken as that; no other is offered: VIP_ERROR_NOT_SUPPORTED. A discriminator of two bytes is a port, its higher byte first.
 */

typedef VIP_PVOID VIP_EXT_LISTENER_HANDLE;
typedef VIP_PVOID VIP_EXT_CONN_QUEUE_HANDLE;

/* Waits until everything that has been posted to the send queue of a VI is complete.
 * On a reliable level what has not failed has arrived then, so that VipDisconnect loses nothing. The descriptors stay on the queue for VipSendDone.
 * Returns:
 *   VIP_SUCCESS: all of it is complete, however it completed
 *   VIP_TIMEOUT: that took longer
 */
VIP_RETURN VipExtDrain(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG Timeout);

/* Listens for all who ask for an address of a NIC, until VipExtUnlisten or VipCloseNic.
 * Of those who have asked and are not decided on, Backlog may wait; more are refused. (VipConnectWait listens for one, and only while it waits.)
 * Returns:
 *   VIP_SUCCESS: Listener has a handle, for VipExtListenerWait
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, a discriminator is too long, or Backlog is 0
 *   VIP_ERROR_RESOURCE: too many listen, or another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: the address is an IPv6 one
 */
VIP_RETURN VipExtListen(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *LocalAddr, IN VIP_ULONG Backlog,
                        OUT VIP_EXT_LISTENER_HANDLE *Listener);

/* Waits for the next request that a listener gets. With a Timeout of 0 it looks for one.
 * RemoteAddr has room for a discriminator of MaxDiscriminatorLen. The request is to be accepted or rejected, as one of VipConnectWait.
 * Returns:
 *   VIP_SUCCESS: ConnHandle is to be accepted or rejected
 *   VIP_INVALID_STATE: the listener is a connection queue's
 *   VIP_TIMEOUT: nobody has asked in that time, or the listener has ended meanwhile
 */
VIP_RETURN VipExtListenerWait(IN VIP_EXT_LISTENER_HANDLE Listener, IN VIP_ULONG Timeout,
                              OUT VIP_NET_ADDRESS *RemoteAddr, OUT VIP_VI_ATTRIBUTES *RemoteViAttribs,
                              OUT VIP_CONN_HANDLE *ConnHandle);

/* Gives a descriptor for poll(2) or epoll(7) that is readable when there may be a request.
 * It is to be used as that of VipExtCQFd: take what there is, call VipExtListenerArm, look once more, and only then wait.
 * Returns:
 *   VIP_SUCCESS: Fd has the descriptor
 *   VIP_INVALID_STATE: the listener is a connection queue's
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 */
VIP_RETURN VipExtListenerFd(IN VIP_EXT_LISTENER_HANDLE Listener, OUT int *Fd);

/* Makes the descriptor of a listener say when a request comes from now on.
 * Returns:
 *   VIP_SUCCESS: the program looks once more, and may wait then
 *   VIP_INVALID_STATE: the listener is a connection queue's
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 */
VIP_RETURN VipExtListenerArm(IN VIP_EXT_LISTENER_HANDLE Listener);

/* Listens no longer. Requests that nobody has taken are refused.
 * Returns:
 *   VIP_SUCCESS: the handle is used up
 */
VIP_RETURN VipExtUnlisten(IN VIP_EXT_LISTENER_HANDLE Listener);

/* What happens to the connections of a connection queue: Kind of a VIP_EXT_CONN_EVENT.
 * Somebody asks: ConnHandle is to be accepted (VipExtConnQueueAccept, VipConnectAccept) or rejected (VipConnectReject). */
#define VIP_EXT_CONN_REQUESTED 1
/* The VI is connected. */
#define VIP_EXT_CONN_CONNECTED 2
/* It came to nothing, for the reason in Status; the VI is idle, or what the program has begun with it since. */
#define VIP_EXT_CONN_FAILED 3
/* The peer has disconnected; the VI is in Error until VipExtConnQueueDisconnect. */
#define VIP_EXT_CONN_DISCONNECTED 4
/* The peer is gone; the VI is in Error until VipExtConnQueueDisconnect. */
#define VIP_EXT_CONN_LOST 5
/* VipExtConnQueueDisconnect is done; the VI is idle. */
#define VIP_EXT_CONN_PARTED 6

typedef struct _VIP_EXT_CONN_EVENT {
    VIP_ULONG Kind; /* VIP_EXT_CONN_... */
    /* VIP_EXT_CONN_FAILED: what VipConnectRequest would have returned; else VIP_SUCCESS. */
    VIP_RETURN Status;
    VIP_PVOID Context;          /* The program's word, given when it listened, asked or accepted. */
    VIP_VI_HANDLE ViHandle;     /* The VI; NULL with VIP_EXT_CONN_REQUESTED. */
    VIP_CONN_HANDLE ConnHandle; /* With VIP_EXT_CONN_REQUESTED: the request. */
    /* With VIP_EXT_CONN_REQUESTED and VIP_EXT_CONN_CONNECTED: the attributes of the peer's VI. */
    VIP_VI_ATTRIBUTES RemoteViAttribs;
} VIP_EXT_CONN_EVENT;

/* Makes a connection queue: what comes of connections that the program does not wait for.
 * None of the functions of a connection queue waits for a peer.
 * Returns:
 *   VIP_SUCCESS: ConnQueue has its handle
 *   VIP_ERROR_RESOURCE: the NIC makes no connections
 */
VIP_RETURN VipExtCreateConnQueue(IN VIP_NIC_HANDLE NicHandle, OUT VIP_EXT_CONN_QUEUE_HANDLE *ConnQueue);

/* Destroys a connection queue, and its listeners. What is under way is given up, and its VIs are idle; connections stay.
 * The ends of connections that stay are asynchronous errors (VIP_ERROR_CONN_LOST) from then on.
 * Returns:
 *   VIP_SUCCESS: the handle is used up
 */
VIP_RETURN VipExtDestroyConnQueue(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue);

/* Gives a descriptor for poll(2) or epoll(7) that is readable when there may be an event of a connection queue.
 * It is to be used as that of VipExtCQFd: take what there is, call VipExtConnQueueArm, look once more, and only then wait.
 * Returns:
 *   VIP_SUCCESS: Fd has the descriptor
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 */
VIP_RETURN VipExtConnQueueFd(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, OUT int *Fd);

/* Makes the descriptor of a connection queue say when an event comes from now on.
 * Returns:
 *   VIP_SUCCESS: the program looks once more, and may wait then
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 */
VIP_RETURN VipExtConnQueueArm(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue);

/* Listens as VipExtListen does; requests are events of a connection queue.
 * Returns:
 *   VIP_SUCCESS: Listener has a handle, for VipExtUnlisten
 *   VIP_INVALID_PARAMETER: LocalAddr is not an address of this NIC, a discriminator is too long, or Backlog is 0
 *   VIP_ERROR_RESOURCE: too many listen, or another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: the address is an IPv6 one
 */
VIP_RETURN VipExtConnQueueListen(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, IN VIP_NET_ADDRESS *LocalAddr,
                                 IN VIP_ULONG Backlog, IN VIP_PVOID Context, OUT VIP_EXT_LISTENER_HANDLE *Listener);

/* Asks for a connection as VipConnectRequestData does, and does not wait for the answer.
 * It is an event: VIP_EXT_CONN_CONNECTED or VIP_EXT_CONN_FAILED. Until that is taken the VI is in the state Connect Pending; VipDisconnect ends
 * the attempt, which is VIP_EXT_CONN_FAILED, too. VipGetPeerData has the private data of the answer.
 * Returns:
 *   VIP_SUCCESS: the request is on its way
 *   VIP_INVALID_PARAMETER: the VI is of another NIC, LocalAddr is not an address of this NIC, a discriminator is too long, or DataLen is
 *       more than there is room for
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected
 *   VIP_ERROR_RESOURCE: another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 one
 */
VIP_RETURN VipExtConnQueueRequest(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, IN VIP_VI_HANDLE ViHandle,
                                  IN VIP_NET_ADDRESS *LocalAddr, IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
                                  IN const void *Data, IN VIP_ULONG DataLen, IN VIP_PVOID Context);

/* Asks a peer that asks in turn, as VipConnectPeerRequestData does. What comes of it is an event, as of VipExtConnQueueRequest.
 * Returns:
 *   VIP_SUCCESS: the request is on its way
 *   VIP_INVALID_PARAMETER: as VipExtConnQueueRequest
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected
 *   VIP_ERROR_RESOURCE: another user has that discriminator
 *   VIP_ERROR_NOT_SUPPORTED: an address is an IPv6 one
 */
VIP_RETURN VipExtConnQueuePeerRequest(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, IN VIP_VI_HANDLE ViHandle,
                                      IN VIP_NET_ADDRESS *LocalAddr, IN VIP_NET_ADDRESS *RemoteAddr,
                                      IN VIP_ULONG Timeout, IN const void *Data, IN VIP_ULONG DataLen,
                                      IN VIP_PVOID Context);

/* Accepts a request of a connection queue with an idle VI, with private data: DataLen bytes at Data, VIP_MAX_ACCEPT_DATA at most.
 * It does not wait until the peer is ready, which is an event: VIP_EXT_CONN_CONNECTED or VIP_EXT_CONN_FAILED. Receives are posted before.
 * Returns:
 *   VIP_SUCCESS: ConnHandle is used up
 *   VIP_INVALID_PARAMETER: the VI is of another NIC; DataLen is more than there is room for; the request's queue is destroyed
 *   VIP_INVALID_STATE: the VI is not idle, or is being connected; or the request is no connection queue's
 *   VIP_INVALID_RELIABILITY_LEVEL: the VI has another level than the peer's
 *   VIP_INVALID_MTU: the VI has another MaxTransferSize than the peer's
 *   VIP_TIMEOUT: the peer has given up
 *   VIP_REJECT: the ends do not fit
 */
VIP_RETURN VipExtConnQueueAccept(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle, IN const void *Data,
                                 IN VIP_ULONG DataLen, IN VIP_PVOID Context);

/* Disconnects a VI as VipDisconnect does. The event VIP_EXT_CONN_PARTED comes of a connection of this queue's.
 * Returns:
 *   VIP_SUCCESS: the VI is idle
 */
VIP_RETURN VipExtConnQueueDisconnect(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, IN VIP_VI_HANDLE ViHandle);

/* Takes the oldest event of a connection queue.
 * RemoteAddr has room for a discriminator of MaxDiscriminatorLen; it is filled in with VIP_EXT_CONN_REQUESTED. VipGetRequestData has the private data
 * of the request.
 * Returns:
 *   VIP_SUCCESS: Event is filled in
 *   VIP_NOT_DONE: there is none
 */
VIP_RETURN VipExtConnQueueDone(IN VIP_EXT_CONN_QUEUE_HANDLE ConnQueue, OUT VIP_EXT_CONN_EVENT *Event,
                               OUT VIP_NET_ADDRESS *RemoteAddr);

/* ---- Finding NICs ------------------------------------------------------------------------------------------------ */

/* A viad serves the NIC: its addresses, and what a program may have of it, are known. */
#define VIP_EXT_NIC_SERVED 1
/* Nothing keeps the program from it, as far as one can see; only who opens it learns more. */
#define VIP_EXT_NIC_FREE 2
/* It cannot be opened: Reason says why. */
#define VIP_EXT_NIC_UNUSABLE 3

typedef struct _VIP_EXT_NIC {
    VIP_CHAR Name[256]; /* What VipOpenNic takes. */
    VIP_ULONG State;    /* VIP_EXT_NIC_... */
    /* With VIP_EXT_NIC_SERVED; else all of it is 0. */
    VIP_UINT8 NicAddress[6];
    VIP_UINT8 IpAddress[4];
    VIP_UINT8 Reserved[6];
    VIP_ULONG MaxVI;
    VIP_ULONG MaxCQ;
    VIP_ULONG MaxRegisterBytes;
    VIP_ULONG MaxTransferSize;
    VIP_CHAR Reason[256]; /* With VIP_EXT_NIC_UNUSABLE: as much of the reason as fits. */
} VIP_EXT_NIC;

/* Lists the NICs that the program may open: those that have an alias, those of viads with sockets in /run, and PCI functions.
 * Count is how much room Nics has, and then how many there are. A NIC with several aliases is there with each of them; a name that does not fit is left out.
 * Returns:
 *   VIP_SUCCESS: Nics has them; a Count of 0 says that there are none
 *   VIP_INVALID_PARAMETER: the aliases cannot be read
 *   VIP_ERROR_RESOURCE: there is too little room; Count says how much it takes
 */
VIP_RETURN VipExtListNics(OUT VIP_EXT_NIC *Nics, IN OUT VIP_ULONG *Count);

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Gives a descriptor for poll(2) or epoll(7) that is readable when there may be an entry on a completion queue.
 * It stays as long as the queue, and is the library's: the program neither reads nor closes it. It says nothing before VipExtCQArm. So one
 * thread does this, again and again: it takes what there is by VipCQDone until that returns VIP_NOT_DONE, calls VipExtCQArm, calls VipCQDone
 * once more, and only if that returns VIP_NOT_DONE, too, waits until the descriptor is readable. What comes between the last look and the wait makes
 * it readable. It may be readable for nothing. When the NIC is gone, VipCQDone says so.
 * Returns:
 *   VIP_SUCCESS: Fd has the descriptor
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 *   VIP_ERROR_NOT_SUPPORTED: the NIC has no interrupts
 */
VIP_RETURN VipExtCQFd(IN VIP_CQ_HANDLE CQHandle, OUT int *Fd);

/* Makes the descriptor of a completion queue say when there is an entry that was not taken.
 * It says so once, or at once if there is an entry: then VipExtCQArm is called again.
 * Returns:
 *   VIP_SUCCESS: the program looks once more, and may wait then
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 *   VIP_ERROR_NOT_SUPPORTED: the NIC has no interrupts
 */
VIP_RETURN VipExtCQArm(IN VIP_CQ_HANDLE CQHandle);

/* Gives a descriptor for poll(2) or epoll(7) that is readable as long as asynchronous errors of a NIC wait to be taken.
 * From the first call on, errors of this NIC handle wait for VipExtNicEventDone, and no handler is called for them. The descriptor stays
 * until VipCloseNic, and is the library's: the program neither reads nor closes it.
 * Returns:
 *   VIP_SUCCESS: Fd has the descriptor
 *   VIP_ERROR_RESOURCE: the process may have no more descriptors
 */
VIP_RETURN VipExtNicEventFd(IN VIP_NIC_HANDLE NicHandle, OUT int *Fd);

/* Takes the oldest asynchronous error of a NIC that waits. At most 4096 wait: the oldest one goes first.
 * Returns:
 *   VIP_SUCCESS: ErrorDesc is filled in
 *   VIP_NOT_DONE: none waits
 *   VIP_INVALID_STATE: VipExtNicEventFd was not called: errors go to the handler
 */
VIP_RETURN VipExtNicEventDone(IN VIP_NIC_HANDLE NicHandle, OUT VIP_ERROR_DESCRIPTOR *ErrorDesc);

#ifdef __cplusplus
}
#endif

#endif
