/*
 * A token goes round all ranks: each adds its number to every word and passes it on. Then all of them add up
 * what they have seen.
 *
 *     mpicc ring.c -o ring
 *     mpirun -np 4 ./ring BYTES TURNS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    int bytes = argc > 1 ? atoi(argv[1]) : 1000;
    int turns = argc > 2 ? atoi(argv[2]) : 1;
    int words = bytes / (int)sizeof(int);
    int *token = calloc((size_t)words + 1, sizeof(int));
    long wrong = 0;

    if (token == NULL || bytes <= 0 || turns <= 0) {
        fprintf(stderr, "ring: %d bytes, %d turns: not so\n", bytes, turns);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int turn = 0; turn < turns; turn++) {
        int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
        /* Rank 0 begins, and gets back what all have added. */
        if (rank == 0) {
            for (int i = 0; i < words; i++)
                token[i] = i + turn;
            MPI_Send(token, bytes, MPI_BYTE, after, turn, MPI_COMM_WORLD);
        }
        MPI_Recv(token, bytes, MPI_BYTE, before, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* What those before have added. */
        int sum = rank == 0 ? ranks * (ranks - 1) / 2 : rank * (rank - 1) / 2;
        for (int i = 0; i < words; i++) {
            wrong += token[i] != i + turn + sum;
            token[i] += rank;
        }
        if (rank != 0)
            MPI_Send(token, bytes, MPI_BYTE, after, turn, MPI_COMM_WORLD);
    }

    long all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ring: %d ranks, %d turns of %d bytes: %s\n", ranks, turns, bytes, all == 0 ? "right" : "WRONG");
    free(token);
    MPI_Finalize();
    return all != 0;
}
