/*
 * A sender that is faster than its receiver: rank 0 sends COUNT messages while rank 1 makes no MPI call for some
 * seconds. What ofi_rxm has receives for is soon used up; the rest meets none, and must arrive all the same.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { BYTES = 4096, COUNT = 1000, SECONDS = 2 };

int main(int argc, char **argv)
{
    static unsigned char message[BYTES];
    int rank, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* Connected, and with receives posted. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int n = 0; n < COUNT; n++) {
            for (int i = 0; i < BYTES; i++)
                message[i] = (unsigned char)(n + i);
            MPI_Send(message, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        }
    } else if (rank == 1) {
        sleep(SECONDS);
        for (int n = 0; n < COUNT; n++) {
            MPI_Recv(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < BYTES; i++)
                wrong += message[i] != (unsigned char)(n + i);
        }
        printf("flood: %d messages of %d bytes: %s\n", COUNT, BYTES, wrong == 0 ? "right" : "WRONG");
    }
    MPI_Finalize();
    return wrong != 0;
}
