/* Unit masses joined by rods, by hand: S = A A^T of the rods is factored as L D L^T in a fixed order
   (up-looking, T. A. Davis, Algorithm 849, ACM TOMS 31, 2005). The caller defines D (dimensions), P
   (points), F (fixed points behind them), R (rods), ENTRIES (of L), and the arrays `ends` (R x 2),
   `length2` (R), `fixed` (F x D), `s_start` (R + 1), `s_row`, `s_first`, `s_second` (upper half of S by
   columns), `parent` (R), `l_start` (R + 1), and DOP853's `a` (12 x 12) and `b` (12). The state is the
   positions, then the velocities. */
static double gap[R][D], right[R], value[S_ENTRIES], L[ENTRIES], diag[R], y[R];
static int row_of[ENTRIES], count[R], flag[R], pattern[R];

static const double *place(const double *q, int k) { return k < P ? q + D * k : fixed + D * (k - P); }

static void gaps(const double *q) {
  for (int r = 0; r < R; r++) {
    const double *p = place(q, ends[r][0]), *o = place(q, ends[r][1]);
    for (int c = 0; c < D; c++) gap[r][c] = p[c] - o[c];
  }
}

static void factor(void) {
  for (int k = 0; k < R; k++) {
    int top = R;
    y[k] = 0; flag[k] = k; count[k] = 0;
    for (int e = s_start[k]; e < s_start[k + 1]; e++) {
      int i = s_row[e], f = s_first[e], s = s_second[e], length = 0;
      double sum = 0;
      for (int p = 0; p < 2; p++)
        for (int o = 0; o < 2; o++)
          if (ends[f][p] == ends[s][o] && ends[f][p] < P)
            for (int c = 0; c < D; c++) sum += (p == o ? 1 : -1) * gap[f][c] * gap[s][c];
      y[i] += sum;
      for (; flag[i] != k; i = parent[i]) { pattern[length++] = i; flag[i] = k; }
      while (length > 0) pattern[--top] = pattern[--length];
    }
    diag[k] = y[k]; y[k] = 0;
    for (; top < R; top++) {
      int i = pattern[top], e, stop = l_start[i] + count[i];
      double yi = y[i], lki = yi / diag[i];
      y[i] = 0;
      for (e = l_start[i]; e < stop; e++) y[row_of[e]] -= L[e] * yi;
      diag[k] -= lki * yi;
      row_of[e] = k; L[e] = lki; count[i]++;
    }
  }
}

static void solve(double *x) {
  for (int k = 0; k < R; k++) for (int e = l_start[k]; e < l_start[k + 1]; e++) x[row_of[e]] -= L[e] * x[k];
  for (int k = 0; k < R; k++) x[k] /= diag[k];
  for (int k = R - 1; k >= 0; k--) for (int e = l_start[k]; e < l_start[k + 1]; e++) x[k] -= L[e] * x[row_of[e]];
}

static void pull(const double *x, double *out) {
  for (int r = 0; r < R; r++) for (int side = 0; side < 2; side++) if (ends[r][side] < P)
    for (int c = 0; c < D; c++) out[D * ends[r][side] + c] += (side ? -1 : 1) * gap[r][c] * x[r];
}

void rhs(const double *state, double *out) {
  const double *v = state + D * P;
  gaps(state); factor();
  for (int r = 0; r < R; r++) {
    double sum = 0;
    int i = ends[r][0], j = ends[r][1];
    for (int c = 0; c < D; c++) {
      double w = (i < P ? v[D * i + c] : 0) - (j < P ? v[D * j + c] : 0);
      sum += w * w;
    }
    right[r] = -sum + 9.81 * gap[r][D - 1] * ((i < P) - (j < P));
  }
  solve(right);
  for (int k = 0; k < P; k++) for (int c = 0; c < D; c++) out[D * k + c] = c == D - 1 ? -9.81 : 0;
  pull(right, out);
}

void loop(const double *x, double *out, long calls) {
  static double z[2 * D * P];
  for (int i = 0; i < 2 * D * P; i++) z[i] = x[i];
  for (long k = 0; k < calls; k++) { rhs(z, out); z[0] = x[0] + 1e-12 * out[0]; }
}

/* Steps of DOP853, each followed by one Newton step onto the rods and one onto their rates. */
void steps(double *state, double h, long number) {
  enum { N = 2 * D * P };
  static double k[12][N], z[N];
  for (long step = 0; step < number; step++) {
    for (int s = 0; s < 12; s++) {
      for (int i = 0; i < N; i++) z[i] = state[i];
      for (int o = 0; o < s; o++) if (a[s][o] != 0) for (int i = 0; i < N; i++) z[i] += h * a[s][o] * k[o][i];
      for (int i = 0; i < N / 2; i++) k[s][i] = z[N / 2 + i];
      rhs(z, k[s] + N / 2);
    }
    for (int s = 0; s < 12; s++) if (b[s] != 0) for (int i = 0; i < N; i++) state[i] += h * b[s] * k[s][i];
    for (int level = 0; level < 2; level++) {
      const double *v = state + N / 2;
      gaps(state); factor();
      for (int r = 0; r < R; r++) {
        double sum = level ? 0 : -length2[r] / 2;
        for (int c = 0; c < D; c++) {
          double w = (ends[r][0] < P ? v[D * ends[r][0] + c] : 0) - (ends[r][1] < P ? v[D * ends[r][1] + c] : 0);
          sum += level ? gap[r][c] * w : gap[r][c] * gap[r][c] / 2;
        }
        right[r] = -sum;
      }
      solve(right);
      pull(right, state + level * (N / 2));
    }
  }
}
