/* Hello: one message from a client to a server. `hello NIC` serves, `hello NIC ADDRESS` asks; see common.h. */
#include "common.h"

int main(int count, char **arguments)
{
    struct end end;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    VIP_UINT8 server[6];
    char *text;
    if (count < 2) {
        fprintf(stderr, "hello NIC [ADDRESS]\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    vi = create_vi(&end, NULL, NULL);
    text = end.memory + 4096;
    d = describe(&end, end.memory, text, 100);
    if (count == 3) {
        parse_address(arguments[2], server);
        ask_server(&end, server, "hello", vi);
        strcpy(text, "hello over the Virtual Interface Architecture");
        MUST(VipPostSend(vi, d, end.handle));
        MUST(VipSendWait(vi, VIP_INFINITE, &d));
    } else {
        /* Posted before anybody can send. */
        MUST(VipPostRecv(vi, d, end.handle));
        print_address(end.is.LocalNicAddress);
        MUST(accept_one(&end, "hello", vi));
        MUST(VipRecvWait(vi, VIP_INFINITE, &d));
        printf("%s\n", text);
    }
    MUST(VipDisconnect(vi));
    MUST(VipDestroyVi(vi));
    MUST(VipCloseNic(end.nic));
    return 0;
}
