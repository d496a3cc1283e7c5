/* The Cartesian chain by hand: accelerations of N unit masses on N unit rods from the tridiagonal system of the tensions.
   The state is (x_0, y_0, x_1, ...), then the velocities in the same order. N is defined by the caller. */
static double dx[N], dy[N], D[N], E[N], r[N];
void rhs(const double *X, double *a) {
  const double *v = X + 2 * N;
  double px = 0, py = 0, ux = 0, uy = 0;
  for (int i = 0; i < N; i++) {
    dx[i] = X[2 * i] - px;
    dy[i] = X[2 * i + 1] - py;
    double wx = v[2 * i] - ux, wy = v[2 * i + 1] - uy;
    r[i] = wx * wx + wy * wy;
    D[i] = (i ? 2 : 1) * (dx[i] * dx[i] + dy[i] * dy[i]);
    px = X[2 * i]; py = X[2 * i + 1]; ux = v[2 * i]; uy = v[2 * i + 1];
  }
  r[0] -= 9.81 * dy[0];
  for (int i = 0; i + 1 < N; i++) E[i] = -(dx[i] * dx[i + 1] + dy[i] * dy[i + 1]);
  for (int i = 1; i < N; i++) {
    double m = E[i - 1] / D[i - 1];
    D[i] -= m * E[i - 1];
    r[i] -= m * r[i - 1];
  }
  r[N - 1] /= D[N - 1];
  for (int i = N - 2; i >= 0; i--) r[i] = (r[i] - E[i] * r[i + 1]) / D[i];
  for (int i = 0; i < N; i++) {
    double x = -r[i] * dx[i], y = -9.81 - r[i] * dy[i];
    if (i + 1 < N) { x += r[i + 1] * dx[i + 1]; y += r[i + 1] * dy[i + 1]; }
    a[2 * i] = x; a[2 * i + 1] = y;
  }
}
void loop(const double *x, double *y, long calls) {
  static double z[4 * N];
  for (int i = 0; i < 4 * N; i++) z[i] = x[i];
  for (long k = 0; k < calls; k++) { rhs(z, y); z[0] = x[0] + 1e-12 * y[0]; }
}
