/* The planar chain by hand in O(N): rod tensions from the tridiagonal system of the particles' accelerations.
   Link i points along e_i = (s, -c); a_i = g - T_i e_i + T_{i+1} e_{i+1} and e_i . (a_i - a_{i-1}) = -w_i^2.
   N is defined by the caller. */
#define _GNU_SOURCE
#include <math.h>
static double s[N + 1], c[N + 1], diagonal[N], side[N], r[N];
void rhs(const double *x, double *y) {
  const double *w = x + N;
  for (int i = 0; i < N; i++) sincos(x[i], s + i, c + i);
  for (int i = 0; i < N; i++) {
    side[i] = i + 1 < N ? -(s[i] * s[i + 1] + c[i] * c[i + 1]) : 0;
    diagonal[i] = i ? 2 : 1;
    r[i] = w[i] * w[i] + (i ? 0 : 9.81 * c[0]);
  }
  for (int i = 1; i < N; i++) {
    double m = side[i - 1] / diagonal[i - 1];
    diagonal[i] -= m * side[i - 1];
    r[i] -= m * r[i - 1];
  }
  r[N - 1] /= diagonal[N - 1];
  for (int i = N - 2; i >= 0; i--) r[i] = (r[i] - side[i] * r[i + 1]) / diagonal[i];
  double ax = 0, ay = 0;
  for (int i = 0; i < N; i++) {
    double nx = -r[i] * s[i], ny = -9.81 + r[i] * c[i];
    if (i + 1 < N) { nx += r[i + 1] * s[i + 1]; ny -= r[i + 1] * c[i + 1]; }
    y[i] = w[i];
    y[N + i] = (nx - ax) * c[i] + (ny - ay) * s[i];
    ax = nx; ay = ny;
  }
}
void loop(const double *x, double *y, long calls) {
  double z[2 * N];
  for (int i = 0; i < 2 * N; i++) z[i] = x[i];
  for (long k = 0; k < calls; k++) { rhs(z, y); z[0] = x[0] + 1e-12 * y[0]; }
}
