/* Put and get: the server tells where its memory is, and then sleeps; the client reads what is there, writes beside it, and tells with
 * the last write's immediate data that it is done. `put_get NIC` serves, `put_get NIC ADDRESS` asks; see common.h.
 */
#include "common.h"

/* The server's memory for all: the first half is its own writing, the second one the client's. */
#define HALF 65536
#define START 131072

/* What the server tells: an address and a memory handle. They are plain numbers, and travel as any data do. */
struct window {
    VIP_UINT64 address;
    VIP_MEM_HANDLE handle;
    VIP_UINT32 bytes;
};

static struct end end;
static VIP_VI_HANDLE vi;

/* Byte `n` of a half. */
static char pattern(int n, int seed)
{
    return (char)(n * 7 + n / 256 + seed);
}

static void fill(char *half, int seed)
{
    int n;
    for (n = 0; n < HALF; n++)
        half[n] = pattern(n, seed);
}

static void check(const char *half, int seed)
{
    int n;
    for (n = 0; n < HALF; n++)
        if (half[n] != pattern(n, seed)) {
            fprintf(stderr, "byte %d is wrong\n", n);
            exit(1);
        }
}

/* Moves a half between here and the peer's memory, in as many pieces as it takes. The last one has these control bits, too. */
static void move(VIP_UINT16 operation, VIP_UINT64 there, VIP_MEM_HANDLE handle, char *here, VIP_UINT16 last)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(end.memory + 1024), *done;
    int n;
    for (n = 0; n < HALF; n += LARGEST) {
        memset(d, 0, sizeof *d);
        d->CS.Control = operation;
        d->CS.SegCount = 2;
        d->CS.Length = LARGEST;
        d->DS[0].Remote.Data.AddressBits = there + (VIP_UINT64)n;
        d->DS[0].Remote.Handle = handle;
        d->DS[1].Local.Data.Address = here + n;
        d->DS[1].Local.Handle = end.handle;
        d->DS[1].Local.Length = LARGEST;
        if (n + LARGEST == HALF) {
            d->CS.Control |= last;
            d->CS.ImmediateData = HALF;
        }
        MUST(VipPostSend(vi, d, end.handle));
        MUST(VipSendWait(vi, VIP_INFINITE, &done));
    }
}

static void serve(void)
{
    char *data = end.memory + START;
    struct window *window = (struct window *)(end.memory + 4096);
    VIP_DESCRIPTOR *d;
    fill(data, 1);
    /* The client's last write takes this one; its segments stay as they are. */
    MUST(VipPostRecv(vi, describe(&end, end.memory, end.memory, 0), end.handle));
    print_address(end.is.LocalNicAddress);
    MUST(accept_one(&end, "put_get", vi));
    window->address = (VIP_UINT64)(size_t)data;
    window->handle = end.handle;
    window->bytes = 2 * HALF;
    MUST(VipPostSend(vi, describe(&end, end.memory + 64, (char *)window, sizeof *window), end.handle));
    MUST(VipSendWait(vi, VIP_INFINITE, &d));
    MUST(VipRecvWait(vi, VIP_INFINITE, &d));
    check(data + HALF, 2);
    printf("%u bytes were put here\n", (unsigned)d->CS.ImmediateData);
}

static void ask(const char *address)
{
    char *data = end.memory + START;
    struct window *window = (struct window *)(end.memory + 4096);
    VIP_UINT8 server[6];
    VIP_DESCRIPTOR *d;
    parse_address(address, server);
    MUST(VipPostRecv(vi, describe(&end, end.memory, (char *)window, sizeof *window), end.handle));
    ask_server(&end, server, "put_get", vi);
    MUST(VipRecvWait(vi, VIP_INFINITE, &d));
    /* Get the server's half. */
    move(VIP_CONTROL_OP_RDMAREAD, window->address, window->handle, data, 0);
    check(data, 1);
    printf("%d bytes were got from there\n", HALF);
    /* Put the other half, the last piece with the word that it is the last. */
    fill(data + HALF, 2);
    move(VIP_CONTROL_OP_RDMAWRITE, window->address + HALF, window->handle, data + HALF, VIP_CONTROL_IMMEDIATE);
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "put_get NIC [ADDRESS]\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    vi = create_vi(&end, NULL, NULL);
    if (count == 3)
        ask(arguments[2]);
    else
        serve();
    MUST(VipDisconnect(vi));
    MUST(VipDestroyVi(vi));
    MUST(VipCloseNic(end.nic));
    return 0;
}
