// N bodies: every step reads all positions, writes half of the velocities, meets at a barrier, moves half of
// the bodies.
#include <pthread.h>

#include <cmath>
#include <vector>

#include "common.h"

namespace {

struct Body {
  double x, y, z;
  double vx, vy, vz;
  double mass;
};

}  // namespace

int main(int argc, char** argv) {
  long const steps = bench::scale(argc, argv, 220);
  constexpr size_t kBodies = 1000;
  std::vector<Body> bodies(kBodies);
  bench::Random random(13);
  for (Body& b : bodies) {
    b = {random.real(), random.real(), random.real(), 0, 0, 0, random.real()};
  }
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, 2);

  bench::in_two_threads([&](int which) {
    size_t const from = which == 0 ? 0 : kBodies / 2;
    size_t const to = which == 0 ? kBodies / 2 : kBodies;
    for (long step = 0; step < steps; ++step) {
      for (size_t i = from; i < to; ++i) {
        Body& me = bodies[i];
        double ax = 0, ay = 0, az = 0;
        for (size_t k = 0; k < kBodies; ++k) {
          const Body& other = bodies[k];
          double const dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
          double const square = dx * dx + dy * dy + dz * dz + 1e-3;
          double const pull = other.mass / (square * std::sqrt(square));
          ax += dx * pull;
          ay += dy * pull;
          az += dz * pull;
        }
        me.vx += ax * 1e-6;
        me.vy += ay * 1e-6;
        me.vz += az * 1e-6;
      }
      pthread_barrier_wait(&barrier);
      for (size_t i = from; i < to; ++i) {
        Body& me = bodies[i];
        me.x += me.vx;
        me.y += me.vy;
        me.z += me.vz;
      }
      pthread_barrier_wait(&barrier);
    }
  });
  pthread_barrier_destroy(&barrier);

  double sum = 0;
  for (const Body& b : bodies) sum += b.x + b.y + b.z;
  return bench::report("nbody", static_cast<uint64_t>(sum * 1e6));
}
