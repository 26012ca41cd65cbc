/* Reads the same table from every format, and writes it to every other: formats GOLDEN-DIRECTORY EMPTY-DIRECTORY */

#include <math.h>

#include "check.h"

static const char *const NAMES[] = {"iris.arrow",   "iris.arrows",  "iris.csv",   "iris.ds",
                                    "iris.idv",     "iris.jsonl",   "iris.msgpack", "iris.parquet",
                                    "iris.tsv",     "iris.zds",     "iris.store"};
static const size_t COUNT = sizeof NAMES / sizeof NAMES[0];

static const char *const COLUMNS[] = {"petal width", "sepal length", "petal length", "sepal width", NULL};

/* The sum of these columns. */
static const double SUM = 2078.7;

static void describe(wharf_container *container) {
  const char *text;
  size_t tables;
  uint64_t rows;
  OK(wharf_container_format(container, &text));
  CHECK(text[0] != '\0');
  OK(wharf_text_free(text));
  OK(wharf_container_version(container, &text));
  OK(wharf_text_free(text));
  OK(wharf_container_details(container, &text));
  CHECK(text[0] == '{');
  OK(wharf_text_free(text));
  OK(wharf_table_count(container, &tables));
  CHECK(tables == 1);
  OK(wharf_table_name(container, 0, &text));
  OK(wharf_table_rows(container, text, &rows));
  CHECK(rows == 150 || rows == WHARF_UNKNOWN);
  OK(wharf_text_free(text));
  OK(wharf_table_columns(container, NULL, &text));
  contains(text, "\"name\":\"petal width\"");
}

static void check_file(const char *path) {
  wharf_container *container;
  wharf_selection selection = WHARF_SELECT_ALL;
  struct ArrowArrayStream stream;
  double sum;
  selection.columns = COLUMNS;
  OK(wharf_open(path, NULL, &container));
  describe(container);
  stream_of(container, &selection, NULL, &stream);
  OK(wharf_close(container)); /* the stream stays valid */
  CHECK(read_all(&stream, &sum) == 150);
  CHECK(fabs(sum - SUM) < 1e-9);
}

/* Writes a stream of one file to another format, and reads it back. */
static void rewrite(const char *from, const char *to, const char *format) {
  wharf_container *container;
  struct ArrowArrayStream stream;
  const char *report;
  OK(wharf_open(from, NULL, &container));
  stream_of(container, NULL, NULL, &stream);
  OK(wharf_close(container));
  OK(wharf_write(&stream, to, format, NULL, 0, &report));
  CHECK(stream.release == NULL);
  contains(report, strstr(to, ".ds") != NULL || strstr(to, ".nc") != NULL ? "\"variables\":6," : "\"rows\":150,");
  check_file(to);
}

static void convert(const char *from, const char *to) {
  const char *const inputs[] = {from, from, NULL};
  const char *const options[] = {"compression=zstd:3", "row_group=100", NULL};
  wharf_selection selection = WHARF_SELECT_ALL;
  wharf_container *container;
  struct ArrowArrayStream stream;
  double sum;
  selection.columns = COLUMNS;
  selection.first_row = 100;
  selection.end_row = 250;
  OK(wharf_convert(inputs, &selection, to, NULL, options, 0, NULL));
  FAILS(wharf_convert(inputs, &selection, to, NULL, options, 0, NULL), WHARF_STATUS_USAGE, "exist");
  OK(wharf_convert(inputs, &selection, to, NULL, options, 1, NULL));
  OK(wharf_open(to, NULL, &container));
  stream_of(container, NULL, NULL, &stream);
  CHECK(read_all(&stream, &sum) == 150);
  CHECK(fabs(sum - SUM) < 1e-9); /* the last 50 rows, and the first 100 */
  OK(wharf_close(container));
}

/* Selected rows and columns, and the number of rows of batches. */
static void select_some(const char *path) {
  const char *const columns[] = {"species", "petal width", NULL};
  const char *const options[] = {"batch_rows=4", NULL};
  wharf_container *container;
  wharf_reader *reader;
  wharf_selection selection = WHARF_SELECT_ALL;
  struct ArrowSchema schema;
  struct ArrowArrayStream stream, second;
  struct ArrowArray batch;
  const char *losses;
  int64_t rows[] = {4, 4, 2};
  selection.columns = columns;
  selection.first_row = 140;
  selection.threads = 1;
  OK(wharf_open(path, NULL, &container));
  OK(wharf_reader_open(container, &selection, options, &reader));
  OK(wharf_reader_schema(reader, &schema));
  CHECK(schema.n_children == 2 && strcmp(schema.children[0]->name, "species") == 0);
  schema.release(&schema);
  OK(wharf_reader_stream(reader, &stream));
  FAILS(wharf_reader_stream(reader, &second), WHARF_STATUS_USAGE, "only once");
  CHECK(second.release == NULL);
  for (size_t index = 0; index < 3; index++) {
    CHECK(stream.get_next(&stream, &batch) == 0);
    CHECK(batch.length == rows[index] && batch.n_children == 2);
    batch.release(&batch);
  }
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.release == NULL);
  OK(wharf_reader_losses(reader, &losses));
  CHECK(strcmp(losses, "[]") == 0);
  OK(wharf_text_free(losses));
  stream.release(&stream);
  OK(wharf_reader_close(reader));
  OK(wharf_close(container));
}

int main(int argc, char **argv) {
  const char *formats;
  CHECK(argc == 3);
  CHECK(strcmp(wharf_version(), "0.1.0") == 0);
  OK(wharf_formats(&formats));
  contains(formats, "\"name\":\"row_group\"");
  for (size_t index = 0; index < COUNT; index++) {
    const char *next = NAMES[(index + 1) % COUNT];
    char *from = join(argv[1], NAMES[index]);
    char *to = join(argv[2], next);
    check_file(from);
    rewrite(from, to, strcmp(next, "iris.store") == 0 ? "zds" : NULL);
    free(from);
    free(to);
  }
  char *from = join(argv[1], "iris.idv");
  char *to = join(argv[2], "twice.parquet");
  char *netcdf = join(argv[2], "iris.nc");
  convert(from, to);
  select_some(from);
  rewrite(from, netcdf, NULL);
  free(from);
  free(to);
  free(netcdf);
  return 0;
}
