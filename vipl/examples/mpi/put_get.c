/*
 * One-sided communication: rank 1 gets half of rank 0's window, and puts the other half there. It is the sibling
 * of vipl/examples/c/put_get.c, which does the same by RDMA read and write on a VI: there the two programs tell
 * each other where the memory is; here MPI does, and may use messages for it.
 *
 *     mpicc put_get.c -o put_get
 *     mpirun -np 2 ./put_get
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { HALF = 256 << 10 };

static unsigned char byte(int half, int i)
{
    return (unsigned char)(31 * half + i % 251);
}

int main(int argc, char **argv)
{
    static unsigned char mine[HALF];
    unsigned char *window;
    int rank, ranks, wrong = 0, all = 0;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) {
        fprintf(stderr, "put_get: %d ranks; it takes two\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Win_allocate(rank == 0 ? 2 * HALF : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
    if (rank == 0) {
        for (int i = 0; i < HALF; i++)
            window[i] = byte(1, i);
        memset(window + HALF, 0, HALF);
    }
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Get(mine, HALF, MPI_BYTE, 0, 0, HALF, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    if (rank == 1) {
        for (int i = 0; i < HALF; i++)
            wrong += mine[i] != byte(1, i);
        for (int i = 0; i < HALF; i++)
            mine[i] = byte(2, i);
        MPI_Put(mine, HALF, MPI_BYTE, 0, HALF, HALF, MPI_BYTE, win);
    }
    MPI_Win_fence(0, win);
    if (rank == 0)
        for (int i = 0; i < HALF; i++)
            wrong += window[HALF + i] != byte(2, i);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("put_get: %d bytes each way: %s\n", HALF, all == 0 ? "right" : "WRONG");
    MPI_Win_free(&win);
    MPI_Finalize();
    return all != 0;
}
