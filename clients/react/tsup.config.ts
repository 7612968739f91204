import { defineConfig } from 'tsup';

export default defineConfig([
  {
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    dts: true,
    target: 'es2022',
    platform: 'neutral', // "browser" would fix NODE_ENV here, for all users
    external: ['react'],
    banner: { js: "'use client';" }, // esbuild drops the directives of files that it bundles
    clean: true,
  },
  { entry: { cli: 'src/cli/main.ts' }, format: 'esm', target: 'node20', platform: 'node', splitting: false },
]);
