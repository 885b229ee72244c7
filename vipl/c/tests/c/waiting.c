/* Descriptors to wait on. Beside VIPL. */
#include <poll.h>
#include <sys/epoll.h>
#include <vipl_ext.h>

#include "pair.h"

/* By poll(2), and by epoll(7), which says the same. */
static int is_readable(int fd, int milliseconds)
{
    struct pollfd file;
    struct epoll_event event;
    int set = epoll_create1(EPOLL_CLOEXEC);
    CHECK(set >= 0);
    memset(&event, 0, sizeof event);
    event.events = EPOLLIN;
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0);
    file.fd = fd;
    file.events = POLLIN;
    file.revents = 0;
    if (poll(&file, 1, milliseconds) != 1) {
        CHECK(close(set) == 0);
        return 0;
    }
    CHECK((file.revents & POLLIN) != 0);
    CHECK(epoll_wait(set, &event, 1, 0) == 1 && (event.events & EPOLLIN) != 0);
    CHECK(close(set) == 0);
    return 1;
}

#define ROUNDS 200

/* The client's VIs, and one completion queue for each of them. */
static VIP_VI_HANDLE vis[2];
static VIP_CQ_HANDLE cqs[2];

/* Sends one message to either of the client's VIs, when it likes to. */
static void *send_now_and_then(void *unused)
{
    VIP_VI_HANDLE *senders = (VIP_VI_HANDLE *)unused;
    VIP_DESCRIPTOR *d;
    int n;
    for (n = 0; n < 2 * ROUNDS; n++) {
        int which = n % 3 == 0;
        d = descriptor(&server, which, 8);
        OK(VipPostSend(senders[which], d, server.handle));
        OK(VipSendWait(senders[which], 20000, &d));
        if (n % 5 == 0)
            usleep(300);
    }
    return NULL;
}

static void a_loop_that_waits_for_two_queues_misses_no_entry(void)
{
    VIP_VI_HANDLE senders[2];
    VIP_DESCRIPTOR *d;
    struct pollfd files[2];
    pthread_t thread;
    int came = 0, slept = 0, n;
    begin_both();
    for (n = 0; n < 2; n++) {
        int place;
        OK(VipCreateCQ(client.nic, 100, &cqs[n]));
        vis[n] = create_vi(&client, NULL, cqs[n]);
        senders[n] = create_vi(&server, NULL, NULL);
        OK(VipExtSetNotReady(vis[n], VIP_TRUE, 1, VIP_EXT_WITHOUT_END));
        OK(meet(senders[n], vis[n]));
        for (place = 0; place < 8; place++)
            OK(VipPostRecv(vis[n], descriptor(&client, 10 * n + place, 64), client.handle));
        OK(VipExtCQFd(cqs[n], &files[n].fd));
        files[n].events = POLLIN;
    }
    CHECK(files[0].fd != files[1].fd);
    CHECK(pthread_create(&thread, NULL, send_now_and_then, senders) == 0);
    while (came < 2 * ROUNDS) {
        int looks, found = 0;
        /* Looks, arms, and looks once more. */
        for (looks = 0; looks < 2; looks++) {
            for (n = 0; n < 2; n++) {
                VIP_VI_HANDLE vi;
                VIP_BOOLEAN is_receive;
                VIP_RETURN answer;
                while ((answer = VipCQDone(cqs[n], &vi, &is_receive)) == VIP_SUCCESS) {
                    CHECK(vi == vis[n] && is_receive);
                    OK(VipRecvDone(vi, &d));
                    d->CS.Status = 0;
                    d->CS.Length = 64;
                    d->CS.Control = VIP_CONTROL_OP_SENDRECV;
                    OK(VipPostRecv(vi, d, client.handle));
                    came++;
                    found = 1;
                }
                IS(answer, VIP_NOT_DONE);
                if (looks == 0)
                    OK(VipExtCQArm(cqs[n]));
            }
        }
        if (!found) {
            /* Slept through, it would be for ever. */
            CHECK(poll(files, 2, 60000) > 0);
            slept++;
        }
    }
    CHECK(slept > 0);
    CHECK(pthread_join(thread, NULL) == 0);
    for (n = 0; n < 2; n++) {
        OK(VipDisconnect(vis[n]));
        OK(VipDisconnect(senders[n]));
        do
            VipRecvDone(vis[n], &d);
        while (d);
        OK(VipDestroyVi(vis[n]));
        OK(VipDestroyVi(senders[n]));
        OK(VipDestroyCQ(cqs[n]));
    }
    end_both();
}

static void entries_that_were_there_before_are_told(void)
{
    VIP_CQ_HANDLE cq;
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN is_receive;
    VIP_DESCRIPTOR *d;
    int fd;
    begin(&server, "nic0");
    OK(VipCreateCQ(server.nic, 100, &cq));
    there = create_vi(&server, cq, NULL);
    OK(VipExtCQFd(cq, &fd));
    OK(VipExtCQArm(cq));
    /* A send of an idle VI is flushed. */
    OK(VipPostSend(there, descriptor(&server, 0, 10), server.handle));
    CHECK(is_readable(fd, 20000));
    /* Armed anew, it says so again: the entry is there. */
    OK(VipExtCQArm(cq));
    CHECK(is_readable(fd, 20000));
    OK(VipCQDone(cq, &vi, &is_receive));
    CHECK(vi == there && !is_receive);
    IS(VipSendDone(there, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipExtCQArm(cq));
    IS(VipCQDone(cq, &vi, &is_receive), VIP_NOT_DONE);
    IS(VipExtCQFd(cq, NULL), VIP_INVALID_PARAMETER);
    OK(VipDestroyVi(there));
    OK(VipDestroyCQ(cq));
    IS(VipExtCQFd(cq, &fd), VIP_INVALID_PARAMETER);
    IS(VipExtCQArm(cq), VIP_INVALID_PARAMETER);
    end(&server);
}

static void never_called(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    (void)context;
    (void)error;
    check(0, "no handler is called", __FILE__, __LINE__);
}

static void errors_wait_until_they_are_taken(void)
{
    VIP_ERROR_DESCRIPTOR error;
    int fd, same;
    begin_connected();
    IS(VipExtNicEventDone(server.nic, &error), VIP_INVALID_STATE);
    OK(VipErrorCallback(server.nic, NULL, never_called));
    OK(VipExtNicEventFd(server.nic, &fd));
    OK(VipExtNicEventFd(server.nic, &same));
    CHECK(fd == same && !is_readable(fd, 0));
    IS(VipExtNicEventDone(server.nic, &error), VIP_NOT_DONE);
    OK(VipDisconnect(here));
    CHECK(is_readable(fd, 20000));
    OK(VipExtNicEventDone(server.nic, &error));
    CHECK(error.ErrorCode == VIP_ERROR_CONN_LOST && error.ViHandle == there && error.NicHandle == server.nic);
    IS(VipExtNicEventDone(server.nic, &error), VIP_NOT_DONE);
    CHECK(!is_readable(fd, 0));
    IS(VipExtNicEventFd(server.nic, NULL), VIP_INVALID_PARAMETER);
    IS(VipExtNicEventFd(NULL, &fd), VIP_INVALID_PARAMETER);
    end_connected();
}

static const struct test tests[] = {
    TEST(a_loop_that_waits_for_two_queues_misses_no_entry),
    TEST(entries_that_were_there_before_are_told),
    TEST(errors_wait_until_they_are_taken),
};

MAIN(tests)
