/* A small distributed shared memory, by pages: its programs read and write `shared` as any memory. A page that is not here is not
 * accessible, and the fault that comes of touching it gets it.
 *
 * The home has the pages and the lock, and nothing to do with the data: nodes get pages by RDMA read, and put those that they have
 * written back by RDMA write before they give the lock back (release consistency). Only the lock is asked for by message.
 *
 * `dsm NIC NODES` is the home; `dsm NIC ADDRESS ROUNDS` is a node: each round it adds one to a word of every page. See common.h.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

#define PAGE 4096
#define PAGES 8
#define MOST 16

/* What nodes ask for, as immediate data. The home's answer to LOCK_IT is a message, too, as soon as the lock is theirs. */
enum { LOCK_IT = 1, UNLOCK_IT, BYE };

/* What the home tells a node first: where its pages are. */
struct window {
    VIP_UINT64 address;
    VIP_MEM_HANDLE handle;
};

static struct end end;
/* The pages twice: as the NIC reaches them, and as the program does, with the protection that makes it notice. */
static char *pages;
static VIP_MEM_HANDLE pages_handle;
static unsigned long (*shared)[PAGE / sizeof(unsigned long)];
static VIP_VI_HANDLE home_vi;
static struct window home;
static int is_here[PAGES], is_dirty[PAGES];

static VIP_VI_HANDLE make_vi(VIP_CQ_HANDLE receive)
{
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_HANDLE vi;
    memset(&attributes, 0, sizeof attributes);
    /* What was sent is in the peer's memory when the descriptor is complete. */
    attributes.ReliabilityLevel = VIP_SERVICE_RELIABLE_RECEPTION;
    attributes.MaxTransferSize = LARGEST;
    attributes.Ptag = end.ptag;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_TRUE;
    MUST(VipCreateVi(end.nic, &attributes, NULL, receive, &vi));
    return vi;
}

static void make_pages(void)
{
    VIP_MEM_ATTRIBUTES attributes;
    int file = memfd_create("dsm", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, PAGES * PAGE) != 0) {
        perror("memory");
        exit(1);
    }
    pages = (char *)mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    shared = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED || (void *)shared == MAP_FAILED) {
        perror("memory");
        exit(1);
    }
    close(file);
    attributes.Ptag = end.ptag;
    attributes.EnableRdmaWrite = VIP_TRUE;
    attributes.EnableRdmaRead = VIP_TRUE;
    MUST(VipRegisterMem(end.nic, pages, PAGES * PAGE, &attributes, &pages_handle));
}

/* A message that says one word. */
static void tell(VIP_VI_HANDLE vi, char *place, VIP_UINT32 what)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)place;
    memset(d, 0, sizeof *d);
    d->CS.Control = VIP_CONTROL_OP_SENDRECV | VIP_CONTROL_IMMEDIATE;
    d->CS.ImmediateData = what;
    MUST(VipPostSend(vi, d, end.handle));
    MUST(VipSendWait(vi, VIP_INFINITE, &d));
}

/* A receive for a word, and for the window. */
static void post_receive(VIP_VI_HANDLE vi, char *place)
{
    MUST(VipPostRecv(vi, describe(&end, place, place + 64, sizeof(struct window)), end.handle));
}

/* ---- A node ------------------------------------------------------------------------------------------------------- */

/* Gets a page from the home, or puts it there. */
static void move_page(int page, VIP_UINT16 operation)
{
    VIP_DESCRIPTOR *d = (VIP_DESCRIPTOR *)(end.memory + 4096);
    memset(d, 0, sizeof *d);
    d->CS.Control = operation;
    d->CS.SegCount = 2;
    d->CS.Length = PAGE;
    d->DS[0].Remote.Data.AddressBits = home.address + (VIP_UINT64)page * PAGE;
    d->DS[0].Remote.Handle = home.handle;
    d->DS[1].Local.Data.Address = pages + page * PAGE;
    d->DS[1].Local.Handle = pages_handle;
    d->DS[1].Local.Length = PAGE;
    MUST(VipPostSend(home_vi, d, end.handle));
    MUST(VipSendWait(home_vi, VIP_INFINITE, &d));
}

static void protect(int page, int access)
{
    if (mprotect(shared[page], PAGE, access) != 0)
        _exit(1);
}

/* The program has touched a page as it may not yet. This comes at an instruction of its own, never inside the library. */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    long offset = (char *)info->si_addr - (char *)shared;
    int page = (int)(offset / PAGE);
    (void)context;
    if (offset < 0 || page >= PAGES) {
        signal(signal_number, SIG_DFL);
        return;
    }
    if (!is_here[page]) {
        move_page(page, VIP_CONTROL_OP_RDMAREAD);
        is_here[page] = 1;
        protect(page, PROT_READ);
    } else {
        /* It may be read: it is written. */
        is_dirty[page] = 1;
        protect(page, PROT_READ | PROT_WRITE);
    }
}

/* Waits for the lock. What others have written before is seen from now on. */
static void lock(void)
{
    VIP_DESCRIPTOR *d;
    int page;
    tell(home_vi, end.memory + 1024, LOCK_IT);
    MUST(VipRecvWait(home_vi, VIP_INFINITE, &d));
    post_receive(home_vi, (char *)d);
    for (page = 0; page < PAGES; page++) {
        is_here[page] = 0;
        protect(page, PROT_NONE);
    }
}

/* Puts back what was written, and gives the lock back. */
static void unlock(void)
{
    int page;
    for (page = 0; page < PAGES; page++)
        if (is_dirty[page]) {
            is_dirty[page] = 0;
            protect(page, PROT_READ);
            move_page(page, VIP_CONTROL_OP_RDMAWRITE);
        }
    tell(home_vi, end.memory + 1024, UNLOCK_IT);
}

static void node(const char *address, int rounds)
{
    struct sigaction action;
    VIP_UINT8 server[6];
    VIP_DESCRIPTOR *d;
    int page;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    parse_address(address, server);
    home_vi = make_vi(NULL);
    post_receive(home_vi, end.memory);
    ask_server(&end, server, "dsm", home_vi);
    MUST(VipRecvWait(home_vi, VIP_INFINITE, &d));
    memcpy(&home, end.memory + 64, sizeof home);
    post_receive(home_vi, end.memory);
    while (rounds-- > 0) {
        lock();
        for (page = 0; page < PAGES; page++)
            shared[page][page]++;
        unlock();
    }
    tell(home_vi, end.memory + 1024, BYE);
    MUST(VipDisconnect(home_vi));
    do
        VipRecvDone(home_vi, &d);
    while (d);
    MUST(VipDestroyVi(home_vi));
}

/* ---- The home ----------------------------------------------------------------------------------------------------- */

/* Gives the lock to one node after the other, until all have left. */
static void serve(int nodes)
{
    VIP_VI_HANDLE vis[MOST], queue[MOST], owner = NULL, vi;
    VIP_CQ_HANDLE cq;
    VIP_BOOLEAN receive;
    VIP_DESCRIPTOR *d;
    int n, page, waiting = 0, left = nodes;
    MUST(VipCreateCQ(end.nic, 64, &cq));
    print_address(end.is.LocalNicAddress);
    for (n = 0; n < nodes; n++) {
        char *place = end.memory + 4096 * (n + 1);
        struct window *window = (struct window *)(place + 1024);
        vis[n] = make_vi(cq);
        /* A node says two things in a row at most: that the lock is free, and what comes next. */
        post_receive(vis[n], place);
        post_receive(vis[n], place + 512);
        MUST(accept_one(&end, "dsm", vis[n]));
        window->address = (VIP_UINT64)(size_t)pages;
        window->handle = pages_handle;
        d = describe(&end, place + 2048, (char *)window, sizeof *window);
        MUST(VipPostSend(vis[n], d, end.handle));
        MUST(VipSendWait(vis[n], VIP_INFINITE, &d));
        VipSetUserData(vis[n], place + 2048);
    }
    while (left > 0) {
        VIP_UINT32 what;
        MUST(VipCQWait(cq, VIP_INFINITE, &vi, &receive));
        /* Of a node that has left, the receives that it did not use. */
        if (VipRecvDone(vi, &d) != VIP_SUCCESS)
            continue;
        what = d->CS.ImmediateData;
        post_receive(vi, (char *)d);
        if (what == LOCK_IT)
            queue[waiting++] = vi;
        else if (what == UNLOCK_IT && owner == vi)
            owner = NULL;
        else if (what == BYE)
            left--;
        if (owner == NULL && waiting > 0) {
            owner = queue[0];
            memmove(queue, queue + 1, sizeof *queue * (size_t)--waiting);
            tell(owner, (char *)VipGetUserData(owner), LOCK_IT);
        }
    }
    for (n = 0; n < nodes; n++) {
        MUST(VipDisconnect(vis[n]));
        do
            VipRecvDone(vis[n], &d);
        while (d);
        MUST(VipDestroyVi(vis[n]));
    }
    MUST(VipDestroyCQ(cq));
    for (page = 0; page < PAGES; page++)
        printf("page %d: %lu\n", page, ((unsigned long *)(pages + page * PAGE))[page]);
}

int main(int count, char **arguments)
{
    if (count < 3 || (count == 3 && (atoi(arguments[2]) < 1 || atoi(arguments[2]) > MOST))) {
        fprintf(stderr, "dsm NIC NODES | dsm NIC ADDRESS ROUNDS\n");
        return 2;
    }
    open_end(&end, arguments[1]);
    make_pages();
    if (count == 3)
        serve(atoi(arguments[2]));
    else
        node(arguments[2], atoi(arguments[3]));
    MUST(VipDeregisterMem(end.nic, pages, pages_handle));
    MUST(VipCloseNic(end.nic));
    return 0;
}
