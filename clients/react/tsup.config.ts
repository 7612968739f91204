import { defineConfig } from 'tsup';

export default defineConfig([
  {
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    dts: true,
    target: 'es2022',
    platform: 'neutral', // "browser" would settle NODE_ENV here, for everybody
    external: ['react'],
    banner: { js: "'use client';" }, // esbuild keeps no directive of a file that it bundles
    clean: true,
  },
  { entry: { cli: 'src/cli/main.ts' }, format: 'esm', target: 'node20', platform: 'node', splitting: false },
]);
