// What gradient_programs/arithmetic.scm does, compiled, with the tape of ADOL-C. Argument: the number of iterations. Prints the
// derivative, then how many bytes the tape and the values kept for the reverse sweep have.
#include <adolc/adolc.h>

#include <cstdio>
#include <cstdlib>

int main(int, char** arguments) {
  const long iterations = std::atol(arguments[1]);
  double result = 0;
  trace_on(0, 1);
  {
    adouble a, b, sum = 0.0;
    a <<= 0.7;
    b <<= 0.4;
    for (long i = 0; i < iterations; ++i) {
      adouble next = 0.8 * a - 0.6 * b;
      sum = sum + a * b - 0.01;
      b = 0.6 * a + 0.8 * b;
      a = next;
    }
    sum = a + (b + sum);
    sum >>= result;
  }
  trace_off();
  double seed = 1, gradient[2];
  fos_reverse(0, 1, 2, &seed, gradient);
  size_t counts[STAT_SIZE];
  tapestats(0, counts);
  const size_t bytes = counts[NUM_OPERATIONS] + counts[NUM_LOCATIONS] * sizeof(locint) + counts[NUM_VALUES] * sizeof(double) +
                       counts[TAY_STACK_SIZE] * sizeof(double);
  std::printf("%.17g %zu\n", gradient[0], bytes);
}
