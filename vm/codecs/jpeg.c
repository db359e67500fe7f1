/* Pictures of JPEG by libjpeg-turbo: one channel of grey or three of red, green and blue. The library takes its memory from the
   system, so the caller is told before how much that may be. */
#include "vm/codecs/kinds.h"

#include <stdio.h>
/* Behind stdio.h, which it needs. */
#include <jerror.h>
#include <jpeglib.h>

#include <setjmp.h>
#include <string.h>

/* As in png.c: reached by pointer alone. */
struct work {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf jump;
  const cairn_codec_host* host;
  const unsigned char* file;
  size_t bytes;
  char* message;
  int stopped;
};

static void fail(j_common_ptr jpeg) {
  struct work* work = jpeg->client_data;
  char text[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, text);
  if (!work->stopped) snprintf(work->message, CAIRN_CODEC_MESSAGE, "%s", text);
  longjmp(work->jump, 1);
}

/* Warnings that mean that a part of the picture is not there are errors. */
static void warn(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
  case JWRN_JPEG_EOF:
  case JWRN_HIT_MARKER:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_MUST_RESYNC:
    fail(jpeg);
    break;
  default:
    break;
  }
}

static void be_quiet(j_common_ptr jpeg) { (void)jpeg; }

static void monitor(j_common_ptr jpeg) {
  enum { most_scans = 500 }; /* a progressive file may have thousands, each of which takes as long as the picture is large */
  struct work* work = jpeg->client_data;
  if (work->host->goes_on(work->host->user)) {
    if (work->jpeg.input_scan_number <= most_scans) return;
    snprintf(work->message, CAIRN_CODEC_MESSAGE, "has more than %d scans", most_scans);
  } else {
    work->stopped = 1;
  }
  longjmp(work->jump, 1);
}

static void begin(struct work* work) {
  struct jpeg_decompress_struct* jpeg = &work->jpeg;
  jpeg_create_decompress(jpeg);
  work->progress.progress_monitor = monitor;
  jpeg->progress = &work->progress;
  jpeg_mem_src(jpeg, work->file, work->bytes);
  jpeg_read_header(jpeg, TRUE);
  if (jpeg->jpeg_color_space == JCS_GRAYSCALE) {
    jpeg->out_color_space = JCS_GRAYSCALE;
  } else if (jpeg->jpeg_color_space == JCS_YCbCr || jpeg->jpeg_color_space == JCS_RGB) {
    jpeg->out_color_space = JCS_RGB;
  } else {
    snprintf(work->message, CAIRN_CODEC_MESSAGE, "has colours that are neither grey nor red, green and blue (CMYK?)");
    longjmp(work->jump, 1);
  }
}

static int64_t rounded_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static int measured(struct work* work, cairn_picture* picture) {
  if (setjmp(work->jump)) return 1;
  begin(work);
  struct jpeg_decompress_struct* jpeg = &work->jpeg;
  picture->height = jpeg->image_height;
  picture->width = jpeg->image_width;
  picture->channels = jpeg->out_color_space == JCS_GRAYSCALE ? 1 : 3;
  /* Rows of blocks, before and after they are brought to one size, with their neighbours; all coefficients where several scans
   * refine them. */
  const int64_t width = rounded_up(picture->width, 8 * jpeg->max_h_samp_factor),
                height = rounded_up(picture->height, 8 * jpeg->max_v_samp_factor);
  picture->memory = ((int64_t)1 << 20) + width * jpeg->num_components * 128 * jpeg->max_v_samp_factor +
                    (jpeg_has_multiple_scans(jpeg) ? width * height * jpeg->num_components * (int64_t)sizeof(JCOEF) : 0);
  return 0;
}

static int decoded(struct work* work, const cairn_picture* picture, unsigned char* to) {
  if (setjmp(work->jump)) return 1;
  begin(work);
  struct jpeg_decompress_struct* jpeg = &work->jpeg;
  jpeg->mem->max_memory_to_use = (long)picture->memory;
  jpeg_start_decompress(jpeg);
  if (jpeg->output_height != picture->height || jpeg->output_width != picture->width ||
      jpeg->output_components != picture->channels) {
    snprintf(work->message, CAIRN_CODEC_MESSAGE, "is not the picture that was measured");
    return 1;
  }
  const size_t row = (size_t)(picture->width * picture->channels);
  while (jpeg->output_scanline < jpeg->output_height) {
    JSAMPROW rows[1] = {to + jpeg->output_scanline * row};
    jpeg_read_scanlines(jpeg, rows, 1);
  }
  jpeg_finish_decompress(jpeg);
  return 0;
}

static void set_up(struct work* work, const cairn_codec_host* host, const unsigned char* file, size_t bytes, char* message) {
  memset(work, 0, sizeof *work);
  work->jpeg.err = jpeg_std_error(&work->errors);
  work->errors.error_exit = fail;
  work->errors.emit_message = warn;
  work->errors.output_message = be_quiet;
  work->jpeg.client_data = work;
  work->host = host;
  work->file = file;
  work->bytes = bytes;
  work->message = message;
}

int cairn_jpeg_measure(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture,
                       char* message) {
  struct work work;
  set_up(&work, host, file, bytes, message);
  const int failed = measured(&work, picture);
  jpeg_destroy_decompress(&work.jpeg);
  return work.stopped ? CAIRN_CODEC_STOPPED : failed ? CAIRN_CODEC_WRONG : CAIRN_CODEC_DONE;
}

int cairn_jpeg_decode(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                      unsigned char* to, char* message) {
  struct work work;
  set_up(&work, host, file, bytes, message);
  const int failed = decoded(&work, picture, to);
  jpeg_destroy_decompress(&work.jpeg);
  return work.stopped ? CAIRN_CODEC_STOPPED : failed ? CAIRN_CODEC_WRONG : CAIRN_CODEC_DONE;
}
