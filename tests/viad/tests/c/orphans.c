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
#include <unistd.h>

#include <vipl.h>

#include "orphans.h"

/* A call that was not given up in this time never will be. */
#define PATIENCE 20

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
