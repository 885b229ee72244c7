/*
 * A small shared memory, by pages, as an MPI program: the sibling of vipl/examples/c/dsm.c. Rank 0 has the pages;
 * every rank adds one to a word of each page, ROUNDS times, under the window's lock. What the example on VIs does by
 * itself is MPI's here: where the pages are, the lock, which page is fetched and put back when. What is lost is the
 * fault: a page comes when the program asks for it, and not when it is touched.
 *
 *     mpicc dsm.c -o dsm
 *     mpirun -np 3 ./dsm ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAGE = 4096, PAGES = 8 };

typedef unsigned long page[PAGE / sizeof(unsigned long)];

int main(int argc, char **argv)
{
    static page shared[PAGES];
    page *pages;
    int rank, ranks, wrong = 0, rounds = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Win win;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Win_allocate(rank == 0 ? sizeof shared : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &pages, &win);
    if (rank == 0)
        for (int n = 0; n < PAGES; n++)
            for (unsigned i = 0; i < PAGE / sizeof(unsigned long); i++)
                pages[n][i] = 0;
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int round = 0; round < rounds; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(shared, sizeof shared, MPI_BYTE, 0, 0, sizeof shared, MPI_BYTE, win);
        MPI_Win_flush(0, win);
        for (int n = 0; n < PAGES; n++)
            shared[n][rank]++;
        MPI_Put(shared, sizeof shared, MPI_BYTE, 0, 0, sizeof shared, MPI_BYTE, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        for (int n = 0; n < PAGES; n++)
            for (int one = 0; one < ranks; one++)
                wrong += pages[n][one] != (unsigned long)rounds;
        MPI_Win_unlock(0, win);
        printf("dsm: %d ranks, %d rounds: %s\n", ranks, rounds, wrong == 0 ? "right" : "WRONG");
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return wrong != 0;
}
