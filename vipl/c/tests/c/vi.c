/* Virtual interfaces and their work queues, not connected. */
#include <sys/mman.h>

#include "check.h"

static void attributes_that_are_not_offered_have_their_own_codes(void)
{
    struct world world;
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi = NULL;
    begin(&world, "nic0");
    attributes = vi_attributes(&world);
    attributes.ReliabilityLevel = 0;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_RELIABILITY_LEVEL);
    attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_RELIABILITY_LEVEL);
    attributes = vi_attributes(&world);
    attributes.MaxTransferSize = 0;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_MTU);
    attributes.MaxTransferSize = ~0UL;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_MTU);
    attributes = vi_attributes(&world);
    attributes.QoS = &world;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_QOS);
    attributes = vi_attributes(&world);
    attributes.Ptag = NULL;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_PTAG);
    attributes = vi_attributes(&world);
    attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
    attributes.EnableRdmaRead = VIP_TRUE;
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, &vi), VIP_INVALID_RDMAREAD);
    attributes = vi_attributes(&world);
    IS(VipCreateVi(world.nic, NULL, NULL, NULL, &vi), VIP_INVALID_PARAMETER);
    IS(VipCreateVi(world.nic, &attributes, NULL, NULL, NULL), VIP_INVALID_PARAMETER);
    IS(VipCreateVi(world.nic, &attributes, &world, NULL, &vi), VIP_INVALID_PARAMETER);
    CHECK(vi == NULL);
    end(&world);
}

static void a_new_vi_is_idle_and_empty(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_VI_STATE state = VIP_STATE_ERROR;
    VIP_VI_ATTRIBUTES is;
    VIP_BOOLEAN send = VIP_FALSE, receive = VIP_FALSE;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    OK(VipQueryVi(vi, &state, &is, &send, &receive));
    CHECK(state == VIP_STATE_IDLE && send && receive);
    CHECK(is.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && is.MaxTransferSize == 32768);
    CHECK(is.Ptag == world.ptag && is.QoS == NULL && !is.EnableRdmaWrite && !is.EnableRdmaRead);
    IS(VipQueryVi(vi, NULL, &is, &send, &receive), VIP_INVALID_PARAMETER);
    IS(VipQueryVi(vi, &state, &is, &send, NULL), VIP_INVALID_PARAMETER);
    /* Programs keep a word with it. */
    CHECK(VipGetUserData(vi) == NULL);
    VipSetUserData(vi, &world);
    CHECK(VipGetUserData(vi) == &world);
    OK(VipPostDeferredSends(vi, VIP_TRUE, &send));
    CHECK(!send);
    OK(VipDestroyVi(vi));
    end(&world);
}

static void vi_attributes_change_while_it_is_idle(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES attributes, is;
    VIP_BOOLEAN send, receive;
    VIP_PROTECTION_HANDLE other;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    OK(VipCreatePtag(world.nic, &other));
    vi = create_vi(&world, NULL, NULL);
    attributes = vi_attributes(&world);
    attributes.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
    attributes.MaxTransferSize = 1000;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.Ptag = other;
    OK(VipSetViAttributes(vi, &attributes));
    OK(VipQueryVi(vi, &state, &is, &send, &receive));
    CHECK(is.ReliabilityLevel == VIP_SERVICE_UNRELIABLE && is.MaxTransferSize == 1000);
    CHECK(is.Ptag == other && is.EnableRdmaWrite && !is.EnableRdmaRead);
    IS(VipDestroyPtag(world.nic, other), VIP_ERROR_RESOURCE);
    /* What was posted stays posted; but not under another tag. */
    attributes.Ptag = world.ptag;
    OK(VipSetViAttributes(vi, &attributes));
    OK(VipDestroyPtag(world.nic, other));
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    attributes.MaxTransferSize = 2000;
    OK(VipSetViAttributes(vi, &attributes));
    OK(VipCreatePtag(world.nic, &other));
    attributes.Ptag = other;
    IS(VipSetViAttributes(vi, &attributes), VIP_INVALID_STATE);
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    attributes.ReliabilityLevel = 77;
    IS(VipSetViAttributes(vi, &attributes), VIP_INVALID_RELIABILITY_LEVEL);
    IS(VipSetViAttributes(vi, NULL), VIP_INVALID_PARAMETER);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void receives_posted_to_an_idle_vi_stay(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_VI_STATE state;
    VIP_VI_ATTRIBUTES is;
    VIP_BOOLEAN send, receive;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    d = (VIP_DESCRIPTOR *)&world;
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    CHECK(d == NULL);
    OK(VipQueryVi(vi, &state, &is, &send, &receive));
    CHECK(state == VIP_STATE_IDLE && send && !receive);
    /* Idle, but not empty. */
    IS(VipDestroyVi(vi), VIP_ERROR_RESOURCE);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void sends_posted_to_an_idle_vi_are_flushed(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    int n;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    for (n = 0; n < 4; n++)
        OK(VipPostSend(vi, descriptor(&world, n, 64), world.handle));
    for (n = 0; n < 4; n++) {
        IS(VipSendWait(vi, 5000, &d), VIP_DESCRIPTOR_ERROR);
        /* In order. */
        CHECK((char *)d == world.memory + 1024 * n);
        CHECK(d->CS.Status == (VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_SEND));
        CHECK(d->CS.Length == 0);
    }
    OK(VipDestroyVi(vi));
    end(&world);
}

static void an_empty_queue_is_a_descriptor_error_without_a_descriptor(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    d = (VIP_DESCRIPTOR *)&world;
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    d = (VIP_DESCRIPTOR *)&world;
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    IS(VipRecvDone(vi, NULL), VIP_INVALID_PARAMETER);
    /* Programs drain until there is no descriptor. */
    OK(VipDisconnect(vi));
    do
        VipRecvDone(vi, &d);
    while (d);
    OK(VipDestroyVi(vi));
    end(&world);
}

static void disconnecting_an_idle_vi_is_harmless(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    OK(VipDisconnect(vi));
    OK(VipDisconnect(vi));
    OK(VipDestroyVi(vi));
    end(&world);
}

static void descriptors_lie_aligned_in_memory_of_their_handle(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    d = descriptor(&world, 0, 0);
    IS(VipPostSend(vi, (VIP_DESCRIPTOR *)((char *)d + 32), world.handle), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, NULL, world.handle), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, d, 0), VIP_INVALID_PARAMETER);
    IS(VipPostSend(vi, d, world.handle + 1), VIP_INVALID_PARAMETER);
    IS(VipPostRecv(vi, (VIP_DESCRIPTOR *)(world.memory + MEMORY), world.handle), VIP_INVALID_PARAMETER);
    IS(VipPostRecv(vi, (VIP_DESCRIPTOR *)(world.memory - 64), world.handle), VIP_INVALID_PARAMETER);
    /* Nothing was posted. */
    IS(VipSendDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK(d == NULL);
    OK(VipDestroyVi(vi));
    end(&world);
}

static void a_queue_takes_as_many_as_its_attribute_says(void)
{
    struct world world;
    VIP_NIC_ATTRIBUTES is;
    VIP_VI_HANDLE vi;
    VIP_ULONG n;
    begin(&world, "nic0");
    OK(VipQueryNic(world.nic, &is));
    vi = create_vi(&world, NULL, NULL);
    CHECK(is.MaxDescriptorsPerQueue * 64 <= MEMORY);
    for (n = 0; n < is.MaxDescriptorsPerQueue; n++) {
        VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(world.memory + 64 * n);
        memset(d, 0, sizeof *d);
        OK(VipPostRecv(vi, d, world.handle));
    }
    IS(VipPostRecv(vi, (VIP_DESCRIPTOR *)world.memory, world.handle), VIP_ERROR_RESOURCE);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void a_status_that_is_not_0_does_not_look_like_a_completion(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    d = descriptor(&world, 0, 0);
    d->CS.Status = VIP_STATUS_DONE;
    OK(VipPostRecv(vi, d, world.handle));
    IS(VipRecvDone(vi, &d), VIP_NOT_DONE);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void a_wait_ends_with_its_time_in_milliseconds(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    double start;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    IS(VipRecvWait(vi, 50, &d), VIP_DESCRIPTOR_ERROR);
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    start = seconds();
    IS(VipRecvWait(vi, 50, &d), VIP_TIMEOUT);
    CHECK(d == NULL && seconds() - start >= 0.05);
    IS(VipRecvWait(vi, 1200, &d), VIP_TIMEOUT);
    CHECK(seconds() - start >= 1.25 && seconds() - start < 10);
    IS(VipRecvWait(vi, 0, &d), VIP_TIMEOUT);
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void memory_that_is_gone_is_not_touched(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *d;
    VIP_MEM_HANDLE handle;
    VIP_MEM_ATTRIBUTES attributes;
    size_t bytes = 1 << 20;
    char *memory;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    memory = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != (char *)MAP_FAILED);
    attributes.Ptag = world.ptag;
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipRegisterMem(world.nic, memory, bytes, &attributes, &handle));
    OK(VipPostRecv(vi, (VIP_DESCRIPTOR *)memory, handle));
    OK(VipPostRecv(vi, (VIP_DESCRIPTOR *)(memory + 64), handle));
    OK(VipDeregisterMem(world.nic, memory, handle));
    CHECK(munmap(memory, bytes) == 0);
    IS(VipRecvDone(vi, &d), VIP_DESCRIPTOR_ERROR);
    CHECK((char *)d == memory);
    OK(VipDisconnect(vi));
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static void the_compatibility_switch_is_off(void)
{
    struct world world;
    VIP_MEM_HANDLE handle;
    begin(&world, "nic0");
    IS(VipRegisterMem(world.nic, world.memory, 64, NULL, &handle), VIP_INVALID_PARAMETER);
    end(&world);
}

static const struct test tests[] = {
    TEST(attributes_that_are_not_offered_have_their_own_codes),
    TEST(a_new_vi_is_idle_and_empty),
    TEST(vi_attributes_change_while_it_is_idle),
    TEST(receives_posted_to_an_idle_vi_stay),
    TEST(sends_posted_to_an_idle_vi_are_flushed),
    TEST(an_empty_queue_is_a_descriptor_error_without_a_descriptor),
    TEST(disconnecting_an_idle_vi_is_harmless),
    TEST(descriptors_lie_aligned_in_memory_of_their_handle),
    TEST(a_queue_takes_as_many_as_its_attribute_says),
    TEST(a_status_that_is_not_0_does_not_look_like_a_completion),
    TEST(a_wait_ends_with_its_time_in_milliseconds),
    TEST(memory_that_is_gone_is_not_touched),
    TEST(the_compatibility_switch_is_off),
};

MAIN(tests)
