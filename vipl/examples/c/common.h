/* What the examples have in common: an open NIC, memory that is registered, and addresses.
 *
 *   export VIADUCT_NICS="nic0=vfio-user:/run/viaduct/nic0.sock;nic1=vfio-user:/run/viaduct/nic1.sock"
 *   pingpong nic0 &            the server, which prints its address
 *   pingpong nic1 ADDRESS      a client
 */
#ifndef COMMON_H
#define COMMON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>

#define BYTES (1 << 20)
/* Messages are up to this long; both sides say the same. */
#define LARGEST 32768

/* Ends the program when a call fails. */
#define MUST(call) must((call), #call)

static void must(VIP_RETURN answer, const char *what)
{
    if (answer != VIP_SUCCESS) {
        fprintf(stderr, "%s answers %d\n", what, (int)answer);
        exit(1);
    }
}

/* A NIC, a protection tag, and memory under it, which peers may write and read. */
struct end {
    VIP_NIC_HANDLE nic;
    VIP_NIC_ATTRIBUTES is;
    VIP_PROTECTION_HANDLE ptag;
    char *memory;
    VIP_MEM_HANDLE handle;
};

static void open_end(struct end *end, const char *name)
{
    VIP_MEM_ATTRIBUTES attributes;
    void *memory;
    MUST(VipOpenNic(name, &end->nic));
    MUST(VipQueryNic(end->nic, &end->is));
    MUST(VipCreatePtag(end->nic, &end->ptag));
    if (posix_memalign(&memory, 4096, BYTES) != 0)
        exit(1);
    memset(memory, 0, BYTES);
    end->memory = (char *)memory;
    attributes.Ptag = end->ptag;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_TRUE;
    MUST(VipRegisterMem(end->nic, memory, BYTES, &attributes, &end->handle));
}

static VIP_VI_HANDLE create_vi(const struct end *end, VIP_CQ_HANDLE send, VIP_CQ_HANDLE receive)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    memset(&attributes, 0, sizeof attributes);
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    attributes.MaxTransferSize = LARGEST;
    attributes.Ptag = end->ptag;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_TRUE;
    MUST(VipCreateVi(end->nic, &attributes, send, receive, &vi));
    return vi;
}

/* Room for an address: the NIC's and a discriminator. */
struct address {
    VIP_NET_ADDRESS head;
    char more[40];
};

/* The address of an endpoint of the NIC with these six bytes. */
static VIP_NET_ADDRESS *make_address(struct address *address, const VIP_UINT8 *nic, const char *discriminator)
{
    memset(address, 0, sizeof *address);
    address->head.HostAddressLen = 6;
    address->head.DiscriminatorLen = (VIP_UINT16)strlen(discriminator);
    memcpy((char *)address + 4, nic, 6);
    memcpy((char *)address + 10, discriminator, strlen(discriminator));
    return &address->head;
}

static void print_address(const VIP_UINT8 *nic)
{
    printf("%02x:%02x:%02x:%02x:%02x:%02x\n", nic[0], nic[1], nic[2], nic[3], nic[4], nic[5]);
    fflush(stdout);
}

static void parse_address(const char *text, VIP_UINT8 *nic)
{
    unsigned part[6];
    int n;
    if (sscanf(text, "%x:%x:%x:%x:%x:%x", &part[0], &part[1], &part[2], &part[3], &part[4], &part[5]) != 6) {
        fprintf(stderr, "%s is no address of a NIC\n", text);
        exit(1);
    }
    for (n = 0; n < 6; n++)
        nic[n] = (VIP_UINT8)part[n];
}

/* Waits for a client, and takes it, unless it has given up meanwhile, or has other attributes. */
static VIP_RETURN accept_one(const struct end *end, const char *discriminator, VIP_VI_HANDLE vi)
{
    struct address own, from;
    VIP_VI_ATTRIBUTES remote;
    VIP_CONN_HANDLE connection;
    VIP_RETURN answer;
    MUST(VipConnectWait(end->nic, make_address(&own, end->is.LocalNicAddress, discriminator), VIP_INFINITE, &from.head,
                        &remote, &connection));
    answer = VipConnectAccept(connection, vi);
    if (answer != VIP_SUCCESS)
        VipConnectReject(connection);
    return answer;
}

/* Asks a server until it waits. */
static void ask_server(const struct end *end, const VIP_UINT8 *server, const char *discriminator, VIP_VI_HANDLE vi)
{
    struct address own, to;
    VIP_VI_ATTRIBUTES remote;
    VIP_RETURN answer;
    make_address(&own, end->is.LocalNicAddress, "client");
    make_address(&to, server, discriminator);
    do
        answer = VipConnectRequest(vi, &own.head, &to.head, 10000, &remote);
    while (answer == VIP_NO_MATCH);
    must(answer, "VipConnectRequest");
}

/* Writes a descriptor of one segment at `place`: `bytes` bytes at `data`. */
static VIP_DESCRIPTOR *describe(const struct end *end, char *place, char *data, VIP_UINT32 bytes)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)place;
    memset(d, 0, sizeof *d);
    d->CS.SegCount = 1;
    d->CS.Length = bytes;
    d->DS[0].Local.Data.Address = data;
    d->DS[0].Local.Handle = end->handle;
    d->DS[0].Local.Length = bytes;
    return d;
}

#endif
