/* NICs, protection tags and registered memory. */
#include "check.h"

static void a_nic_opens_by_every_name_that_programs_have(void)
{
    static const char *const names[] = {"nic0", "VINIC0", "/dev/via_eth0", "/dev/clanvi0"};
    size_t n;
    for (n = 0; n < sizeof names / sizeof *names; n++) {
        VIP_NIC_HANDLE nic = NULL;
        VIP_NIC_ATTRIBUTES is;
        OK(VipOpenNic(names[n], &nic));
        CHECK(nic != NULL);
        OK(VipQueryNic(nic, &is));
        CHECK(strcmp(is.Name, names[n]) == 0);
        OK(VipCloseNic(nic));
    }
}

static void a_name_that_is_none_and_null_are_invalid_parameters(void)
{
    VIP_NIC_HANDLE nic = NULL;
    IS(VipOpenNic("no such NIC", &nic), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("", &nic), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("vfio-user:", &nic), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("vfio-user:/no/such/socket", &nic), VIP_ERROR_RESOURCE);
    IS(VipOpenNic(NULL, &nic), VIP_INVALID_PARAMETER);
    IS(VipOpenNic("nic0", NULL), VIP_INVALID_PARAMETER);
    CHECK(nic == NULL);
}

static void a_nic_is_open_twice_with_two_handles(void)
{
    VIP_NIC_HANDLE one = NULL, two = NULL;
    VIP_NIC_ATTRIBUTES is;
    OK(VipOpenNic("nic0", &one));
    OK(VipOpenNic("VINIC0", &two));
    CHECK(one != two);
    OK(VipCloseNic(one));
    IS(VipQueryNic(one, &is), VIP_INVALID_PARAMETER);
    OK(VipQueryNic(two, &is));
    OK(VipCloseNic(two));
    IS(VipCloseNic(two), VIP_INVALID_PARAMETER);
}

static void handles_that_are_stale_forged_or_null_are_invalid_parameters(void)
{
    struct world world;
    VIP_VI_HANDLE vi, taken;
    VIP_CQ_HANDLE cq;
    VIP_BOOLEAN yes;
    VIP_DESCRIPTOR *d;
    VIP_NIC_ATTRIBUTES nic_is;
    VIP_VI_ATTRIBUTES vi_is;
    VIP_VI_STATE state;
    void *forged[7];
    size_t n;
    begin(&world, "nic0");
    vi = create_vi(&world, NULL, NULL);
    OK(VipCreateCQ(world.nic, 16, &cq));
    OK(VipDestroyVi(vi));
    OK(VipDestroyCQ(cq));
    forged[0] = NULL;
    forged[1] = (void *)8;
    forged[2] = (void *)~0UL;
    forged[3] = &world;
    forged[4] = vi;
    forged[5] = cq;
    forged[6] = (void *)0xdeadbeef;
    for (n = 0; n < sizeof forged / sizeof *forged; n++) {
        IS(VipQueryNic(forged[n], &nic_is), VIP_INVALID_PARAMETER);
        IS(VipCloseNic(forged[n]), VIP_INVALID_PARAMETER);
        IS(VipDestroyVi(forged[n]), VIP_INVALID_PARAMETER);
        IS(VipQueryVi(forged[n], &state, &vi_is, &yes, &yes), VIP_INVALID_PARAMETER);
        IS(VipSetViAttributes(forged[n], &vi_is), VIP_INVALID_PARAMETER);
        IS(VipDestroyCQ(forged[n]), VIP_INVALID_PARAMETER);
        IS(VipResizeCQ(forged[n], 5), VIP_INVALID_PARAMETER);
        IS(VipCQDone(forged[n], &taken, &yes), VIP_INVALID_PARAMETER);
        IS(VipCQWait(forged[n], 0, &taken, &yes), VIP_INVALID_PARAMETER);
        IS(VipPostSend(forged[n], descriptor(&world, 0, 0), world.handle), VIP_INVALID_PARAMETER);
        IS(VipPostRecv(forged[n], descriptor(&world, 0, 0), world.handle), VIP_INVALID_PARAMETER);
        IS(VipSendDone(forged[n], &d), VIP_INVALID_PARAMETER);
        IS(VipRecvDone(forged[n], &d), VIP_INVALID_PARAMETER);
        IS(VipSendWait(forged[n], 0, &d), VIP_INVALID_PARAMETER);
        IS(VipRecvWait(forged[n], 0, &d), VIP_INVALID_PARAMETER);
        IS(VipDisconnect(forged[n]), VIP_INVALID_PARAMETER);
        IS(VipConnectAccept(forged[n], forged[n]), VIP_INVALID_PARAMETER);
        IS(VipConnectReject(forged[n]), VIP_INVALID_PARAMETER);
        IS(VipConnectPeerDone(forged[n], &vi_is), VIP_INVALID_PARAMETER);
        IS(VipConnectPeerWait(forged[n], &vi_is), VIP_INVALID_PARAMETER);
        IS(VipDestroyPtag(world.nic, forged[n]), VIP_INVALID_PARAMETER);
        IS(VipErrorCallback(forged[n], NULL, NULL), VIP_INVALID_PARAMETER);
        CHECK(VipGetUserData(forged[n]) == NULL);
        VipSetUserData(forged[n], &world);
    }
    end(&world);
}

static void attributes_are_what_programs_assume(void)
{
    VIP_NIC_HANDLE nic;
    VIP_NIC_ATTRIBUTES is;
    int transfer;
    OK(VipOpenNic("nic0", &nic));
    OK(VipQueryNic(nic, &is));
    IS(VipQueryNic(nic, NULL), VIP_INVALID_PARAMETER);
    /* A net address of this NIC's fits the 40 bytes that programs give it. */
    CHECK(is.NicAddressLen == 6 && is.LocalNicAddress != NULL && is.LocalNicAddress[0] == 2);
    CHECK(is.MaxDiscriminatorLen >= 12 && 4 + is.NicAddressLen + is.MaxDiscriminatorLen <= 40);
    /* It is read into an int. */
    transfer = (int)is.MaxTransferSize;
    CHECK(transfer >= 32768 && (VIP_ULONG)transfer == is.MaxTransferSize);
    CHECK(is.MaxCQEntries >= 1024 && is.MaxDescriptorsPerQueue >= 300 && is.MaxSegmentsPerDesc >= 252);
    CHECK(is.ThreadSafe == VIP_TRUE);
    CHECK(is.ReliabilityLevelSupport & VIP_SERVICE_UNRELIABLE);
    CHECK(is.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_DELIVERY);
    CHECK(is.ReliabilityLevelSupport & VIP_SERVICE_RELIABLE_RECEPTION);
    /* Never on the unreliable level. */
    CHECK(!(is.RDMAReadSupport & VIP_SERVICE_UNRELIABLE));
    CHECK(is.MaxVI > 0 && is.MaxCQ > 0 && is.MaxPtags > 0 && is.MaxRegisterRegions > 0 && is.NativeMTU > 0);
    OK(VipCloseNic(nic));
}

static void system_management_is_not_supported(void)
{
    VIP_NIC_HANDLE nic;
    VIP_AUTODISCOVERY_LIST list;
    OK(VipOpenNic("nic0", &nic));
    IS(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, &list), VIP_ERROR_NOT_SUPPORTED);
    IS(VipQuerySystemManagementInfo(nic, 99, &list), VIP_INVALID_PARAMETER);
    IS(VipQuerySystemManagementInfo(nic, VIP_SMI_AUTODISCOVERY, NULL), VIP_INVALID_PARAMETER);
    OK(VipCloseNic(nic));
}

static void a_protection_tag_in_use_is_not_destroyed(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_PROTECTION_HANDLE ptag;
    begin(&world, "nic0");
    IS(VipDestroyPtag(world.nic, world.ptag), VIP_ERROR_RESOURCE);
    vi = create_vi(&world, NULL, NULL);
    OK(VipDeregisterMem(world.nic, world.memory, world.handle));
    IS(VipDestroyPtag(world.nic, world.ptag), VIP_ERROR_RESOURCE);
    OK(VipDestroyVi(vi));
    OK(VipDestroyPtag(world.nic, world.ptag));
    IS(VipDestroyPtag(world.nic, world.ptag), VIP_INVALID_PARAMETER);
    IS(VipCreatePtag(world.nic, NULL), VIP_INVALID_PARAMETER);
    /* Many at a time. */
    OK(VipCreatePtag(world.nic, &ptag));
    OK(VipCreatePtag(world.nic, &world.ptag));
    CHECK(ptag != world.ptag);
    OK(VipDestroyPtag(world.nic, ptag));
    OK(VipCloseNic(world.nic));
    free(world.memory);
}

static char of_no_alignment[1000];

static void any_alignment_and_length_is_registered_again_and_again(void)
{
    struct world world;
    VIP_MEM_ATTRIBUTES attributes, is;
    VIP_MEM_HANDLE handles[8];
    char stack[100];
    int n, m;
    begin(&world, "nic0");
    attributes.Ptag = world.ptag;
    attributes.EnableRdmaWrite = VIP_FALSE;
    attributes.EnableRdmaRead = VIP_TRUE;
    for (n = 0; n < 8; n++) {
        char *start = n < 4 ? of_no_alignment + 3 : stack + 1;
        OK(VipRegisterMem(world.nic, start, (VIP_ULONG)(n + 1), &attributes, &handles[n]));
        /* A program takes 0 for a failure. */
        CHECK(handles[n] != 0);
        for (m = 0; m < n; m++)
            CHECK(handles[m] != handles[n]);
    }
    for (n = 0; n < 8; n++) {
        char *start = n < 4 ? of_no_alignment + 3 : stack + 1;
        OK(VipQueryMem(world.nic, start, handles[n], &is));
        CHECK(is.Ptag == world.ptag && is.EnableRdmaWrite == VIP_FALSE && is.EnableRdmaRead == VIP_TRUE);
        IS(VipDeregisterMem(world.nic, start + 1, handles[n]), VIP_INVALID_PARAMETER);
        OK(VipDeregisterMem(world.nic, start, handles[n]));
        IS(VipDeregisterMem(world.nic, start, handles[n]), VIP_INVALID_PARAMETER);
    }
    end(&world);
}

static void memory_that_cannot_be_registered_is_refused(void)
{
    struct world world;
    VIP_MEM_ATTRIBUTES attributes;
    VIP_MEM_HANDLE handle = 7;
    begin(&world, "nic0");
    attributes.Ptag = world.ptag;
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_FALSE;
    IS(VipRegisterMem(world.nic, NULL, 4096, &attributes, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(world.nic, world.memory, 0, &attributes, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(world.nic, world.memory, ~0UL, &attributes, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(world.nic, (void *)4096, 4096, &attributes, &handle), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(world.nic, world.memory, 64, &attributes, NULL), VIP_INVALID_PARAMETER);
    IS(VipRegisterMem(world.nic, world.memory, 64, NULL, &handle), VIP_INVALID_PARAMETER);
    attributes.Ptag = NULL;
    IS(VipRegisterMem(world.nic, world.memory, 64, &attributes, &handle), VIP_INVALID_PTAG);
    attributes.Ptag = &world;
    IS(VipRegisterMem(world.nic, world.memory, 64, &attributes, &handle), VIP_INVALID_PTAG);
    CHECK(handle == 7);
    end(&world);
}

static void memory_attributes_change_with_their_tag(void)
{
    struct world world;
    VIP_MEM_ATTRIBUTES attributes, is;
    VIP_PROTECTION_HANDLE other;
    begin(&world, "nic0");
    OK(VipCreatePtag(world.nic, &other));
    attributes.Ptag = other;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_FALSE;
    OK(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes));
    OK(VipQueryMem(world.nic, world.memory, world.handle, &is));
    CHECK(is.Ptag == other && is.EnableRdmaWrite == VIP_TRUE && is.EnableRdmaRead == VIP_FALSE);
    IS(VipDestroyPtag(world.nic, other), VIP_ERROR_RESOURCE);
    /* Nobody has the former one any more. */
    OK(VipDestroyPtag(world.nic, world.ptag));
    world.ptag = other;
    attributes.Ptag = NULL;
    IS(VipSetMemAttributes(world.nic, world.memory, world.handle, &attributes), VIP_INVALID_PTAG);
    IS(VipSetMemAttributes(world.nic, world.memory, world.handle + 1, &is), VIP_INVALID_PARAMETER);
    IS(VipQueryMem(world.nic, world.memory, world.handle, NULL), VIP_INVALID_PARAMETER);
    end(&world);
}

static void closing_a_nic_ends_what_was_made_with_it(void)
{
    struct world world;
    VIP_VI_HANDLE vi;
    VIP_CQ_HANDLE cq;
    VIP_DESCRIPTOR *d;
    begin(&world, "nic0");
    OK(VipCreateCQ(world.nic, 16, &cq));
    vi = create_vi(&world, NULL, cq);
    OK(VipPostRecv(vi, descriptor(&world, 0, 64), world.handle));
    OK(VipCloseNic(world.nic));
    IS(VipRecvDone(vi, &d), VIP_INVALID_PARAMETER);
    IS(VipDestroyCQ(cq), VIP_INVALID_PARAMETER);
    IS(VipDestroyVi(vi), VIP_INVALID_PARAMETER);
    free(world.memory);
    /* The NIC is free for the next one. */
    begin(&world, "nic0");
    end(&world);
}

static const struct test tests[] = {
    TEST(a_nic_opens_by_every_name_that_programs_have),
    TEST(a_name_that_is_none_and_null_are_invalid_parameters),
    TEST(a_nic_is_open_twice_with_two_handles),
    TEST(handles_that_are_stale_forged_or_null_are_invalid_parameters),
    TEST(attributes_are_what_programs_assume),
    TEST(system_management_is_not_supported),
    TEST(a_protection_tag_in_use_is_not_destroyed),
    TEST(any_alignment_and_length_is_registered_again_and_again),
    TEST(memory_that_cannot_be_registered_is_refused),
    TEST(memory_attributes_change_with_their_tag),
    TEST(closing_a_nic_ends_what_was_made_with_it),
};

MAIN(tests)
