/* Calls of the data path, ten thousand of each. callgrind collects in the library's entry points alone (--toggle-collect), and dumps
 * what it has collected at each of the names below; what a name has in all its dumps is divided by the number of its calls.
 *
 * Nothing is connected: a NIC completes what is posted to an idle VI, flushed or not, and the library's way is the same.
 *
 * The same calls allocate nothing, and free nothing: the program ends with an error if one does.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <vipl_ext.h>

#define CALLS 10000
/* Posted at a time; a ring has 1024 slots. */
#define BATCH 500
/* Posted, or taken, by one call of those that take several. */
#define MANY 20
/* The stand-in keeps a descriptor with this immediate data. */
#define KEEP 0x6b656570
#define BYTES (BATCH * 64)

#define IS(call, code)                                                                                                               \
    do {                                                                                                                             \
        VIP_RETURN is_ = (call);                                                                                                     \
        if (is_ != (code)) {                                                                                                         \
            fprintf(stderr, "%d: %s: %d\n", __LINE__, #call, (int)is_);                                                              \
            exit(1);                                                                                                                 \
        }                                                                                                                            \
    } while (0)
#define OK(call) IS(call, VIP_SUCCESS)

/* What allocates and frees, for the library too: a program's own functions stand before those of the C library, which have these names, too. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *old);

/* Calls of this thread are counted; other threads of the library's may allocate at any time. */
static __thread int counted;
static unsigned long allocations, frees;

void *malloc(size_t bytes)
{
    allocations += counted;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations += counted;
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    allocations += counted;
    return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    allocations += counted;
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **place, size_t alignment, size_t bytes)
{
    *place = memalign(alignment, bytes);
    return *place ? 0 : ENOMEM;
}

void free(void *old)
{
    frees += counted;
    __libc_free(old);
}

/* Calls of the data path begin. */
static void begin(void)
{
    allocations = frees = 0;
    counted = 1;
}

/* They have ended, and have allocated and freed nothing: their instructions are those of a name. */
static void end(const char *name)
{
    counted = 0;
    if (allocations || frees) {
        fprintf(stderr, "%s: %lu allocations and %lu frees in calls that are to make none\n", name, allocations, frees);
        exit(7);
    }
    CALLGRIND_DUMP_STATS_AT(name);
}

static char *memory;
static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE tag;
/* Of the memory, which is registered twice. */
static VIP_MEM_HANDLE handle, other_handle;

static VIP_VI_HANDLE new_vi(VIP_CQ_HANDLE send_cq, VIP_CQ_HANDLE receive_cq)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    memset(&attributes, 0, sizeof attributes);
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = 65536;
    attributes.Ptag = tag;
    OK(VipCreateVi(nic, &attributes, send_cq, receive_cq, &vi));
    return vi;
}

/* The descriptor of one segment at a place. */
static VIP_DESCRIPTOR *descriptor(int place)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(memory + 64 * place);
    memset(d, 0, 64);
    d->CS.SegCount = 1;
    d->CS.Length = 64;
    d->DS[0].Local.Data.Address = memory + BYTES;
    d->DS[0].Local.Handle = handle;
    d->DS[0].Local.Length = 64;
    return d;
}

/* The NIC completes everything before it answers, once it has the doorbells. */
static void settle(VIP_VI_HANDLE vi, int last)
{
    const volatile VIP_UINT32 *status = &((VIP_DESCRIPTOR *)(memory + 64 * last))->CS.Status;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES attributes;
    VIP_BOOLEAN sends, receives;
    do
        OK(VipQueryVi(vi, &state, &attributes, &sends, &receives));
    while (!(*status & VIP_STATUS_DONE));
}

/* Posts, and looks that find something. */
static void found(int receive, VIP_VI_HANDLE vi, VIP_CQ_HANDLE cq, const char *posts, const char *dones, const char *entries)
{
    VIP_VI_HANDLE from;
    VIP_BOOLEAN of_receive;
    VIP_DESCRIPTOR *d;
    int round, n;
    for (round = 0; round < CALLS / BATCH; round++) {
        for (n = 0; n < BATCH; n++)
            descriptor(n);
        begin();
        for (n = 0; n < BATCH; n++) {
            d = (VIP_DESCRIPTOR *)(memory + 64 * n);
            OK(receive ? VipPostRecv(vi, d, handle) : VipPostSend(vi, d, handle));
        }
        end(posts);
        settle(vi, BATCH - 1);
        if (cq) {
            begin();
            for (n = 0; n < BATCH; n++) {
                OK(VipCQDone(cq, &from, &of_receive));
                if (from != vi || !of_receive != !receive)
                    exit(2);
            }
            end(entries);
        }
        begin();
        for (n = 0; n < BATCH; n++) {
            OK(receive ? VipRecvDone(vi, &d) : VipSendDone(vi, &d));
            if (d != (VIP_DESCRIPTOR *)(memory + 64 * n))
                exit(3);
        }
        end(dones);
    }
}

/* Looks that find nothing: a descriptor is posted, and the stand-in keeps it. Among the second ten thousand is the question whether the NIC lives,
 * which comes once in 16384 looks: a message to this NIC's server, which is allocated.
 */
static void empty(int receive, VIP_VI_HANDLE vi, const char *dones, const char *asking)
{
    VIP_DESCRIPTOR *d = descriptor(0);
    int n;
    d->CS.ImmediateData = KEEP;
    OK(receive ? VipPostRecv(vi, d, handle) : VipPostSend(vi, d, handle));
    CALLGRIND_DUMP_STATS_AT("not counted");
    begin();
    for (n = 0; n < CALLS; n++)
        IS(receive ? VipRecvDone(vi, &d) : VipSendDone(vi, &d), VIP_NOT_DONE);
    end(dones);
    for (n = 0; n < CALLS; n++)
        IS(receive ? VipRecvDone(vi, &d) : VipSendDone(vi, &d), VIP_NOT_DONE);
    CALLGRIND_DUMP_STATS_AT(asking);
}

/* Posts of several, with a doorbell for MANY, and polls that find as many. */
static void many(int receive, VIP_VI_HANDLE vi, VIP_CQ_HANDLE cq, const char *posts, const char *polls)
{
    static VIP_DESCRIPTOR *all[BATCH];
    static VIP_MEM_HANDLE handles[BATCH];
    static VIP_EXT_COMPLETION completions[MANY];
    VIP_ULONG count;
    int round, n;
    for (round = 0; round < CALLS / BATCH; round++) {
        for (n = 0; n < BATCH; n++) {
            all[n] = descriptor(n);
            handles[n] = handle;
        }
        begin();
        for (n = 0; n < BATCH; n += MANY) {
            OK(receive ? VipExtPostRecvMany(vi, all + n, handles + n, MANY, &count)
                       : VipExtPostSendMany(vi, all + n, handles + n, MANY, &count));
            if (count != MANY)
                exit(5);
        }
        end(posts);
        settle(vi, BATCH - 1);
        begin();
        for (n = 0; n < BATCH; n += MANY) {
            OK(VipExtCQPoll(cq, completions, MANY, &count));
            if (count != MANY || completions[MANY - 1].ViHandle != vi || completions[MANY - 1].Descriptor != all[n + MANY - 1])
                exit(6);
        }
        end(polls);
    }
}

/* Posts that name another region than the post before. */
static void elsewhere(VIP_VI_HANDLE vi, const char *posts)
{
    VIP_DESCRIPTOR *d;
    int round, n;
    for (round = 0; round < CALLS / BATCH; round++) {
        for (n = 0; n < BATCH; n++)
            descriptor(n);
        begin();
        for (n = 0; n < BATCH; n++)
            OK(VipPostSend(vi, (VIP_DESCRIPTOR *)(memory + 64 * n), n % 2 ? handle : other_handle));
        end(posts);
        settle(vi, BATCH - 1);
        for (n = 0; n < BATCH; n++)
            OK(VipSendDone(vi, &d));
        CALLGRIND_DUMP_STATS_AT("not counted");
    }
}

int main(void)
{
    VIP_MEM_ATTRIBUTES attributes;
    VIP_CQ_HANDLE cq;
    void *place;
    int n;
    VIP_VI_HANDLE from, vi;
    VIP_BOOLEAN receive;
    VIP_EXT_COMPLETION completion;
    VIP_ULONG count;
    OK(VipOpenNic((const VIP_CHAR *)"nic0", &nic));
    OK(VipCreatePtag(nic, &tag));
    if (posix_memalign(&place, 4096, BYTES + 4096))
        return 4;
    memory = place;
    memset(&attributes, 0, sizeof attributes);
    attributes.Ptag = tag;
    OK(VipRegisterMem(nic, memory, BYTES + 4096, &attributes, &handle));
    OK(VipRegisterMem(nic, memory, BYTES + 4096, &attributes, &other_handle));
    OK(VipCreateCQ(nic, 1024, &cq));
    /* What the library allocates is seen: it has to, for a VI. */
    begin();
    new_vi(NULL, NULL);
    counted = 0;
    if (!allocations || !frees) {
        fprintf(stderr, "the allocations of the library are not seen\n");
        return 8;
    }
    found(0, new_vi(NULL, NULL), NULL, "post send", "send done", "");
    found(1, new_vi(NULL, NULL), NULL, "post recv", "recv done", "");
    found(0, new_vi(cq, NULL), cq, "post send, cq", "send done, cq", "cq done");
    many(0, new_vi(cq, NULL), cq, "post many sends", "cq poll, sends");
    many(1, new_vi(NULL, cq), cq, "post many recvs", "cq poll, recvs");
    elsewhere(new_vi(NULL, NULL), "post send, elsewhere");
    empty(0, new_vi(NULL, NULL), "empty send done", "empty send done, asking");
    empty(1, new_vi(NULL, NULL), "empty recv done", "empty recv done, asking");
    begin();
    for (n = 0; n < CALLS; n++)
        IS(VipCQDone(cq, &from, &receive), VIP_NOT_DONE);
    end("empty cq done");
    /* Among these is the question, too. */
    for (n = 0; n < CALLS; n++)
        IS(VipExtCQPoll(cq, &completion, 1, &count), VIP_NOT_DONE);
    CALLGRIND_DUMP_STATS_AT("empty cq poll");
    /* Looks begin anew when one has found something. */
    vi = new_vi(cq, NULL);
    OK(VipPostSend(vi, descriptor(1), handle));
    settle(vi, 1);
    OK(VipExtCQPoll(cq, &completion, 1, &count));
    begin();
    for (n = 0; n < CALLS; n++)
        IS(VipExtCQPoll(cq, &completion, 1, &count), VIP_NOT_DONE);
    end("not counted");
    /* The same of VIs and completion queues that the program says no two threads use. */
    OK(VipExtSetThreadSafe(nic, VIP_FALSE));
    OK(VipCreateCQ(nic, 1024, &cq));
    found(0, new_vi(NULL, NULL), NULL, "post send, unshared", "send done, unshared", "");
    found(1, new_vi(NULL, NULL), NULL, "post recv, unshared", "recv done, unshared", "");
    found(0, new_vi(cq, NULL), cq, "post send, cq, unshared", "send done, cq, unshared", "cq done, unshared");
    many(0, new_vi(cq, NULL), cq, "post many sends, unshared", "cq poll, sends, unshared");
    elsewhere(new_vi(NULL, NULL), "post send, elsewhere, unshared");
    empty(0, new_vi(NULL, NULL), "empty send done, unshared", "not counted");
    empty(1, new_vi(NULL, NULL), "empty recv done, unshared", "not counted");
    begin();
    for (n = 0; n < CALLS; n++)
        IS(VipCQDone(cq, &from, &receive), VIP_NOT_DONE);
    end("empty cq done, unshared");
    /* What is posted stays so: there is no orderly end. */
    _exit(0);
}
