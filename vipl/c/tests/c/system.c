/* Asynchronous errors, the name service, forks, and what an old program needs to be excused. */
#include <sys/wait.h>

#include "check.h"

static volatile int errors;
static VIP_ERROR_DESCRIPTOR last_error;
static VIP_PVOID last_context;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    last_error = *error;
    last_context = context;
    __sync_fetch_and_add(&errors, 1);
}

static void await_error(int count)
{
    double start = seconds();
    while (errors < count && seconds() - start < 10)
        usleep(1000);
    CHECK(errors == count);
}

static void a_descriptor_under_another_tag_is_an_asynchronous_error(void)
{
    struct world world;
    VIP_PROTECTION_HANDLE other;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES is;
    VIP_BOOLEAN send, receive;
    VIP_DESCRIPTOR *d;
    errors = 0;
    begin(&world, "nic0");
    OK(VipErrorCallback(world.nic, &world, on_error));
    OK(VipCreatePtag(world.nic, &other));
    vi = create_vi(&world, NULL, NULL);
    attributes.Ptag = other;
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes));
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    await_error(1);
    CHECK(last_error.ErrorCode == VIP_ERROR_POST_DESC && last_error.ResourceCode == VIP_RESOURCE_VI);
    CHECK(last_error.NicHandle == world.nic && last_error.ViHandle == vi && last_error.CQHandle == NULL);
    CHECK(last_error.OpCode == VIP_STATUS_OP_RECEIVE && last_context == &world);
    OK(VipQueryVi(vi, &state, &is, &send, &receive));
    CHECK(state == VIP_STATE_ERROR);
    IS(VipSetViAttributes(vi, &is), VIP_INVALID_STATE);
    IS(VipDestroyVi(vi), VIP_ERROR_RESOURCE);
    /* Only a disconnect leaves the error. */
    OK(VipDisconnect(vi));
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK((char *)d == world.memory);
    CHECK(d->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_RECEIVE));
    OK(VipDestroyVi(vi));
    /* The default handler writes it down. */
    OK(VipErrorCallback(world.nic, NULL, NULL));
    vi = create_vi(&world, NULL, NULL);
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    do
        OK(VipQueryVi(vi, &state, &is, &send, &receive));
    while (state != VIP_STATE_ERROR);
    usleep(300000);
    CHECK(errors == 1);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static volatile int held;

static void on_error_held(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
    on_error(context, error);
    while (held)
        usleep(1000);
}

static void a_handler_that_runs_does_not_keep_the_tag_of_a_vi_that_is_destroyed(void)
{
    struct world world;
    VIP_PROTECTION_HANDLE other;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    errors = 0;
    held = 1;
    begin(&world, "nic0");
    OK(VipErrorCallback(world.nic, NULL, on_error_held));
    OK(VipCreatePtag(world.nic, &other));
    vi = create_vi(&world, NULL, NULL);
    attributes.Ptag = other;
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes));
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    await_error(1);
    OK(VipDisconnect(vi));
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipDestroyVi(vi));
    OK(VipDestroyPtag(world.nic, world.ptag));
    held = 0;
    OK(VipDeregisterMem(world.nic, world.memory, world.handle));
    OK(VipDestroyPtag(world.nic, other));
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void hosts_have_names(void)
{
    VIP_NIC_HANDLE nic;
    struct {
        VIP_NET_ADDRESS address;
        char more[40];
    } u;
    VIP_UINT8 *bytes = (VIP_UINT8 *)&u;
    char name[32], longer[] = "node1.cluster", shorter[] = "node1", none[] = "nobody";
    VIP_ULONG length;
    OK(VipOpenNic("nic0", &nic));
    memset(&u, 0xee, sizeof u);
    u.address.HostAddressLen = 6;
    IS(VipNSGetHostByName(nic, shorter, &u.address, 0), VIP_ERROR_NAMESERVICE);
    OK(VipNSInit(nic, NULL));
    /* With the length preset, and without; and not a byte more than the address. */
    OK(VipNSGetHostByName(nic, longer, &u.address, 0));
    CHECK(u.address.HostAddressLen == 6 && u.address.DiscriminatorLen == 0xeeee);
    CHECK(memcmp(u.address.HostAddress, "\2\0\0\0\0\1\xee", 7) == 0);
    u.address.HostAddressLen = 0;
    OK(VipNSGetHostByName(nic, shorter, &u.address, 0));
    CHECK(u.address.HostAddressLen == 6 && bytes[10] == 0xee);
    /* A host of two NICs. */
    OK(VipNSGetHostByName(nic, shorter, &u.address, 1));
    CHECK(u.address.HostAddress[5] == 3);
    IS(VipNSGetHostByName(nic, shorter, &u.address, 2), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(nic, none, &u.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSGetHostByName(nic, NULL, &u.address, 0), VIP_INVALID_PARAMETER);
    IS(VipNSGetHostByName(nic, shorter, NULL, 0), VIP_INVALID_PARAMETER);
    u.address.HostAddress[5] = 2;
    length = sizeof name;
    OK(VipNSGetHostByAddr(nic, &u.address, name, &length));
    CHECK(strcmp(name, "node2") == 0 && length == 6);
    length = 5;
    IS(VipNSGetHostByAddr(nic, &u.address, name, &length), VIP_ERROR_RESOURCE);
    CHECK(length == 6);
    u.address.HostAddress[5] = 99;
    IS(VipNSGetHostByAddr(nic, &u.address, name, &length), VIP_ERROR_NAMESERVICE);
    OK(VipNSShutdown(nic));
    IS(VipNSGetHostByName(nic, shorter, &u.address, 0), VIP_ERROR_NAMESERVICE);
    IS(VipNSShutdown(nic), VIP_ERROR_NAMESERVICE);
    OK(VipCloseNic(nic));
}

static void a_forked_child_gets_errors_and_harms_nobody(void)
{
    struct world world;
    VIP_NIC_ATTRIBUTES is;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    int status = 1;
    pid_t child;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    child = fork();
    if (child == 0) {
        VIP_NIC_HANDLE nic;
        if (VipQueryNic(world.nic, &is) == VIP_ERROR_RESOURCE && VipOpenNic("nic1", &nic) == VIP_ERROR_RESOURCE &&
            VipPostSend(vi, descriptor(&world, 0, 64), world.handle) == VIP_ERROR_RESOURCE &&
            VipSendWait(vi, VIP_INFINITE, &d) == VIP_ERROR_RESOURCE && VipDisconnect(vi) == VIP_ERROR_RESOURCE &&
            VipCloseNic(world.nic) == VIP_ERROR_RESOURCE && VipGetUserData(vi) == NULL)
            exit(0);
        exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(VipPostSend(vi, descriptor(&world, 0, 64), world.handle));
    IS(VipSendWait(vi, 5000, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
    OK(VipDestroyVi(vi));
    end(&world);
}

static void things_without_a_tag_are_taken_where_that_is_asked_for(void)
{
    VIP_NIC_HANDLE nic;
    VIP_MEM_HANDLE handle;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_VI_ATTRIBUTES vi_is;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    void *memory;
    CHECK(posix_memalign(&memory, 64, 4096) == 0);
    memset(memory, 0, 4096);
    CHECK(setenv("VIPL_COMPAT", "null-ptag", 1) == 0);
    OK(VipOpenNic("nic0", &nic));
    OK(VipRegisterMem(nic, memory, 4096, NULL, &handle));
    OK(VipQueryMem(nic, memory, handle, &attributes));
    CHECK(attributes.Ptag == NULL && !attributes.EnableRdmaWrite);
    memset(&vi_is, 0, sizeof vi_is);
    vi_is.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
    vi_is.MaxTransferSize = 4096;
    OK(VipCreateVi(nic, &vi_is, NULL, NULL, &vi));
    /* The two tags are one: the NIC takes the descriptor, and there is no asynchronous error. */
    OK(VipPostRecv(vi, (VIP_DESCRIPTOR *)memory, handle));
    usleep(200000);
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    OK(VipCloseNic(nic));
    CHECK(unsetenv("VIPL_COMPAT") == 0);
    free(memory);
}

static const struct test tests[] = {
    TEST(a_descriptor_under_another_tag_is_an_asynchronous_error),
    TEST(a_handler_that_runs_does_not_keep_the_tag_of_a_vi_that_is_destroyed),
    TEST(hosts_have_names),
    TEST(a_forked_child_gets_errors_and_harms_nobody),
    TEST(things_without_a_tag_are_taken_where_that_is_asked_for),
};

MAIN(tests)
