/* A small LZ77 compressor in C: two threads take blocks of a shared input by a lock and compress them. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlock = 1 << 16, kHashBits = 13, kMinimum = 4 };

typedef struct Block {
  const uint8_t* from;
  size_t size;
  uint8_t* to;
  size_t used;
} Block;

typedef struct Job {
  pthread_mutex_t lock;
  Block* blocks;
  size_t count;
  size_t next;
} Job;

static uint32_t word_at(const uint8_t* p) {
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t hash(uint32_t word) { return (word * 2654435761u) >> (32 - kHashBits); }

static uint8_t* put_length(uint8_t* out, size_t length) {
  while (length >= 255) {
    *out++ = 255;
    length -= 255;
  }
  *out++ = (uint8_t)length;
  return out;
}

static void compress(Block* block, uint32_t* heads) {
  const uint8_t* const start = block->from;
  size_t at = 0, literal = 0;
  uint8_t* out = block->to;
  memset(heads, 0, sizeof(uint32_t) << kHashBits);
  while (at + kMinimum < block->size) {
    uint32_t const word = word_at(start + at);
    uint32_t* const head = &heads[hash(word)];
    size_t const candidate = *head;
    *head = (uint32_t)at;
    if (candidate >= at || word_at(start + candidate) != word) {
      ++at;
      continue;
    }
    size_t length = kMinimum;
    while (at + length < block->size && start[candidate + length] == start[at + length]) ++length;
    out = put_length(out, at - literal);
    memcpy(out, start + literal, at - literal);
    out += at - literal;
    out = put_length(out, length - kMinimum);
    *out++ = (uint8_t)(at - candidate);
    *out++ = (uint8_t)((at - candidate) >> 8);
    at += length;
    literal = at;
  }
  out = put_length(out, block->size - literal);
  memcpy(out, start + literal, block->size - literal);
  out += block->size - literal;
  block->used = (size_t)(out - block->to);
}

static void* work(void* argument) {
  Job* const job = argument;
  uint32_t* const heads = malloc(sizeof(uint32_t) << kHashBits);
  for (;;) {
    pthread_mutex_lock(&job->lock);
    size_t const mine = job->next++;
    pthread_mutex_unlock(&job->lock);
    if (mine >= job->count) break;
    job->blocks[mine].to = malloc(job->blocks[mine].size * 2 + 64);
    compress(&job->blocks[mine], heads);
  }
  free(heads);
  return NULL;
}

int main(int argc, char** argv) {
  long const percent = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  size_t const size = (size_t)60000000 / 100 * (size_t)(percent > 0 ? percent : 100);
  uint8_t* const input = malloc(size);
  uint32_t state = 12345;
  for (size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    input[i] = (uint8_t)((state >> 28) == 0 || i < 64 ? 'a' + (state >> 24) % 16
                                                      : input[i - 1 - (state >> 16) % 3 * 7]);
  }
  Job job = {PTHREAD_MUTEX_INITIALIZER, NULL, (size + kBlock - 1) / kBlock, 0};
  job.blocks = calloc(job.count, sizeof(Block));
  for (size_t i = 0; i < job.count; ++i) {
    job.blocks[i].from = input + i * kBlock;
    job.blocks[i].size = i + 1 == job.count ? size - i * kBlock : kBlock;
  }
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &job);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);

  size_t total = 0;
  uint64_t sum = 0;
  for (size_t i = 0; i < job.count; ++i) {
    total += job.blocks[i].used;
    for (size_t k = 0; k < job.blocks[i].used; k += 101) sum = sum * 31 + job.blocks[i].to[k];
    free(job.blocks[i].to);
  }
  printf("lz %zu of %zu %016llx\n", total, size, (unsigned long long)sum);
  free(job.blocks);
  free(input);
  return 0;
}
