/* A program that knows nothing of the heap that is preloaded under it: allocations of many threads, forks in the middle of them, and all that
 * allocates. It says `sound` if each had what it wrote. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define PIECES 64
#define ROUNDS 1000

#define CHECK(what) ((what) ? (void)0 : fail(#what, __LINE__))

static void fail(const char *what, int line)
{
    fprintf(stderr, "line %d: %s is not so\n", line, what);
    exit(1);
}

static int all_are(const unsigned char *start, size_t bytes, unsigned char value)
{
    return bytes == 0 || (start[0] == value && memcmp(start, start + 1, bytes - 1) == 0);
}

static unsigned long next(unsigned long *state)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return *state >> 33;
}

/* Allocates, fills, changes the length of, looks at, and frees pieces of all sizes. */
static void *churn(void *argument)
{
    unsigned long state = (unsigned long)argument;
    unsigned char *pieces[PIECES] = {0};
    size_t bytes[PIECES] = {0};
    int round;
    for (round = 0; round < ROUNDS; round++) {
        unsigned n = next(&state) % PIECES;
        unsigned char mark = n + 1;
        size_t most = next(&state) % 8 ? 20000 : 3000000;
        CHECK(pieces[n] == NULL || all_are(pieces[n], bytes[n], mark));
        if (pieces[n] != NULL && next(&state) % 3 == 0) {
            size_t now = 1 + next(&state) % most;
            pieces[n] = realloc(pieces[n], now);
            CHECK(pieces[n] != NULL && all_are(pieces[n], now < bytes[n] ? now : bytes[n], mark));
            bytes[n] = now;
        } else {
            free(pieces[n]);
            bytes[n] = 1 + next(&state) % most;
            if (next(&state) % 2) {
                pieces[n] = calloc(1, bytes[n]);
                CHECK(pieces[n] != NULL && all_are(pieces[n], bytes[n], 0));
            } else if (next(&state) % 2) {
                size_t alignment = (size_t)8 << next(&state) % 12;
                CHECK(posix_memalign((void **)&pieces[n], alignment, bytes[n]) == 0);
                CHECK((size_t)pieces[n] % alignment == 0);
            } else {
                pieces[n] = malloc(bytes[n]);
            }
        }
        CHECK(pieces[n] != NULL && malloc_usable_size(pieces[n]) >= bytes[n]);
        memset(pieces[n], mark, bytes[n]);
    }
    for (round = 0; round < PIECES; round++)
        free(pieces[round]);
    return NULL;
}

/* A child has what its parent had, and changes nothing there; nor does the parent in the child. */
static void divide(unsigned char *large, size_t bytes)
{
    int go[2], status;
    pid_t child;
    FILE *file = tmpfile();
    CHECK(file != NULL && fputs("in the buffer", file) >= 0 && pipe(go) == 0);
    memset(large, 1, bytes);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        unsigned char *other = malloc(bytes);
        CHECK(other != NULL && other != large);
        CHECK(read(go[0], &byte, 1) == 1);
        CHECK(all_are(large, bytes, 1));
        memset(large, 2, bytes);
        memset(other, 3, bytes);
        CHECK(all_are(large, bytes, 2));
        free(large);
        free(other);
        churn((void *)7);
        _exit(0);
    }
    memset(large, 4, bytes);
    CHECK(write(go[1], "x", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(all_are(large, bytes, 4));
    CHECK(fclose(file) == 0 && close(go[0]) == 0 && close(go[1]) == 0);
}

static void *divide_often(void *argument)
{
    int n;
    unsigned char *large = malloc(300000);
    CHECK(large != NULL);
    for (n = 0; n < 10; n++)
        divide(large, 300000);
    free(large);
    return argument;
}

/* A child that nobody has prepared cannot reach the heap, and cannot harm its parent. */
static void bare(void)
{
    int status;
    pid_t child;
    volatile unsigned char *large = malloc(1 << 20);
    CHECK(large != NULL);
    large[0] = 1;
    child = _Fork();
    if (child == 0) {
        large[0] = 2;
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(large[0] == 1);
    free((void *)large);
}

int main(void)
{
    pthread_t threads[THREADS + 1];
    unsigned long n;
    unsigned char *piece;
    volatile size_t huge = (size_t)-1 / 2;
    for (n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, churn, (void *)(n + 1)) == 0);
    CHECK(pthread_create(&threads[THREADS], NULL, divide_often, NULL) == 0);
    for (n = 0; n <= THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    bare();

    errno = 0;
    CHECK(malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(calloc(huge, 4) == NULL && errno == ENOMEM);
    errno = 0;
    CHECK(reallocarray(NULL, huge, 4) == NULL && errno == ENOMEM);
    CHECK(posix_memalign((void **)&piece, 24, 1 << 20) == EINVAL);
    CHECK((piece = aligned_alloc(1 << 21, 1 << 16)) != NULL && (size_t)piece % (1 << 21) == 0);
    free(piece);
    CHECK((piece = valloc(5000)) != NULL && (size_t)piece % 4096 == 0);
    errno = 77;
    free(piece);
    free(NULL);
    CHECK(errno == 77);
    CHECK((piece = malloc(0)) != NULL);
    free(piece);
    CHECK((piece = malloc(100000)) != NULL);
    memset(piece, 9, 100000);
    CHECK((piece = realloc(piece, 100)) != NULL && all_are(piece, 100, 9));
    CHECK((piece = realloc(piece, 200000)) != NULL && all_are(piece, 100, 9));
    CHECK(realloc(piece, 0) == NULL);
    CHECK(system("exit 3") == 3 << 8);
    puts("sound");
    return 0;
}
