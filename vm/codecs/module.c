/* The module's table, and which kind of picture a file is. */
#include "vm/codecs/kinds.h"

#include <stdio.h>
#include <string.h>

static int is_png(const unsigned char* file, size_t bytes) { return bytes >= 8 && memcmp(file, "\x89PNG\r\n\x1a\n", 8) == 0; }
static int is_jpeg(const unsigned char* file, size_t bytes) { return bytes >= 3 && memcmp(file, "\xff\xd8\xff", 3) == 0; }

static int neither(char* message) {
  snprintf(message, CAIRN_CODEC_MESSAGE, "is neither PNG nor JPEG");
  return CAIRN_CODEC_WRONG;
}

static int measure(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture, char* message) {
  if (is_png(file, bytes)) return cairn_png_measure(host, file, bytes, picture, message);
  if (is_jpeg(file, bytes)) return cairn_jpeg_measure(host, file, bytes, picture, message);
  return neither(message);
}

static int decode(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                  unsigned char* to, char* message) {
  if (is_png(file, bytes)) return cairn_png_decode(host, file, bytes, picture, to, message);
  if (is_jpeg(file, bytes)) return cairn_jpeg_decode(host, file, bytes, picture, to, message);
  return neither(message);
}

static const cairn_codecs codecs = {CAIRN_CODECS_VERSION,
                                    measure,
                                    decode,
                                    cairn_png_encode,
                                    cairn_open_inflation,
                                    cairn_inflate,
                                    cairn_close_inflation,
                                    cairn_open_deflation,
                                    cairn_deflate,
                                    cairn_close_deflation,
                                    cairn_checksum};

__attribute__((visibility("default"))) const cairn_codecs* cairn_codecs_open(void);
const cairn_codecs* cairn_codecs_open(void) { return &codecs; }
