/* See tiff.h. A piece becomes a file of one strip: a header, a directory, the tables of JPEG, and its bytes. */
#include "vm/codecs/tiff.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* Behind stdio.h. */
#include <tiffio.h>

enum { most_entries = 16, entry_bytes = 12, head_bytes = 8 };

struct file {
  const cairn_codec_host* host;
  const cairn_tiff_piece* piece;
  unsigned char head[head_bytes + 2 + most_entries * entry_bytes + 4];
  size_t head_size, at;
  unsigned entries;
  char* message;
  int damaged;
};

/* --- the header and the directory, in the order of bytes that the elements have */

static void put(struct file* file, uint32_t n, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    file->head[file->head_size++] = (unsigned char)(n >> 8 * (file->piece->big_endian ? bytes - 1 - i : i));
}

static void put_entry(struct file* file, uint16_t tag, uint16_t type, uint32_t count, uint32_t value) {
  put(file, tag, 2);
  put(file, type, 2);
  put(file, count, 4);
  if (type == TIFF_SHORT) {
    put(file, value & 0xffff, 2);
    put(file, value >> 16, 2);
  } else {
    put(file, value, 4);
  }
  ++file->entries;
}

static void make_head(struct file* file) {
  const cairn_tiff_piece* const piece = file->piece;
  const char order = piece->big_endian ? 'M' : 'I';
  const uint32_t behind = sizeof file->head, bytes = behind + (uint32_t)piece->tables_bytes;
  file->head[0] = file->head[1] = (unsigned char)order;
  file->head_size = 2;
  put(file, 42, 2);
  put(file, head_bytes, 4);
  const size_t count_at = file->head_size;
  file->head_size += 2;
  put_entry(file, TIFFTAG_IMAGEWIDTH, TIFF_LONG, 1, piece->width);
  put_entry(file, TIFFTAG_IMAGELENGTH, TIFF_LONG, 1, piece->height);
  put_entry(file, TIFFTAG_BITSPERSAMPLE, TIFF_SHORT, 1, piece->bits);
  put_entry(file, TIFFTAG_COMPRESSION, TIFF_SHORT, 1, piece->compression);
  put_entry(file, TIFFTAG_PHOTOMETRIC, TIFF_SHORT, 1, piece->photometric);
  put_entry(file, TIFFTAG_STRIPOFFSETS, TIFF_LONG, 1, bytes);
  put_entry(file, TIFFTAG_SAMPLESPERPIXEL, TIFF_SHORT, 1, piece->samples);
  put_entry(file, TIFFTAG_ROWSPERSTRIP, TIFF_LONG, 1, piece->height);
  put_entry(file, TIFFTAG_STRIPBYTECOUNTS, TIFF_LONG, 1, (uint32_t)piece->size);
  put_entry(file, TIFFTAG_PLANARCONFIG, TIFF_SHORT, 1, PLANARCONFIG_CONTIG);
  if (piece->predictor != 1) put_entry(file, TIFFTAG_PREDICTOR, TIFF_SHORT, 1, piece->predictor);
  put_entry(file, TIFFTAG_SAMPLEFORMAT, TIFF_SHORT, 1, piece->format);
  if (piece->tables_bytes > 4) put_entry(file, TIFFTAG_JPEGTABLES, TIFF_UNDEFINED, (uint32_t)piece->tables_bytes, behind);
  if (piece->photometric == PHOTOMETRIC_YCBCR && piece->subsampling[0] != 0) /* else the library asks the JPEG itself */
    put_entry(file, TIFFTAG_YCBCRSUBSAMPLING, TIFF_SHORT, 2, piece->subsampling[0] | (uint32_t)piece->subsampling[1] << 16);
  put(file, 0, 4);
  const size_t end = file->head_size;
  file->head_size = count_at;
  put(file, file->entries, 2);
  file->head_size = end;
}

/* --- that file for the library */

static uint64_t size_of(thandle_t handle) {
  const struct file* const file = handle;
  return sizeof file->head + file->piece->tables_bytes + file->piece->size;
}

static tmsize_t read_file(thandle_t handle, void* to, tmsize_t wanted) {
  struct file* const file = handle;
  const struct {
    const unsigned char* bytes;
    size_t size;
  } parts[] = {
      {file->head, sizeof file->head}, {file->piece->tables, file->piece->tables_bytes}, {file->piece->bytes, file->piece->size}};
  size_t begin = 0, left = wanted < 0 ? 0 : (size_t)wanted;
  unsigned char* out = to;
  for (unsigned i = 0; i < sizeof parts / sizeof parts[0] && left != 0; begin += parts[i++].size) {
    if (file->at - begin >= parts[i].size) continue;
    const size_t skipped = file->at - begin, has = parts[i].size - skipped, now = has < left ? has : left;
    memcpy(out, parts[i].bytes + skipped, now);
    out += now;
    left -= now;
    file->at += now;
  }
  return wanted < 0 ? 0 : wanted - (tmsize_t)left;
}

static tmsize_t write_nothing(thandle_t handle, void* from, tmsize_t bytes) {
  (void)handle, (void)from, (void)bytes;
  return 0;
}

static uint64_t seek(thandle_t handle, uint64_t offset, int from) {
  struct file* const file = handle;
  const uint64_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? file->at : size_of(handle);
  const uint64_t at = base + offset, size = size_of(handle);
  file->at = (size_t)(at < size ? at : size);
  return file->at;
}

static int close_nothing(thandle_t handle) {
  (void)handle;
  return 0;
}

/* The first message is what is wrong; others follow from it. It may have anything of the file in it. */
static int complain(TIFF* tiff, void* user, const char* where, const char* format, va_list arguments) {
  struct file* const file = user;
  (void)tiff, (void)where;
  if (file->message[0] != '\0') return 1;
  vsnprintf(file->message, CAIRN_CODEC_MESSAGE, format, arguments);
  for (char* c = file->message; *c != '\0'; ++c)
    if (*c < ' ' || *c > '~') *c = '?';
  return 1;
}

/* What is damaged, and a JPEG smaller than its piece, of which the rest would stay as it was, are warnings to the library. */
static int take_warning(TIFF* tiff, void* user, const char* where, const char* format, va_list arguments) {
  struct file* const file = user;
  if (strcmp(where, "JPEGLib") != 0 && strncmp(format, "Improper JPEG", 13) != 0) return 1;
  file->damaged = 1;
  return complain(tiff, user, where, format, arguments);
}

/* How often a JPEG goes over its elements. The library reads all of several scans at once, before the first row. */
static unsigned scans_of(const unsigned char* bytes, size_t size) {
  unsigned scans = 0;
  for (size_t at = 0; at + 4 <= size;) {
    const unsigned mark = bytes[at] == 0xff ? bytes[at + 1] : 0;
    if (mark == 0xd9) break;
    if (mark == 0 || mark == 0xff)
      ++at;
    else if (mark == 1 || (mark >= 0xd0 && mark <= 0xd8))
      at += 2;
    else {
      scans += mark == 0xda;
      at += 2 + ((size_t)bytes[at + 2] << 8 | bytes[at + 3]);
    }
  }
  return scans;
}

static TIFF* open_file(struct file* file, size_t memory) {
  TIFFOpenOptions* const options = TIFFOpenOptionsAlloc();
  if (options == NULL) return NULL;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)memory);
  TIFFOpenOptionsSetErrorHandlerExtR(options, complain, file);
  TIFFOpenOptionsSetWarningHandlerExtR(options, take_warning, file);
  TIFF* const tiff =
      TIFFClientOpenExt("piece", "rm", file, read_file, write_nothing, seek, close_nothing, size_of, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

static int decode(const cairn_codec_host* host, const cairn_tiff_piece* piece, size_t memory, unsigned char* to, char* message) {
  struct file file = {.host = host, .piece = piece, .message = message};
  message[0] = '\0';
  if (piece->compression == COMPRESSION_JPEG && scans_of(piece->bytes, piece->size) > 1) {
    snprintf(message, CAIRN_CODEC_MESSAGE,
             "its JPEG is progressive or has several scans; tiffcp -c zip OLD NEW makes one that is read");
    return CAIRN_CODEC_WRONG;
  }
  make_head(&file);
  TIFF* const tiff = open_file(&file, memory);
  int result = CAIRN_CODEC_WRONG;
  if (tiff != NULL) {
    const tmsize_t row = (tmsize_t)piece->width * piece->samples * (piece->bits / 8);
    if (piece->photometric == PHOTOMETRIC_YCBCR) TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    uint32_t at = 0;
    const int fits = TIFFScanlineSize(tiff) == row;
    if (fits && piece->compression == COMPRESSION_PACKBITS) { /* runs may go on in the next row, which only this knows */
      if (TIFFReadEncodedStrip(tiff, 0, to, row * (tmsize_t)piece->height) == row * (tmsize_t)piece->height) at = piece->height;
    } else if (fits) {
      for (; at < piece->height; ++at, to += row) {
        if (!host->goes_on(host->user)) {
          result = CAIRN_CODEC_STOPPED;
          break;
        }
        memset(to, 0, (size_t)row);
        if (TIFFReadScanline(tiff, to, at, 0) != 1) break;
      }
    }
    if (at == piece->height && !file.damaged) result = CAIRN_CODEC_DONE;
    TIFFClose(tiff);
  }
  if (result == CAIRN_CODEC_WRONG && message[0] == '\0') snprintf(message, CAIRN_CODEC_MESSAGE, "it cannot be decoded");
  return result;
}

static const cairn_tiff functions = {CAIRN_TIFF_VERSION, decode};

__attribute__((visibility("default"))) const cairn_tiff* cairn_tiff_open(void);
const cairn_tiff* cairn_tiff_open(void) { return &functions; }
