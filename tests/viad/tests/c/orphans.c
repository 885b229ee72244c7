/* `orphans NIC`: everything that a program can do with a NIC is under way, in a thread each, and a forked child lives, when the viad of
 * the NIC is killed. It says how long after the kill each call had its error, opens the NIC anew, and begins again.
 *
 * In: a line when viad was killed, with the monotonic clock's nanoseconds; a line when there is another. Then the same again, or
 * the end.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vipl.h>

#define MUST(call) must((call), #call, __LINE__)
/* A call that was not given up in this time never will be. */
#define PATIENCE 20

static void must(VIP_RETURN answer, const char *what, int line)
{
    if (answer != VIP_SUCCESS) {
        fprintf(stderr, "line %d: %s answers %d\n", line, what, (int)answer);
        _exit(1);
    }
}

static void is(VIP_RETURN answer, VIP_RETURN expected, int line)
{
    if (answer != expected) {
        fprintf(stderr, "line %d: answers %d, not %d\n", line, (int)answer, (int)expected);
        _exit(1);
    }
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE tag;
static VIP_MEM_HANDLE memory_handle;
static VIP_CQ_HANDLE polled_cq, waited_cq, notified_cq;
static char *memory;
static VIP_UINT8 own[6];
static int places;

/* What a thread does until it has an error. */
struct call {
    const char *name;
    VIP_RETURN (*make)(struct call *);
    VIP_VI_HANDLE vi;
    pthread_t thread;
    volatile int ended;
    VIP_RETURN answer;
    int64_t when;
};

static VIP_VI_HANDLE create_vi(VIP_CQ_HANDLE receives)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    memset(&attributes, 0, sizeof attributes);
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = 32768;
    attributes.Ptag = tag;
    MUST(VipCreateVi(nic, &attributes, NULL, receives, &vi));
    return vi;
}

static VIP_DESCRIPTOR *describe(void)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(memory + 256 * places++);
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = 64;
    d->DS[0].Local.Data.Address = (char *)d + 64;
    d->DS[0].Local.Handle = memory_handle;
    d->DS[0].Local.Length = 64;
    return d;
}

/* A VI with a receive that nothing ever comes for. */
static VIP_VI_HANDLE waiting_vi(VIP_CQ_HANDLE cq)
{
    VIP_VI_HANDLE vi = create_vi(cq);
    MUST(VipPostRecv(vi, describe(), memory_handle));
    return vi;
}

struct address {
    VIP_NET_ADDRESS head;
    char more[40];
};

static VIP_NET_ADDRESS *at(struct address *address, const char *name)
{
    memset(address, 0, sizeof *address);
    address->head.HostAddressLen = 6;
    address->head.DiscriminatorLen = (VIP_UINT16)strlen(name);
    memcpy((char *)address + 4, own, 6);
    memcpy((char *)address + 10, name, strlen(name));
    return &address->head;
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

static VIP_RETURN recv_done(struct call *call)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    do
        answer = VipRecvDone(call->vi, &d);
    while (answer == VIP_NOT_DONE);
    return answer;
}

/* A program that looks now and then. */
static VIP_RETURN recv_done_rarely(struct call *call)
{
    VIP_DESCRIPTOR *d;
    VIP_RETURN answer;
    while ((answer = VipRecvDone(call->vi, &d)) == VIP_NOT_DONE)
        usleep(20000);
    return answer;
}

static VIP_RETURN cq_done(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_RETURN answer;
    (void)call;
    do
        answer = VipCQDone(polled_cq, &vi, &receive);
    while (answer == VIP_NOT_DONE);
    return answer;
}

static VIP_RETURN recv_wait(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, VIP_INFINITE, &d);
}

static VIP_RETURN recv_wait_with_time(struct call *call)
{
    VIP_DESCRIPTOR *d;
    return VipRecvWait(call->vi, 600000, &d);
}

static VIP_RETURN cq_wait(struct call *call)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    (void)call;
    return VipCQWait(waited_cq, VIP_INFINITE, &vi, &receive);
}

/* Sends to an idle VI are flushed: each is there at once. */
static VIP_RETURN post(struct call *call)
{
    VIP_DESCRIPTOR *d = describe(), *done;
    for (;;) {
        VIP_RETURN answer;
        d->CS.Status = 0;
        answer = VipPostSend(call->vi, d, memory_handle);
        if (answer != VIP_SUCCESS)
            return answer;
        answer = VipSendWait(call->vi, VIP_INFINITE, &done);
        if (answer != VIP_DESCRIPTOR_ERROR || done == NULL)
            return answer;
    }
}

static VIP_RETURN connect_wait(struct call *call)
{
    struct address here, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    (void)call;
    return VipConnectWait(nic, at(&here, "nobody comes"), VIP_INFINITE, &from.head, &remote, &connection);
}

/* Whoever is asked makes up his mind for ever. */
static VIP_RETURN connect_request(struct call *call)
{
    struct address here, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    at(&here, "a client");
    at(&to, "slow");
    while ((answer = VipConnectRequest(call->vi, &here.head, &to.head, VIP_INFINITE, &remote)) == VIP_NO_MATCH)
        usleep(1000);
    return answer;
}

static VIP_RETURN peer_wait(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    return VipConnectPeerWait(call->vi, &remote);
}

static VIP_RETURN peer_done(struct call *call)
{
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    while ((answer = VipConnectPeerDone(call->vi, &remote)) == VIP_NOT_DONE)
        usleep(1000);
    return answer;
}

static VIP_RETURN create_and_destroy(struct call *call)
{
    VIP_RETURN answer;
    (void)call;
    do {
        VIP_PROTECTION_HANDLE one;
        answer = VipCreatePtag(nic, &one);
        if (answer == VIP_SUCCESS)
            answer = VipDestroyPtag(nic, one);
    } while (answer == VIP_SUCCESS);
    return answer;
}

/* The handler of asynchronous errors is a caller, too. */
static volatile int64_t catastrophe;

static VIP_RETURN error_callback(struct call *call)
{
    while (catastrophe == 0)
        usleep(500);
    call->when = catastrophe;
    return VIP_ERROR_RESOURCE;
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    if (error->ErrorCode == VIP_ERROR_CATASTROPHIC)
        catastrophe = now();
}

static void never(VIP_PVOID context, VIP_NIC_HANDLE on, VIP_VI_HANDLE vi, VIP_BOOLEAN receive)
{
    (void)context, (void)on, (void)vi, (void)receive;
    fprintf(stderr, "a handler was called for nothing\n");
    _exit(1);
}

static void *run(void *argument)
{
    struct call *call = (struct call *)argument;
    call->answer = call->make(call);
    if (call->when == 0)
        call->when = now();
    __sync_synchronize();
    call->ended = 1;
    return NULL;
}

static void peer_request(VIP_VI_HANDLE vi, const char *name)
{
    struct address here, to;
    at(&here, name);
    at(&to, "no peer");
    MUST(VipConnectPeerRequest(vi, &here.head, &to.head, VIP_INFINITE));
}

/* ---- A round ----------------------------------------------------------------------------------------------------- */

static void open_nic(const char *name)
{
    VIP_NIC_ATTRIBUTES is;
    VIP_MEM_ATTRIBUTES attributes;
    void *new_memory;
    MUST(VipOpenNic(name, &nic));
    MUST(VipQueryNic(nic, &is));
    memcpy(own, is.LocalNicAddress, 6);
    MUST(VipErrorCallback(nic, NULL, on_error));
    MUST(VipCreatePtag(nic, &tag));
    if (posix_memalign(&new_memory, 4096, 65536) != 0)
        _exit(1);
    memory = (char *)new_memory;
    places = 0;
    memset(&attributes, 0, sizeof attributes);
    attributes.Ptag = tag;
    MUST(VipRegisterMem(nic, memory, 65536, &attributes, &memory_handle));
    MUST(VipCreateCQ(nic, 64, &polled_cq));
    MUST(VipCreateCQ(nic, 64, &waited_cq));
    MUST(VipCreateCQ(nic, 64, &notified_cq));
}

static void *undecided(void *unused)
{
    struct address here, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    (void)unused;
    MUST(VipConnectWait(nic, at(&here, "slow"), VIP_INFINITE, &from.head, &remote, &connection));
    return NULL;
}

static struct call calls[16];
static int count;

static void begin(const char *name, VIP_RETURN (*make)(struct call *), VIP_VI_HANDLE vi)
{
    struct call *call = &calls[count++];
    memset(call, 0, sizeof *call);
    call->name = name;
    call->make = make;
    call->vi = vi;
    if (pthread_create(&call->thread, NULL, run, call) != 0)
        _exit(1);
}

static void say(const char *what)
{
    printf("%s\n", what);
    fflush(stdout);
}

static void round_of_calls(const char *name)
{
    VIP_VI_HANDLE peers[2];
    pthread_t server;
    pid_t child;
    char line[64];
    int64_t killed;
    int n, status;
    open_nic(name);
    count = 0;
    catastrophe = 0;
    MUST(VipCQNotify(notified_cq, NULL, never));
    if (pthread_create(&server, NULL, undecided, NULL) != 0)
        _exit(1);
    begin("VipConnectRequest", connect_request, create_vi(NULL));
    pthread_join(server, NULL);
    for (n = 0; n < 2; n++)
        peer_request(peers[n] = create_vi(NULL), n ? "one" : "two");
    begin("VipConnectPeerWait", peer_wait, peers[0]);
    begin("VipConnectPeerDone", peer_done, peers[1]);
    begin("VipConnectWait", connect_wait, NULL);
    begin("VipRecvDone", recv_done, waiting_vi(NULL));
    begin("VipRecvDone, rarely", recv_done_rarely, waiting_vi(NULL));
    begin("VipCQDone", cq_done, waiting_vi(polled_cq));
    begin("VipRecvWait", recv_wait, waiting_vi(NULL));
    begin("VipRecvWait, ten minutes", recv_wait_with_time, waiting_vi(NULL));
    begin("VipCQWait", cq_wait, waiting_vi(waited_cq));
    begin("VipPostSend, VipSendWait", post, create_vi(NULL));
    begin("VipCreatePtag, VipDestroyPtag", create_and_destroy, NULL);
    begin("VipErrorCallback", error_callback, NULL);
    /* To where they wait. */
    usleep(300000);
    for (n = 0; n < count; n++)
        if (calls[n].ended) {
            fprintf(stderr, "%s has ended: %d\n", calls[n].name, (int)calls[n].answer);
            _exit(1);
        }
    child = fork();
    if (child == 0) {
        /* Not to be left behind. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* It has all descriptors and mappings, and does nothing. */
        for (;;)
            pause();
    }
    say("ready");
    if (fgets(line, sizeof line, stdin) == NULL)
        _exit(1);
    killed = strtoll(line, NULL, 10);
    for (n = 0; n < count; n++) {
        while (!calls[n].ended && now() - killed < (int64_t)PATIENCE * 1000000000)
            usleep(1000);
        if (!calls[n].ended) {
            printf("%s: never\n", calls[n].name);
            continue;
        }
        pthread_join(calls[n].thread, NULL);
        printf("%s: %lld us, answers %d\n", calls[n].name, (long long)((calls[n].when - killed) / 1000),
               (int)calls[n].answer);
    }
    /* The child has noticed nothing. */
    if (waitpid(child, &status, WNOHANG) != 0)
        _exit(1);
    say("over");
    if (fgets(line, sizeof line, stdin) == NULL)
        _exit(1);
    /* Whether the NIC still reaches the memory nobody knows: it stays registered, however often it is tried, and closing the NIC says
     * so, too. Everything else of it may be forgotten, with the child alive or without. */
    for (int tries = 0; tries < 2; tries++)
        is(VipDeregisterMem(nic, memory, memory_handle), VIP_ERROR_RESOURCE, __LINE__);
    is(VipDeregisterMem(nic, memory + 1, memory_handle), VIP_INVALID_PARAMETER, __LINE__);
    is(VipCloseNic(nic), VIP_ERROR_RESOURCE, __LINE__);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    free(memory);
}

int main(int argc, char **arguments)
{
    int n;
    if (argc != 3)
        return 2;
    for (n = 0; n < atoi(arguments[2]); n++)
        round_of_calls(arguments[1]);
    /* With the last viad. */
    open_nic(arguments[1]);
    create_vi(NULL);
    MUST(VipCloseNic(nic));
    say("as good as new");
    return 0;
}
