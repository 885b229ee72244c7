/* Extensions of Viaduct's beside VIPL: what programs want of a NIC and VIPL has no word for. Each has Ext in its name.
 *
 * Programs that include vipl.h alone see nothing of it. What vipl.h says of threads, time-outs and handles, and of what every function with a
 * VIP_RETURN also returns, holds here, too.
 */
#ifndef VIADUCT_VIPL_EXT_H
#define VIADUCT_VIPL_EXT_H

#include <vipl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Data path --------------------------------------------------------------------------------------------------- */

/* Posts Count descriptors to the send queue of a VI, in their order, with one doorbell for all of them.
 * MemoryHandles has the handle of the registered memory of each. An error is of the descriptor behind those that Posted
 * counts: these are posted, and their doorbell is rung; it and those behind it are the program's, as they were. One who posts
 * more than the queue has room for calls again with what is left when something has completed. Posted is 0 if ViHandle
 * names no VI.
 * Returns:
 *   VIP_SUCCESS: all are posted, and Posted is Count
 *   VIP_INVALID_PARAMETER: a descriptor is NULL or no multiple of 64, or lies in no memory of its handle
 *   VIP_ERROR_RESOURCE: as many descriptors are posted as the queue has room for
 */
VIP_RETURN VipExtPostSendMany(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *const *Descriptors,
                              IN const VIP_MEM_HANDLE *MemoryHandles, IN VIP_ULONG Count, OUT VIP_ULONG *Posted);

/* Posts Count descriptors to the receive queue of a VI, as VipExtPostSendMany does to the send queue.
 * When it returns, a message that arrives finds them. Through viad it waits once for all of them, where VipPostRecv waits
 * for each.
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

#ifdef __cplusplus
}
#endif

#endif
