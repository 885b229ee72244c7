/* Put: the server tells where its memory is; the client writes there, and says so with the last write's immediate data.
 * `put NIC` serves, `put NIC ADDRESS` asks; see common.h.
 */
#include "common.h"

#define WINDOW 262144

/* What the two programs tell each other before an RDMA write: an address and a memory handle. */
struct window {
    VIP_UINT64 address;
    VIP_MEM_HANDLE handle;
    VIP_UINT32 bytes;
};

int main(int count, char **arguments)
{
    struct end end;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    VIP_UINT8 server[6];
    struct window *window;
    char *data;
    int n;
    if (count < 2) {
        fprintf(stderr, "put NIC [ADDRESS]\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    vi = create_vi(&end, NULL, NULL);
    window = (struct window *)(end.memory + 4096);
    data = end.memory + 65536;
    /* The client's receive is for the window, the server's for the last write: its segments are not touched. */
    d = describe(&end, end.memory, (char *)window, sizeof *window);
    MUST(VipPostRecv(vi, d, end.handle));
    if (count == 3) {
        VIP_DESCRIPTOR *put = (VIP_DESCRIPTOR *)(end.memory + 1024);
        struct window to;
        parse_address(arguments[2], server);
        ask_server(&end, server, "put", vi);
        MUST(VipRecvWait(vi, VIP_INFINITE, &d));
        to = *window;
        for (n = 0; n < WINDOW; n++)
            data[n] = (char)(n * 7);
        for (n = 0; n < WINDOW; n += LARGEST) {
            memset(put, 0, sizeof *put);
            put->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
            put->CS.SegCount = 2;
            put->CS.Length = LARGEST;
            put->DS[0].Remote.Data.AddressBits = to.address + (VIP_UINT64)n;
            put->DS[0].Remote.Handle = to.handle;
            put->DS[1].Local.Data.Address = data + n;
            put->DS[1].Local.Handle = end.handle;
            put->DS[1].Local.Length = LARGEST;
            if (n + LARGEST == WINDOW) {
                put->CS.Control |= VIP_CONTROL_IMMEDIATE;
                put->CS.ImmediateData = WINDOW;
            }
            MUST(VipPostSend(vi, put, end.handle));
            MUST(VipSendWait(vi, VIP_INFINITE, &d));
        }
    } else {
        print_address(end.is.LocalNicAddress);
        MUST(accept_one(&end, "put", vi));
        /* It lies behind the receive's room. */
        window[1].address = (VIP_UINT64)(size_t)data;
        window[1].handle = end.handle;
        window[1].bytes = WINDOW;
        MUST(VipPostSend(vi, describe(&end, end.memory + 64, (char *)&window[1], sizeof *window), end.handle));
        MUST(VipSendWait(vi, VIP_INFINITE, &d));
        MUST(VipRecvWait(vi, VIP_INFINITE, &d));
        for (n = 0; n < WINDOW; n++)
            if (data[n] != (char)(n * 7)) {
                fprintf(stderr, "byte %d is wrong\n", n);
                return 1;
            }
        printf("%u bytes were put here\n", (unsigned)d->CS.ImmediateData);
    }
    MUST(VipDisconnect(vi));
    MUST(VipDestroyVi(vi));
    MUST(VipCloseNic(end.nic));
    return 0;
}
