import { defineConfig } from 'vitest/config';

// Only a broken plugin takes so long: a busy machine may stall for many seconds. In milliseconds.
const longest = 300_000;

export default defineConfig({
  test: {
    include: ['*/test/*.test.ts'],
    exclude: ['react/**', 'node_modules/**'],
    testTimeout: longest,
    hookTimeout: longest,
    teardownTimeout: longest,
  },
});
