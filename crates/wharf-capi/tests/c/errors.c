/* Whatever can be wrong with arguments, files and streams: errors GOLDEN-DIRECTORY EMPTY-DIRECTORY */

#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include <errno.h>
#include <time.h>

#include "check.h"

/* A stream of one column of text, for what a caller can do wrong. */
struct source {
  const char *format;  /* of its column; "u" if it is valid */
  const char *text;    /* the value of its only row */
  const char *message; /* of its failure */
  int failure;         /* what get_next returns */
  int released;        /* how often */
  int arrays;          /* not released yet */
  int64_t columns;     /* of its batch; 1 if it is valid */
  int batches;         /* so far */
  int32_t offsets[2];
  const void *buffers[3];
  const void *no_buffer[1];
  struct ArrowArray child;
  struct ArrowArray *children[1];
};

static void release_schema(struct ArrowSchema *schema) {
  if (schema->n_children > 0) {
    free(schema->children[0]);
    free(schema->children);
  }
  schema->release = NULL;
}

static void release_child(struct ArrowArray *array) { array->release = NULL; }

static void release_array(struct ArrowArray *array) {
  struct source *source = array->private_data;
  source->arrays--;
  array->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct ArrowSchema *child = calloc(1, sizeof *child);
  const struct source *source = stream->private_data;
  memset(out, 0, sizeof *out);
  CHECK(child != NULL);
  child->format = source->format;
  child->name = "text";
  child->release = release_schema;
  out->format = "+s";
  out->n_children = 1;
  out->children = malloc(sizeof *out->children);
  CHECK(out->children != NULL);
  out->children[0] = child;
  out->release = release_schema;
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct source *source = stream->private_data;
  memset(out, 0, sizeof *out);
  if (source->failure != 0) {
    return source->failure;
  }
  if (source->batches++ > 0) {
    return 0;
  }
  source->offsets[1] = (int32_t)strlen(source->text);
  source->buffers[1] = source->offsets;
  source->buffers[2] = source->text;
  source->child.length = 1;
  source->child.n_buffers = 3;
  source->child.buffers = source->buffers;
  source->child.release = release_child;
  source->children[0] = &source->child;
  source->arrays++;
  out->length = 1;
  out->n_buffers = 1;
  out->buffers = source->no_buffer;
  out->n_children = source->columns;
  out->children = source->children;
  out->private_data = source;
  out->release = release_array;
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  return ((struct source *)stream->private_data)->message;
}

static void release_stream(struct ArrowArrayStream *stream) {
  ((struct source *)stream->private_data)->released++;
  stream->release = NULL;
}

static struct ArrowArrayStream stream_from(struct source *source) {
  struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release_stream, source};
  return stream;
}

/* Streams are consumed and released, whatever happens. */
static void streams(const char *directory) {
  char *path = join(directory, "text.csv");
  struct source source = {.format = "u", .columns = 1};
  const struct source valid = source;
  struct ArrowArrayStream stream = stream_from(&source);
  source.text = "caf\xC3\xA9";
  OK(wharf_write(&stream, path, NULL, NULL, 0, NULL));
  CHECK(source.released == 1 && source.arrays == 0 && stream.release == NULL);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_USAGE, "the stream was released before");
  FAILS(wharf_write(NULL, path, NULL, NULL, 1, NULL), WHARF_STATUS_USAGE, "stream is NULL");

  source = valid;
  source.text = "caf\xE9";
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_INVALID, "UTF8");
  CHECK(source.released == 1 && source.arrays == 0);

  source = valid;
  source.format = NULL;
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_INVALID, "schema of the stream");
  source.format = "\xE9";
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_INVALID, "schema of the stream");
  CHECK(source.released == 2);

  source = valid;
  source.text = "a";
  source.columns = 0;
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_INVALID, "violates the interface");
  CHECK(source.released == 1 && source.arrays == 0);

  source = valid;
  source.failure = EINVAL;
  stream = stream_from(&source); /* without a message, as the interface allows */
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_INVALID, "the stream failed");
  source.message = "the network is down";
  source.failure = EIO;
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_IO, "the network is down");
  stream = stream_from(&source);
  FAILS(wharf_write(&stream, NULL, NULL, NULL, 1, NULL), WHARF_STATUS_USAGE, "path is NULL");
  stream = stream_from(&source);
  stream.get_next = NULL;
  FAILS(wharf_write(&stream, path, NULL, NULL, 1, NULL), WHARF_STATUS_USAGE, "get_next");
  CHECK(source.released == 4);
  free(path);
}

static void arguments(const char *golden, const char *directory) {
  const char *const unknown[] = {"colour=red", NULL};
  const char *const flag[] = {"no_header=false", NULL};
  const char *const valueless[] = {"delimiter", NULL};
  const char *const no_columns[] = {"nonsense", NULL};
  const char *const empty[] = {NULL};
  const char *inputs[] = {NULL, NULL};
  wharf_container *container = (wharf_container *)&golden;
  wharf_reader *reader;
  wharf_selection selection = WHARF_SELECT_ALL;
  const char *text = golden;
  uint64_t rows;
  char *path = join(golden, "cross/iris.csv");
  char *output = join(directory, "iris.parquet");
  char *elsewhere = join(directory, "iris.unknown");
  inputs[0] = path;

  FAILS(wharf_open(NULL, NULL, &container), WHARF_STATUS_USAGE, "path is NULL");
  CHECK(container == NULL);
  FAILS(wharf_open("caf\xE9", NULL, &container), WHARF_STATUS_USAGE, "UTF-8, found an invalid byte at offset 3");
  FAILS(wharf_open(path, NULL, NULL), WHARF_STATUS_USAGE, "out is NULL");
  FAILS(wharf_open("/nonexistent/iris.csv", NULL, &container), WHARF_STATUS_IO, "iris.csv");
  CHECK(strcmp(wharf_last_error()->kind, "io") == 0);
  CHECK(strcmp(wharf_last_error()->file, "/nonexistent/iris.csv") == 0);
  CHECK(wharf_last_error()->row == WHARF_UNKNOWN && wharf_last_error()->column == NULL);
  FAILS(wharf_open(path, unknown, &container), WHARF_STATUS_USAGE, "colour");
  FAILS(wharf_open(path, flag, &container), WHARF_STATUS_USAGE, "no_header is a flag");
  FAILS(wharf_open(path, valueless, &container), WHARF_STATUS_USAGE, "delimiter needs a value");

  OK(wharf_open(path, NULL, &container));
  FAILS(wharf_table_rows(container, "nonsense", &rows), WHARF_STATUS_USAGE, "no table \"nonsense\"");
  FAILS(wharf_table_rows(container, NULL, (uint64_t *)((char *)&rows + 1)), WHARF_STATUS_USAGE, "out is not aligned");
  FAILS(wharf_table_name(container, 1, &text), WHARF_STATUS_USAGE, "no table 1");
  CHECK(text == NULL);
  FAILS(wharf_table_name(container, 0, NULL), WHARF_STATUS_USAGE, "out is NULL");
  selection.columns = no_columns;
  FAILS(wharf_reader_open(container, &selection, NULL, &reader), WHARF_STATUS_USAGE, "nonsense");
  selection.columns = empty;
  FAILS(wharf_reader_open(container, &selection, NULL, &reader), WHARF_STATUS_USAGE, "columns is an empty list");
  FAILS(wharf_convert(inputs, &selection, output, NULL, NULL, 0, NULL), WHARF_STATUS_USAGE, "columns is an empty list");
  selection.columns = NULL;
  selection.first_row = 1000;
  FAILS(wharf_reader_open(container, &selection, NULL, &reader), WHARF_STATUS_USAGE, "1000");
  selection.end_row = 999;
  FAILS(wharf_reader_open(container, &selection, NULL, &reader), WHARF_STATUS_USAGE, "after end_row");
  FAILS(wharf_reader_open(container, NULL, unknown, &reader), WHARF_STATUS_USAGE, "colour");
  FAILS(wharf_verify(container, NULL, NULL), WHARF_STATUS_USAGE, "receive is NULL");

  FAILS(wharf_convert(empty, NULL, output, NULL, NULL, 0, NULL), WHARF_STATUS_USAGE, "at least one input");
  FAILS(wharf_convert(inputs, NULL, elsewhere, NULL, NULL, 0, NULL), WHARF_STATUS_USAGE, "unknown extension");
  FAILS(wharf_convert(inputs, NULL, output, "nonsense", NULL, 0, NULL), WHARF_STATUS_USAGE, "unknown output format");
  FAILS(wharf_convert(inputs, NULL, output, NULL, unknown, 0, &text), WHARF_STATUS_USAGE, "colour");
  CHECK(text == NULL);

  OK(wharf_reader_open(container, NULL, NULL, &reader));
  FAILS(wharf_close((wharf_container *)reader), WHARF_STATUS_USAGE, "expected an open container");
  OK(wharf_reader_close(reader));
  FAILS(wharf_reader_close(reader), WHARF_STATUS_USAGE, "expected an open reader");
  OK(wharf_close(container));
  FAILS(wharf_close(container), WHARF_STATUS_USAGE, "expected an open container");
  FAILS(wharf_container_format(container, &text), WHARF_STATUS_USAGE, "expected an open container");
  FAILS(wharf_container_format((wharf_container *)&text, &text), WHARF_STATUS_USAGE, "expected an open container");
  FAILS(wharf_container_format(NULL, &text), WHARF_STATUS_USAGE, "the container is NULL");
  FAILS(wharf_text_free("not ours"), WHARF_STATUS_USAGE, "expected a text of this library");
  OK(wharf_close(NULL));
  OK(wharf_reader_close(NULL));
  OK(wharf_text_free(NULL));
  free(path);
  free(output);
  free(elsewhere);
}

static void count(void *context, wharf_severity severity, const wharf_error *finding) {
  CHECK(severity == WHARF_SEVERITY_ERROR);
  CHECK(finding->status == WHARF_STATUS_INVALID && strcmp(finding->format, "idv") == 0);
  CHECK(finding->row == 1 && strcmp(finding->column, "Key") == 0);
  ++*(int *)context;
}

static void damage(const char *golden) {
  wharf_container *container;
  wharf_reader *reader;
  struct ArrowArrayStream stream;
  const char *losses;
  double sum;
  int findings = 0;
  char *path = join(golden, "idv/key-above-count.idv");
  OK(wharf_open(path, NULL, &container));
  OK(wharf_verify(container, count, &findings));
  CHECK(findings == 1);
  OK(wharf_reader_open(container, NULL, NULL, &reader));
  OK(wharf_reader_stream(reader, &stream));
  OK(wharf_close(container));
  read_all(&stream, &sum);
  OK(wharf_reader_losses(reader, &losses));
  contains(losses, "\"count\":2,");
  OK(wharf_reader_close(reader));
  free(path);
}

/* Called by any thread. */
static void release_bytes(void *context) { ++*(volatile int *)context; }

/* An error in the middle of a stream, of bytes that are borrowed. */
static void truncated(const char *golden) {
  char content[4096];
  volatile int released = 0;
  wharf_container *container;
  wharf_reader *reader;
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  const char *const options[] = {"from=csv", "delimiter=;", NULL};
  const char *const bad[] = {"from=nonsense", NULL};
  char *path = join(golden, "idv/block-rows-7-none.idv");
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t size = fread(content, 1, sizeof content, file);
  CHECK(size > 0 && size < sizeof content);
  fclose(file);
  free(path);

  FAILS(wharf_open_bytes(content, size / 2, release_bytes, (void *)&released, NULL, &container), WHARF_STATUS_TRUNCATED, "idv");
  CHECK(released == 1);
  CHECK(wharf_last_error()->offset != WHARF_UNKNOWN);
  FAILS(wharf_open_bytes(content, size, release_bytes, (void *)&released, bad, &container), WHARF_STATUS_USAGE, "from");
  CHECK(released == 2);
  FAILS(wharf_open_bytes(NULL, 1, release_bytes, (void *)&released, NULL, &container), WHARF_STATUS_USAGE, "data is NULL");
  CHECK(released == 3);
  FAILS(wharf_open_bytes(content, size, release_bytes, (void *)&released, NULL, NULL), WHARF_STATUS_USAGE, "out is NULL");
  CHECK(released == 4);

  OK(wharf_open_bytes(content, size, release_bytes, (void *)&released, NULL, &container));
  stream_of(container, NULL, NULL, &stream);
  OK(wharf_close(container));
  CHECK(released == 4);
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.length > 0);
  batch.release(&batch);
  stream.release(&stream);
  /* Another thread may be reading ahead. */
  for (int tries = 0; released < 5 && tries < 1000; tries++) {
    const struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
  }
  CHECK(released == 5);

  /* The last line has an extra cell; types come from all rows, so that the reader fails. */
  memcpy(content, "a;b\n1;x\n2;y;z\n", 14);
  OK(wharf_open_bytes(content, 14, NULL, NULL, options, &container));
  memset(content, '?', 14); /* they were copied */
  FAILS(wharf_reader_open(container, NULL, NULL, &reader), WHARF_STATUS_INVALID, "csv");
  CHECK(wharf_last_error()->line == 3);
  OK(wharf_close(container));
}

int main(int argc, char **argv) {
  CHECK(argc == 3);
  CHECK(wharf_last_error() == NULL);
  arguments(argv[1], argv[2]);
  streams(argv[2]);
  damage(argv[1]);
  truncated(argv[1]);
  return 0;
}
