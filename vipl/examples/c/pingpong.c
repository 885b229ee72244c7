/* Ping-pong: one message at a time, there and back. `pingpong NIC` serves, `pingpong NIC ADDRESS` asks; see common.h. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "common.h"

#define ROUNDS 1000
#define MESSAGE 64

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int count, char **arguments)
{
    struct end end;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d, *receive[2], *send;
    VIP_UINT8 server[6];
    double start;
    int n, asks = count == 3;
    if (count < 2) {
        fprintf(stderr, "pingpong NIC [ADDRESS]\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    vi = create_vi(&end, NULL, NULL);
    /* VIA has no flow control: a receive is posted before the message that it is for can be on its way. */
    for (n = 0; n < 2; n++) {
        receive[n] = describe(&end, end.memory + 64 * n, end.memory + 4096 * (n + 1), MESSAGE);
        MUST(VipPostRecv(vi, receive[n], end.handle));
    }
    send = (VIP_DESCRIPTOR *)(end.memory + 1024);
    if (asks) {
        parse_address(arguments[2], server);
        ask_server(&end, server, "pingpong", vi);
    } else {
        print_address(end.is.LocalNicAddress);
        MUST(accept_one(&end, "pingpong", vi));
    }
    start = now();
    for (n = 0; n < ROUNDS; n++) {
        char *ball = end.memory + 65536;
        if (asks) {
            sprintf(ball, "ball %d", n);
            describe(&end, (char *)send, ball, MESSAGE);
            MUST(VipPostSend(vi, send, end.handle));
            MUST(VipSendWait(vi, VIP_INFINITE, &d));
        }
        MUST(VipRecvWait(vi, VIP_INFINITE, &d));
        memcpy(ball, d->DS[0].Local.Data.Address, MESSAGE);
        describe(&end, (char *)d, (char *)d->DS[0].Local.Data.Address, MESSAGE);
        MUST(VipPostRecv(vi, d, end.handle));
        if (!asks) {
            describe(&end, (char *)send, ball, MESSAGE);
            MUST(VipPostSend(vi, send, end.handle));
            MUST(VipSendWait(vi, VIP_INFINITE, &d));
        } else {
            char wanted[32];
            sprintf(wanted, "ball %d", n);
            if (strcmp(ball, wanted) != 0) {
                fprintf(stderr, "%s came back as %s\n", wanted, ball);
                return 1;
            }
        }
    }
    if (asks)
        printf("%d balls there and back, %.1f us each\n", ROUNDS, (now() - start) / ROUNDS * 1e6);
    MUST(VipDisconnect(vi));
    do
        VipRecvDone(vi, &d);
    while (d);
    MUST(VipDestroyVi(vi));
    MUST(VipCloseNic(end.nic));
    return 0;
}
