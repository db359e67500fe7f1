/* Raw deflate by zlib, with the host's memory. */
#include "vm/codecs/kinds.h"

#include <zlib.h>

#include <limits.h>
#include <string.h>

struct cairn_inflation {
  const cairn_codec_host* host;
  z_stream stream;
};
struct cairn_deflation {
  const cairn_codec_host* host;
  z_stream stream;
};

static void* allocate(void* opaque, unsigned count, unsigned bytes) {
  const cairn_codec_host* host = opaque;
  return host->allocate(host->user, (size_t)count * bytes);
}
static void release(void* opaque, void* memory) {
  const cairn_codec_host* host = opaque;
  host->release(host->user, memory);
}

static void set_up(z_stream* stream, const cairn_codec_host* host) {
  memset(stream, 0, sizeof *stream);
  stream->zalloc = allocate;
  stream->zfree = release;
  stream->opaque = (void*)host;
}

static unsigned part(size_t bytes) { return bytes > UINT_MAX ? UINT_MAX : (unsigned)bytes; }

/* One call of the library, with what both sides have. */
static int step(z_stream* stream, int (*call)(z_stream*, int), int flush, const unsigned char** from, size_t* from_bytes,
                unsigned char** to, size_t* to_bytes) {
  const unsigned in = part(*from_bytes), out = part(*to_bytes);
  stream->next_in = (unsigned char*)*from;
  stream->avail_in = in;
  stream->next_out = *to;
  stream->avail_out = out;
  const int status = call(stream, flush);
  *from += in - stream->avail_in;
  *from_bytes -= in - stream->avail_in;
  *to += out - stream->avail_out;
  *to_bytes -= out - stream->avail_out;
  return status == Z_STREAM_END ? 1 : status == Z_OK || status == Z_BUF_ERROR ? 0 : -1;
}

cairn_inflation* cairn_open_inflation(const cairn_codec_host* host) {
  cairn_inflation* inflation = host->allocate(host->user, sizeof *inflation);
  if (inflation == NULL) return NULL;
  inflation->host = host;
  set_up(&inflation->stream, host);
  if (inflateInit2(&inflation->stream, -MAX_WBITS) == Z_OK) return inflation;
  host->release(host->user, inflation);
  return NULL;
}

int cairn_inflate(cairn_inflation* inflation, const unsigned char** from, size_t* from_bytes, unsigned char** to,
                  size_t* to_bytes) {
  return step(&inflation->stream, inflate, Z_NO_FLUSH, from, from_bytes, to, to_bytes);
}

void cairn_close_inflation(cairn_inflation* inflation) {
  inflateEnd(&inflation->stream);
  inflation->host->release(inflation->host->user, inflation);
}

cairn_deflation* cairn_open_deflation(const cairn_codec_host* host) {
  enum { memory_level = 8 };
  cairn_deflation* deflation = host->allocate(host->user, sizeof *deflation);
  if (deflation == NULL) return NULL;
  deflation->host = host;
  set_up(&deflation->stream, host);
  if (deflateInit2(&deflation->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, memory_level, Z_DEFAULT_STRATEGY) == Z_OK)
    return deflation;
  host->release(host->user, deflation);
  return NULL;
}

int cairn_deflate(cairn_deflation* deflation, const unsigned char** from, size_t* from_bytes, unsigned char** to,
                  size_t* to_bytes, int last) {
  return step(&deflation->stream, deflate, last ? Z_FINISH : Z_NO_FLUSH, from, from_bytes, to, to_bytes);
}

void cairn_close_deflation(cairn_deflation* deflation) {
  deflateEnd(&deflation->stream);
  deflation->host->release(deflation->host->user, deflation);
}

uint32_t cairn_checksum(uint32_t before, const unsigned char* bytes, size_t count) {
  uLong sum = before;
  for (size_t at = 0; at < count; at += part(count - at)) sum = crc32(sum, bytes + at, part(count - at));
  return (uint32_t)sum;
}
