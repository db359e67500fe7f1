/* What the module cairn_tiff gives: pieces of TIFF, tiles or strips, decoded by libtiff. It is loaded when the first compressed
   one is wanted. The library sees one piece at a time, as a file of its own that is made here: what it takes then follows from
   the sizes of that piece, not from what a file may say elsewhere. Only this header is shared; both sides check the version. */
#ifndef CAIRN_VM_CODECS_TIFF_H
#define CAIRN_VM_CODECS_TIFF_H

#include "vm/codecs/codecs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CAIRN_TIFF_VERSION is a digest of this header and of codecs.h, which the build defines for both sides. */

/* Numbers are those of TIFF's fields. */
typedef struct cairn_tiff_piece {
  uint32_t width, height;
  uint16_t samples, bits, format, compression, photometric, predictor, subsampling[2]; /* 0: the file says none */
  int big_endian;                                                                      /* the file is, and so are its elements */
  const unsigned char* tables;                                                         /* of JPEG, or null */
  size_t tables_bytes;
  const unsigned char* bytes;
  size_t size;
} cairn_tiff_piece;

typedef struct cairn_tiff {
  uint32_t version;
  /* Elements, in the processor's order of bytes, row by row, as many bytes as these take. `message` has room for
     CAIRN_CODEC_MESSAGE characters: what is wrong. The library takes at most `memory` bytes at once. */
  int (*decode)(const cairn_codec_host* host, const cairn_tiff_piece* piece, size_t memory, unsigned char* to, char* message);
} cairn_tiff;

/* The only symbol of the module. */
typedef const cairn_tiff* (*cairn_tiff_open_function)(void);
#define CAIRN_TIFF_OPEN "cairn_tiff_open"

#ifdef __cplusplus
}
#endif

#endif
