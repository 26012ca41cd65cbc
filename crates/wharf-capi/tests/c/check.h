/* What the test programs share. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wharf.h"

/* Stops the program with the place and the last error unless a condition holds. */
#define CHECK(condition)                                                                   \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      const wharf_error *last = wharf_last_error();                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
      fprintf(stderr, "last error: %s\n", last == NULL ? "none" : last->message);          \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

#define OK(call) CHECK((call) == WHARF_STATUS_OK)

/* Checks the status of a call that must fail, and that its message contains a text. */
#define FAILS(call, expected, text)                           \
  do {                                                        \
    CHECK((call) == (expected));                              \
    CHECK(wharf_last_error()->status == (expected));          \
    CHECK(strstr(wharf_last_error()->message, text) != NULL); \
  } while (0)

/* DIRECTORY/NAME, to be freed. */
static inline char *join(const char *directory, const char *name) {
  size_t size = strlen(directory) + strlen(name) + 2;
  char *path = malloc(size);
  CHECK(path != NULL);
  snprintf(path, size, "%s/%s", directory, name);
  return path;
}

/* The number of rows of a stream, and the sum of its columns of 64-bit floats without missing values. Releases the stream. */
static inline int64_t read_all(struct ArrowArrayStream *stream, double *sum) {
  struct ArrowSchema schema;
  int64_t rows = 0;
  *sum = 0;
  CHECK(stream->get_schema(stream, &schema) == 0);
  CHECK(strcmp(schema.format, "+s") == 0);
  for (;;) {
    struct ArrowArray batch;
    if (stream->get_next(stream, &batch) != 0) {
      fprintf(stderr, "%s\n", stream->get_last_error(stream));
      exit(1);
    }
    if (batch.release == NULL) {
      break;
    }
    rows += batch.length;
    for (int64_t column = 0; column < batch.n_children; column++) {
      const struct ArrowArray *child = batch.children[column];
      if (strcmp(schema.children[column]->format, "g") != 0) {
        continue;
      }
      const double *values = child->buffers[1];
      for (int64_t row = 0; row < child->length; row++) {
        *sum += values[child->offset + row];
      }
    }
    batch.release(&batch);
  }
  schema.release(&schema);
  stream->release(stream);
  return rows;
}

/* Opens a table of a container for reading. */
static inline void stream_of(wharf_container *container, const wharf_selection *selection,
                             const char *const *options, struct ArrowArrayStream *stream) {
  wharf_reader *reader;
  OK(wharf_reader_open(container, selection, options, &reader));
  OK(wharf_reader_stream(reader, stream));
  OK(wharf_reader_close(reader));
}

/* Checks that a text contains another one, and frees it. */
static inline void contains(const char *text, const char *part) {
  if (strstr(text, part) == NULL) {
    fprintf(stderr, "expected %s, found %s\n", part, text);
    exit(1);
  }
  OK(wharf_text_free(text));
}

#endif
