import { defineConfig } from 'vitest/config';

// Only a broken package exceeds these limits: a busy machine may stall for many seconds.
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
