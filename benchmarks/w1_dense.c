/* The planar chain by hand: closed-form mass matrix and a dense Cholesky factor. N is defined by the caller. */
#define _GNU_SOURCE
#include <math.h>
static double M[N][N], s[N], c[N];
void rhs(const double *x, double *y) {
  const double *w = x + N;
  double *b = y + N;
  for (int i = 0; i < N; i++) sincos(x[i], s + i, c + i);
  for (int i = 0; i < N; i++) {
    double a = -9.81 * (N - i) * s[i];
    y[i] = w[i];
    for (int j = 0; j < N; j++) {
      int k = N - (i > j ? i : j);
      a -= k * (s[i] * c[j] - c[i] * s[j]) * w[j] * w[j];
      if (j <= i) M[i][j] = k * (c[i] * c[j] + s[i] * s[j]);
    }
    b[i] = a;
  }
  for (int i = 0; i < N; i++)
    for (int j = 0; j <= i; j++) {
      double t = M[i][j];
      for (int k = 0; k < j; k++) t -= M[i][k] * M[j][k];
      M[i][j] = i == j ? 1 / sqrt(t) : t * M[j][j];
    }
  for (int i = 0; i < N; i++) {
    double t = b[i];
    for (int k = 0; k < i; k++) t -= M[i][k] * b[k];
    b[i] = t * M[i][i];
  }
  for (int i = N - 1; i >= 0; i--) {
    double t = b[i];
    for (int k = i + 1; k < N; k++) t -= M[k][i] * b[k];
    b[i] = t * M[i][i];
  }
}
void loop(const double *x, double *y, long calls) {
  double z[2 * N];
  for (int i = 0; i < 2 * N; i++) z[i] = x[i];
  for (long k = 0; k < calls; k++) { rhs(z, y); z[0] = x[0] + 1e-12 * y[0]; }
}
