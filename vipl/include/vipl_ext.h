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

#ifdef __cplusplus
}
#endif

#endif
