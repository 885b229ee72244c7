/* A server of many clients with one completion queue: each client sends words, and gets them back in capitals.
 * `server NIC CLIENTS` serves so many clients and ends; `server NIC ADDRESS TEXT` is one. See common.h.
 */
#include <ctype.h>
#include <pthread.h>

#include "common.h"

#define MOST 16
#define MESSAGE 256

/* What the server keeps of a client. Its word with the VI leads there. */
struct client {
    VIP_DESCRIPTOR *receive, *send;
    char *in, *out;
};

static struct end end;
static struct client all[MOST];
static VIP_VI_HANDLE vis[MOST];
static VIP_CQ_HANDLE cq;
static int clients;

/* Takes clients, while others are served. */
static void *accept_clients(void *unused)
{
    int n;
    (void)unused;
    for (n = 0; n < clients; n++) {
        struct client *client = &all[n];
        char *place = end.memory + 4096 * n;
        vis[n] = create_vi(&end, cq, cq);
        VipSetUserData(vis[n], client);
        client->in = place + 1024;
        client->out = place + 2048;
        client->send = (VIP_DESCRIPTOR *)(place + 64);
        client->receive = describe(&end, place, client->in, MESSAGE);
        MUST(VipPostRecv(vis[n], client->receive, end.handle));
        while (accept_one(&end, "server", vis[n]) != VIP_SUCCESS)
            fprintf(stderr, "a client gave up\n");
    }
    return NULL;
}

static void serve(void)
{
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    pthread_t thread;
    int n, left = clients;
    size_t m;
    MUST(VipCreateCQ(end.nic, 1024, &cq));
    print_address(end.is.LocalNicAddress);
    if (pthread_create(&thread, NULL, accept_clients, NULL) != 0)
        exit(1);
    while (left > 0) {
        struct client *client;
        MUST(VipCQWait(cq, VIP_INFINITE, &vi, &receive));
        client = (struct client *)VipGetUserData(vi);
        if (!receive) {
            /* However it ended: a client may leave as soon as it has its answer. */
            VipSendDone(vi, &d);
            left--;
            continue;
        }
        MUST(VipRecvDone(vi, &d));
        for (m = 0; m < d->CS.Length; m++)
            client->out[m] = (char)toupper((unsigned char)client->in[m]);
        MUST(VipPostSend(vi, describe(&end, (char *)client->send, client->out, d->CS.Length), end.handle));
    }
    pthread_join(thread, NULL);
    for (n = 0; n < clients; n++) {
        MUST(VipDisconnect(vis[n]));
        MUST(VipDestroyVi(vis[n]));
    }
    MUST(VipDestroyCQ(cq));
    printf("%d clients served\n", clients);
}

static void ask(const char *address, const char *text)
{
    VIP_UINT8 server[6];
    VIP_VI_HANDLE vi = create_vi(&end, NULL, NULL);
    VIP_UINT32 length = (VIP_UINT32)strlen(text) + 1;
    VIP_DESCRIPTOR *d;
    char *in = end.memory + 4096, *out = end.memory + 8192;
    parse_address(address, server);
    MUST(VipPostRecv(vi, describe(&end, end.memory, in, MESSAGE), end.handle));
    ask_server(&end, server, "server", vi);
    strcpy(out, text);
    MUST(VipPostSend(vi, describe(&end, end.memory + 64, out, length), end.handle));
    MUST(VipSendWait(vi, VIP_INFINITE, &d));
    MUST(VipRecvWait(vi, VIP_INFINITE, &d));
    printf("%s\n", in);
    MUST(VipDisconnect(vi));
    MUST(VipDestroyVi(vi));
}

int main(int count, char **arguments)
{
    if (count < 3 || (count == 3 && (atoi(arguments[2]) < 1 || atoi(arguments[2]) > MOST)) ||
        (count > 3 && strlen(arguments[3]) >= MESSAGE)) {
        fprintf(stderr, "server NIC CLIENTS | server NIC ADDRESS TEXT\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    if (count == 3) {
        clients = atoi(arguments[2]);
        serve();
    } else {
        ask(arguments[2], arguments[3]);
    }
    MUST(VipCloseNic(end.nic));
    return 0;
}
