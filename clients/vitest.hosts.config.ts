import { defineConfig } from 'vitest/config';

// The plugins in their real hosts: make plugins-test.
export default defineConfig({
  test: {
    include: ['*/test/*.host.ts'],
    globalSetup: ['./react/test/service.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
