import { defineConfig } from 'vitest/config';

// What only a broken package exceeds: a busy machine stands still for many seconds.
const longest = 300_000;

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/service.ts',
    testTimeout: longest,
    hookTimeout: longest,
    teardownTimeout: longest,
    expect: { poll: { timeout: longest / 2 } },
  },
});
