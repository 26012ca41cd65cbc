/* Threads that share a container, read it, and close it: threads GOLDEN-DIRECTORY */

#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 5 };

static wharf_container *shared;
static const char *path;

static void *work(void *number) {
  const char *const columns[] = {"petal width", NULL};
  wharf_selection selection = WHARF_SELECT_ALL;
  selection.columns = columns;
  for (int round = 0; round < ROUNDS; round++) {
    wharf_container *own;
    struct ArrowArrayStream stream;
    double sum;
    OK(wharf_open(path, NULL, &own));
    stream_of(round % 2 == 0 ? shared : own, &selection, NULL, &stream);
    OK(wharf_close(own));
    CHECK(read_all(&stream, &sum) == 150);
    CHECK(fabs(sum - 179.9) < 1e-9);
    /* Errors belong to their threads. */
    char missing[32];
    snprintf(missing, sizeof missing, "/nonexistent/%d", *(int *)number);
    CHECK(wharf_open(missing, NULL, &own) == WHARF_STATUS_IO);
    CHECK(strcmp(wharf_last_error()->file, missing) == 0);
  }
  return NULL;
}

/* Uses a container until another thread closes it. */
static void *use(void *nothing) {
  uint64_t rows;
  while (wharf_table_rows(shared, NULL, &rows) == WHARF_STATUS_OK) {
    CHECK(rows == 150);
    sched_yield();
  }
  CHECK(wharf_last_error()->status == WHARF_STATUS_USAGE);
  return nothing;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  CHECK(argc >= 2);
  char *name = join(argv[1], "cross/iris.idv");
  path = name;
  OK(wharf_open(path, NULL, &shared));
  for (int index = 0; index < THREADS; index++) {
    numbers[index] = index;
    CHECK(pthread_create(&threads[index], NULL, work, &numbers[index]) == 0);
  }
  for (int index = 0; index < THREADS; index++) {
    CHECK(pthread_join(threads[index], NULL) == 0);
  }
  for (int index = 0; index < THREADS; index++) {
    CHECK(pthread_create(&threads[index], NULL, use, NULL) == 0);
  }
  OK(wharf_close(shared));
  for (int index = 0; index < THREADS; index++) {
    CHECK(pthread_join(threads[index], NULL) == 0);
  }
  free(name);
  return 0;
}
