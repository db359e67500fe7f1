/* What the module cairn_codecs gives: pictures by libpng and libjpeg-turbo, compression by zlib. It is loaded when the first such
   file is read or written, because loading the libraries would be a part of the start of every program. It is in C: errors of the
   libraries leave them by longjmp, and never go beyond the function that was called. Only this header is shared; both sides check
   the version. */
#ifndef CAIRN_VM_CODECS_CODECS_H
#define CAIRN_VM_CODECS_CODECS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CAIRN_CODECS_VERSION is a digest of this header, which the build defines for both sides. */

/* What a call may ask of who calls; nothing of it may throw. */
typedef struct cairn_codec_host {
  void* user;
  int (*goes_on)(void* user);                  /* 0: stop; asked every few microseconds to milliseconds */
  void* (*allocate)(void* user, size_t bytes); /* null: refused */
  void (*release)(void* user, void* memory);   /* what it gave */
} cairn_codec_host;

enum { CAIRN_CODEC_DONE, CAIRN_CODEC_WRONG, CAIRN_CODEC_STOPPED }; /* the last: it was stopped, or refused memory */
enum { CAIRN_CODEC_MESSAGE = 200 };

typedef struct cairn_picture {
  int64_t height, width, channels; /* of one byte each */
  int64_t memory;                  /* that decoding takes at most beside what it asks the host for */
} cairn_picture;

typedef struct cairn_inflation cairn_inflation;
typedef struct cairn_deflation cairn_deflation;

typedef struct cairn_codecs {
  uint32_t version;
  /* What a file of PNG or JPEG says of its picture. `message` has room for CAIRN_CODEC_MESSAGE characters: what is wrong. */
  int (*measure)(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture, char* message);
  /* The picture, which was measured before: height, width, channels. */
  int (*decode)(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                unsigned char* to, char* message);
  /* As PNG, of 1 to 4 channels. `put` is called with part after part; 0: stop. */
  int (*encode)(const cairn_codec_host* host, const cairn_picture* picture, const unsigned char* from,
                int (*put)(void* user, const void* part, size_t bytes), char* message);

  /* Raw deflate, as archives have it. Null: no memory. The host must stay until they are closed. */
  cairn_inflation* (*inflation)(const cairn_codec_host* host);
  /* Takes bytes from the one and puts bytes to the other, as many as it can; all four move on. 1: that was the end, 0: not yet;
     -1: these are no such bytes. */
  int (*inflate)(cairn_inflation* inflation, const unsigned char** from, size_t* from_bytes, unsigned char** to,
                 size_t* to_bytes);
  void (*close_inflation)(cairn_inflation* inflation);
  cairn_deflation* (*deflation)(const cairn_codec_host* host);
  /* The same; with `last` these are the last bytes. */
  int (*deflate)(cairn_deflation* deflation, const unsigned char** from, size_t* from_bytes, unsigned char** to, size_t* to_bytes,
                 int last);
  void (*close_deflation)(cairn_deflation* deflation);
  uint32_t (*checksum)(uint32_t before, const unsigned char* bytes, size_t count); /* CRC-32, from 0 on */
} cairn_codecs;

/* The only symbol of the module. */
typedef const cairn_codecs* (*cairn_codecs_open_function)(void);
#define CAIRN_CODECS_OPEN "cairn_codecs_open"

#ifdef __cplusplus
}
#endif

#endif
