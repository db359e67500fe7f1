/* Pictures of PNG by libpng, with bytes as elements: palettes and fewer bits become bytes, 16 bits are rounded to 8, a
   transparent colour becomes a channel. */
#include "vm/codecs/kinds.h"

#include <png.h>

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* What a call is about. It lies in the frame of who set the jump, and is reached by pointer alone, so that a jump leaves it as it
 * is. */
struct work {
  const cairn_codec_host* host;
  const unsigned char* file;
  size_t bytes, at;
  char* message;
  int stopped;
  int (*put)(void* user, const void* part, size_t bytes);
  png_structp png;
  png_infop info;
};

static void fail(png_structp png, png_const_charp text) {
  struct work* work = png_get_error_ptr(png);
  if (!work->stopped) snprintf(work->message, CAIRN_CODEC_MESSAGE, "%s", text);
  png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

static void stop(struct work* work) {
  work->stopped = 1;
  png_error(work->png, "stopped");
}

static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
  struct work* work = png_get_mem_ptr(png);
  void* const memory = work->host->allocate(work->host->user, bytes);
  if (memory == NULL) work->stopped = 1; /* libpng goes on without it, or fails */
  return memory;
}

static void release(png_structp png, png_voidp memory) {
  struct work* work = png_get_mem_ptr(png);
  work->host->release(work->host->user, memory);
}

static void take(png_structp png, png_bytep to, size_t count) {
  struct work* work = png_get_io_ptr(png);
  if (count > work->bytes - work->at) png_error(png, "ends too early");
  memcpy(to, work->file + work->at, count);
  work->at += count;
}

static void give(png_structp png, png_bytep from, size_t count) {
  struct work* work = png_get_io_ptr(png);
  if (!work->put(work->host->user, from, count)) stop(work);
}

static void flush(png_structp png) { (void)png; }

static int result_of(const struct work* work, int failed) {
  return work->stopped ? CAIRN_CODEC_STOPPED : failed ? CAIRN_CODEC_WRONG : CAIRN_CODEC_DONE;
}

static int began_to_read(struct work* work) {
  work->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, work, fail, ignore, work, allocate, release);
  return work->png != NULL;
}

/* The header, and all chunks before the picture. */
static void read_head(struct work* work) {
  png_structp png = work->png;
  work->info = png_create_info_struct(png);
  if (work->info == NULL) png_error(png, "no memory");
  png_set_read_fn(png, work, take);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* nothing but the picture is wanted */
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);                   /* the host bounds what it takes */
  png_set_chunk_malloc_max(png, 1 << 20);
  png_set_chunk_cache_max(png, 16);
  png_read_info(png, work->info);
  png_set_expand(png);
  png_set_scale_16(png);
}

/* Where jumps lead to: nothing in these functions is read behind one but what `work` points to. */
static int measured(struct work* work, cairn_picture* picture) {
  if (setjmp(png_jmpbuf(work->png))) return 1;
  read_head(work);
  picture->height = png_get_image_height(work->png, work->info);
  picture->width = png_get_image_width(work->png, work->info);
  const int kind = png_get_color_type(work->png, work->info);
  const int transparent = (kind & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(work->png, work->info, PNG_INFO_tRNS) != 0;
  picture->channels = ((kind & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1) + transparent;
  picture->memory = 0;
  return 0;
}

static int decoded(struct work* work, const cairn_picture* picture, unsigned char* to) {
  if (setjmp(png_jmpbuf(work->png))) return 1;
  read_head(work);
  const int passes = png_set_interlace_handling(work->png);
  png_read_update_info(work->png, work->info);
  const size_t row = (size_t)(picture->width * picture->channels);
  if (png_get_image_height(work->png, work->info) != picture->height || png_get_rowbytes(work->png, work->info) != row)
    png_error(work->png, "is not the picture that was measured");
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < picture->height; ++y) {
      if (!work->host->goes_on(work->host->user)) stop(work);
      png_read_row(work->png, to + (size_t)y * row, NULL);
    }
  png_read_end(work->png, NULL);
  return 0;
}

static int encoded(struct work* work, const cairn_picture* picture, const unsigned char* from) {
  static const int kinds[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  if (setjmp(png_jmpbuf(work->png))) return 1;
  png_structp png = work->png;
  work->info = png_create_info_struct(png);
  if (work->info == NULL) png_error(png, "no memory");
  png_set_write_fn(png, work, give, flush);
  png_set_user_limits(png, 0x7FFFFFFF, 0x7FFFFFFF);
  png_set_IHDR(png, work->info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8, kinds[picture->channels - 1],
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, work->info);
  const size_t row = (size_t)(picture->width * picture->channels);
  for (int64_t y = 0; y < picture->height; ++y) {
    if (!work->host->goes_on(work->host->user)) stop(work);
    png_write_row(png, from + (size_t)y * row);
  }
  png_write_end(png, NULL);
  return 0;
}

int cairn_png_measure(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture,
                      char* message) {
  struct work work = {host, file, bytes, 0, message, 0, NULL, NULL, NULL};
  const int failed = !began_to_read(&work) || measured(&work, picture);
  png_destroy_read_struct(&work.png, &work.info, NULL);
  return result_of(&work, failed);
}

int cairn_png_decode(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                     unsigned char* to, char* message) {
  struct work work = {host, file, bytes, 0, message, 0, NULL, NULL, NULL};
  const int failed = !began_to_read(&work) || decoded(&work, picture, to);
  png_destroy_read_struct(&work.png, &work.info, NULL);
  return result_of(&work, failed);
}

int cairn_png_encode(const cairn_codec_host* host, const cairn_picture* picture, const unsigned char* from,
                     int (*put)(void* user, const void* part, size_t bytes), char* message) {
  struct work work = {host, NULL, 0, 0, message, 0, put, NULL, NULL};
  work.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &work, fail, ignore, &work, allocate, release);
  const int failed = work.png == NULL || encoded(&work, picture, from);
  png_destroy_write_struct(&work.png, &work.info);
  return result_of(&work, failed);
}
