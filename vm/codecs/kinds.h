/* The sources of the module for each other. */
#ifndef CAIRN_VM_CODECS_KINDS_H
#define CAIRN_VM_CODECS_KINDS_H

#include "vm/codecs/codecs.h"

int cairn_png_measure(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture,
                      char* message);
int cairn_png_decode(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                     unsigned char* to, char* message);
int cairn_png_encode(const cairn_codec_host* host, const cairn_picture* picture, const unsigned char* from,
                     int (*put)(void* user, const void* part, size_t bytes), char* message);
int cairn_jpeg_measure(const cairn_codec_host* host, const unsigned char* file, size_t bytes, cairn_picture* picture,
                       char* message);
int cairn_jpeg_decode(const cairn_codec_host* host, const unsigned char* file, size_t bytes, const cairn_picture* picture,
                      unsigned char* to, char* message);

cairn_inflation* cairn_open_inflation(const cairn_codec_host* host);
int cairn_inflate(cairn_inflation* inflation, const unsigned char** from, size_t* from_bytes, unsigned char** to,
                  size_t* to_bytes);
void cairn_close_inflation(cairn_inflation* inflation);
cairn_deflation* cairn_open_deflation(const cairn_codec_host* host);
int cairn_deflate(cairn_deflation* deflation, const unsigned char** from, size_t* from_bytes, unsigned char** to,
                  size_t* to_bytes, int last);
void cairn_close_deflation(cairn_deflation* deflation);
uint32_t cairn_checksum(uint32_t before, const unsigned char* bytes, size_t count);

#endif
